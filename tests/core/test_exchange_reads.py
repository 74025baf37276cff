"""A job being followed: its first read, its prospects, its ends that the Horde tells."""

from typing import Any

import pytest

from core.following import (
    a_request,
    answered,
    begun,
    error,
    followed,
    head,
    headers,
    looked_up,
    new_exchange,
    read,
    sent,
    told,
)
from core.horde_bodies import MODEL, REQUEST_ID, answer, done, pool, receipt, status
from horde_core import events
from horde_core.events import Cancel
from horde_core.exchange import Exchange
from horde_core.lifecycle import State

STREAM = a_request(stream=True)


# The first status read -------------------------------------------------------------------------


def test_a_stream_opens_after_the_first_read_with_a_keepalive() -> None:
    """Headers and the first comment go out together."""
    exchange = new_exchange(STREAM)
    looked_up(exchange, MODEL, fresh=False)
    exchange.handle(events.SubmitAnswered(receipt()), 0.0)
    effects = exchange.handle(
        events.StatusAnswered(answer(status(queue_position=7, wait_time=42))), 0.1
    )
    assert headers(effects) == {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
        "x-should-retry": "false",
        "x-request-id": REQUEST_ID,
    }
    assert sent(effects) == b": horde queue_position=7 wait_time=42\n\n"


FIRST_READS = [
    (status(pool=pool(online_workers=0)), 503, "no_eligible_worker", None),
    (
        status(eligible_workers=0, pool=pool(missing_guarantees=["tool_choice"])),
        404,
        "no_worker_supports_features",
        None,
    ),
    (
        status(
            eligible_workers=0,
            pool=pool(exceeded_limits=[{"limit": "max_length", "requested": 1024, "largest": 512}]),
        ),
        400,
        "no_worker_supports_limit",
        "max_tokens",
    ),
    (status(wait_time=601), 503, "queue_unavailable", None),
]


@pytest.mark.parametrize("body,status_,code,param", FIRST_READS, ids=lambda value: str(value)[:30])
def test_a_refusal_at_the_first_read_is_an_http_error(
    body: dict[str, Any], status_: int, code: str, param: str | None
) -> None:
    """Also for a stream; the job is cancelled first, the client told not to retry by itself."""
    exchange = refused_at_the_first_read(body)
    effects = exchange.handle(events.CancelAnswered(answer({})), 0.2)
    assert (head(effects).status, error(effects)["code"]) == (status_, code)
    assert error(effects)["param"] == param
    assert error(effects)["metadata"]["request_id"] == REQUEST_ID
    assert headers(effects)["x-should-retry"] == "false"
    assert exchange.ended


def refused_at_the_first_read(body: dict[str, Any]) -> Exchange:
    """A stream whose job is being deleted, before its client is told anything."""
    exchange = new_exchange(STREAM)
    looked_up(exchange, MODEL, fresh=False)
    exchange.handle(events.SubmitAnswered(receipt()), 0.0)
    effects = exchange.handle(events.StatusAnswered(answer(body)), 0.0)
    assert effects == [Cancel(REQUEST_ID)]
    assert exchange.state is State.CANCELLING
    return exchange


@pytest.mark.parametrize("event", [events.CancelLost(), events.Draining()])
def test_a_refusal_waits_for_one_answer_at_most(event: events.Event) -> None:
    """A Horde that fails at the cancel holds the client up no longer, nor does the end."""
    exchange = refused_at_the_first_read(FIRST_READS[0][0])
    effects = exchange.handle(event, 1.0)
    assert (head(effects).status, error(effects)["code"]) == (503, "no_eligible_worker")
    assert exchange.state is State.CANCELLING
    exchange.handle(events.CancelLost(), 1.1)
    exchange.handle(events.TimePassed(), exchange.wake_at)
    assert exchange.handle(events.CancelAnswered(answer({})), 9.0) == []


