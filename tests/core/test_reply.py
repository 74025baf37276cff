"""A finished job in OpenAI's terms: finish reasons, calls, usage, notices, x_horde."""

import json
from typing import Any

import pytest

from core.following import a_request
from core.horde_bodies import MODEL, REQUEST_ID, answer, done, generation
from horde_core.chat import ChatRequest, Tool, ToolChoice
from horde_core.native import Receipt, read_status
from horde_core.reply import Reply, fingerprint, read_reply

RECEIPT = Receipt(REQUEST_ID, 512, 12, ())
TOOLS = (Tool("look"),)
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def reply_of(
    *generations: dict[str, Any],
    request: ChatRequest | None = None,
    receipt: Receipt = RECEIPT,
    **changes: Any,
) -> Reply:
    status = read_status(answer(done(*generations, **changes)).body)
    return read_reply(
        request or a_request(n=len(generations)), receipt, status, status.generations, created=7
    )


def body_of(*generations: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return json.loads(reply_of(*generations, **changes).body())  # type: ignore[no-any-return]


def test_the_body_whole() -> None:
    """Every key of contract section 8, and no other."""
    assert body_of(generation("Hi.")) == {
        "id": f"chatcmpl-{REQUEST_ID}",
        "object": "chat.completion",
        "created": 7,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hi.", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
                "native_finish_reason": "eos",
            }
        ],
        "usage": {
            "prompt_tokens": 5,
            "completion_tokens": 3,
            "total_tokens": 8,
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": fingerprint("w-1", MODEL),
        "x_horde": {
            "request_id": REQUEST_ID,
            "worker_id": "w-1",
            "worker_name": "one",
            "kudos": 3.5,
            "context_adjustments": None,
            "notice": None,
            "usage_estimated": False,
        },
    }


FORCED = {"tools": TOOLS, "tool_choice": ToolChoice("function", "look")}


@pytest.mark.parametrize(
    "changes,request_,expected",
    [
        ({}, {}, "stop"),
        ({"finish_reason": "stop_sequence"}, {}, "stop"),
        ({"finish_reason": "length"}, {}, "length"),
        ({"message": {"tool_calls": [CALL]}}, {"tools": TOOLS}, "tool_calls"),
        (
            {"message": {"tool_calls": [CALL]}},
            {"tools": TOOLS, "tool_choice": ToolChoice("required")},
            "tool_calls",
        ),
        ({"message": {"tool_calls": [CALL]}}, FORCED, "stop"),
        ({"message": {"tool_calls": [CALL]}, "finish_reason": "length"}, FORCED, "length"),
        ({"state": "censored"}, {}, "content_filter"),
        ({"state": "csam", "finish_reason": "length"}, {}, "content_filter"),
        ({"finish_reason": "content_filter"}, {}, "content_filter"),
    ],
)
def test_finish_reasons(changes: dict[str, Any], request_: dict[str, Any], expected: str) -> None:
    """The contract's table; the worker's own word stays beside it."""
    choice = body_of(generation(**changes), request=a_request(**request_))["choices"][0]
    assert expected == choice["finish_reason"]
    assert choice["native_finish_reason"] == "eos"


def test_calls_without_text_have_null_content() -> None:
    """As OpenAI's; text beside calls stays."""
    calls = {"content": "", "tool_calls": [CALL]}
    message = body_of(generation("", message=calls))["choices"][0]["message"]
    assert message["content"] is None
    assert message["tool_calls"] == [CALL]
    beside = body_of(generation("Look:", message={"tool_calls": [CALL]}))["choices"][0]["message"]
    assert beside["content"] == "Look:"


def test_calls_are_made_whole() -> None:
    """A fresh id for none or a repeated one, `{}` for no arguments, JSON for an object."""
    nameless = {"id": "x", "function": {"arguments": "{}"}}
    calls = [
        CALL,
        {"id": "c1", "function": {"name": "again", "arguments": ""}},
        {"function": {"name": "bare"}},
        {"id": 5, "function": {"name": "object", "arguments": {"a": [1]}}},
        nameless,
        {"id": "y"},
    ]
    made = body_of(generation(message={"tool_calls": calls}))["choices"][0]["message"]["tool_calls"]
    assert [call["function"]["name"] for call in made] == ["look", "again", "bare", "object"]
    assert [call["function"]["arguments"] for call in made] == ["{}", "{}", "{}", '{"a":[1]}']
    ids = [call["id"] for call in made]
    assert len(set(ids)) == 4
    assert all(call_id.startswith("call_") and len(call_id) == 29 for call_id in ids[1:])
    again = reply_of(generation(message={"tool_calls": calls})).choices[0].tool_calls
    assert [call["id"] for call in again] == ids


