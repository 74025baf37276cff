"""Which replies the Horde refuses, rule by rule (contract, section 4)."""

from typing import Any

import pytest

from horde_simulator.conformance import check_reply
from horde_simulator.refusals import HordeError

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("weather", "news")
]
FORCED = {"type": "function", "function": {"name": "weather"}}
OBJECT = {"type": "json_object"}


def schema(strict: bool | None, **schema: Any) -> dict[str, Any]:
    named: dict[str, Any] = {"name": "x", "schema": schema}
    return {
        "type": "json_schema",
        "json_schema": named | ({} if strict is None else {"strict": strict}),
    }


NUMBERED = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def call(name: str = "weather", arguments: str = "{}", id_: str = "c1") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def refused(
    payload: dict[str, Any],
    content: str | None = None,
    calls: list[dict[str, Any]] | None = None,
    *,
    strict: bool = True,
    no_calls: bool = False,
    finish_reason: str = "stop",
    usage: Any = None,
) -> str | None:
    """The message of the refusal; None for a reply that is taken."""
    reply = {
        "message": {"content": content, "tool_calls": calls or []},
        "finish_reason": finish_reason,
        "usage": usage,
    }
    try:
        check_reply({"max_length": 100} | payload, reply, strict=strict, no_calls=no_calls)
    except HordeError as error:
        refusal = error.body | {"status": error.status}
    else:
        return None
    assert (refusal["status"], refusal["rc"]) == (400, "ChatSubmitNonconformant")
    return str(refusal["message"])


ALWAYS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # In both modes: the word that the message has, the payload, the reply.
    ("weather", {}, {"calls": [call()]}),
    ("missing", {"tools": TOOLS}, {"calls": [call("missing")]}),
    ("none", {}, {"calls": [call()], "no_calls": True}),
    ("arguments", {"tools": TOOLS}, {"calls": [call(arguments="{")]}),
    ("arguments", {"tools": TOOLS}, {"calls": [call(arguments="[]")]}),
    ("arguments", {"tools": TOOLS}, {"calls": [call(arguments="")]}),
    ("id", {"tools": TOOLS}, {"calls": [call(id_="")]}),
    ("id", {"tools": TOOLS}, {"calls": [call(), call("news")]}),
    ("json_object", {"response_format": OBJECT}, {"content": "no"}),
    ("json_object", {"response_format": OBJECT}, {"content": "[]"}),
    ("json_object", {"response_format": OBJECT}, {"content": None}),
    ("max_length", {}, {"content": "x", "usage": {"completion_tokens": 101}}),
]


@pytest.mark.parametrize("word, payload, reply", ALWAYS, ids=range(len(ALWAYS)))
@pytest.mark.parametrize("strict", [True, False])
def test_refused_in_both_modes(
    word: str, payload: dict[str, Any], reply: dict[str, Any], strict: bool
) -> None:
    message = refused(payload, strict=strict, **reply)
    assert message is not None
    assert word in message


STRICT_ONLY: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("required", {"tools": TOOLS, "tool_choice": "required"}, {"content": "no"}),
    ("weather", {"tools": TOOLS, "tool_choice": FORCED}, {"content": "no"}),
    ("weather", {"tools": TOOLS, "tool_choice": FORCED}, {"calls": [call("news")]}),
    (
        "parallel_tool_calls",
        {"tools": TOOLS, "parallel_tool_calls": False},
        {"calls": [call(), call("news", id_="c2")]},
    ),
    ("json_schema", {"response_format": schema(True, **NUMBERED)}, {"content": "no"}),
    ("$.a", {"response_format": schema(True, **NUMBERED)}, {"content": '{"a": "x"}'}),
    ("required", {"response_format": schema(True, **NUMBERED)}, {"content": "{}"}),
]


@pytest.mark.parametrize("word, payload, reply", STRICT_ONLY, ids=range(len(STRICT_ONLY)))
def test_refused_under_strict_alone(
    word: str, payload: dict[str, Any], reply: dict[str, Any]
) -> None:
    message = refused(payload, strict=True, **reply)
    assert message is not None
    assert word in message
    assert refused(payload, strict=False, **reply) is None


TAKEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"content": ""}),
    ({"tools": TOOLS}, {"content": "just text"}),
    ({"tools": TOOLS}, {"calls": [call(), call("news", '{"a": 1}', "c2")]}),
    ({"tools": TOOLS, "tool_choice": "required"}, {"calls": [call("news")]}),
    ({"tools": TOOLS, "tool_choice": FORCED}, {"calls": [call(), call(id_="c2")]}),
    ({"tools": TOOLS, "parallel_tool_calls": False}, {"calls": [call()]}),
    ({"tools": TOOLS, "response_format": OBJECT}, {"calls": [call()]}),
    ({"response_format": OBJECT}, {"content": ' {"a": 1} '}),
    ({"response_format": schema(True, **NUMBERED)}, {"content": '{"a": 1}'}),
    ({"response_format": schema(None, **NUMBERED)}, {"content": "no"}),
    ({"response_format": schema(False, **NUMBERED)}, {"content": "no"}),
    ({}, {"content": "x", "usage": {"completion_tokens": 100}}),
    ({}, {"content": "x", "usage": {}}),
    # A reply that was cut can't parse (contract: the reason `length` waives the JSON rules).
    ({"response_format": OBJECT}, {"content": '{"a', "finish_reason": "length"}),
    (
        {"response_format": schema(True, **NUMBERED)},
        {"content": '{"a', "finish_reason": "length"},
    ),
    ({"tools": TOOLS}, {"calls": [call(arguments='{"a')], "finish_reason": "length"}),
    # A schema that can't be checked binds nobody.
    ({"response_format": schema(True, type="nonsense")}, {"content": "{}"}),
    ({"response_format": schema(True, properties=5)}, {"content": "{}"}),
    ({"response_format": schema(True, pattern="(")}, {"content": '"x"'}),
    ({"response_format": schema(True, **{"$ref": "#/$defs/gone"})}, {"content": "{}"}),
    ({"response_format": schema(True, **{"$ref": "https://example.com/x"})}, {"content": "{}"}),
    (
        {"response_format": schema(True, **{"$ref": "#/$defs/a", "$defs": {"a": True}})},
        {"content": "5"},
    ),
]


@pytest.mark.parametrize("payload, reply", TAKEN, ids=range(len(TAKEN)))
def test_taken(payload: dict[str, Any], reply: dict[str, Any]) -> None:
    assert refused(payload, **reply) is None


def test_a_cut_reply_still_has_to_call_what_was_offered() -> None:
    payload = {"tools": TOOLS}
    assert refused(payload, calls=[call("missing")], finish_reason="length") is not None
