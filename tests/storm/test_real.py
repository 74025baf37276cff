"""The storm over the whole stack: two seeds here, many in the whole check."""

import pytest

from horde_benchmarks.storm.plan import plan_of
from horde_benchmarks.storm.real import real_plan_of
from horde_benchmarks.storm.summary import real_result


@pytest.mark.parametrize("seed", [2, 3])
def test_a_seed_over_sockets(seed: int) -> None:
    """One that goes on to its end, and one whose front is told to stop."""
    plan = real_plan_of(plan_of(seed))
    assert (plan.drain_at is None) == (seed == 2)
    result = real_result(seed)
    assert [finding.line() for finding in result.findings] == []
    assert result.requests == len(plan.clients) > 3
    assert result.outcomes["reply"] + result.outcomes["draining"] > 0
