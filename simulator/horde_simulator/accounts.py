"""Who owns kudos: users by their key, and the accounts that built-in workers earn into."""

from collections.abc import Iterable
from typing import Final

import attrs

from horde_core.native import ANONYMOUS_KEY
from horde_simulator.pricing import micro
from horde_simulator.scenario import UserSpec

ANONYMOUS_FLOOR: Final = micro(-50)
REGISTERED_FLOOR: Final = micro(25)
UNPOPPED_LIMIT: Final = 30
ANONYMOUS_UNPOPPED_LIMIT: Final = 500


@attrs.define(eq=False)
class Account:
    """An owner of kudos. Amounts are millionths (see `horde_simulator.pricing`)."""

    name: str
    """Its public name, such as `anna#2`; never the key."""
    balance: int
    floor: int
    trusted: bool = False
    anonymous: bool = False
    reserved: int = 0
    """Held for requests above the free allowance until they end."""
    unpopped: int = 0
    """Its jobs that no worker has taken yet."""
    workers: int = 0
    """How many workers it owns."""
    resting: int = 0
    """How many of them are in maintenance: they serve their owner only."""

    @property
    def unpopped_limit(self) -> int:
        return ANONYMOUS_UNPOPPED_LIMIT if self.anonymous else UNPOPPED_LIMIT

    @property
    def priority(self) -> float:
        """Kudos with which a request of this account enters the queue."""
        if self.anonymous:
            return min(0, max(ANONYMOUS_FLOOR, self.balance)) / 1e6
        return self.balance / 1e6


class Accounts:
    """The users by key. The anonymous account is always there."""

    def __init__(self, users: Iterable[UserSpec]) -> None:
        self._by_key: dict[str, Account] = {}
        self._earners: list[Account] = []
        self._by_key[ANONYMOUS_KEY] = Account(
            name="Anonymous#0", balance=0, floor=ANONYMOUS_FLOOR, anonymous=True
        )
        for user in users:
            self.add(user)

    def add(self, user: UserSpec) -> Account:
        """Opens an account; one for the anonymous key changes only what that one starts with."""
        if user.key == ANONYMOUS_KEY:
            account = self._by_key[ANONYMOUS_KEY]
            account.balance = micro(user.kudos)
            account.trusted = user.trusted
            return account
        account = Account(
            name=f"{user.username}#{len(self._by_key)}",
            balance=micro(user.kudos),
            floor=REGISTERED_FLOOR,
            trusted=user.trusted,
        )
        self._by_key[user.key] = account
        return account

    def add_earner(self, worker_name: str) -> Account:
        """An account without a key, for what a built-in worker earns."""
        account = Account(name=f"worker/{worker_name}", balance=0, floor=0)
        self._earners.append(account)
        return account

    def get(self, key: str) -> Account | None:
        """The account of a key; None for a key that this Horde doesn't know."""
        return self._by_key.get(key)

    def all(self) -> list[Account]:
        """Every account: users in the order of their opening, then built-in workers'."""
        return [*self._by_key.values(), *self._earners]
