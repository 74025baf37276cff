"""A client that leaves, a process that drains, and the silence between."""

import json

import pytest

from core.following import (
    a_request,
    answered,
    begun,
    error,
    followed,
    head,
    headers,
    read,
    sent,
)
from core.horde_bodies import MODEL, REQUEST_ID, answer, done, receipt, status
from horde_core import events
from horde_core.events import Cancel, Submit
from horde_core.lifecycle import State
from horde_core.native import HordeAnswer
from horde_core.timing import Timing

STREAM = a_request(stream=True)


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


@pytest.mark.parametrize(
    ("told", "kudos"),
    [
        (answer(status(kudos=10.08)), 10.08),
        (answer({"message": "gone", "rc": "RequestNotFound"}, 404), 1.0),
        (answer(b"[", 200), 1.0),
    ],
    ids=["told", "gone", "unreadable"],
)
def test_what_a_cancelled_job_cost_is_what_its_cancel_told(told: HordeAnswer, kudos: float) -> None:
    """The last read was before it; a cancel that told nothing leaves what that read said."""
    exchange = begun(kudos=1.0)
    exchange.handle(events.ClientGone(), 0.5)
    exchange.handle(events.CancelAnswered(told), 0.6)
    assert exchange.status is not None
    assert exchange.status.kudos == kudos


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
