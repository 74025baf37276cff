"""6: every request ended within its budget, and let go of everything soon after."""

from collections.abc import Iterator
from typing import Final

from benchmarks.storm.link import LONGEST
from benchmarks.storm.record import Finding, Record, Storm

FAMILY = 6
_SLACK: Final = 1e-6
LONGEST_PAUSE: Final = 60.0
"""Seconds that the Horde's limiter may ask a cancel to wait."""


def check(storm: Storm) -> Iterator[Finding]:
    """The findings of this family."""
    if storm.unfinished:
        yield Finding(FAMILY, "everything ends", None, f"not at {storm.world.now:.0f} s")
    for record in storm.records:
        for rule, detail in _faults(storm, record):
            yield Finding(FAMILY, rule, record.client.number, detail)


def _faults(storm: Storm, record: Record) -> Iterator[tuple[str, str]]:
    if record.request is None or record.misdeeds:
        return
    timing, began = storm.timing, record.client.at
    budget = timing.stream_budget if record.request.stream else timing.whole_budget
    until = record.complete_at if record.left_at is None else record.left_at
    if until is not None:
        spent = until - began - storm.stalled(began, until)
        if spent > budget + _SLACK:
            yield "an end within the budget", f"{spent:.3f} s of {budget:g} s"
    if record.ended_at is None:
        yield "everything ends", "the exchange didn't"
        return
    tail = 2 * LONGEST["submit"] + timing.cancel_tries * (LONGEST["cancel"] + LONGEST_PAUSE)
    spent = record.ended_at - began - storm.stalled(began, record.ended_at)
    if spent > budget + tail:
        yield "nothing lingers", f"{spent:.1f} s after its arrival"
