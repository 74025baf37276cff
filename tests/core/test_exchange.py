"""The life of a request before its reply: looking up, quoting, submitting, reading, leaving."""

import json
import sys
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
    new_exchange,
    read,
    sent,
    told,
)
from core.horde_bodies import MODEL, REQUEST_ID, answer, done, pool, receipt, status, view
from horde_core import events
from horde_core.events import Cancel, Quote, ReadPool, ReadStatus, Submit
from horde_core.exchange import Exchange
from horde_core.lifecycle import State
from horde_core.native import HordeAnswer
from horde_core.timing import Timing

STREAM = a_request(stream=True)


def looked_up(exchange: Exchange, *online: str, known: tuple[str, ...] = (), fresh: bool) -> Any:
    exchange.handle(events.Arrived(), 0.0)
    return exchange.handle(events.PoolRead(view(*online, known=known), fresh=fresh), 0.0)


# Looking the model up --------------------------------------------------------------------------


def test_a_served_model_is_submitted_from_the_cached_view() -> None:
    """The common way costs the Horde no read of its lists."""
    exchange = new_exchange()
    assert exchange.handle(events.Arrived(), 0.0) == [ReadPool(fresh=False)]
    submitted = exchange.handle(events.PoolRead(view(MODEL), fresh=False), 0.0)
    assert submitted == [Submit(b"the submit")]


def test_a_cached_no_is_asked_again_before_it_is_final() -> None:
    """A worker may have come online since; the fresh view decides."""
    exchange = new_exchange()
    assert looked_up(exchange, fresh=False) == [ReadPool(fresh=True)]
    served = exchange.handle(events.PoolRead(view(MODEL), fresh=True), 0.1)
    assert served == [Submit(b"the submit")]


def test_an_unknown_model_is_not_found() -> None:
    """OpenAI's sentence, at `model`."""
    effects = looked_up(new_exchange(), "other", fresh=True)
    assert head(effects).status == 404
    assert error(effects) == {
        "message": f"The model `{MODEL}` does not exist or you do not have access to it.",
        "type": "invalid_request_error",
        "param": "model",
        "code": "model_not_found",
        "metadata": {},
    }
    assert "x-should-retry" not in headers(effects)


def test_an_unknown_one_of_several_models_is_named() -> None:
    """Every listed id has to exist (first seed)."""
    request = a_request(models=(MODEL, "nope"), from_models_key=True)
    effects = looked_up(new_exchange(request), MODEL, fresh=True)
    assert error(effects)["param"] == "models[1]"


def test_one_online_model_of_several_suffices() -> None:
    """Known but offline ones may stay in the list."""
    request = a_request(models=("offline", MODEL), from_models_key=True)
    effects = looked_up(new_exchange(request), MODEL, known=("offline",), fresh=False)
    assert effects == [Submit(b"the submit")]


@pytest.mark.parametrize(
    "models,says",
    [(("m",), "The model `m` is not served by any worker"), (("m", "k"), "None of the requested")],
)
def test_a_known_model_without_worker_is_unavailable(models: tuple[str, ...], says: str) -> None:
    """503 at once, with x-should-retry: false although nothing was queued."""
    effects = looked_up(new_exchange(a_request(models=models)), known=models, fresh=True)
    assert (head(effects).status, error(effects)["code"]) == (503, "no_eligible_worker")
    assert says in error(effects)["message"]
    assert headers(effects)["x-should-retry"] == "false"
    assert headers(effects)["x-request-id"] == "trace-1"


def test_a_horde_that_is_down_from_the_start() -> None:
    """Nothing is held: Retry-After and no x-should-retry."""
    exchange = new_exchange()
    exchange.handle(events.Arrived(), 0.0)
    effects = exchange.handle(events.PoolLost(), 3.0)
    assert (head(effects).status, error(effects)["code"]) == (503, "horde_unreachable")
    assert headers(effects)["retry-after"] == "5"
    assert "x-should-retry" not in headers(effects)
    assert exchange.ended


# The cap on kudos ------------------------------------------------------------------------------


def quoted(reply: HordeAnswer, cap: int = 100) -> tuple[Exchange, list[Any]]:
    exchange = new_exchange(a_request(horde={"max_kudos": cap}))
    assert looked_up(exchange, MODEL, fresh=False) == [Quote(b"the dry run")]
    return exchange, exchange.handle(events.QuoteAnswered(reply), 0.1)


