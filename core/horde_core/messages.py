"""The messages of a request (contract section 4): roles, contents, names, calls, history."""

import re
from collections.abc import Mapping
from typing import Any, Final

from horde_core import faults
from horde_core.chat import FullMessage, ImagePart, Message, Role, TextPart, ToolCall
from horde_core.errors import Refusal, refuse
from horde_core.history import ToolHistory
from horde_core.images import read_image
from horde_core.legal_text import is_legal, require_text
from horde_core.scalars import an_object, required, required_object, required_text, text

ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
MOST_CALLS: Final = 128

_PLAIN_ROLES = {word: role for word, role in ROLES.items() if role != "tool"}
_OPENAI_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_NAME = re.compile(r"^[^\s<|\\/>]+$")
_CALL_TYPES = "one of 'function', 'all...ols', or 'custom'"
"""Elided so by OpenAI itself (measured)."""


def read_messages(value: Any, _: Any) -> tuple[Message, ...]:
    """The `messages` of a request.

    Missing contents are left as None: they are the last of all checks (`require_contents`).
    Raises the `Refusal` of the message with the lowest index.
    """
    if not isinstance(value, list):
        raise faults.wrong_type("messages", "an array of objects", value)
    if not value:
        raise faults.empty_array("messages", faults.BAD_REQUEST)
    messages: list[Message] = []
    for item in value:
        message = _read_plain(item)
        if message is None:
            _read_rest(value, messages)
            break
        messages.append(message)
    return tuple(messages)


def _read_rest(items: list[Any], messages: list[Message]) -> None:
    """Reads on from the first message that isn't plain: only from there on can a call be open."""
    history = ToolHistory()
    for index in range(len(messages), len(items)):
        message = _read_plain(items[index])
        if message is None:
            message = _read_message(items[index], index, history)
        else:
            history.see_other(index)
        messages.append(message)
    history.end()


def _read_plain(item: Any) -> Message | None:
    """A role and legal text, as most messages are: nothing else to look at. Else None."""
    if type(item) is not dict or len(item) != 2:
        return None
    try:
        role, content = _PLAIN_ROLES[item["role"]], item["content"]
    except (KeyError, TypeError):  # TypeError for a role that is an array or an object.
        return None
    if type(content) is list:
        content = _plain_text(content)
    if type(content) is str and is_legal(content):
        return Message(role, content)
    return None


def _plain_text(parts: list[Any]) -> str | None:
    texts = []
    for part in parts:
        text = part.get("text") if type(part) is dict and part.get("type") == "text" else None
        if type(text) is not str or not is_legal(text):
            return None
        texts.append(text)
    return "".join(texts)


def _read_message(item: Any, index: int, history: ToolHistory) -> Message:
    path = f"messages[{index}]"
    an_object(item, path)
    role = _read_role(item, path)
    content = _read_content(item, item["role"], path)
    if role == "tool":
        _refuse_calls(item, path)
        call_id = _read_call_id(item, path)
        history.see_answer(index, call_id)
        return FullMessage(role, content, None, (), call_id)
    name = _read_name(item, path)
    calls: tuple[ToolCall, ...] = ()
    if role == "assistant":
        calls = _read_calls(item, path)
    else:
        _refuse_calls(item, path)
    history.see_other(index)
    history.see_calls(call.id for call in calls)
    if name is None and not calls:
        return Message(role, content)
    return FullMessage(role, content, name, calls)


def _read_role(message: dict[str, Any], path: str) -> Role:
    value = required(message, "role", path)
    path = f"{path}.role"
    if not isinstance(value, str):
        raise faults.wrong_type(path, f"one of {faults.listed(_OPENAI_ROLES, 'or')}", value)
    role = ROLES.get(value)
    if role is None:
        if value in _OPENAI_ROLES:
            raise faults.unsupported_value(path, value)
        raise faults.bad_value(path, value, _OPENAI_ROLES)
    return role


def _read_name(message: dict[str, Any], path: str) -> str | None:
    if message.get("name") in (None, ""):
        return None
    name = required_text(message, "name", path)
    if not _NAME.fullmatch(name):
        raise faults.off_pattern(f"{path}.name", _NAME.pattern)
    return name


def _read_content(
    message: dict[str, Any], role: str, path: str
) -> str | tuple[TextPart | ImagePart, ...] | None:
    """Parts as they are when one is an image; else the texts, joined with nothing between them."""
    content = message.get("content")
    if content is None:
        return None
    path = f"{path}.content"
    if isinstance(content, str):
        return require_text(content, path)
    if not isinstance(content, list):
        raise faults.wrong_type(path, "one of a string or array of objects", content)
    parts = [_read_part(part, role, f"{path}[{index}]") for index, part in enumerate(content)]
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return "".join(texts) if len(texts) == len(parts) else tuple(parts)


