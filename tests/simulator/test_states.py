"""The state tables of jobs and requests: every state with every event."""

import itertools
from typing import Any

import pytest

from horde_simulator.accounts import Account
from horde_simulator.eligibility import Demand
from horde_simulator.job import REFUSALS, Job, JobEvent, JobState
from horde_simulator.queue import Bucket
from horde_simulator.refusals import HordeError
from horde_simulator.request import Request, RequestEvent, RequestState
from horde_simulator.workers import Worker


def account() -> Account:
    return Account(name="somebody", balance=0, floor=0)


def request() -> Request:
    demand = Demand(("m",), (), (), 16, 80, None, (), False, False, True, None)
    fields: dict[str, Any] = dict.fromkeys(
        ("activated_at", "expires_at", "quote", "charged", "reserved", "settle_tokens"), 0
    )
    return Request(
        id="r",
        account=account(),
        bucket=Bucket(demand),
        place=(0.0, 1),
        n=1,
        waiting=1,
        prompt_tokens=4,
        payload=b"",
        text_only=True,
        strict=True,
        no_calls=False,
        progress=False,
        effort=None,
        seed=None,
        **fields,
    )


def job() -> Job:
    worker = Worker("w", "w", account(), ("m",), 1, 16, 80, frozenset(), frozenset(), {})
    return Job("j", request(), 0, 1, worker, "m", 0.0, 150.0, b"{}")


OPEN, FINISHED = RequestState.OPEN, RequestState.FINISHED
FAULTED, CANCELLED, EXPIRED = RequestState.FAULTED, RequestState.CANCELLED, RequestState.EXPIRED
REQUEST_CHANGES = {
    (OPEN, RequestEvent.POP): OPEN,
    (OPEN, RequestEvent.RESTART): OPEN,
    (OPEN, RequestEvent.LAST_REPLY): FINISHED,
    (OPEN, RequestEvent.STRUCK_OUT): FAULTED,
    (OPEN, RequestEvent.CANCEL): CANCELLED,
    (OPEN, RequestEvent.EXPIRE): EXPIRED,
    (FINISHED, RequestEvent.CANCEL): FINISHED,
    (FAULTED, RequestEvent.CANCEL): FAULTED,
    (CANCELLED, RequestEvent.CANCEL): CANCELLED,
    (FINISHED, RequestEvent.EXPIRE): EXPIRED,
    (FAULTED, RequestEvent.EXPIRE): EXPIRED,
    (CANCELLED, RequestEvent.EXPIRE): EXPIRED,
}


@pytest.mark.parametrize("state, event", list(itertools.product(RequestState, RequestEvent)))
def test_request_changes(state: RequestState, event: RequestEvent) -> None:
    """What isn't listed is a Horde error and changes nothing."""
    held = request()
    held.state = state
    expected = REQUEST_CHANGES.get((state, event))
    if expected is None:
        with pytest.raises(HordeError) as refused:
            held.apply(event)
        assert refused.value.body["rc"] == "RequestNotFound"
        assert held.state is state
    else:
        held.apply(event)
        assert held.state is expected


JOB_CHANGES = {
    JobEvent.POST: JobState.PROCESSING,
    JobEvent.SETTLE: JobState.SETTLED,
    JobEvent.STRIKE: JobState.STRUCK,
    JobEvent.CANCEL: JobState.CANCELLED,
}


@pytest.mark.parametrize("state, event", list(itertools.product(JobState, JobEvent)))
def test_job_changes(state: JobState, event: JobEvent) -> None:
    """Only a job that is being processed changes; about any other the worker is told which."""
    attempt = job()
    attempt.state = state
    if state is JobState.PROCESSING:
        attempt.apply(event)
        assert attempt.state is JOB_CHANGES[event]
        return
    with pytest.raises(HordeError) as refused:
        attempt.apply(event)
    assert refused.value.body["rc"] == REFUSALS[state][0]
    assert attempt.state is state


@pytest.mark.parametrize(
    "state, rc",
    [
        (JobState.SETTLED, "DuplicateGen"),
        (JobState.STRUCK, "AbortedGen"),
        (JobState.CANCELLED, "AbortedGen"),
    ],
)
def test_what_a_worker_is_told_about_a_job_that_is_over(state: JobState, rc: str) -> None:
    attempt = job()
    attempt.state = state
    assert (attempt.refusal().status, attempt.refusal().body["rc"]) == (400, rc)
