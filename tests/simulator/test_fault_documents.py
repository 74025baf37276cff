"""What a fault's table says is read, or refused in words that lead to the mistake."""

from typing import Any

import pytest

from horde_simulator.document import read_fault
from horde_simulator.readers import REFUSED, Problems


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            {"where": "status.error_500", "worker": "zz"},
            "worker: has no meaning here: `status.error_500` strikes calls that no worker makes",
        ),
        (
            {"where": "expiry", "worker": "zz"},
            "worker: has no meaning here: `expiry` strikes calls that no worker makes",
        ),
        ({"wher": "expiry"}, "wher: unknown key, did you mean where?"),
    ],
)
def test_a_fault_that_could_never_strike_is_refused(fault: dict[str, Any], said: str) -> None:
    """A test that plans it would check nothing."""
    problems = Problems()
    assert read_fault(fault, "", problems) is REFUSED
    assert said in [": ".join(found) for found in problems.found]


@pytest.mark.parametrize("where", ["never_pops", "pop.error_500", "any.error_500"])
def test_a_fault_of_a_worker_s_may_name_it(where: str) -> None:
    """Also of its calls."""
    problems = Problems()
    assert read_fault({"where": where, "worker": "zz"}, "", problems).worker == "zz"


def test_of_many_words_some_are_told() -> None:
    """A hundred names on a line help nobody."""
    problems = Problems()
    read_fault({"where": "qqq"}, "", problems)
    ((_, said),) = problems.found
    assert said.startswith("unknown fault 'qqq'; known are any.cut_after, any.cut_before, ")
    assert said.endswith(" more")
    assert len(said) < 300
