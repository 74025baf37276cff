"""Structured output: types, members, names, strict schemas, the guard."""

from typing import Any

import pytest

from core.chat_bodies import BAD, UNSUPPORTED, Row, accepted, chat, json_schema, nested, refused
from horde_core.chat import ResponseFormat

RF = "response_format"
JS = "response_format.json_schema"
TYPES = "'json_object', 'json_schema', and 'text'"
CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


def row(value: Any, code: str, param: str, text: str) -> Row:
    return {"response_format": value}, code, param, text.format(param)


def schema_row(members: Any, code: str, place: str, text: str) -> Row:
    return row({"type": "json_schema", "json_schema": members}, code, f"{JS}{place}", text)


def name(value: Any) -> dict[str, Any]:
    return {"name": value, "schema": {}}


ROWS: list[Row] = [
    *[
        row(
            value,
            BAD,
            RF,
            f"Invalid type for '{{}}': expected an object, but got {kind} instead.",
        )
        for value, kind in (("json_object", "a string"), ([], "an array"), (True, "a boolean"))
    ],
    row({}, BAD, f"{RF}.type", "Missing required parameter: '{}'."),
    *[
        row(
            {"type": value},
            BAD,
            f"{RF}.type",
            f"Invalid type for '{{}}': expected one of {TYPES.replace('and', 'or')}, "
            f"but got {kind} instead.",
        )
        for value, kind in ((None, "null"), (1, "an integer"))
    ],
    *[
        row(
            {"type": value},
            UNSUPPORTED,
            f"{RF}.type",
            f"Invalid value: '{value}'. Supported values are: {TYPES}.",
        )
        for value in ("bogus", "", "grammar")
    ],
    *[
        row(
            {"type": kind, key: value},
            UNSUPPORTED,
            f"{RF}.{key}",
            "Unknown parameter: '{}'.",
        )
        for kind, key, value in (
            ("json_object", "schema", {}),
            ("json_object", "strict", True),
            ("json_object", "json_schema", {}),
            ("text", "json_schema", {}),
            ("text", "bogus", None),
            ("json_schema", "schema", {}),
        )
    ],
    row({"type": "json_schema"}, BAD, JS, "Missing required parameter: '{}'."),
    *[
        row(
            {"type": "json_schema", "json_schema": value},
            BAD,
            JS,
            f"Invalid type for '{{}}': expected an object, but got {kind} instead.",
        )
        for value, kind in ((None, "null"), ("{}", "a string"), ([], "an array"))
    ],
    schema_row(name("r") | {"foo": 1}, UNSUPPORTED, ".foo", "Unknown parameter: '{}'."),
    schema_row(
        {"name": "r", "schem": {}},
        UNSUPPORTED,
        ".schem",
        "Unknown parameter: '{}'. Did you mean 'schema'?",
    ),
    schema_row({"schema": {}}, BAD, ".name", "Missing required parameter: '{}'."),
    schema_row({}, BAD, ".name", "Missing required parameter: '{}'."),
    schema_row(
        name(None),
        BAD,
        ".name",
        "Invalid type for '{}': expected a string, but got null instead.",
    ),
    schema_row(
        name(""),
        UNSUPPORTED,
        ".name",
        "Invalid '{}': empty string. Expected a string with minimum length 1, but got an empty "
        "string instead.",
    ),
    *[
        schema_row(
            name(value),
            UNSUPPORTED,
            ".name",
            "Invalid '{}': string does not match pattern. Expected a string that matches the "
            "pattern '^[a-zA-Z0-9_-]+$'.",
        )
        for value in ("my reply", "Reply[int]", "a.b")
    ],
    schema_row(
        name("x" * 65),
        UNSUPPORTED,
        ".name",
        "Invalid '{}': string too long. Expected a string with maximum length 64, but got a "
        "string with length 65 instead.",
    ),
    schema_row({"name": "r"}, BAD, ".schema", "Missing required parameter: '{}'."),
    *[
        schema_row(
            {"name": "r", "schema": value},
            BAD,
            ".schema",
            f"Invalid type for '{{}}': expected an object, but got {kind} instead.",
        )
        for value, kind in ((None, "null"), ([], "an array"), (True, "a boolean"))
    ],
    schema_row(
        name("r") | {"strict": "true"},
        BAD,
        ".strict",
        "Invalid type for '{}': expected a boolean, but got a string instead.",
    ),
    schema_row(
        name("r") | {"description": 1},
        BAD,
        ".description",
        "Invalid type for '{}': expected a string, but got an integer instead.",
    ),
    schema_row(
        name("r") | {"description": "\0"},
        BAD,
        ".description",
        "Invalid '{}': string contains a NUL character.",
    ),
    schema_row(
        {"name": "r", "schema": {"title": "\ud800"}},
        BAD,
        ".schema.title",
        "Invalid '{}': string contains an unpaired surrogate.",
    ),
    schema_row(
        {"name": "r", "schema": {"a": [{"\0": 1}]}},
        BAD,
        ".schema.a[0]",
        "Invalid '{}': string contains a NUL character.",
    ),
    # A schema's own faults are reported at response_format, as OpenAI's chat API does
    *[
        row(
            json_schema(nested(11), strict=strict),
            UNSUPPORTED,
            RF,
            "Invalid schema for response_format 'reply': 11 levels of nesting exceeds limit of 10.",
        )
        for strict in (True, False, None)
    ],
    row(
        json_schema({"type": "object", "properties": {}}, strict=True),
        UNSUPPORTED,
        RF,
        "Invalid schema for response_format 'reply': In context=(), 'additionalProperties' is "
        "required to be supplied and to be false.",
    ),
    row(
        json_schema(CLOSED | {"required": []}, strict=True),
        UNSUPPORTED,
        RF,
        "Invalid schema for response_format 'reply': In context=(), 'required' is required to be "
        "supplied and to be an array including every key in properties. Missing 'a'.",
    ),
    row(
        json_schema({"type": "array", "items": {}}, strict=True),
        UNSUPPORTED,
        RF,
        "Invalid schema for response_format 'reply': schema must be a JSON Schema of 'type: "
        '"object"\', got \'type: "array"\'.',
    ),
]


@pytest.mark.parametrize("changes, code, param, message", ROWS)
def test_a_bad_format_is_refused_at_its_place(
    changes: dict[str, Any], code: str, param: str, message: str
) -> None:
    assert refused(chat(**changes)) == (400, code, param, message)


OPEN = {"type": "object", "properties": {"a": {}}}


@pytest.mark.parametrize(
    "sent, read",
    [
        (None, None),
        ({"type": "text"}, None),
        ({"type": "text", "json_schema": None}, None),
        ({"type": "json_object"}, ResponseFormat("json_object")),
        (json_schema({}), ResponseFormat("json_schema", "reply", {})),
        (json_schema(OPEN), ResponseFormat("json_schema", "reply", OPEN)),
        (
            json_schema(OPEN, strict=False, description="d"),
            ResponseFormat("json_schema", "reply", OPEN, "d", False),
        ),
        (
            json_schema(CLOSED, strict=True, description=None),
            ResponseFormat("json_schema", "reply", CLOSED, None, True),
        ),
        (json_schema(nested(10)), ResponseFormat("json_schema", "reply", nested(10))),
    ],
)
def test_a_good_format_is_taken(sent: Any, read: ResponseFormat | None) -> None:
    assert accepted(response_format=sent).response_format == read
