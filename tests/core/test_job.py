"""The Horde's submit body, key by key."""

import json
from typing import Any

import pytest

from core.chat_bodies import (
    ABSENT,
    MODEL,
    USER,
    accepted,
    answer,
    calls,
    json_schema,
    tool,
)
from horde_core.job import submit_body

PNG = "data:image/png;base64,aW1n"


def submitted(*, operation_key: str | None = None, dry_run: bool = False, **changes: Any) -> Any:
    raw = submit_body(
        accepted(**changes), operation_key=operation_key, context_length=4096, dry_run=dry_run
    )
    assert raw == json.dumps(json.loads(raw), separators=(",", ":"), ensure_ascii=False).encode()
    return json.loads(raw)


def test_a_plain_request_is_submitted_with_every_neutral_value() -> None:
    assert submitted() == {
        "messages": [{"role": "user", "content": "Hi"}],
        "params": {
            "n": 1,
            "max_length": 512,
            "max_context_length": 4096,
            "temperature": 1.0,
            "top_p": 1.0,
            "frequency_penalty": 0.0,
            "presence_penalty": 0.0,
            "rep_pen": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "stop_sequence": [],
        },
        "models": [MODEL],
        "workers": [],
        "worker_blacklist": False,
        "trusted_workers": False,
        "slow_workers": True,
        "conformance": "strict",
        "context_fit": "truncate_oldest",
        "progress": False,
        "dry_run": False,
    }


@pytest.mark.parametrize(
    "changes, param, value",
    [
        ({"n": 3}, "n", 3),
        ({"max_tokens": 100}, "max_length", 100),
        ({"max_completion_tokens": 200}, "max_length", 200),
        ({"horde": {"context_length": 8192}}, "max_context_length", 8192),
        ({"temperature": 0}, "temperature", 0),
        ({"top_p": 0.5}, "top_p", 0.5),
        ({"frequency_penalty": -2}, "frequency_penalty", -2),
        ({"presence_penalty": 0.050000000000000044}, "presence_penalty", 0.050000000000000044),
        ({"stop": "#"}, "stop_sequence", ["#"]),
        ({"stop": ["#", "é"]}, "stop_sequence", ["#", "é"]),
        ({"seed": 2**63 - 1}, "seed", 2**63 - 1),
        ({"seed": -(2**63)}, "seed", -(2**63)),
        ({"seed": 0}, "seed", 0),
        ({"reasoning_effort": "none"}, "reasoning_effort", "none"),
    ],
)
def test_a_parameter_is_sent_under_its_native_name(
    changes: dict[str, Any], param: str, value: Any
) -> None:
    params = submitted(**changes)["params"]
    assert params.pop(param) == value
    plain = submitted()["params"]
    plain.pop(param, None)
    assert params == plain


@pytest.mark.parametrize(
    "changes, key, value",
    [
        ({"model": ABSENT, "models": ["a", "b"]}, "models", ["a", "b"]),
        ({"horde": {"only": ["w1", "w2"]}}, "workers", ["w1", "w2"]),
        ({"horde": {"trusted_workers": True}}, "trusted_workers", True),
        ({"horde": {"slow_workers": False}}, "slow_workers", False),
        ({"horde": {"conformance": "best_effort"}}, "conformance", "best_effort"),
        ({"horde": {"context_fit": "grow"}}, "context_fit", "grow"),
        ({"stream": True}, "progress", True),
        ({"response_format": {"type": "json_object"}}, "response_format", {"type": "json_object"}),
        (
            {"response_format": json_schema({"x": 2**70}, strict=False, description="d")},
            "response_format",
            json_schema({"x": 2**70}, strict=False, description="d"),
        ),
        ({"response_format": json_schema({})}, "response_format", json_schema({})),
    ],
)
def test_an_option_is_sent_beside_the_parameters(
    changes: dict[str, Any], key: str, value: Any
) -> None:
    body = submitted(**changes)
    assert body.pop(key) == value
    plain = submitted()
    plain.pop(key, None)
    assert body == plain


def test_ignored_workers_are_a_blacklist() -> None:
    body = submitted(horde={"ignore": ["w1"]})
    assert (body["workers"], body["worker_blacklist"]) == (["w1"], True)


