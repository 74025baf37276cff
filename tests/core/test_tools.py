"""Tools and tool_choice: shapes, names, limits, strict parameters, conflicts."""

from typing import Any

import pytest

from core.chat_bodies import (
    ABSENT,
    BAD,
    CONFLICT,
    UNSUPPORTED,
    Row,
    accepted,
    chat,
    nested,
    refused,
    tool,
)
from horde_core.chat import Tool, ToolChoice

FN = "tools[0].function"
PATTERN = (
    "Invalid '{}': string does not match pattern. Expected a string that matches the pattern "
    "'^[a-zA-Z0-9_-]+$'."
)
CHOICE_TYPE = "one of one of 'none', 'auto', or 'required' or object"
OPEN = {"type": "object", "properties": {}}
CLOSED = {"type": "object", "properties": {}, "additionalProperties": False, "required": []}


def tools(value: Any, code: str, param: str, text: str) -> Row:
    """A fault of the first tool; `{}` in the text stands for the param."""
    return {"tools": [value]}, code, param, text.format(param)


def choice(value: Any, code: str, param: str, text: str) -> Row:
    return {"tools": [tool()], "tool_choice": value}, code, param, text.format(param)


def needs_tools(key: str, **changes: Any) -> Row:
    message = f"Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified."
    return changes, CONFLICT, key, message


