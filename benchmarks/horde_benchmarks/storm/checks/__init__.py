"""What must hold after every storm: the contract's six families (simulator, section 6)."""

from collections.abc import Callable, Iterator
from typing import Final

from horde_benchmarks.storm.checks import cancels, kudos, limits, outcomes, replies, times
from horde_benchmarks.storm.record import Finding, Storm

CHECKS: Final[tuple[Callable[[Storm], Iterator[Finding]], ...]] = (
    outcomes.check,
    cancels.check,
    replies.check,
    kudos.check,
    limits.check,
    times.check,
)


def check(storm: Storm) -> list[Finding]:
    """All that is wrong with a storm; nothing for a sound one."""
    return [finding for family in CHECKS for finding in family(storm)]