@pytest.mark.parametrize(
    "changes, progress",
    [
        ({"stream": True}, True),
        ({"stream": True, "response_format": {"type": "text"}, "tools": []}, True),
        ({"stream": False}, False),
        ({"stream": True, "tools": [tool()]}, False),
        ({"stream": True, "response_format": {"type": "json_object"}}, False),
    ],
)
def test_progress_is_asked_for_when_the_reply_can_be_relayed_live(
    changes: dict[str, Any], progress: bool
) -> None:
    assert submitted(**changes)["progress"] is progress


@pytest.mark.parametrize(
    "changes",
    [
        {"horde": {"include_reasoning": False}},
        {"horde": {"openai_guards": True}},
        {"horde": {"availability_mode": "wait"}},
        {"horde": {"max_kudos": 5}},
        {"user": "u1"},
        {"stream": False},
        {"logit_bias": {}},
    ],
)
def test_what_is_the_fronts_own_business_is_not_sent(changes: dict[str, Any]) -> None:
    assert submitted(**changes) == submitted()


def test_the_operation_key_is_sent_with_a_job_and_not_with_its_quote() -> None:
    assert submitted(operation_key="k")["operation_key"] == "k"
    quote = submitted(operation_key="k", dry_run=True)
    assert quote["dry_run"] is True
    assert "operation_key" not in quote
    assert {**quote, "dry_run": False} == submitted()


def test_messages_keep_their_words_and_lose_the_rest() -> None:
    picture = {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}
    messages = [
        {"role": "developer", "content": "Be brief.", "name": "dev"},
        {"role": "user", "content": [{"type": "text", "text": "Look: "}, picture], "bogus": 1},
        calls("a", "b", refusal=None, name="bot"),
        answer("b", [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}], name="f"),
        answer("a", ""),
        {"role": "assistant", "content": "Done 🐎"},
    ]
    function = {"name": "get_weather", "arguments": "{}"}
    assert submitted(messages=messages)["messages"] == [
        {"role": "system", "content": "Be brief.", "name": "dev"},
        {"role": "user", "content": [{"type": "text", "text": "Look: "}, picture]},
        {
            "role": "assistant",
            "content": None,
            "name": "bot",
            "tool_calls": [
                {"id": "a", "type": "function", "function": function},
                {"id": "b", "type": "function", "function": function},
            ],
        },
        {"role": "tool", "content": "xy", "tool_call_id": "b"},
        {"role": "tool", "content": "", "tool_call_id": "a"},
        {"role": "assistant", "content": "Done 🐎"},
    ]


def test_an_image_without_detail_has_none() -> None:
    part = {"type": "image_url", "image_url": {"url": PNG, "detail": None}}
    sent = submitted(messages=[{"role": "user", "content": [part]}])["messages"][0]["content"]
    assert sent == [{"type": "image_url", "image_url": {"url": PNG}}]


NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}


@pytest.mark.parametrize(
    "sent, forwarded",
    [
        (tool(), tool(parameters=NOTHING)),
        (tool(parameters=None, strict=None), tool(parameters=NOTHING)),
        (tool(parameters={}), tool(parameters={})),
        (
            tool(description="d", parameters={"x": [1.0, 10**30]}, strict=False),
            tool(description="d", parameters={"x": [1.0, 10**30]}, strict=False),
        ),
        (tool(bogus=1) | {"bogus": 1}, tool(parameters=NOTHING)),
    ],
)
def test_a_tool_is_forwarded_with_its_schema_unchanged(sent: Any, forwarded: Any) -> None:
    body = submitted(tools=[sent])
    assert body["tools"] == [forwarded]
    assert "tool_choice" not in body
    assert "parallel_tool_calls" not in body


@pytest.mark.parametrize(
    "choice", ["none", "auto", "required", {"type": "function", "function": {"name": "f"}}]
)
@pytest.mark.parametrize("parallel", [True, False])
def test_choice_and_parallel_calls_go_with_the_tools(choice: Any, parallel: bool) -> None:
    body = submitted(tools=[tool("f")], tool_choice=choice, parallel_tool_calls=parallel)
    assert body["tool_choice"] == choice
    assert body["parallel_tool_calls"] is parallel


def test_a_developer_message_is_no_different_from_a_system_message() -> None:
    developer = submitted(messages=[{"role": "developer", "content": "d"}, USER])
    assert developer == submitted(messages=[{"role": "system", "content": "d"}, USER])
