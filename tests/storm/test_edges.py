"""Bytes at the edges: whatever a client, a Horde or a worker sends, it is read or refused."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from core.following import a_request, begun, new_exchange
from core.horde_bodies import (
    MODEL,
    REQUEST_ID,
    answer,
    done,
    generation,
    progress,
    receipt,
    status,
    view,
)
from core.test_request_properties import JSON_VALUES, RICH, check_outcome, places
from horde_benchmarks.storm.event_stream import Event, read_events
from horde_core import events, sse
from horde_core.body import read_body
from horde_core.errors import Refusal
from horde_core.lifecycle import State
from horde_core.native import (
    HordeAnswer,
    UnreadableAnswer,
    read_error,
    read_list,
    read_quote,
    read_receipt,
    read_status,
)
from horde_core.request import read_request

ANY_TEXT = st.text(st.characters(), max_size=20)
"""Lone surrogates, NUL and every line separator included."""
KEYS = st.sampled_from(["type", "name", "role", "content", "n", "id", "function", "url", "$ref"])

RAW = json.dumps(RICH).encode()
STATUSES = (
    status(),
    status(processing=1, progress=[progress("Hello", reasoning_content="Hm")]),
    done(generation(content="Hello", usage={"prompt_tokens": 1, "completion_tokens": 2})),
)


def changed(document: Any, path: tuple[Any, ...], change: Any) -> Any:
    """A copy with `change` applied to the node at `path`."""
    if not path:
        return change(document)
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = changed(copy[path[0]], path[1:], change)
    return copy


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """A valid document with a few nodes replaced, left out, wrapped, doubled or moved."""
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(places(document)))
        how = draw(st.sampled_from(["replace", "wrap", "double", "borrow", "drop", "add"]))
        other = draw(JSON_VALUES)
        nodes = places(document)
        borrowed: Any = document
        for step in draw(st.sampled_from(nodes)):
            borrowed = borrowed[step]
        key = draw(KEYS | ANY_TEXT)
        document = changed(document, path, _change(how, other, borrowed, key))
    return document


def _change(how: str, other: Any, borrowed: Any, key: str) -> Any:
    def change(value: Any) -> Any:
        if how == "wrap":
            return [value] if isinstance(value, dict) else {key: value}
        if how == "double" and isinstance(value, list):
            return value + value
        if how == "borrow":
            return borrowed
        if how == "drop" and isinstance(value, dict) and value:
            return dict(list(value.items())[1:])
        if how == "add" and isinstance(value, dict):
            return {**value, key: other}
        return other

    return change


@st.composite
def bent(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with some cut out, put in, or turned over."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 40)))
        data = data[:start] + draw(st.binary(max_size=8)) + data[end:]
    return data


def refused_as(read: Callable[[], object]) -> int | None:
    """The status of the refusal that is met, if one is."""
    try:
        read()
    except Refusal as refusal:
        return refusal.status
    return None


@given(mutated(RICH))
def test_a_valid_request_mutated_is_a_request_or_a_refusal(document: Any) -> None:
    """With the structure that a valid one has, faults lie deep."""
    assume(isinstance(document, dict))
    check_outcome(document)


@given(bent(RAW))
def test_a_valid_request_with_bent_bytes_is_one_or_a_refusal(raw: bytes) -> None:
    """Nothing but a Refusal is ever raised."""
    assert refused_as(lambda: read_request(read_body(raw, None, cap=1_000_000))) in (None, 400, 404)


@given(st.binary(max_size=60), st.sampled_from(["gzip", "deflate", "br", None]))
def test_any_bytes_with_any_coding_are_refused_or_read(raw: bytes, coding: str | None) -> None:
    """Compressed garbage included."""
    assert refused_as(lambda: read_body(raw, coding, cap=1000)) in (None, 400, 413, 415)


@given(st.sampled_from(STATUSES).flatmap(mutated))
def test_a_mutated_status_is_read_or_unreadable(document: Any) -> None:
    """By every reader of the Horde's answers."""
    body = json.dumps(document).encode()
    for read in (read_status, read_receipt, read_quote, read_list):
        with suppress(UnreadableAnswer):
            read(body)
    read_error(HordeAnswer(500, {}, body))


@given(st.sampled_from(STATUSES).flatmap(mutated), st.booleans())
def test_an_exchange_survives_any_status(document: Any, stream: bool) -> None:
    """It goes on, ends or cancels; what it has sent by then is a strict event stream, or JSON."""
    exchange = begun(a_request(stream=stream, include_usage=stream))
    exchange.handle(events.TimePassed(), 1.1)
    assert exchange.state is State.READING
    effects = exchange.handle(events.StatusAnswered(answer(document)), 1.2)
    sent = b"".join(effect.data for effect in effects if isinstance(effect, events.SendBytes))
    if stream:
        assert all(_is_sound(item) for item in read_events(sent))
    elif sent:
        json.loads(sent)


@given(mutated(json.loads(receipt().body)), st.booleans())
def test_an_exchange_survives_any_receipt(document: Any, stream: bool) -> None:
    """A 202 that can't be read is asked for once more, then unknown."""
    exchange = new_exchange(a_request(stream=stream, include_usage=stream))
    exchange.handle(events.Arrived(), 0.0)
    exchange.handle(events.PoolRead(view(MODEL), fresh=False), 0.0)
    exchange.handle(events.SubmitAnswered(answer(document, 202)), 0.1)
    assert exchange.state in (State.READING, State.SUBMITTING)


def _is_sound(item: Any) -> bool:
    return not isinstance(item, Event) or item.data == "[DONE]" or bool(json.loads(item.data))


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT, st.booleans())
def test_whatever_is_written_is_read_back_by_a_strict_reader(
    text: str, model: str, arguments: str, usage: bool
) -> None:
    """One event each, the text as it was; only lone surrogates become U+FFFD."""
    chunks = sse.Chunks(
        completion_id=f"chatcmpl-{REQUEST_ID}",
        created=1,
        model=model,
        fingerprint=None,
        usage=usage,
    )
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    written = [
        chunks.role(0),
        chunks.text(0, "content", text),
        chunks.calls(0, [call]),
        chunks.finish(0, "stop", text, {"notice": text}),
        chunks.usage({"prompt_tokens": 1}),
        sse.event({"error": {"message": text}}),
        sse.DONE,
    ]
    read = [item.data for item in read_events(b"".join(written)) if isinstance(item, Event)]
    assert len(read) == len(written)
    assert read[-1] == "[DONE]"
    _, content, called, finish, _, error = (json.loads(data) for data in read[:-1])
    expected = _without_surrogates(text)
    assert content["choices"][0]["delta"]["content"] == expected
    assert content["model"] == _without_surrogates(model)
    assert finish["x_horde"]["notice"] == error["error"]["message"] == expected
    (sent,) = called["choices"][0]["delta"]["tool_calls"]
    assert sent["function"]["arguments"] == _without_surrogates(arguments)


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