def test_a_refusal_doesnt_wait_for_the_cancel_beyond_the_budget() -> None:
    """A Horde that hangs at the cancel costs no more time than the request had (600 s here)."""
    exchange = refused_at_the_first_read(FIRST_READS[0][0])
    assert exchange.wake_at == 600.0
    effects = exchange.handle(events.TimePassed(), 600.0)
    assert error(effects)["code"] == "no_eligible_worker"
    assert exchange.wake_at == float("inf")
    assert exchange.handle(events.CancelAnswered(answer({})), 601.0) == []


def test_who_leaves_before_being_told_is_told_nothing() -> None:
    """The cancel is on its way already."""
    exchange = refused_at_the_first_read(FIRST_READS[0][0])
    assert exchange.handle(events.ClientGone(), 0.1) == []
    assert exchange.handle(events.CancelAnswered(answer({})), 0.2) == []
    assert exchange.ended


def test_queue_unavailable_states_the_pool() -> None:
    """Threads, wait and budget left are in the metadata; Retry-After is at most 60."""
    exchange = new_exchange(a_request())
    looked_up(exchange, MODEL, fresh=False)
    exchange.handle(events.SubmitAnswered(receipt()), 10.0)
    cancel = exchange.handle(events.StatusAnswered(answer(status(wait_time=900))), 10.0)
    effects = told(exchange, cancel, 10.1)
    assert error(effects)["metadata"] == {
        "request_id": REQUEST_ID,
        "eligible_worker_threads": 2,
        "estimated_wait": 900,
        "budget_left": 270,
    }
    assert headers(effects)["retry-after"] == "60"


def test_wait_queues_for_the_whole_budget() -> None:
    """`availability_mode: wait` takes any estimate."""
    exchange = begun(a_request(horde={"availability_mode": "wait"}), wait_time=9999)
    assert exchange.state is State.WAITING


def test_a_worker_at_work_outweighs_a_bad_outlook() -> None:
    """`processing` counts more than what the pool lacks, and than the estimate."""
    exchange = begun(processing=1, wait_time=9999, pool=pool(online_workers=0))
    assert exchange.state is State.WAITING


def test_a_late_estimate_refuses_nothing() -> None:
    """queue_unavailable belongs to the first read alone."""
    exchange = begun(STREAM)
    read(exchange, 1.1, wait_time=9999)
    assert exchange.state is State.WAITING


# Grace, budget, polling ------------------------------------------------------------------------


def test_ineligibility_is_borne_for_the_grace() -> None:
    """15 s without an eligible worker, then 503 inside the open stream, then the cancel."""
    exchange = begun(STREAM, eligible_workers=0)
    now = 0.0
    while now < 14.9:
        now = exchange.wake_at
        exchange.handle(events.TimePassed(), now)
        if exchange.state is State.READING:
            effects = exchange.handle(
                events.StatusAnswered(answer(status(eligible_workers=0))), now
            )
    assert exchange.state is State.WAITING
    effects = read(exchange, 16.0, eligible_workers=0)
    assert error(effects)["code"] == "no_eligible_worker"
    assert sent(effects).endswith(b"\n\ndata: [DONE]\n\n")
    assert effects[-1] == Cancel(REQUEST_ID)


def test_an_eligible_worker_ends_the_grace() -> None:
    """A worker that came back resets the count."""
    exchange = begun(eligible_workers=0)
    read(exchange, 14.0)
    read(exchange, 20.0, is_possible=False)
    read(exchange, 34.0, is_possible=False)
    assert exchange.state is State.WAITING
    effects = told(exchange, read(exchange, 35.2, is_possible=False), 35.3)
    assert error(effects)["code"] == "no_eligible_worker"


def test_reads_keep_the_hordes_pace() -> None:
    """1.1 s from read to read for a job near its turn or at work, up to 3 s further back."""
    assert begun().wake_at == 1.1
    assert begun(processing=1, wait_time=100).wake_at == 1.1
    assert begun(wait_time=40).wake_at == 2.0
    assert begun(wait_time=200).wake_at == 3.0


