"""A request on its way to the Horde: looking up, quoting, submitting."""

import sys
from typing import Any

import pytest

from core.following import (
    a_request,
    error,
    followed,
    head,
    headers,
    looked_up,
    new_exchange,
)
from core.horde_bodies import MODEL, REQUEST_ID, answer, receipt, view
from horde_core import events
from horde_core.chat import Message, ResponseFormat, Tool
from horde_core.events import Quote, ReadPool, ReadStatus, Submit
from horde_core.exchange import Exchange
from horde_core.lifecycle import State
from horde_core.native import HordeAnswer
from horde_core.timing import Timing

STREAM = a_request(stream=True)


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
    """Nothing of an exchange holds bodies, messages or schemas while the job runs."""
    submit, quote, parameters = bytes([1]) * 1000, bytes([2]) * 1000, {"type": "object"}
    text, schema = "x" * 1000, {"type": "array"}
    large = (submit, quote, text, parameters, schema)

    def holders() -> list[int]:
        return [sys.getrefcount(value) for value in large]

    held = holders()
    exchange = Exchange(
        a_request(
            messages=(Message("user", text),),
            tools=(Tool("look", parameters=parameters),),
            response_format=ResponseFormat("json_schema", schema=schema),
        ),
        submit=submit,
        quote=quote,
        created=1,
        trace_id="t",
        timing=Timing(),
    )
    assert holders() == [count + 1 for count in held]
    looked_up(exchange, MODEL, fresh=False)
    exchange.handle(events.SubmitAnswered(receipt()), 0.2)
    assert holders() == held
    assert not exchange.request.is_live


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