def test_reasoning_is_shown_or_hidden() -> None:
    """`include_reasoning: false` leaves the key out; the count stays."""
    thought = generation(
        message={"reasoning_content": "Hm."},
        usage={"prompt_tokens": 1, "completion_tokens": 9, "reasoning_tokens": 6},
    )
    assert body_of(thought)["choices"][0]["message"]["reasoning_content"] == "Hm."
    hidden = body_of(thought, request=a_request(horde={"include_reasoning": False}))
    assert "reasoning_content" not in hidden["choices"][0]["message"]
    assert hidden["usage"]["completion_tokens_details"] == {"reasoning_tokens": 6}


@pytest.mark.parametrize(
    "changes,says",
    [
        ({"content": "x"}, None),
        ({"content": ""}, "empty reply"),
        ({"content": "", "message": {"tool_calls": [CALL]}}, None),
        ({"content": "", "state": "censored"}, "censored"),
        ({"content": "x", "state": "csam"}, "censored"),
        (
            {"content": "", "finish_reason": "length", "message": {"reasoning_content": "H"}},
            "larger max_tokens or a lower reasoning_effort",
        ),
        ({"content": "", "message": {"reasoning_content": "H"}}, "without an answer"),
    ],
)
def test_notices(changes: dict[str, Any], says: str | None) -> None:
    """Set when the reply is empty, censored or cut by the thinking, in words a user can read."""
    notice = body_of(generation(**changes))["x_horde"]["notice"]
    assert notice is None if says is None else says in notice


def test_usage_over_choices() -> None:
    """Prompt tokens count once, completion tokens add up."""
    one = generation(usage={"prompt_tokens": 5, "completion_tokens": 3})
    two = generation(index=1, usage={"prompt_tokens": 5, "completion_tokens": 4})
    body = body_of(one, two)
    assert body["usage"] == {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    assert body["x_horde"]["usage_estimated"] is False
    assert [g["index"] for g in body["x_horde"]["generations"]] == [0, 1]


@pytest.mark.parametrize(
    "content,max_length,expected",
    [("short", 512, 20), ("x" * 401, 512, 101), ("x" * 4000, 512, 512), ("x" * 4000, None, 1000)],
)
def test_uncounted_usage_is_the_hordes_estimate(
    content: str, max_length: int | None, expected: int
) -> None:
    """t(s) = min(max_length, max(20, ceil(len / 4))) and the submit's prompt estimate."""
    body = body_of(generation(content, usage=None), receipt=Receipt(REQUEST_ID, max_length, 12, ()))
    assert body["usage"] == {
        "prompt_tokens": 12,
        "completion_tokens": expected,
        "total_tokens": 12 + expected,
    }
    assert body["x_horde"]["usage_estimated"] is True


def test_the_estimate_counts_calls_and_reasoning() -> None:
    """Reasoning, content and the calls' JSON (kudos rules, settlement)."""
    calls = [{"id": "c", "function": {"name": "n", "arguments": "x" * 100}}]
    uncounted = generation("y" * 8, message={"reasoning_content": "z" * 8, "tool_calls": calls})
    uncounted["usage"] = None
    # 16 characters and the calls' compact JSON of 151: 167 / 4 rounded up.
    assert len(json.dumps(calls, separators=(",", ":"))) == 151
    assert body_of(uncounted)["usage"]["completion_tokens"] == 42


def test_context_adjustments_come_from_the_status_or_the_submit() -> None:
    """A list when anything was adjusted, else null."""
    grown = {"from": 4096, "to": 8192, "reason": "grow"}
    assert body_of(generation(), context_adjustments=[grown])["x_horde"]["context_adjustments"] == [
        grown
    ]
    early = Receipt(REQUEST_ID, 512, 12, (grown,))
    assert body_of(generation(), receipt=early)["x_horde"]["context_adjustments"] == [grown]


def test_a_reply_without_worker_has_no_fingerprint() -> None:
    """And without a model it is the one asked for."""
    body = body_of(generation(worker_id=None, model=None))
    assert body["system_fingerprint"] is None
    assert body["model"] == MODEL


def test_fingerprints_tell_workers_and_models_apart() -> None:
    """`fp_` and 12 hex digits; stable for one pair."""
    first = fingerprint("w-1", "m")
    assert first is not None
    assert first.startswith("fp_")
    assert len(first) == 15
    assert first == fingerprint("w-1", "m")
    assert len({first, fingerprint("w-2", "m"), fingerprint("w-1", "n")}) == 3