def _read_part(part: Any, role: str, path: str) -> TextPart | ImagePart:
    an_object(part, path)
    kind = required(part, "type", path)
    if kind == "text":
        return TextPart(required_text(part, "text", path))
    if kind == "image_url" and role == "user":
        return read_image(part, path)
    if not isinstance(kind, str):
        raise faults.wrong_type(f"{path}.type", "one of 'text' or 'image_url'", kind)
    param = f"{path}.type={faults.shown(kind)}"
    if kind == "image_url":
        raise _misplaced_image(path, role, param)
    supported = ("text", "image_url") if role == "user" else ("text",)
    raise faults.bad_value(f"{path}.type", kind, supported, param)


def _misplaced_image(path: str, role: str, param: str) -> Refusal:
    message = path.partition(".")[0]
    return refuse(
        faults.UNSUPPORTED,
        f"Invalid '{message}'. Image URLs are only allowed for messages with role 'user', but "
        f"this message with role '{role}' contains an image URL.",
        param,
    )


def _refuse_calls(message: dict[str, Any], path: str) -> None:
    if message.get("tool_calls") is not None:
        path = f"{path}.tool_calls"
        raise refuse(faults.UNSUPPORTED, f"Unknown parameter: '{path}'.", path)


def _read_call_id(message: dict[str, Any], path: str) -> str:
    value = message.get("tool_call_id")
    path = f"{path}.tool_call_id"
    if value is None:
        raise refuse(
            faults.BAD_REQUEST,
            "Missing parameter 'tool_call_id': messages with role 'tool' must have a "
            "'tool_call_id'.",
            path,
        )
    return text(value, path)


def _read_calls(message: dict[str, Any], path: str) -> tuple[ToolCall, ...]:
    """None at all, null and an empty array are the same: other servers' replies have each."""
    value = message.get("tool_calls")
    if value is None:
        return ()
    path = f"{path}.tool_calls"
    if not isinstance(value, list):
        raise faults.wrong_type(path, "an array of objects", value)
    if len(value) > MOST_CALLS:
        raise faults.long_array(path, value, MOST_CALLS)
    calls: dict[str, ToolCall] = {}
    for index, item in enumerate(value):
        call = _read_call(item, f"{path}[{index}]")
        if call.id in calls:
            raise _repeated_id(call.id, list(calls).index(call.id), index, path)
        calls[call.id] = call
    return tuple(calls.values())


def _read_call(item: Any, path: str) -> ToolCall:
    an_object(item, path)
    call_id = required_text(item, "id", path)
    kind = required(item, "type", path)
    if kind != "function":
        if not isinstance(kind, str):
            raise faults.wrong_type(f"{path}.type", _CALL_TYPES, kind)
        raise faults.bad_value(f"{path}.type", kind, ("function",))
    function = required_object(item, "function", path)
    path = f"{path}.function"
    name = required_text(function, "name", path)
    return ToolCall(call_id, name, required_text(function, "arguments", path))


def _repeated_id(call_id: str, first: int, second: int, path: str) -> Refusal:
    return refuse(
        faults.UNSUPPORTED,
        f"Invalid parameter: Duplicate value for 'id' of '{faults.shown(call_id)}', in "
        f"{path}[{first}] and {path}[{second}].",
        f"{path}[{second}].id",
    )


def require_contents(value: list[dict[str, Any]], messages: tuple[Message, ...]) -> None:
    """Every message but an assistant's with calls has a content (the last check of all)."""
    for index, message in enumerate(messages):
        if message.content is None and not (
            isinstance(message, FullMessage) and message.tool_calls
        ):
            raise _no_content(value[index], f"messages[{index}].content")


def _no_content(message: dict[str, Any], path: str) -> Refusal:
    """OpenAI words a developer message's missing content otherwise (measured)."""
    if message["role"] != "developer":
        return refuse(
            faults.BAD_REQUEST, "Invalid value for 'content': expected a string, got null.", path
        )
    if "content" not in message:
        return faults.missing(path)
    return faults.wrong_type(path, "one of a string or array of objects", None)


def mention_json(messages: tuple[Message, ...]) -> bool:
    """Whether the word JSON is in any message, as OpenAI demands for `json_object`."""
    return any("json" in text.lower() for message in messages for text in _texts(message))


def _texts(message: Message) -> list[str]:
    if isinstance(message.content, str):
        return [message.content]
    return [part.text for part in message.content or () if isinstance(part, TextPart)]