def test_the_pause_begins_at_the_answer() -> None:
    """The Horde counts when reads come in, and one may have come in just before its answer."""
    exchange = begun()
    exchange.handle(events.TimePassed(), 1.1)
    exchange.handle(events.StatusAnswered(answer(status())), 1.6)
    assert exchange.wake_at == pytest.approx(2.7)


def test_the_rate_limit_counts_once_nothing_is_left() -> None:
    """Every answer has Retry-After; only with nothing remaining is it an order."""
    exchange = begun()
    exchange.handle(events.TimePassed(), 1.1)
    left = answer(status(), x_ratelimit_remaining="9", retry_after="50")
    exchange.handle(events.StatusAnswered(left), 1.1)
    assert exchange.wake_at == pytest.approx(2.2)
    exchange.handle(events.TimePassed(), 2.2)
    none_left = answer(status(), x_ratelimit_remaining="0", retry_after="50")
    exchange.handle(events.StatusAnswered(none_left), 2.2)
    assert exchange.wake_at == pytest.approx(52.2)


FAILED_READS: list[events.Event] = [
    events.StatusLost(),
    events.StatusAnswered(answer(b"<html>502</html>", 502)),
    events.StatusAnswered(answer(b"<html>200</html>", 200)),
    events.StatusAnswered(answer(b'{"done": fal', 200)),
    events.StatusAnswered(answer([1, 2], 200)),
    events.StatusAnswered(answer({"finished": 1}, 200)),
    events.StatusAnswered(answer({"message": "60 per 1 minute"}, 429)),
    events.StatusAnswered(answer(done() | {"generations": []}, 200)),
]


@pytest.mark.parametrize("failed", FAILED_READS, ids=range(len(FAILED_READS)))
def test_failed_reads_are_retried_with_backoff_and_then_given_up(failed: events.Event) -> None:
    """1.1, 2.2, 4.4, 8.8, then every 10 s; after 60 s of it 502, and the job is cancelled."""
    exchange = begun()
    times: list[float] = []
    while exchange.state != State.CANCELLING:
        times.append(exchange.wake_at)
        exchange.handle(events.TimePassed(), times[-1])
        if exchange.state is State.READING:
            exchange.handle(failed, times[-1])
    assert times == pytest.approx([1.1, 2.2, 4.4, 8.8, 17.6, 27.6, 37.6, 47.6, 57.6, 61.1])


def test_a_lost_status_is_told_with_the_cancel() -> None:
    """The code, the status and x-should-retry of horde_status_lost."""
    exchange = begun()
    exchange.handle(events.TimePassed(), 1.1)
    exchange.handle(events.StatusLost(), 1.1)
    effects = exchange.handle(events.TimePassed(), 61.2)
    assert (head(effects).status, error(effects)["code"]) == (502, "horde_status_lost")
    assert headers(effects)["x-should-retry"] == "false"
    assert effects[-1] == Cancel(REQUEST_ID)


def test_a_read_that_fails_after_the_limit_is_the_last() -> None:
    """It went out in time and was lost too late."""
    exchange = begun()
    exchange.handle(events.TimePassed(), 1.1)
    exchange.handle(events.StatusLost(), 1.1)
    exchange.handle(events.TimePassed(), 61.0)
    assert error(exchange.handle(events.StatusLost(), 71.0))["code"] == "horde_status_lost"


def test_retry_after_delays_the_next_read() -> None:
    """A 429 says how long to wait; beyond the failure limit there is no use in waiting."""
    exchange = begun()
    exchange.handle(events.TimePassed(), 1.1)
    exchange.handle(events.StatusAnswered(answer({}, 429, retry_after="20")), 1.1)
    assert exchange.wake_at == pytest.approx(21.1)
    exchange.handle(events.TimePassed(), 21.1)
    exchange.handle(events.StatusAnswered(answer({}, 429, retry_after="500")), 21.1)
    assert exchange.wake_at == pytest.approx(61.1)


def test_one_good_read_forgets_the_failures() -> None:
    """Only consecutive failures count."""
    exchange = begun()
    exchange.handle(events.TimePassed(), 1.1)
    exchange.handle(events.StatusLost(), 1.1)
    read(exchange, 50.0)
    exchange.handle(events.TimePassed(), 61.5)
    exchange.handle(events.StatusLost(), 61.5)
    assert exchange.wake_at == pytest.approx(62.6)


