"""Messages: roles, contents, parts, names and calls, each fault at its place."""

from typing import Any

import pytest

from core.chat_bodies import (
    BAD,
    UNSUPPORTED,
    USER,
    Row,
    accepted,
    answer,
    call,
    calls,
    chat,
    refused,
)
from horde_core.chat import FullMessage, ImagePart, Message, TextPart, ToolCall

ROLES = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'"
NO_CONTENT = "Invalid value for 'content': expected a string, got null."
NUL = "string contains a NUL character."
SURROGATE = "string contains an unpaired surrogate."
PNG = "data:image/png;base64,aW1n"


def at(message: Any, code: str, place: str, text: str, *, before: tuple[Any, ...] = ()) -> Row:
    """A fault of `message`; `{}` in the text stands for its place."""
    path = f"messages[{len(before)}]{place}"
    return {"messages": [*before, message]}, code, path, text.format(path)


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def part(value: Any, code: str, place: str, text: str) -> Row:
    return at(user([value]), code, f".content[0]{place}", text)


def refused_part(kind: str, supported: str, role: str = "user") -> Row:
    param = f"messages[0].content[0].type={kind}"
    message = {"role": role, "content": [{"type": kind}]}
    text = f"Invalid value: '{kind}'. Supported values are: {supported}."
    return {"messages": [message]}, UNSUPPORTED, param, text


def one_call(value: Any, code: str, place: str, text: str) -> Row:
    message = {"role": "assistant", "content": None, "tool_calls": [value]}
    return at(message, code, f".tool_calls[0]{place}", text, before=(USER,))


CALL_TYPE = "one of 'function', 'all...ols', or 'custom'"

ROWS: list[Row] = [
    # The array
    (
        {"messages": []},
        BAD,
        "messages",
        (
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead."
        ),
    ),
    *[
        (
            {"messages": value},
            BAD,
            "messages",
            f"Invalid type for 'messages': expected an array of objects, but got {kind} instead.",
        )
        for value, kind in (
            ("Hi", "a string"),
            ({}, "an object"),
            (None, "null"),
            (1, "an integer"),
        )
    ],
    *[
        at(
            value,
            BAD,
            "",
            f"Invalid type for '{{}}': expected an object, but got {kind} instead.",
        )
        for value, kind in (("Hi", "a string"), (None, "null"), ([], "an array"))
    ],
    # Roles
    at({"content": "Hi"}, BAD, ".role", "Missing required parameter: '{}'."),
    at({}, BAD, ".role", "Missing required parameter: '{}'."),
    *[
        at(
            {"role": role, "content": "Hi"},
            UNSUPPORTED,
            ".role",
            f"Invalid value: '{role}'. Supported values are: {ROLES}.",
            before=(USER,),
        )
        for role in ("bogus", "", "User", "model")
    ],
    at(
        {"role": "function", "name": "f", "content": "Hi"},
        UNSUPPORTED,
        ".role",
        "Unsupported value: '{}' does not support 'function' with this model.",
    ),
    *[
        at(
            {"role": role, "content": "Hi"},
            BAD,
            ".role",
            f"Invalid type for '{{}}': expected one of {ROLES.replace('and', 'or')}, "
            f"but got {kind} instead.",
        )
        for role, kind in ((1, "an integer"), (None, "null"), (["user"], "an array"))
    ],
    # Contents
    *[
        at(
            user(value),
            BAD,
            ".content",
            "Invalid type for '{}': expected one of a string or array of objects, "
            f"but got {kind} instead.",
        )
        for value, kind in (
            (1, "an integer"),
            ({}, "an object"),
            (True, "a boolean"),
            (0.5, "a decimal number"),
        )
    ],
    *[
        at({"role": role, "content": "a\0b"}, BAD, ".content", f"Invalid '{{}}': {NUL}")
        for role in ("system", "developer", "user", "assistant")
    ],
    at(user("\ud83d"), BAD, ".content", f"Invalid '{{}}': {SURROGATE}"),
    at(user("\udc0e\ud83d"), BAD, ".content", f"Invalid '{{}}': {SURROGATE}", before=(USER,)),
    # Null and missing contents
    *[
        at({"role": role, "content": None}, BAD, ".content", NO_CONTENT)
        for role in ("system", "user", "assistant")
    ],
    *[
        at({"role": role}, BAD, ".content", NO_CONTENT, before=(USER, USER))
        for role in ("system", "user", "assistant")
    ],
    at(answer("a", None), BAD, ".content", NO_CONTENT, before=(USER, calls("a"))),
    at({"role": "developer"}, BAD, ".content", "Missing required parameter: '{}'."),
    at(
        {"role": "developer", "content": None},
        BAD,
        ".content",
        "Invalid type for '{}': expected one of a string or array of objects, but got null "
        "instead.",
    ),
    *[
        at({"role": "assistant", "content": None, key: value}, BAD, ".content", NO_CONTENT)
        for key, value in (
            ("tool_calls", []),
            ("tool_calls", None),
            ("refusal", "No."),
            ("function_call", {"name": "f", "arguments": "{}"}),
        )
    ],
    # Parts
    *[
        part(
            value,
            BAD,
            "",
            f"Invalid type for '{{}}': expected an object, but got {kind} instead.",
        )
        for value, kind in (("Hi", "a string"), (None, "null"), (["Hi"], "an array"))
    ],
    part({}, BAD, ".type", "Missing required parameter: '{}'."),
    part({"text": "Hi"}, BAD, ".type", "Missing required parameter: '{}'."),
    *[
        part(
            {"type": value},
            BAD,
            ".type",
            "Invalid type for '{}': expected one of 'text' or 'image_url', "
            f"but got {kind} instead.",
        )
        for value, kind in ((1, "an integer"), (None, "null"), ([], "an array"))
    ],
    part({"type": "text"}, BAD, ".text", "Missing required parameter: '{}'."),
    *[
        part(
            {"type": "text", "text": value},
            BAD,
            ".text",
            f"Invalid type for '{{}}': expected a string, but got {kind} instead.",
        )
        for value, kind in ((1, "an integer"), (None, "null"), ({}, "an object"))
    ],
    part({"type": "text", "text": "\0"}, BAD, ".text", f"Invalid '{{}}': {NUL}"),
    *[
        refused_part(kind, "'text' and 'image_url'")
        for kind in ("input_audio", "file", "video_url", "image", "refusal", "input_text", "")
    ],
    *[
        refused_part(kind, "'text'", role)
        for kind in ("input_audio", "refusal")
        for role in ("system", "developer", "assistant")
    ],
    *[
        (
            {"messages": [{"role": role, "content": [{"type": "image_url"}]}]},
            UNSUPPORTED,
            "messages[0].content[0].type=image_url",
            (
                "Invalid 'messages[0]'. Image URLs are only allowed for messages with role 'user', "
                f"but this message with role '{said}' contains an image URL."
            ),
        )
        for role, said in (
            ("system", "system"),
            ("developer", "developer"),
            ("assistant", "assistant"),
        )
    ],
    (
        {
            "messages": [
                calls("a"),
                answer("a", [{"type": "text", "text": "x"}, {"type": "image_url"}]),
            ]
        },
        UNSUPPORTED,
        "messages[1].content[1].type=image_url",
        (
            "Invalid 'messages[1]'. Image URLs are only allowed for messages with role 'user', but "
            "this message with role 'tool' contains an image URL."
        ),
    ),
    # Names
    *[
        at(
            {"role": role, "content": "Hi", "name": name},
            UNSUPPORTED,
            ".name",
            "Invalid '{}': string does not match pattern. Expected a string that matches the "
            "pattern '^[^\\s<|\\\\/>]+$'.",
        )
        for role, name in (
            ("user", "a b"),
            ("user", "a\n"),
            ("system", "<a"),
            ("assistant", "a|b"),
            ("developer", "a\\b"),
            ("user", "a/b"),
            ("user", "a>"),
        )
    ],
    at(
        user("Hi", name=7),
        BAD,
        ".name",
        "Invalid type for '{}': expected a string, but got an integer instead.",
    ),
    at(user("Hi", name="a\0"), BAD, ".name", f"Invalid '{{}}': {NUL}"),
    # Calls
    *[
        at(
            {"role": role, "content": "Hi", "tool_calls": [call("a")]},
            UNSUPPORTED,
            ".tool_calls",
            "Unknown parameter: '{}'.",
        )
        for role in ("system", "developer", "user")
    ],
    at(user("Hi", tool_calls=[]), UNSUPPORTED, ".tool_calls", "Unknown parameter: '{}'."),
    at(
        answer("a", tool_calls=[call("b")]),
        UNSUPPORTED,
        ".tool_calls",
        "Unknown parameter: '{}'.",
        before=(USER, calls("a")),
    ),
    *[
        at(
            {"role": "assistant", "content": "Hi", "tool_calls": value},
            BAD,
            ".tool_calls",
            f"Invalid type for '{{}}': expected an array of objects, but got {kind} instead.",
        )
        for value, kind in (("x", "a string"), ({}, "an object"), (False, "a boolean"))
    ],
    at(
        calls(*map(str, range(129))),
        UNSUPPORTED,
        ".tool_calls",
        "Invalid '{}': array too long. Expected an array with maximum length 128, but got an "
        "array with length 129 instead.",
    ),
    one_call("x", BAD, "", "Invalid type for '{}': expected an object, but got a string instead."),
    one_call({"type": "function"}, BAD, ".id", "Missing required parameter: '{}'."),
    one_call(
        call("a") | {"id": None},
        BAD,
        ".id",
        "Invalid type for '{}': expected a string, but got null instead.",
    ),
    one_call(call("a\0"), BAD, ".id", f"Invalid '{{}}': {NUL}"),
    one_call({"id": "a"}, BAD, ".type", "Missing required parameter: '{}'."),
    one_call(
        call("a") | {"type": None},
        BAD,
        ".type",
        f"Invalid type for '{{}}': expected {CALL_TYPE}, but got null instead.",
    ),
    one_call(
        call("a") | {"type": "custom"},
        UNSUPPORTED,
        ".type",
        "Invalid value: 'custom'. Supported values are: 'function'.",
    ),
    one_call(
        {"id": "a", "type": "function"}, BAD, ".function", "Missing required parameter: '{}'."
    ),
    one_call(
        {"id": "a", "type": "function", "function": "f"},
        BAD,
        ".function",
        "Invalid type for '{}': expected an object, but got a string instead.",
    ),
    one_call(
        {"id": "a", "type": "function", "function": {"arguments": "{}"}},
        BAD,
        ".function.name",
        "Missing required parameter: '{}'.",
    ),
    one_call(
        {"id": "a", "type": "function", "function": {"name": None, "arguments": "{}"}},
        BAD,
        ".function.name",
        "Invalid type for '{}': expected a string, but got null instead.",
    ),
    one_call(
        {"id": "a", "type": "function", "function": {"name": "f"}},
        BAD,
        ".function.arguments",
        "Missing required parameter: '{}'.",
    ),
    one_call(
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": {}}},
        BAD,
        ".function.arguments",
        "Invalid type for '{}': expected a string, but got an object instead.",
    ),
    one_call(
        call("a", arguments="\ud800"), BAD, ".function.arguments", f"Invalid '{{}}': {SURROGATE}"
    ),
    (
        {"messages": [USER, calls("a", "b", "a")]},
        UNSUPPORTED,
        "messages[1].tool_calls[2].id",
        (
            "Invalid parameter: Duplicate value for 'id' of 'a', in messages[1].tool_calls[0] and "
            "messages[1].tool_calls[2]."
        ),
    ),
    # Order: the lowest index; within a message role, content, calls
    (
        {"messages": [USER, user(1), {"role": "bogus"}]},
        BAD,
        "messages[1].content",
        (
            "Invalid type for 'messages[1].content': expected one of a string or array of objects, "
            "but got an integer instead."
        ),
    ),
    (
        {"messages": [{"role": "bogus", "content": 1}]},
        UNSUPPORTED,
        "messages[0].role",
        f"Invalid value: 'bogus'. Supported values are: {ROLES}.",
    ),
    (
        {"messages": [user(1, tool_calls=[])]},
        BAD,
        "messages[0].content",
        (
            "Invalid type for 'messages[0].content': expected one of a string or array of objects, "
            "but got an integer instead."
        ),
    ),
    # A missing content is last, even before a fault at a later index
    (
        {"messages": [user(None), user(1)]},
        BAD,
        "messages[1].content",
        (
            "Invalid type for 'messages[1].content': expected one of a string or array of objects, "
            "but got an integer instead."
        ),
    ),
    (
        {"messages": [user(None), {"role": "assistant"}]},
        BAD,
        "messages[0].content",
        NO_CONTENT,
    ),
]


