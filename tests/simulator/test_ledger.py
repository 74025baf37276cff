"""Charges reach whom they should, and nothing gets lost on the way."""

import pytest

from horde_simulator.accounts import Account
from horde_simulator.ledger import Ledger
from horde_simulator.pricing import micro


def account(kudos: float, floor: float = 25.0) -> Account:
    return Account(name="somebody", balance=micro(kudos), floor=micro(floor))


@pytest.mark.parametrize(
    "balance, floor, reward, burn, left, credited, burnt, forgiven",
    [
        # Enough: all is paid.
        (100, 25, 40, 1, 59, 40, 1, 0),
        # 45 - 25 = 20 can be paid of 41: the worker first, the part to burn is forgiven with it.
        (45, 25, 40, 1, 25, 20, 0, 21),
        # 65.5 - 25 = 40.5: the worker whole, half of the burn.
        (65.5, 25, 40, 1, 25, 40, 0.5, 0.5),
        # At the floor, and below it (an account may start there): everything is forgiven.
        (25, 25, 40, 1, 25, 0, 0, 41),
        (10, 25, 40, 1, 10, 0, 0, 41),
        # The anonymous account may owe 50.
        (0, -50, 40, 1, -41, 40, 1, 0),
        (-41, -50, 40, 1, -50, 9, 0, 32),
    ],
)
def test_charge(
    balance: float,
    floor: float,
    reward: float,
    burn: float,
    left: float,
    credited: float,
    burnt: float,
    forgiven: float,
) -> None:
    """What is due is debited; below the floor nothing is paid, and the worker is paid first."""
    user, worker, ledger = account(balance, floor), account(0, 0), Ledger()
    got = ledger.charge(
        1.0, "request", "reply", user, worker, reward=micro(reward), burn=micro(burn)
    )
    assert got == worker.balance == micro(credited)
    assert user.balance == micro(left)
    assert ledger.totals() == {
        "debited": reward + burn,
        "credited": credited,
        "burnt": burnt,
        "forgiven": forgiven,
    }


def test_a_burn_needs_no_creditor() -> None:
    user, ledger = account(100), Ledger()
    assert ledger.charge(2.0, "r", "activation", user, burn=micro(6)) == 0
    assert user.balance == micro(94)
    assert ledger.entries[0].as_json() == {
        "at": 2.0,
        "request_id": "r",
        "kind": "activation",
        "debit": {"account": "somebody", "amount": 6.0},
        "credit": {"account": None, "amount": 0.0},
        "burnt": 6.0,
        "forgiven": 0.0,
    }


def test_entries_are_bounded_and_totals_are_not() -> None:
    user, ledger = account(1000), Ledger(kept=10)
    for _ in range(30):
        ledger.charge(0.0, "r", "activation", user, burn=micro(1))
    assert len(ledger.entries) == 10
    assert ledger.totals()["burnt"] == 30.0
