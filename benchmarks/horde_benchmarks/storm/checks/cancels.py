"""2: every job that nobody waits for any more was cancelled, once and at once, or had ended."""

from collections.abc import Iterator

from horde_benchmarks.storm.record import Finding, Made, Record, Storm
from horde_core.native import HordeAnswer, UnreadableAnswer, read_receipt
from horde_simulator.request import Request

FAMILY = 2
_INSTANT = 1e-6


def check(storm: Storm) -> Iterator[Finding]:
    """The findings of this family."""
    for record in storm.records:
        for rule, detail in _faults(storm, record):
            yield Finding(FAMILY, rule, record.client.number, detail)


def _faults(storm: Storm, record: Record) -> Iterator[tuple[str, str]]:
    if record.misdeeds or record.ended_at is None:
        return
    cancels = [made for made in record.calls if made.name == "cancel"]
    for job in record.jobs:
        if not job.over and not _excused(storm, record, cancels, job):
            yield "no job is left behind", f"{job.id} is {job.state.value} and nobody waits"
    yield from _repeated(storm, cancels)
    if cancels:
        yield from _late(storm, record, cancels[0])
        yield from _of_finished(storm, record, cancels[0])


def _excused(storm: Storm, record: Record, cancels: list[Made], job: Request) -> bool:
    """A job whose id never came can't be cancelled, and three failed tries are all."""
    if not any(_tells(made.answer, job.id) for made in record.calls if made.name == "submit"):
        return True
    if any(_worked(made) for made in cancels):
        return False
    # The end of a real process breaks off what a cancel that hangs would still try.
    ended = storm.late > 0 and record.drained_at is not None and len(cancels) > 0
    return ended or len(cancels) == storm.timing.cancel_tries


def _tells(answer: HordeAnswer | None, job_id: str) -> bool:
    if answer is None or answer.status not in (200, 202):
        return False
    try:
        return read_receipt(answer.body).id == job_id
    except UnreadableAnswer:
        return False


def _worked(made: Made) -> bool:
    answer = made.answer
    return answer is not None and answer.status in (200, 404)


def _repeated(storm: Storm, cancels: list[Made]) -> Iterator[tuple[str, str]]:
    if any(_worked(made) for made in cancels[:-1]):
        yield "one cancel", "a second one after one that was answered"
    if len(cancels) > storm.timing.cancel_tries:
        yield "one cancel", f"{len(cancels)} tries"


def _late(storm: Storm, record: Record, first: Made) -> Iterator[tuple[str, str]]:
    """Nobody waits from the first of these on; and before the id is known nothing can be done."""
    ends = (record.left_at, record.drained_at, record.complete_at)
    nobody_since = min((at for at in ends if at is not None), default=None)
    if nobody_since is None:
        yield "no cancel while somebody waits", f"at {first.sent_at:.3f}"
        return
    # A request without prospects is cancelled first, and its client told when that is answered.
    told_by = first.sent_at if first.over_at is None else first.over_at
    told_by += storm.stalled(first.sent_at, told_by)
    if nobody_since > told_by + _INSTANT + storm.late:
        yield "no cancel while somebody waits", f"{nobody_since - first.sent_at:.3f} s early"
    since = max(nobody_since, record.known_at or 0.0)
    late = first.sent_at - since - storm.stalled(since, first.sent_at)
    if late > _INSTANT + storm.late:
        yield "a cancel at once", f"{late:.3f} s after nobody waited any more"


def _of_finished(storm: Storm, record: Record, first: Made) -> Iterator[tuple[str, str]]:
    for made in record.calls:
        if made.name != "status" or made.answer is None or made.over_at is None:
            continue
        if storm.stalled(made.over_at, first.sent_at):
            continue  # the timer and the answer wait for the front together
        if made.over_at < first.sent_at - storm.late and _says_over(made):
            yield "no cancel of a finished job", f"a read at {made.over_at:.3f} had said so"


def _says_over(made: Made) -> bool:
    assert made.answer is not None
    if made.answer.status == 404:
        return True
    if b'"done":true' not in made.answer.body:  # the simulated Horde writes no spaces
        return False
    status = made.status()
    if status is None:
        return False
    return status.done and (len(status.generations) > 0 or status.faulted or status.cancelled)