ROWS: list[Row] = [
    *[
        (
            {"tools": value},
            BAD,
            "tools",
            f"Invalid type for 'tools': expected an array of objects, but got {kind} instead.",
        )
        for value, kind in (("x", "a string"), ({}, "an object"), (1, "an integer"))
    ],
    (
        {"tools": [tool()] * 129},
        UNSUPPORTED,
        "tools",
        (
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got "
            "an array with length 129 instead."
        ),
    ),
    *[
        tools(
            value,
            BAD,
            "tools[0]",
            f"Invalid type for '{{}}': expected an object, but got {kind} instead.",
        )
        for value, kind in (("x", "a string"), (None, "null"), ([], "an array"))
    ],
    tools({}, BAD, "tools[0].type", "Missing required parameter: '{}'."),
    tools({"function": {"name": "f"}}, BAD, "tools[0].type", "Missing required parameter: '{}'."),
    tools(
        {"type": None},
        BAD,
        "tools[0].type",
        "Invalid type for '{}': expected one of 'function', but got null instead.",
    ),
    *[
        tools(
            {"type": kind, kind: {"name": "f"}},
            UNSUPPORTED,
            "tools[0].type",
            f"Invalid value: '{kind}'. Supported values are: 'function'.",
        )
        for kind in ("custom", "web_search", "")
    ],
    tools({"type": "function"}, BAD, FN, "Missing required parameter: '{}'."),
    # The shape of the Responses API
    tools(
        {"type": "function", "name": "f", "parameters": {}},
        BAD,
        FN,
        "Missing required parameter: '{}'.",
    ),
    *[
        tools(
            {"type": "function", "function": value},
            BAD,
            FN,
            f"Invalid type for '{{}}': expected an object, but got {kind} instead.",
        )
        for value, kind in (("f", "a string"), (None, "null"))
    ],
    # Names
    tools(
        {"type": "function", "function": {}}, BAD, f"{FN}.name", "Missing required parameter: '{}'."
    ),
    *[
        tools(
            {"type": "function", "function": {"name": value}},
            BAD,
            f"{FN}.name",
            f"Invalid type for '{{}}': expected a string, but got {kind} instead.",
        )
        for value, kind in ((1, "an integer"), (None, "null"), ({}, "an object"))
    ],
    tools(
        tool(""),
        UNSUPPORTED,
        f"{FN}.name",
        "Invalid '{}': empty string. Expected a string with minimum length 1, but got an empty "
        "string instead.",
    ),
    *[
        tools(tool(name), UNSUPPORTED, f"{FN}.name", PATTERN)
        for name in ("a b", "a.b", "a/b", "é", "a\n", "a:b")
    ],
    *[
        tools(
            tool("x" * length),
            UNSUPPORTED,
            f"{FN}.name",
            "Invalid '{}': string too long. Expected a string with maximum length 64, but got a "
            f"string with length {length} instead.",
        )
        for length in (65, 67)
    ],
    tools(tool("a\0"), BAD, f"{FN}.name", "Invalid '{}': string contains a NUL character."),
    # Other members
    tools(
        tool(description=1),
        BAD,
        f"{FN}.description",
        "Invalid type for '{}': expected a string, but got an integer instead.",
    ),
    tools(
        tool(description="\ud800"),
        BAD,
        f"{FN}.description",
        "Invalid '{}': string contains an unpaired surrogate.",
    ),
    *[
        tools(
            tool(parameters=value),
            BAD,
            f"{FN}.parameters",
            f"Invalid type for '{{}}': expected an object, but got {kind} instead.",
        )
        for value, kind in (([], "an array"), ("{}", "a string"), (True, "a boolean"))
    ],
    *[
        tools(
            tool(strict=value),
            BAD,
            f"{FN}.strict",
            f"Invalid type for '{{}}': expected a boolean, but got {kind} instead.",
        )
        for value, kind in (("true", "a string"), (1, "an integer"))
    ],
    tools(
        tool(parameters={"properties": {"a": {"enum": ["x", "\0"]}}}),
        BAD,
        f"{FN}.parameters.properties.a.enum[1]",
        "Invalid '{}': string contains a NUL character.",
    ),
    tools(
        tool(parameters={"properties": {"a\ud800": {}}}),
        BAD,
        f"{FN}.parameters.properties",
        "Invalid '{}': string contains an unpaired surrogate.",
    ),
    # Schemas
    tools(
        tool(parameters=nested(11)),
        UNSUPPORTED,
        f"{FN}.parameters",
        "Invalid schema for function 'get_weather': 11 levels of nesting exceeds limit of 10.",
    ),
    tools(
        tool(parameters=nested(60), strict=True),
        UNSUPPORTED,
        f"{FN}.parameters",
        "Invalid schema for function 'get_weather': 60 levels of nesting exceeds limit of 10.",
    ),
    tools(
        tool(parameters=OPEN, strict=True),
        UNSUPPORTED,
        f"{FN}.parameters",
        "Invalid schema for function 'get_weather': In context=(), 'additionalProperties' is "
        "required to be supplied and to be false.",
    ),
    tools(
        tool(
            parameters={
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "additionalProperties": False,
            },
            strict=True,
        ),
        UNSUPPORTED,
        f"{FN}.parameters",
        "Invalid schema for function 'get_weather': In context=(), 'required' is required to be "
        "supplied and to be an array including every key in properties. Missing 'city'.",
    ),
    tools(
        tool(parameters={}, strict=True),
        UNSUPPORTED,
        f"{FN}.parameters",
        "Invalid schema for function 'get_weather': schema must be a JSON Schema of 'type: "
        '"object"\', got \'type: "None"\'.',
    ),
    # The lowest index
    (
        {"tools": [tool(), tool("a b"), tool("")]},
        UNSUPPORTED,
        "tools[1].function.name",
        PATTERN.format("tools[1].function.name"),
    ),
    # tool_choice
    *[
        choice(
            value,
            UNSUPPORTED,
            "tool_choice",
            f"Invalid value: '{value}'. Supported values are: 'none', 'auto', and 'required'.",
        )
        for value in ("bogus", "any", "", "get_weather")
    ],
    *[
        choice(
            value,
            BAD,
            "tool_choice",
            f"Invalid type for '{{}}': expected {CHOICE_TYPE}, but got {kind} instead.",
        )
        for value, kind in ((1, "an integer"), ([], "an array"), (True, "a boolean"))
    ],
    *[
        choice(value, BAD, "tool_choice.function", "Missing required parameter: '{}'.")
        for value in (
            {},
            {"type": "function"},
            {"type": "bogus"},
            {"type": "function", "name": "get_weather"},
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
        )
    ],
    choice(
        {"type": "function", "function": "get_weather"},
        BAD,
        "tool_choice.function",
        "Invalid type for '{}': expected an object, but got a string instead.",
    ),
    choice(
        {"type": "function", "function": {}},
        BAD,
        "tool_choice.function.name",
        "Missing required parameter: '{}'.",
    ),
    choice(
        {"type": "function", "function": {"name": None}},
        BAD,
        "tool_choice.function.name",
        "Invalid type for '{}': expected a string, but got null instead.",
    ),
    choice(
        {"function": {"name": "get_weather"}},
        BAD,
        "tool_choice.type",
        "Missing required parameter: '{}'.",
    ),
    choice(
        {"type": "custom", "function": {"name": "get_weather"}},
        UNSUPPORTED,
        "tool_choice.type",
        "Invalid value: 'custom'. Supported values are: 'function'.",
    ),
    choice(
        {"type": "function", "function": {"name": "never_declared"}},
        UNSUPPORTED,
        "tool_choice",
        "Invalid value for '{}': no function named 'never_declared' was specified in the 'tools' "
        "parameter.",
    ),
    # Without tools
    *[
        needs_tools("tool_choice", tool_choice=value, tools=none)
        for value in ("auto", "none", {"type": "function", "function": {"name": "f"}})
        for none in (ABSENT, [], None)
    ],
    *[
        needs_tools("parallel_tool_calls", parallel_tool_calls=value, tools=none)
        for value in (True, False)
        for none in (ABSENT, [], None)
    ],
    needs_tools("tool_choice", parallel_tool_calls=True, tool_choice="auto"),
    needs_tools("parallel_tool_calls", parallel_tool_calls=True, tool_choice=None),
    (
        {"tool_choice": "bogus"},
        UNSUPPORTED,
        "tool_choice",
        "Invalid value: 'bogus'. Supported values are: 'none', 'auto', and 'required'.",
    ),
]