def test_an_estimate_at_the_cap_is_submitted() -> None:
    """Only one that exceeds it is refused."""
    exchange, effects = quoted(answer({"kudos": 100}))
    assert effects == [Submit(b"the submit")]
    assert exchange.state is State.SUBMITTING


def test_an_estimate_above_the_cap_is_refused_with_both_figures() -> None:
    """400 before anything is queued (first seed)."""
    exchange, effects = quoted(answer({"kudos": 217}))
    assert (head(effects).status, error(effects)["code"]) == (400, "max_kudos_exceeded")
    assert error(effects)["metadata"] == {"kudos_estimate": 217, "max_kudos": 100}
    assert error(effects)["param"] == "horde.max_kudos"
    assert exchange.ended


@pytest.mark.parametrize(
    "reply,code,status_",
    [
        (answer({"message": "x", "rc": "InvalidAPIKey"}, 401), "InvalidAPIKey", 401),
        (answer(b"<html>", 502), "horde_error", 502),
        (answer({}), "horde_error", 502),
        (answer({"kudos": True}), "horde_error", 502),
    ],
)
def test_a_dry_run_holds_nothing_whatever_came_of_it(
    reply: HordeAnswer, code: str, status_: int
) -> None:
    """So a retry is safe, and no x-should-retry is set."""
    _, effects = quoted(reply)
    assert (head(effects).status, error(effects)["code"]) == (status_, code)
    assert "x-should-retry" not in headers(effects)


def test_a_lost_dry_run_is_an_unreachable_horde() -> None:
    """Nothing was queued."""
    exchange = followed(State.QUOTING)
    assert error(exchange.handle(events.QuoteLost(), 1.0))["code"] == "horde_unreachable"


# The submit ------------------------------------------------------------------------------------


def test_the_first_status_is_read_at_once() -> None:
    """Step 5 of a request's life; the answer's id is the request's from now on."""
    exchange = followed(State.SUBMITTING)
    effects = exchange.handle(events.SubmitAnswered(receipt()), 0.2)
    assert effects == [ReadStatus(REQUEST_ID, "")]
    assert exchange.response.trace_id == REQUEST_ID


def test_an_accepted_submit_is_let_go_of() -> None:
    """Nothing of an exchange holds the bodies or the messages while the job runs."""
    submit, quote = bytes([1]) * 1000, bytes([2]) * 1000
    exchange = Exchange(
        a_request(), submit=submit, quote=quote, created=1, trace_id="t", timing=Timing()
    )

    def holders() -> int:
        return sys.getrefcount(submit) + sys.getrefcount(quote)

    held = holders()
    looked_up(exchange, MODEL, fresh=False)
    exchange.handle(events.SubmitAnswered(receipt()), 0.2)
    assert holders() == held - 2
    assert exchange.request.messages == ()


def test_a_connection_that_never_opened_holds_nothing() -> None:
    """503 with Retry-After, safe to retry."""
    exchange = followed(State.SUBMITTING)
    effects = exchange.handle(events.SubmitLost(opened=False), 1.0)
    assert (head(effects).status, error(effects)["code"]) == (503, "horde_unreachable")
    assert "x-should-retry" not in headers(effects)


@pytest.mark.parametrize(
    "lost",
    [
        events.SubmitLost(opened=True),
        events.SubmitAnswered(answer(b"{trunca", 202)),
        events.SubmitAnswered(answer({"id": "../../x"}, 202)),
        events.SubmitAnswered(answer(b"<html>bad gateway</html>", 502)),
    ],
)
def test_a_lost_submit_is_sent_once_more(lost: events.Event) -> None:
    """The operation key makes the second harmless; its answer counts."""
    exchange = followed(State.SUBMITTING)
    assert exchange.handle(lost, 1.0) == [Submit(b"the submit")]
    found = exchange.handle(events.SubmitAnswered(receipt(existing=True)), 1.1)
    assert found == [ReadStatus(REQUEST_ID, "")]


