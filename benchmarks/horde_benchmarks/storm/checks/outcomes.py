"""1: every request made at most one job, and had one outcome, one that the world explains."""

from collections.abc import Iterator

from horde_benchmarks.storm.record import Finding, Record, Storm
from horde_benchmarks.storm.told import error_of, outcome_of
from horde_core.native import UnreadableAnswer, read_receipt
from horde_simulator.request import RequestState

FAMILY = 1
_OVER = frozenset({RequestState.FINISHED, RequestState.EXPIRED})
_GIVEN_UP = frozenset({RequestState.FAULTED, RequestState.CANCELLED, RequestState.EXPIRED})
_DIVERGING = frozenset({"diverges", "restarts_with_other_text"})


def check(storm: Storm) -> Iterator[Finding]:
    """The findings of this family."""
    for record in storm.records:
        for detail in _faults(storm, record):
            yield Finding(FAMILY, detail[0], record.client.number, detail[1])


def _faults(storm: Storm, record: Record) -> Iterator[tuple[str, str]]:
    for misdeed in record.misdeeds:
        yield "one outcome", misdeed
    if record.misdeeds:
        return
    if len(record.jobs) > 1:
        yield "at most one job", f"{len(record.jobs)} jobs: {[job.id for job in record.jobs]}"
    if record.complete_at is None and record.left_at is None and record.ended_at is not None:
        yield "one outcome", "the exchange ended and the client was told nothing"
    if record.complete_at is None or record.request is None:
        return
    yield from _safe_retries(record)
    why = _unexplained(storm, record)
    if why is not None:
        yield "an outcome that the world explains", f"{outcome_of(record)}: {why}"


def _safe_retries(record: Record) -> Iterator[tuple[str, str]]:
    """Without `x-should-retry` a client may ask again: no job may be, or come to be, there."""
    may_retry = record.header(b"x-should-retry") != "false"
    status = record.head.status if record.head is not None else 0
    if may_retry and status != 200 and record.jobs:
        yield "no retry while a job is held", f"{outcome_of(record)} without x-should-retry"


def _unexplained(storm: Storm, record: Record) -> str | None:
    """Why the outcome can't be right, going by what the world knows; None when it can."""
    error = error_of(record)
    job = record.jobs[0] if record.jobs else None
    code = None if error is None else error["code"]
    if code is None:
        done = job is not None and job.state in _OVER
        return None if done else f"a reply to a job that is {job and job.state}"
    if code in ("ChatRequestFaulted", "RequestNotFound"):
        return None if job is not None and job.state in _GIVEN_UP else "the Horde says otherwise"
    if code == "ChatStreamDiverged":
        planned = {fault.where for fault in storm.plan.scenario.faults}
        broke_off = job is not None and (job.strikes > 0 or planned & _DIVERGING)
        return None if broke_off else "nothing diverged"
    if code in ("model_not_found", "no_eligible_worker") and not record.calls:
        return _unfounded(storm, record, code)
    if code == "horde_submit_unknown":
        return "an answer told the id" if _told_id(record) else None
    if code == "draining":
        return None if record.drained_at is not None else "nobody drains"
    return "never" if code == "internal_error" else None


def _unfounded(storm: Storm, record: Record, code: str) -> str | None:
    """A refusal before the submit goes by a view that was read for it, and by what is so."""
    assert record.request is not None
    known = storm.world.state.sizes
    if code == "model_not_found" and all(name in known for name in record.request.models):
        return "it is known"
    return None if record.saw_fresh_view else "a cached view's no is final"


def _told_id(record: Record) -> bool:
    return any(made.name == "submit" and _names_id(made.answer) for made in record.calls)


def _names_id(answer: object) -> bool:
    status, body = getattr(answer, "status", 0), getattr(answer, "body", b"")
    if status not in (200, 202):
        return False
    try:
        read_receipt(body)
    except UnreadableAnswer:
        return False
    return True