@pytest.mark.parametrize("request_,budget", [(a_request(), 280.0), (STREAM, 600.0)])
def test_the_budget_ends_in_a_timeout_and_a_cancel(request_: Any, budget: float) -> None:
    """280 s for a whole reply, 600 s for a stream, from the arrival."""
    exchange = begun(request_)
    exchange.handle(events.TimePassed(), 1.1)
    effects = exchange.handle(events.TimePassed(), budget - 0.1)
    assert exchange.state is State.READING
    effects = exchange.handle(events.TimePassed(), budget)
    if request_.stream:
        assert effects[-1] == Cancel(REQUEST_ID)
    else:
        effects = told(exchange, effects, budget + 0.1)
    assert error(effects)["code"] == "horde_timeout"
    if not request_.stream:
        assert (head(effects).status, headers(effects)["x-should-retry"]) == (504, "false")


@pytest.mark.parametrize("state", [State.LOOKING_UP, State.QUOTING, State.SUBMITTING])
def test_the_budget_holds_before_the_submit_is_answered(state: State) -> None:
    """A Horde that never answers doesn't hold a client for ever."""
    exchange = followed(state)
    assert exchange.wake_at == 280.0
    assert exchange.handle(events.TimePassed(), 279.0) == []
    effects = exchange.handle(events.TimePassed(), 280.0)
    assert (head(effects).status, error(effects)["code"]) == (504, "horde_timeout")
    assert ("x-should-retry" in headers(effects)) is (state is State.SUBMITTING)


# Ends that the Horde tells ---------------------------------------------------------------------


def test_an_expired_request_is_final() -> None:
    """404 on a later read: RequestNotFound, nothing left to cancel."""
    exchange = begun()
    exchange.handle(events.TimePassed(), 1.1)
    effects = exchange.handle(events.StatusAnswered(answer({"rc": "RequestNotFound"}, 404)), 1.1)
    assert (head(effects).status, error(effects)["code"]) == (404, "RequestNotFound")
    assert headers(effects)["x-should-retry"] == "false"
    assert exchange.ended


@pytest.mark.parametrize(
    "last,message,metadata",
    [
        (
            {"rc": "ChatSubmitNonconformant", "message": "The content has to be JSON."},
            (
                f"The AI Horde reports request {REQUEST_ID} as faulted after refusing a worker's "
                "reply (ChatSubmitNonconformant): The content has to be JSON."
            ),
            {"request_id": REQUEST_ID, "rc": "ChatSubmitNonconformant"},
        ),
        (
            {"rc": "ChatWorkerFault", "message": "No room."},
            (
                f"The AI Horde reports request {REQUEST_ID} as faulted after its worker reported a "
                "fault (ChatWorkerFault): No room."
            ),
            {"request_id": REQUEST_ID, "rc": "ChatWorkerFault"},
        ),
        (
            None,
            f"The AI Horde reports request {REQUEST_ID} as faulted.",
            {"request_id": REQUEST_ID},
        ),
    ],
)
def test_a_fault_tells_the_last_refusal(
    last: dict[str, str] | None, message: str, metadata: dict[str, str]
) -> None:
    """The seed's two examples, and a Horde that knows no reason."""
    exchange = begun()
    effects = answered(exchange, 1.1, status(done=True, faulted=True, last_refusal=last))
    assert (head(effects).status, headers(effects)["x-should-retry"]) == (502, "false")
    assert error(effects) == {
        "message": message,
        "type": "api_error",
        "param": None,
        "code": "ChatRequestFaulted",
        "metadata": metadata,
    }
    assert exchange.ended


def test_a_request_that_somebody_else_cancelled() -> None:
    """The id is the secret, and an operator has it too."""
    effects = answered(begun(), 1.1, status(done=True, cancelled=True))
    assert error(effects)["message"] == f"The AI Horde reports request {REQUEST_ID} as cancelled."
