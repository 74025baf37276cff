"""6: every request ended within its budget, not before its time, and lets go of everything."""

from collections.abc import Iterator
from typing import Final

from horde_benchmarks.storm.link import LONGEST
from horde_benchmarks.storm.record import Finding, Record, Storm
from horde_benchmarks.storm.told import outcome_of
from horde_core.native import Status

FAMILY = 6
_SLACK: Final = 1e-6
_PATIENT: Final = frozenset({"horde_timeout", "horde_status_lost", "no_eligible_worker"})
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
    timing, began = storm.timing, record.came_at
    budget = timing.stream_budget if record.request.stream else timing.whole_budget
    until = record.complete_at if record.left_at is None else record.left_at
    if until is not None:
        spent = until - began - storm.stalled(began, until)
        if spent > budget + _SLACK + storm.late:
            yield "an end within the budget", f"{spent:.3f} s of {budget:g} s"
    yield from _too_early(storm, record, budget)
    if record.ended_at is None:
        yield "everything ends", "the exchange didn't"
        return
    tail = 2 * LONGEST["submit"] + timing.cancel_tries * (LONGEST["cancel"] + LONGEST_PAUSE)
    spent = record.ended_at - began - storm.stalled(began, record.ended_at)
    if spent > budget + tail + storm.late:
        yield "nothing lingers", f"{spent:.1f} s after its arrival"


def _too_early(storm: Storm, record: Record, budget: float) -> Iterator[tuple[str, str]]:
    """Patience is promised too: the budget, the grace, the time for reads that fail."""
    if record.complete_at is None:
        return
    outcome, now = outcome_of(record), record.complete_at
    if outcome not in _PATIENT:
        return
    if outcome == "horde_timeout":
        if now - record.came_at < budget - _SLACK:
            yield "patience", f"a timeout after {now - record.came_at:.3f} s of {budget:g} s"
        return
    read = [(made, status) for made in record.calls if (status := made.status()) is not None]
    if outcome == "horde_status_lost":
        since = read[-1][0].over_at if read else record.known_at
        if since is not None and now - since < storm.timing.read_failure_limit - _SLACK:
            yield "patience", f"reads were given up after {now - since:.3f} s"
    if outcome == "no_eligible_worker" and read and not _is_unserved(read[-1][1]):
        bad = [made.over_at or 0.0 for made, status in read if _is_ineligible(status)]
        if not bad or now - bad[0] < storm.timing.grace - _SLACK:
            yield "patience", "no grace for a request without an eligible worker"


def _is_unserved(status: Status) -> bool:
    return status.pool is not None and status.pool.online_workers == 0


def _is_ineligible(status: Status) -> bool:
    return status.eligible_workers == 0 or not status.is_possible
