"""Chat request bodies for tests, and what a refused one was answered, as one comparable row."""

from typing import Any

import pytest

from horde_core.chat import ChatRequest
from horde_core.errors import Refusal
from horde_core.request import read_request

BAD = "BadRequest"
UNSUPPORTED = "UnsupportedChatParameter"
CONFLICT = "ChatRequestConflict"

MODEL = "koboldcpp/Qwen3-8B"
USER = {"role": "user", "content": "Hi"}

Row = tuple[dict[str, Any], str, str | None, str]
"""What is changed in a plain request; the refusal's code, param and message."""

ABSENT = object()


def chat(**changes: Any) -> dict[str, Any]:
    """A request with only a model and a message, changed; `ABSENT` takes a key away."""
    body = {"model": MODEL, "messages": [USER]} | changes
    return {key: value for key, value in body.items() if value is not ABSENT}


def accepted(**changes: Any) -> ChatRequest:
    return read_request(chat(**changes))


def refused(body: dict[str, Any]) -> tuple[int, str, str | None, str]:
    """Status, code, param and message of the refusal that `body` meets."""
    with pytest.raises(Refusal) as caught:
        read_request(body)
    refusal = caught.value
    assert refusal.status < 500
    assert not refusal.held
    return refusal.status, refusal.code, refusal.param, refusal.message


def tool(name: str = "get_weather", **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **function}}


def call(call_id: str, name: str = "get_weather", arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*ids: str, **message: Any) -> dict[str, Any]:
    """An assistant message with one call for each id."""
    return {"role": "assistant", "content": None, "tool_calls": [call(i) for i in ids]} | message


def answer(call_id: str, content: Any = "sunny", **message: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content} | message


def json_schema(schema: Any, **members: Any) -> dict[str, Any]:
    return {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": schema, **members},
    }


def nested(levels: int) -> dict[str, Any]:
    """A schema with as many levels below its root, the last a scalar."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema
