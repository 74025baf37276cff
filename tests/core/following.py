"""Exchanges brought to a state by playing the Horde by hand, and what they sent read back."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from core.horde_bodies import MODEL, REQUEST_ID, answer, receipt, status, view
from horde_core import events
from horde_core.chat import ChatRequest, HordeOptions, Message
from horde_core.events import Effect, SendBytes, SendHead
from horde_core.exchange import Exchange
from horde_core.lifecycle import State
from horde_core.timing import Timing

HELLO = (Message("user", "Hi"),)


def a_request(**changes: Any) -> ChatRequest:
    """A plain request, with `horde` options as a dict."""
    changes = {"models": (MODEL,), "messages": HELLO} | changes
    changes["horde"] = HordeOptions(**changes.get("horde", {}))
    return ChatRequest(**changes)


def new_exchange(request: ChatRequest | None = None, timing: Timing | None = None) -> Exchange:
    """An exchange that nothing has happened to yet."""
    return Exchange(
        request or a_request(),
        submit=b"the submit",
        quote=b"the dry run",
        created=1_700_000_000,
        trace_id="trace-1",
        timing=timing or Timing(),
    )


def looked_up(
    exchange: Exchange, *online: str, known: tuple[str, ...] = (), fresh: bool
) -> list[Effect]:
    """A new exchange's first two events: it arrives, and the view is read."""
    exchange.handle(events.Arrived(), 0.0)
    return exchange.handle(events.PoolRead(view(*online, known=known), fresh=fresh), 0.0)


def begun(
    request: ChatRequest | None = None, timing: Timing | None = None, **first_status: Any
) -> Exchange:
    """An exchange whose job the Horde holds, its first status read at 0.0, waiting for the next."""
    exchange = new_exchange(request, timing)
    exchange.handle(events.Arrived(), 0.0)
    exchange.handle(events.PoolRead(view(*exchange.request.models), fresh=False), 0.0)
    exchange.handle(events.SubmitAnswered(receipt()), 0.0)
    exchange.handle(events.StatusAnswered(answer(status(**first_status))), 0.0)
    return exchange


def read(exchange: Exchange, now: float, **changes: Any) -> list[Effect]:
    """The next status read, begun and answered at `now`."""
    exchange.handle(events.TimePassed(), now)
    assert exchange.state is State.READING, exchange.state
    return exchange.handle(events.StatusAnswered(answer(status(**changes))), now)


def answered(exchange: Exchange, now: float, body: object) -> list[Effect]:
    """As `read`, with a whole body."""
    exchange.handle(events.TimePassed(), now)
    assert exchange.state is State.READING, exchange.state
    return exchange.handle(events.StatusAnswered(answer(body)), now)


def _waiting_to_cancel() -> Exchange:
    exchange = begun()
    exchange.handle(events.ClientGone(), 0.5)
    return exchange


def _ended() -> Exchange:
    exchange = _waiting_to_cancel()
    exchange.handle(events.CancelAnswered(answer({})), 0.6)
    return exchange


def _after(*happened: events.Event, request: ChatRequest | None = None) -> Callable[[], Exchange]:
    def drive() -> Exchange:
        exchange = new_exchange(request)
        for event in happened:
            exchange.handle(event, 0.0)
        return exchange

    return drive


_SERVED = events.PoolRead(view(MODEL), fresh=False)

DRIVEN_TO: dict[State, Callable[[], Exchange]] = {
    State.NEW: _after(),
    State.LOOKING_UP: _after(events.Arrived()),
    State.QUOTING: _after(events.Arrived(), _SERVED, request=a_request(horde={"max_kudos": 5})),
    State.SUBMITTING: _after(events.Arrived(), _SERVED),
    State.ABANDONED: _after(events.Arrived(), _SERVED, events.ClientGone()),
    State.READING: _after(events.Arrived(), _SERVED, events.SubmitAnswered(receipt())),
    State.WAITING: begun,
    State.CANCELLING: _waiting_to_cancel,
    State.ENDED: _ended,
}


def followed(state: State) -> Exchange:
    """A fresh exchange in that state."""
    return DRIVEN_TO[state]()


def an_event(kind: type[events.Event]) -> events.Event:
    """Some event of the kind, well-formed."""
    made: dict[type[events.Event], events.Event] = {
        events.Arrived: events.Arrived(),
        events.PoolLost: events.PoolLost(),
        events.QuoteLost: events.QuoteLost(),
        events.StatusLost: events.StatusLost(),
        events.CancelLost: events.CancelLost(),
        events.TimePassed: events.TimePassed(),
        events.ClientGone: events.ClientGone(),
        events.Draining: events.Draining(),
        events.PoolRead: _SERVED,
        events.QuoteAnswered: events.QuoteAnswered(answer({"kudos": 1})),
        events.SubmitAnswered: events.SubmitAnswered(receipt()),
        events.SubmitLost: events.SubmitLost(opened=True),
        events.StatusAnswered: events.StatusAnswered(answer(status())),
        events.CancelAnswered: events.CancelAnswered(answer({})),
    }
    return made[kind]


def told(exchange: Exchange, effects: Sequence[Effect], now: float) -> list[Effect]:
    """What the client is told at `now`, when the job has been deleted."""
    assert effects == [events.Cancel(REQUEST_ID)]
    assert exchange.state is State.CANCELLING
    return exchange.handle(events.CancelAnswered(answer({})), now)


def sent(effects: Sequence[Effect]) -> bytes:
    """All body bytes among the effects."""
    return b"".join(effect.data for effect in effects if isinstance(effect, SendBytes))


def head(effects: Sequence[Effect]) -> SendHead:
    """The one head among the effects."""
    (found,) = [effect for effect in effects if isinstance(effect, SendHead)]
    return found


def headers(effects: Sequence[Effect]) -> dict[str, str]:
    """The head's headers as text."""
    return {name.decode(): value.decode() for name, value in head(effects).headers}


def error(effects: Sequence[Effect]) -> dict[str, Any]:
    """The error of an answer, or of a stream's event."""
    data = sent(effects)
    if data.startswith(b"data: "):
        data = data.removeprefix(b"data: ").split(b"\n\n")[0]
    return json.loads(data)["error"]  # type: ignore[no-any-return]


def chunks(data: bytes) -> list[Any]:
    """A stream's JSON events, in order, with "[DONE]" as a string; comments are left out."""
    assert data.endswith(b"\n\n") or not data
    found: list[Any] = []
    for event in data.split(b"\n\n")[:-1]:
        if event.startswith(b":"):
            continue
        assert event.startswith(b"data: "), event
        text = event.removeprefix(b"data: ")
        assert b"\n" not in text
        found.append("[DONE]" if text == b"[DONE]" else json.loads(text))
    return found


def text_of(events_: Sequence[Any], channel: str = "content", index: int = 0) -> str:
    """What the chunks of one choice add up to."""
    return "".join(
        choice["delta"].get(channel, "")
        for event in events_
        if event != "[DONE]"
        for choice in event.get("choices", ())
        if choice["index"] == index
    )
