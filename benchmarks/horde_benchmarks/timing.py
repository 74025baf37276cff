"""Two ways to measure: CPU time of ways that take turns, and function calls, without noise."""

import cProfile
import gc
import pstats
from collections.abc import Callable, Mapping
from statistics import median
from time import process_time
from typing import Any

import attrs
import trio

WARM_UP = 0.05
ROUND = 0.02
"""Seconds of a round; a slower machine does less in it, and the ratios stay."""


@attrs.frozen
class Times:
    """Microseconds of one call, a sample for each round."""

    samples: tuple[float, ...]

    @property
    def middle(self) -> float:
        """The median."""
        return median(self.samples)

    def over(self, other: "Times") -> tuple[float, ...]:
        """This divided by another of the same rounds, round by round."""
        return tuple(a / b for a, b in zip(self.samples, other.samples, strict=True))


def take_turns(ways: Mapping[str, Callable[[], object]], *, rounds: int = 15) -> dict[str, Times]:
    """Times each way once a round, so that another load on the machine weighs on all alike."""
    counts = {name: _calls_in_a_round(way) for name, way in ways.items()}
    samples: dict[str, list[float]] = {name: [] for name in ways}
    gc.collect()
    gc.freeze()
    try:
        for _ in range(rounds):
            for name, way in ways.items():
                count = counts[name]
                began = process_time()
                for _ in range(count):
                    way()
                samples[name].append((process_time() - began) / count * 1e6)
    finally:
        gc.unfreeze()
    return {name: Times(tuple(taken)) for name, taken in samples.items()}


def _calls_in_a_round(way: Callable[[], object]) -> int:
    count = 0
    began = process_time()
    while (took := process_time() - began) < WARM_UP:
        way()
        count += 1
    return max(1, round(count * ROUND / took))


def count_calls(main: Callable[..., Any], *arguments: Any, clock: Any = None) -> tuple[int, Any]:
    """Function calls, Python's and C's, of one `trio.run`; and what `main` returns."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        result = trio.run(main, *arguments, clock=clock)
    finally:
        profile.disable()
    return calls_of(profile), result


def calls_of(profile: cProfile.Profile) -> int:
    """All calls that a profile saw."""
    stats: Any = pstats.Stats(profile)
    total: int = stats.total_calls
    return total
