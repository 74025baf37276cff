"""5: no limit of the Horde was broken, and every `Retry-After` honoured."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from horde_benchmarks.storm.record import Finding, Made, Record, Storm

FAMILY = 5
LEAST_GAP: Final = 1.1
"""Seconds between two reads of one request, as they are sent (contract: Horde, section 1)."""
_SLACK: Final = 1e-6
_ALWAYS: Final = frozenset({"forbidden", "submitted_twice"})
_ON_SOUND_LINKS: Final = _ALWAYS | {"polled_too_fast", "ignored_retry_after", "left_without_cancel"}
"""The Horde knows nothing of answers that a link lost, and goes by when calls come in."""
_LIMITERS_WORDS: Final = b"60 per 1 minute"


def check(storm: Storm) -> Iterator[Finding]:
    """The findings of this family."""
    for record in storm.records:
        for rule, detail in (*_pace_faults(record), *_retry_faults(record), *_told(record)):
            yield Finding(FAMILY, rule, record.client.number, detail)
    graded = _ALWAYS if storm.link_faults or storm.plan.stalls else _ON_SOUND_LINKS
    for finding in storm.world.state.grader.verdict(storm.world.now).findings:
        if finding.kind in graded:
            yield Finding(FAMILY, f"the Horde's verdict: {finding.kind}", None, finding.detail)


def _pace_faults(record: Record) -> Iterator[tuple[str, str]]:
    reads = [made for made in record.calls if made.name == "status"]
    for before, after in pairwise(reads):
        gap = after.sent_at - before.sent_at
        if gap < LEAST_GAP - _SLACK:
            yield "reads 1.1 s apart", f"{gap:.3f} s at {after.sent_at:.3f}"
            break
        if before.over_at is None or after.sent_at < before.over_at - _SLACK:
            yield "one read at a time", f"two at {after.sent_at:.3f}"
            break


def _retry_faults(record: Record) -> Iterator[tuple[str, str]]:
    for at, made in enumerate(record.calls):
        seconds = _asked_to_wait(made)
        if made.answer is not None and _LIMITERS_WORDS in made.answer.body:
            yield "no limit is reached", f"{made.name} at {made.sent_at:.3f}"
        if not seconds or made.over_at is None:
            continue
        for later in record.calls[at + 1 :]:
            if later.name == made.name and later.sent_at < made.over_at + seconds - _SLACK:
                early = made.over_at + seconds - later.sent_at
                yield "Retry-After is honoured", f"{made.name} {early:.3f} s early"
                break


def _asked_to_wait(made: Made) -> float:
    answer = made.answer
    if answer is None:
        return 0.0
    is_used_up = made.name == "status" and answer.headers.get("x-ratelimit-remaining") == "0"
    if answer.status == 429 or (answer.status == 200 and is_used_up):
        return float(answer.headers.get("retry-after", "0"))
    return 0.0


def _told(record: Record) -> Iterator[tuple[str, str]]:
    """The Horde's own Retry-After is passed on; one that the front computes is 1 to 60 s."""
    after = record.header(b"retry-after")
    status = None if record.head is None else record.head.status
    if status == 429:
        asked = {made.answer.headers.get("retry-after") for made in record.calls if made.answer}
        if after is None or after not in asked:
            yield "a 429 keeps its Retry-After", str(after)
    elif after is not None and not (after.isdigit() and 1 <= int(after) <= 60):
        yield "Retry-After of 1 to 60 s", after
