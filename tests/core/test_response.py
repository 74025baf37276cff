"""Streams and whole replies: the order of events, what each chunk holds, how they end."""

import json
from typing import Any

import pytest

from core.following import (
    a_request,
    answered,
    begun,
    chunks,
    headers,
    new_exchange,
    read,
    sent,
    text_of,
)
from core.horde_bodies import MODEL, REQUEST_ID, answer, done, generation, progress, receipt, view
from horde_core import events, sse
from horde_core.chat import ResponseFormat, Tool, ToolChoice
from horde_core.errors import to_json
from horde_core.events import Cancel, SendBytes, SendHead
from horde_core.reply import fingerprint

STREAM = a_request(stream=True)
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}


def finished(request: Any, *generations: dict[str, Any], **changes: Any) -> list[Any]:
    """The events of a stream that ends with the second read."""
    exchange = begun(request)
    return chunks(sent(answered(exchange, 1.1, done(*generations, **changes))))


def test_a_buffered_text_reply_has_four_chunks() -> None:
    """Role, content, finish, usage (first seed), [DONE]: one send that ends the body."""
    exchange = begun(a_request(stream=True, include_usage=True))
    effects = answered(exchange, 1.1, done())
    assert len(effects) == 1
    assert isinstance(effects[0], SendBytes)
    assert effects[0].last
    role, content, finish, usage, end = chunks(sent(effects))
    print_ = fingerprint("w-1", MODEL)
    assert role == {
        "id": f"chatcmpl-{REQUEST_ID}",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": MODEL,
        "service_tier": "default",
        "system_fingerprint": print_,
        "choices": [
            {"index": 0, "delta": {"role": "assistant"}, "logprobs": None, "finish_reason": None}
        ],
        "usage": None,
    }
    assert content["choices"][0]["delta"] == {"content": "Hello."}
    assert finish["choices"] == [
        {
            "index": 0,
            "delta": {},
            "logprobs": None,
            "finish_reason": "stop",
            "native_finish_reason": "eos",
        }
    ]
    assert finish["x_horde"]["request_id"] == REQUEST_ID
    assert finish["usage"] is None
    assert usage["choices"] == []
    assert usage["usage"] == {
        "prompt_tokens": 5,
        "completion_tokens": 3,
        "total_tokens": 8,
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    assert end == "[DONE]"
    for event in (role, content, finish, usage):
        same = ("id", "created", "model", "system_fingerprint")
        assert [event[key] for key in same] == [role[key] for key in same]
        assert "error" not in event


def test_a_reply_that_is_there_at_the_first_read_opens_its_stream() -> None:
    """A quick worker may be done by then: the head goes out all the same, with the whole reply."""
    exchange = new_exchange(STREAM)
    exchange.handle(events.Arrived(), 0.0)
    exchange.handle(events.PoolRead(view(MODEL), fresh=False), 0.0)
    exchange.handle(events.SubmitAnswered(receipt()), 0.0)
    effects = exchange.handle(events.StatusAnswered(answer(done())), 0.0)
    assert headers(effects)["content-type"] == "text/event-stream; charset=utf-8"
    assert isinstance(effects[0], SendHead)
    assert chunks(sent(effects))[-1] == "[DONE]"
    assert exchange.ended


def test_without_include_usage_there_is_no_usage_key() -> None:
    """As at OpenAI."""
    events_ = finished(STREAM, generation())
    assert len(events_) == 4
    assert not any("usage" in event for event in events_[:-1])


def test_reasoning_goes_first_in_a_chunk_of_its_own() -> None:
    """Then the content, then the calls, then the finish (first seed's order)."""
    request = a_request(stream=True, tools=(Tool("look"),))
    reply = generation("Text.", message={"reasoning_content": "Hm.", "tool_calls": [CALL]})
    deltas = [event["choices"][0]["delta"] for event in finished(request, reply)[:-1]]
    assert deltas == [
        {"role": "assistant"},
        {"reasoning_content": "Hm."},
        {"content": "Text."},
        {"tool_calls": [{"index": 0, **CALL}]},
        {},
    ]


def test_an_empty_reply_is_a_role_and_a_finish_with_a_notice() -> None:
    """No content chunk when there is no text."""
    role, finish, end = finished(STREAM, generation(""))
    assert role["choices"][0]["delta"] == {"role": "assistant"}
    assert finish["x_horde"]["notice"] == "The worker returned an empty reply."
    assert end == "[DONE]"


def test_live_text_then_the_rest() -> None:
    """One role chunk, text as it comes, the final text at once, one finish chunk."""
    exchange = begun(STREAM)
    data = sent(read(exchange, 1.1, processing=1, progress=[progress("Hello, wor")]))
    while exchange.wake_at < 2.1:  # the next piece is due sooner than the next read
        data += sent(exchange.handle(events.TimePassed(), exchange.wake_at))
    effects = answered(exchange, 2.3, done(generation("Hello, world!")))
    found = chunks(data + sent(effects))
    assert text_of(found) == "Hello, world!"
    assert len(found) > 6
    roles = [event for event in found[:-1] if "role" in event["choices"][0]["delta"]]
    assert roles == [found[0]]
    finishes = [event for event in found[:-1] if event["choices"][0]["finish_reason"]]
    assert finishes == [found[-2]]


def test_the_poll_asks_for_the_tail() -> None:
    """So its cost doesn't grow with the reply."""
    exchange = begun(STREAM)
    read(exchange, 1.1, processing=1, progress=[progress("Hello", reasoning_content="Hm")])
    (effect,) = [
        effect
        for effect in exchange.handle(events.TimePassed(), 2.3)
        if isinstance(effect, events.ReadStatus)
    ]
    assert effect.query == "content_from=5&reasoning_from=2"


def test_live_divergence_is_an_error_event_and_a_cancel() -> None:
    """A restart after text: discard it, and no retry on the same stream."""
    exchange = begun(STREAM)
    read(exchange, 1.1, processing=1, progress=[progress("Hello, wor")])
    effects = read(exchange, 2.3, restarted=1, progress=[progress("Other", attempt=2)])
    error, end = chunks(sent(effects))
    assert error["error"]["code"] == "ChatStreamDiverged"
    assert error["error"]["metadata"] == {"request_id": REQUEST_ID}
    assert end == "[DONE]"
    assert effects[-1] == events.Cancel(REQUEST_ID)


def test_a_restart_is_noticed_before_its_first_words() -> None:
    """The status tells it with no progress yet; nothing of the old text may go out after that."""
    exchange = begun(STREAM)
    read(exchange, 1.1, processing=1, progress=[progress("Hello, wor")])
    effects = read(exchange, 2.3, restarted=1, processing=1)
    assert b"ChatStreamDiverged" in sent(effects)
    assert Cancel(REQUEST_ID) in effects


def test_a_status_without_the_count_of_restarts_is_no_restart() -> None:
    """Fields may be missing: 1, then none, then 1 again is one restart, before any text."""
    exchange = begun(STREAM, restarted=1)
    read(exchange, 1.1, processing=1, restarted=None, progress=[progress("Hello", attempt=2)])
    effects = read(
        exchange, 2.3, processing=1, restarted=1, progress=[progress("Hello", attempt=2)]
    )
    assert b"ChatStreamDiverged" not in sent(effects)


def test_final_divergence_ends_without_a_cancel() -> None:
    """The job has ended already."""
    exchange = begun(STREAM)
    read(exchange, 1.1, processing=1, progress=[progress("Hello, wor")])
    effects = answered(exchange, 2.3, done(generation("Goodbye.")))
    assert chunks(sent(effects))[0]["error"]["code"] == "ChatStreamDiverged"
    assert exchange.ended


@pytest.mark.parametrize(
    "changes",
    [{"tools": (Tool("look"),)}, {"response_format": ResponseFormat("json_object")}],
)
def test_tools_and_formats_are_never_relayed_live(changes: dict[str, Any]) -> None:
    """The whole reply comes first, and no tail is asked for."""
    exchange = begun(a_request(stream=True, **changes))
    assert sent(read(exchange, 1.1, processing=1, progress=[progress("{")])) == b""
    effects = exchange.handle(events.TimePassed(), 2.3)
    assert effects == [events.ReadStatus(REQUEST_ID, "")]


def test_several_choices_have_a_role_and_a_finish_each() -> None:
    """x_horde on the last finish chunk, the other workers in its generations."""
    found = finished(
        a_request(stream=True, n=2),
        generation("One."),
        generation("Two.", index=1, worker_id="w-2", worker_name="two"),
    )
    assert text_of(found) == "One."
    assert text_of(found, index=1) == "Two."
    finishes = [e for e in found[:-1] if e["choices"][0]["finish_reason"]]
    assert [e["choices"][0]["index"] for e in finishes] == [0, 1]
    assert ["x_horde" in e for e in finishes] == [False, True]
    assert [g["worker_id"] for g in finishes[1]["x_horde"]["generations"]] == ["w-1", "w-2"]
    assert {e["system_fingerprint"] for e in found[:-1]} == {fingerprint("w-1", MODEL)}


def test_a_whole_reply_is_one_body() -> None:
    """With its length, its id, and no x-should-retry."""
    effects = answered(begun(), 1.1, done())
    body = json.loads(sent(effects))
    assert body["object"] == "chat.completion"
    assert headers(effects) == {
        "content-type": "application/json",
        "content-length": str(len(sent(effects))),
        "x-request-id": REQUEST_ID,
    }


def test_a_forced_function_streams_its_call_and_stops() -> None:
    """finish_reason is `stop` under a forced tool_choice."""
    request = a_request(
        stream=True, tools=(Tool("look"),), tool_choice=ToolChoice("function", "look")
    )
    found = finished(request, generation("", message={"content": None, "tool_calls": [CALL]}))
    assert found[-2]["choices"][0]["finish_reason"] == "stop"


def test_chunks_are_the_same_bytes_as_a_dumped_object() -> None:
    """The prefix and suffix are an optimisation, not another format."""
    encoder = sse.Chunks(
        completion_id="chatcmpl-x", created=1, model='m"x', fingerprint=None, usage=True
    )
    for text in ("plain", 'quo"te \\ \n\t', "漢字 👩‍👩‍👧", "\ud800 lone"):
        data = encoder.text(3, "content", text)
        assert data.startswith(b"data: {")
        assert data.endswith(b"}\n\n")
        value = json.loads(data[6:])
        assert data == b"data: " + to_json(value) + b"\n\n"
        assert value["choices"][0]["delta"]["content"] == text.replace("\ud800", "\ufffd")


@pytest.mark.parametrize("separator", ["\u0085", "\u2028", "\u2029"])
def test_line_separators_are_escaped(separator: str) -> None:
    """Some line readers break an event at them, raw; JSON means the same either way."""
    encoder = sse.Chunks(
        completion_id="chatcmpl-x", created=1, model="m", fingerprint=None, usage=False
    )
    data = encoder.text(0, "content", f"a{separator}b漢")
    assert data.decode().splitlines()[0].endswith("}")
    assert json.loads(data[6:])["choices"][0]["delta"]["content"] == f"a{separator}b漢"