@pytest.mark.parametrize("changes, code, param, message", ROWS)
def test_a_bad_message_is_refused_at_its_place(
    changes: dict[str, Any], code: str, param: str, message: str
) -> None:
    assert refused(chat(**changes)) == (400, code, param, message)


TEXT = {"type": "text", "text": "a"}


@pytest.mark.parametrize(
    "sent, read",
    [
        ({"role": "system", "content": "s"}, Message("system", "s")),
        ({"role": "developer", "content": "d"}, Message("system", "d")),
        ({"role": "developer", "content": "d", "name": "n"}, FullMessage("system", "d", "n")),
        ({"role": "user", "content": ""}, Message("user", "")),
        ({"role": "user", "content": []}, Message("user", "")),
        ({"role": "user", "content": [TEXT, TEXT]}, Message("user", "aa")),
        ({"role": "user", "content": "漢字 🐎"}, Message("user", "漢字 🐎")),
        ({"role": "user", "content": "u", "name": "Ana-1.é"}, FullMessage("user", "u", "Ana-1.é")),
        ({"role": "user", "content": "u", "name": ""}, Message("user", "u")),
        ({"role": "user", "content": "u", "name": None}, Message("user", "u")),
        ({"role": "user", "content": "u", "tool_calls": None}, Message("user", "u")),
        ({"role": "user", "content": "u", "tool_call_id": "\0"}, Message("user", "u")),
        ({"role": "user", "content": "u", "bogus": {"\ud800": 1}}, Message("user", "u")),
        ({"role": "assistant", "content": "a"}, Message("assistant", "a")),
        ({"role": "assistant", "content": "a", "tool_calls": []}, Message("assistant", "a")),
        ({"role": "assistant", "content": [TEXT]}, Message("assistant", "a")),
        (
            {"role": "assistant", "content": "a", "reasoning_content": "r", "refusal": None},
            Message("assistant", "a"),
        ),
        (
            {"role": "user", "content": [TEXT | {"cache_control": {}}]},
            Message("user", "a"),
        ),
        (
            {"role": "user", "content": [TEXT, {"type": "image_url", "image_url": {"url": PNG}}]},
            Message("user", (TextPart("a"), ImagePart(PNG))),
        ),
    ],
)
def test_a_message_keeps_what_its_role_has(sent: dict[str, Any], read: Message) -> None:
    assert accepted(messages=[sent]).messages == (read,)


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}, {"content": []}])
def test_an_assistant_message_with_calls_needs_no_content(content: dict[str, Any]) -> None:
    replayed = {"role": "assistant", "tool_calls": [call("a")], **content}
    message = accepted(messages=[replayed, answer("a")]).messages[0]
    assert message.content == ("" if content.get("content") is not None else None)
    assert isinstance(message, FullMessage)
    assert message.tool_calls == (ToolCall("a", "get_weather", "{}"),)