@pytest.mark.parametrize("opened", [True, False])
def test_a_submit_lost_twice_is_unknown(opened: bool) -> None:
    """Even a refused second connection: the first may have left a job."""
    exchange = followed(State.SUBMITTING)
    exchange.handle(events.SubmitLost(opened=True), 1.0)
    effects = exchange.handle(events.SubmitLost(opened=opened), 2.0)
    assert (head(effects).status, error(effects)["code"]) == (502, "horde_submit_unknown")
    assert headers(effects)["x-should-retry"] == "false"
    assert exchange.ended


def test_an_unreadable_202_twice_is_unknown() -> None:
    """The Horde said yes and didn't say to what."""
    exchange = followed(State.SUBMITTING)
    exchange.handle(events.SubmitAnswered(answer([], 202)), 1.0)
    effects = exchange.handle(events.SubmitAnswered(answer([], 202)), 2.0)
    assert error(effects)["code"] == "horde_submit_unknown"


def test_a_refusal_after_a_lost_submit_warns_of_a_held_job() -> None:
    """The first try may be queued, whatever the second was told."""
    exchange = followed(State.SUBMITTING)
    exchange.handle(events.SubmitLost(opened=True), 1.0)
    refusal = answer({"message": "no", "rc": "TooManyPrompts"}, 429, retry_after="7")
    effects = exchange.handle(events.SubmitAnswered(refusal), 2.0)
    assert (head(effects).status, error(effects)["code"]) == (429, "TooManyPrompts")
    assert headers(effects)["x-should-retry"] == "false"
    assert headers(effects)["retry-after"] == "7"


def test_a_server_error_that_asks_for_patience_is_not_resent() -> None:
    """`Retry-After` is honoured: no second submit, and the client is told."""
    exchange = followed(State.SUBMITTING)
    effects = exchange.handle(events.SubmitAnswered(answer(b"down", 503, retry_after="30")), 1.0)
    assert (head(effects).status, error(effects)["code"]) == (502, "horde_error")
    assert headers(effects)["x-should-retry"] == "false"


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


# Leaving and draining --------------------------------------------------------------------------


@pytest.mark.parametrize("state", [State.LOOKING_UP, State.QUOTING])
def test_leaving_before_the_submit_needs_no_cancel(state: State) -> None:
    """The Horde holds nothing."""
    exchange = followed(state)
    assert exchange.handle(events.ClientGone(), 0.1) == []
    assert exchange.ended


def test_leaving_while_the_submit_is_out_cancels_what_comes_of_it() -> None:
    """One DELETE once the id is known, and nothing for the client."""
    exchange = followed(State.SUBMITTING)
    assert exchange.handle(events.ClientGone(), 0.1) == []
    assert exchange.handle(events.SubmitAnswered(receipt()), 0.2) == [Cancel(REQUEST_ID)]


def test_leaving_while_the_submit_is_lost_asks_for_the_id() -> None:
    """The same submit again tells what to delete."""
    exchange = followed(State.ABANDONED)
    assert exchange.handle(events.SubmitLost(opened=True), 0.2) == [Submit(b"the submit")]
    assert exchange.handle(events.SubmitAnswered(receipt()), 0.3) == [Cancel(REQUEST_ID)]


@pytest.mark.parametrize(
    "event",
    [events.SubmitLost(opened=False), events.SubmitAnswered(answer({"rc": "X"}, 403))],
)
def test_leaving_when_nothing_was_held(event: events.Event) -> None:
    """No job, no DELETE, nobody to tell."""
    exchange = followed(State.ABANDONED)
    assert exchange.handle(event, 0.2) == []
    assert exchange.ended


@pytest.mark.parametrize("state", [State.READING, State.WAITING])
def test_leaving_later_is_one_cancel(state: State) -> None:
    """The read that was out changes nothing any more."""
    exchange = followed(state)
    assert exchange.handle(events.ClientGone(), 0.5) == [Cancel(REQUEST_ID)]
    assert exchange.handle(events.StatusAnswered(answer(done())), 0.6) == []
    assert exchange.handle(events.ClientGone(), 0.7) == []
    assert exchange.handle(events.CancelAnswered(answer(status())), 0.8) == []
    assert exchange.ended


def test_leaving_after_the_end_is_nothing() -> None:
    """No DELETE for an ended job."""
    exchange = begun()
    answered(exchange, 1.1, done())
    assert exchange.handle(events.ClientGone(), 1.2) == []


