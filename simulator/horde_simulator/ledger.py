"""The book of every movement of kudos: debited = credited + burnt + forgiven, to the millionth."""

from collections import deque
from typing import Final

import attrs

from horde_simulator.accounts import Account
from horde_simulator.pricing import kudos

# Totals are kept for ever; single entries only so many, or a simulator left running for weeks
# would fill its machine's memory.
KEPT: Final = 200_000


@attrs.frozen
class Entry:
    """One movement, in millionths: what was due, and where it went."""

    at: float
    request_id: str
    kind: str
    debtor: str
    creditor: str | None
    debited: int
    credited: int
    burnt: int
    forgiven: int

    def as_json(self) -> dict[str, object]:
        """The entry as the control API shows it."""
        return {
            "at": self.at,
            "request_id": self.request_id,
            "kind": self.kind,
            "debit": {"account": self.debtor, "amount": kudos(self.debited)},
            "credit": {"account": self.creditor, "amount": kudos(self.credited)},
            "burnt": kudos(self.burnt),
            "forgiven": kudos(self.forgiven),
        }


class Ledger:
    """Books charges, and keeps the totals (millionths)."""

    def __init__(self, kept: int = KEPT) -> None:
        self.entries: deque[Entry] = deque(maxlen=kept)
        self.debited = 0
        self.credited = 0
        self.burnt = 0
        self.forgiven = 0

    def charge(
        self,
        at: float,
        request_id: str,
        kind: str,
        debtor: Account,
        creditor: Account | None = None,
        *,
        reward: int = 0,
        burn: int = 0,
    ) -> int:
        """Debits `reward + burn`, and says what the creditor really got.

        What would push the debtor below its floor is forgiven: it reaches nobody, the part to be
        burnt first (contract, section 5: what users are debited is what workers are credited,
        what is burnt and what is forgiven).
        """
        due = reward + burn
        paid = min(due, max(0, debtor.balance - debtor.floor))
        credited = min(reward, paid) if creditor is not None else 0
        burnt = paid - credited
        forgiven = due - paid
        debtor.balance -= paid
        if creditor is not None:
            creditor.balance += credited
        self.debited += due
        self.credited += credited
        self.burnt += burnt
        self.forgiven += forgiven
        name = creditor.name if creditor is not None else None
        self.entries.append(
            Entry(at, request_id, kind, debtor.name, name, due, credited, burnt, forgiven)
        )
        return credited

    def totals(self) -> dict[str, float]:
        """The totals in kudos."""
        return {
            "debited": kudos(self.debited),
            "credited": kudos(self.credited),
            "burnt": kudos(self.burnt),
            "forgiven": kudos(self.forgiven),
        }