def test_a_replayed_call_keeps_any_id_any_arguments_and_no_other_key() -> None:
    long_id = "call_" + "x" * 500
    sdk = call(long_id, "any name, it's history", "{not json") | {"index": 0}
    sdk["function"] |= {"parsed_arguments": {"a": 1}}
    request = accepted(messages=[{"role": "assistant", "tool_calls": [sdk]}, answer(long_id)])
    kept = ToolCall(long_id, "any name, it's history", "{not json")
    assert request.messages[0] == FullMessage("assistant", None, None, (kept,))


def test_a_tool_message_keeps_its_id_and_drops_its_name() -> None:
    messages = [calls("a"), answer("a", [TEXT, TEXT], name="not a legal name!")]
    read = accepted(messages=messages).messages[1]
    assert read == FullMessage("tool", "aa", None, (), "a")


def test_a_conversation_may_begin_and_end_with_the_assistant() -> None:
    turns = [{"role": "assistant", "content": "a"}, USER, {"role": "assistant", "content": "b"}]
    assert [m.role for m in accepted(messages=turns).messages] == ["assistant", "user", "assistant"]


def test_a_hundred_and_twenty_eight_calls_are_taken() -> None:
    ids = [str(i) for i in range(128)]
    asked = accepted(messages=[calls(*ids), *map(answer, reversed(ids))]).messages[0]
    assert isinstance(asked, FullMessage)
    assert len(asked.tool_calls) == 128