@pytest.mark.parametrize(
    "failed",
    [
        events.CancelLost(),
        events.CancelAnswered(answer(b"", 500)),
        # A Horde in maintenance answers 400 and keeps the job.
        events.CancelAnswered(answer({"message": "later", "rc": "MaintenanceMode"}, 400)),
    ],
)
def test_a_failed_cancel_is_tried_three_times(failed: events.Event) -> None:
    """After 1 and 2 s; a job left behind would cost its owner kudos."""
    exchange = followed(State.CANCELLING)
    assert exchange.wake_at == float("inf")
    exchange.handle(failed, 10.0)
    assert exchange.wake_at == 11.0
    assert exchange.handle(events.TimePassed(), 10.5) == []
    assert exchange.handle(events.TimePassed(), 11.0) == [Cancel(REQUEST_ID)]
    exchange.handle(failed, 11.0)
    assert exchange.wake_at == 13.0
    assert exchange.handle(events.TimePassed(), 13.0) == [Cancel(REQUEST_ID)]
    exchange.handle(failed, 13.0)
    assert exchange.ended


def test_a_limited_cancel_waits_as_told() -> None:
    """Retry-After is honoured here too."""
    exchange = followed(State.CANCELLING)
    exchange.handle(events.CancelAnswered(answer({}, 429, retry_after="30")), 10.0)
    assert exchange.wake_at == 40.0


@pytest.mark.parametrize(
    "state,held,cancels",
    [
        (State.LOOKING_UP, False, False),
        (State.QUOTING, False, False),
        (State.SUBMITTING, True, False),
        (State.READING, True, True),
        (State.WAITING, True, True),
    ],
)
def test_draining_tells_the_client_and_cancels(state: State, held: bool, cancels: bool) -> None:
    """x-should-retry: false only once a job may be held (contract: code table)."""
    exchange = followed(state)
    effects = exchange.handle(events.Draining(), 5.0)
    assert (head(effects).status, error(effects)["code"]) == (503, "draining")
    assert headers(effects).get("x-should-retry") == ("false" if held else None)
    assert (Cancel(REQUEST_ID) in effects) is cancels


def test_draining_inside_a_stream_is_an_event() -> None:
    """The status is out: the error goes where the text would."""
    effects = begun(STREAM).handle(events.Draining(), 5.0)
    assert error(effects)["code"] == "draining"
    assert sent(effects).endswith(b"data: [DONE]\n\n")


# Keepalives ------------------------------------------------------------------------------------


def test_keepalives_fill_the_silence_of_a_stream() -> None:
    """Every 5 s while nothing else flows, with the newest figures."""
    exchange = begun(STREAM)
    read(exchange, 1.1, queue_position=3, wait_time=30)
    exchange.handle(events.TimePassed(), 4.9)
    said = exchange.handle(events.TimePassed(), 5.0)
    assert sent(said) == b": horde queue_position=3 wait_time=30\n\n"
    assert exchange.handle(events.TimePassed(), 9.9) == []
    assert sent(exchange.handle(events.TimePassed(), 10.0)) != b""


def test_a_whole_reply_has_no_keepalives() -> None:
    """Nothing may go out before its one body."""
    exchange = begun()
    exchange.handle(events.TimePassed(), 1.1)
    assert exchange.handle(events.TimePassed(), 100.0) == []


def test_keepalives_as_chunks() -> None:
    """For parsers that reject comments: an empty delta, with the stream's own id."""
    exchange = begun(STREAM, Timing(keepalive_style="chunk"))
    exchange.handle(events.TimePassed(), 1.1)
    said = sent(exchange.handle(events.TimePassed(), 5.0))
    chunk = json.loads(said.removeprefix(b"data: "))
    assert chunk["id"] == f"chatcmpl-{REQUEST_ID}"
    assert chunk["choices"][0]["delta"] == {}
    assert chunk["model"] == MODEL


def test_keepalives_switched_off() -> None:
    """Only the headers go out."""
    exchange = begun(STREAM, Timing(keepalive_style="off"))
    exchange.handle(events.TimePassed(), 1.1)
    assert sent(exchange.handle(events.TimePassed(), 5.0)) == b""
