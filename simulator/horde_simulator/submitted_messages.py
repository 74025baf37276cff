"""The messages of a submit: their roles, contents, parts and calls, checked against the schema."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from horde_simulator.payload import MISSING, Reader

ROLES: Final = ("system", "user", "assistant", "tool")


def read_messages(reader: Reader) -> list[dict[str, Any]]:
    """The messages with the keys that the contract has; what is wrong is noted by path."""
    messages = reader.objects("messages", 100_000, required=True)
    if not messages and "messages" not in reader.errors:
        reader.wrong("messages", "[] is too short")
    return [_message(reader, f"messages.{i}.", message) for i, message in enumerate(messages)]


def _message(outer: Reader, path: str, message: dict[str, Any]) -> dict[str, Any]:
    """A message with the keys that the contract has for its role."""
    reader = Reader(message, outer.errors, path)
    role = message.get("role")
    if role not in ROLES:
        reader.wrong("role", f"{role!r} is not one of {list(ROLES)}")
        return message
    read: dict[str, Any] = {"role": role, "content": message.get("content")}
    calls = reader.objects("tool_calls", 1000) if role == "assistant" else []
    content = read["content"]
    if type(content) is list:
        read["content"] = [
            _part(reader, f"content.{i}", part, role) for i, part in enumerate(content)
        ]
    elif type(content) is not str and not (content is None and calls):
        reader.wrong("content", MISSING if content is None else "is not a string or an array")
    if message.get("name") is not None:
        read["name"] = reader.text("name")
    if calls:
        read["tool_calls"] = [
            _call(reader.errors, f"{path}tool_calls.{i}.", call) for i, call in enumerate(calls)
        ]
    if role == "tool":
        read["tool_call_id"] = reader.required_text("tool_call_id")
    return read


def _part(reader: Reader, key: str, part: object, role: str) -> dict[str, Any]:
    """A content part; images are for users only."""
    if type(part) is dict:
        kind = part.get("type")
        if kind == "text" and type(part.get("text")) is str:
            return {"type": "text", "text": part["text"]}
        image = part.get("image_url")
        if kind == "image_url" and role == "user" and type(image) is dict:
            detail = image.get("detail")
            if type(image.get("url")) is str and (detail is None or type(detail) is str):
                kept = {"url": image["url"]} | ({} if detail is None else {"detail": detail})
                return {"type": "image_url", "image_url": kept}
    reader.wrong(key, f"is not a content part of a {role} message")
    return {"type": "text", "text": ""}


def _call(errors: dict[str, str], path: str, call: dict[str, Any]) -> dict[str, Any]:
    reader = Reader(call, errors, path)
    function = Reader(reader.object("function"), errors, f"{path}function.")
    return {
        "id": reader.required_text("id"),
        "type": "function",
        "function": {
            "name": function.required_text("name"),
            "arguments": function.required_text("arguments"),
        },
    }


def image_urls(messages: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The URLs of all image parts of checked messages, in their order."""
    return tuple(
        part["image_url"]["url"]
        for message in messages
        if type(message["content"]) is list
        for part in message["content"]
        if part["type"] == "image_url"
    )