@pytest.mark.parametrize("changes, code, param, message", ROWS)
def test_a_bad_tool_or_choice_is_refused_at_its_place(
    changes: dict[str, Any], code: str, param: str, message: str
) -> None:
    assert refused(chat(**changes)) == (400, code, param, message)


@pytest.mark.parametrize(
    "sent, read",
    [
        (tool(), Tool("get_weather")),
        (tool(description=None, parameters=None, strict=None), Tool("get_weather")),
        (tool(description=""), Tool("get_weather", "")),
        (tool(description="d" * 5000), Tool("get_weather", "d" * 5000)),
        (tool(parameters={}), Tool("get_weather", None, {})),
        (tool(parameters=OPEN, strict=False), Tool("get_weather", None, OPEN, False)),
        (tool(parameters=CLOSED, strict=True), Tool("get_weather", None, CLOSED, True)),
        (tool(strict=True), Tool("get_weather", None, None, True)),
        (tool(parameters=nested(10)), Tool("get_weather", None, nested(10))),
        (tool("x" * 64), Tool("x" * 64)),
        (tool("A-z_09"), Tool("A-z_09")),
        (tool(bogus=1) | {"cache_control": {"type": "ephemeral"}}, Tool("get_weather")),
    ],
)
def test_a_tool_keeps_what_the_contract_names(sent: Any, read: Tool) -> None:
    assert accepted(tools=[sent]).tools == (read,)


@pytest.mark.parametrize(
    "choice, read",
    [
        (None, None),
        ("none", ToolChoice("none")),
        ("auto", ToolChoice("auto")),
        ("required", ToolChoice("required")),
        (
            {"type": "function", "function": {"name": "f", "bogus": 1}, "bogus": 1},
            ToolChoice("function", "f"),
        ),
    ],
)
def test_a_choice_is_taken(choice: Any, read: ToolChoice | None) -> None:
    assert accepted(tools=[tool("f")], tool_choice=choice).tool_choice == read


@pytest.mark.parametrize("parallel", [True, False, None])
def test_parallel_calls_are_taken_with_tools(parallel: bool | None) -> None:
    request = accepted(tools=[tool()], parallel_tool_calls=parallel)
    assert request.parallel_tool_calls is parallel


def test_names_may_repeat_as_at_openai() -> None:
    assert len(accepted(tools=[tool(), tool()]).tools) == 2


def test_a_hundred_and_twenty_eight_tools_are_taken() -> None:
    assert len(accepted(tools=[tool(f"f{i}") for i in range(128)]).tools) == 128
