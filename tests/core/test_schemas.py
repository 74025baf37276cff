"""Depth and OpenAI's strict rules, at every nested place."""

from typing import Any

import pytest

from core.chat_bodies import nested
from horde_core.schemas import DEEPEST, fault, nesting

NO_ADDITIONAL = "'additionalProperties' is required to be supplied and to be false."
REQUIRED = (
    "'required' is required to be supplied and to be an array including every key in properties."
)
NO_TARGET = "reference can only point to definitions defined at the top level of the schema."
OPEN = {"type": "object", "properties": {}}
STRING = {"type": "string"}


def closed(**properties: Any) -> dict[str, Any]:
    """An object schema that keeps the rules."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def reason(schema: dict[str, Any]) -> str | None:
    return fault(schema, strict=True, braces=0)


@pytest.mark.parametrize(
    "schema, expected",
    [
        # The root
        ({}, "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."),
        (
            {"type": "array", "items": STRING},
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
        ),
        (
            {"anyOf": [closed(a=STRING)]},
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.",
        ),
        (
            {"type": ["object", "null"]},
            (
                "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"['object', "
                "'null']\"'."
            ),
        ),
        *[
            (
                {"$ref": reference, "$defs": {"a": {"type": "string"}}},
                f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'.",
            )
            for reference, kind in (
                ("#/$defs/a", "string"),
                ("#/$defs/b", "None"),
                ("#", "None"),
                (1, "None"),
            )
        ],
        # The two rules
        ({"type": "object"}, f"In context=(), {NO_ADDITIONAL}"),
        (OPEN, f"In context=(), {NO_ADDITIONAL}"),
        (closed(a=STRING) | {"additionalProperties": True}, f"In context=(), {NO_ADDITIONAL}"),
        (closed(a=STRING) | {"additionalProperties": STRING}, f"In context=(), {NO_ADDITIONAL}"),
        (closed(a=STRING) | {"additionalProperties": 0}, f"In context=(), {NO_ADDITIONAL}"),
        (
            {"type": "object", "properties": {"id": STRING}, "additionalProperties": False},
            f"In context=(), {REQUIRED} Missing 'id'.",
        ),
        (closed(a=STRING, b=STRING) | {"required": []}, f"In context=(), {REQUIRED} Missing 'a'."),
        (
            closed(a=STRING, b=STRING) | {"required": ["a"]},
            f"In context=(), {REQUIRED} Missing 'b'.",
        ),
        (
            closed(a=STRING) | {"required": ["a", "zip"]},
            f"In context=(), {REQUIRED} Extra required key 'zip' supplied.",
        ),
        (
            closed(a=STRING) | {"required": ["a", ["a"]]},
            f"In context=(), {REQUIRED} Extra required key '['a']' supplied.",
        ),
        (closed(a=STRING) | {"required": "a"}, f"In context=(), {REQUIRED} Missing 'a'."),
        (closed() | {"required": None}, f"In context=(), {REQUIRED}"),
        (
            closed() | {"properties": []},
            "In context=(), 'properties' is required to be an object.",
        ),
        # Every nested place
        (closed(a=OPEN), f"In context=('properties', 'a'), {NO_ADDITIONAL}"),
        (
            closed(a={"type": ["object", "null"], "properties": {}}),
            f"In context=('properties', 'a'), {NO_ADDITIONAL}",
        ),
        (
            closed(a={"properties": {"b": STRING}}),
            f"In context=('properties', 'a'), {NO_ADDITIONAL}",
        ),
        (
            closed(steps={"type": "array", "items": OPEN}),
            f"In context=('properties', 'steps', 'items'), {NO_ADDITIONAL}",
        ),
        (
            closed(a={"type": "array", "items": [STRING, OPEN]}),
            f"In context=('properties', 'a', 'items', '1'), {NO_ADDITIONAL}",
        ),
        (
            closed(a={"type": "array", "prefixItems": [OPEN]}),
            f"In context=('properties', 'a', 'prefixItems', '0'), {NO_ADDITIONAL}",
        ),
        *[
            (
                closed(u={keyword: [STRING, OPEN]}),
                f"In context=('properties', 'u', '{keyword}', '1'), {NO_ADDITIONAL}",
            )
            for keyword in ("anyOf", "oneOf", "allOf")
        ],
        (
            closed(a={"additionalProperties": OPEN}),
            f"In context=('properties', 'a', 'additionalProperties'), {NO_ADDITIONAL}",
        ),
        *[
            (
                closed(a=STRING) | {keyword: {"Unused": OPEN}},
                f"In context=('{keyword}', 'Unused'), {NO_ADDITIONAL}",
            )
            for keyword in ("$defs", "definitions")
        ],
        # Behind a reference: at the place that uses it
        *[
            (
                closed(a={"$ref": f"#/{keyword}/Pet"}) | {keyword: {"Pet": OPEN}},
                f"In context=('properties', 'a'), {NO_ADDITIONAL}",
            )
            for keyword in ("$defs", "definitions")
        ],
        (
            closed(a={"$ref": "#/$defs/a~1b~0c%25"}) | {"$defs": {"a/b~c%": OPEN}},
            f"In context=('properties', 'a'), {NO_ADDITIONAL}",
        ),
        (
            closed(a={"anyOf": [STRING, OPEN]}, b={"$ref": "#/properties/a/anyOf/1"}),
            f"In context=('properties', 'a', 'anyOf', '1'), {NO_ADDITIONAL}",
        ),
        *[
            (closed(a={"$ref": reference}), f"In context=('properties', 'a'), {NO_TARGET}")
            for reference in (
                "#/$defs/Missing",
                "https://a.example/schema",
                "#anchor",
                "Pet",
                "#/required/0",
                "#/required/9",
                "#/required/x",
                "#/type/x",
                None,
            )
        ],
        # Outer before inner, in the schema's order
        (
            {"type": "object", "properties": {"a": OPEN}},
            f"In context=(), {NO_ADDITIONAL}",
        ),
        (
            closed(a=closed(x=OPEN), b=OPEN),
            f"In context=('properties', 'a', 'properties', 'x'), {NO_ADDITIONAL}",
        ),
    ],
)
def test_a_schema_that_breaks_a_strict_rule_is_told_where(
    schema: dict[str, Any], expected: str
) -> None:
    assert reason(schema) == expected


NODE = closed(value=STRING, next={"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]})


@pytest.mark.parametrize(
    "schema",
    [
        closed(),
        {"type": "object", "additionalProperties": False},
        closed(a=STRING),
        closed(a=closed(b=closed(c=STRING))),
        closed(a={"type": "array", "items": closed(b=STRING)}),
        closed(a={"anyOf": [closed(b=STRING), {"type": "null"}]}),
        # A recursive reference is legal and must end
        closed(node={"$ref": "#/$defs/Node"}) | {"$defs": {"Node": NODE}},
        closed(self={"$ref": "#"}),
        {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
        closed(a={"$ref": "#/$defs/A"}) | {"$defs": {"A": {"$ref": "#/$defs/A"}}},
        # What zod and pydantic add
        {
            **closed(
                n={"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991},
                s={"type": "string", "format": "email", "default": "a@b.c", "title": "S"},
                b=True,
            ),
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "Reply",
            "description": "d",
        },
        # A property may have a keyword's name, and data may look like a schema
        closed(properties=STRING, additionalProperties=STRING, **{"$ref": STRING}),
        closed(a={"const": {"type": "object"}, "enum": [{"properties": {}}]}),
        # Nonsense where a schema should be is no schema
        closed(a=STRING) | {"$defs": [], "anyOf": {}, "items": 7},
        closed(a="string", b=None, c=[OPEN]),
    ],
)
def test_a_strict_schema_passes(schema: dict[str, Any]) -> None:
    assert reason(schema) is None


@pytest.mark.parametrize(
    "schema, levels",
    [
        ({}, 0),
        ({"type": "string"}, 0),
        ({"properties": {"a": {}}}, 1),
        ({"properties": {"a": True}}, 0),
        ({"items": {"items": {"items": {}}}}, 3),
        ({"items": [{}, {"items": {}}]}, 2),
        ({"anyOf": [{"oneOf": [{"allOf": [{}]}]}]}, 3),
        ({"$defs": {"A": {"properties": {"a": {}}}}}, 2),
        ({"definitions": {"A": {}}}, 1),
        ({"patternProperties": {"^a": {"additionalProperties": {"not": {}}}}}, 3),
        ({"if": {"then": {"else": {"contains": {"propertyNames": {}}}}}}, 5),
        ({"prefixItems": [{"dependentSchemas": {"a": {"unevaluatedItems": {}}}}]}, 3),
        ({"unevaluatedProperties": {}}, 1),
        # JSON nesting that is no schema doesn't count, and references aren't followed
        ({"default": {"a": {"b": {"c": [[[{}]]]}}}, "enum": [{"properties": {"a": {}}}]}, 0),
        ({"properties": {"a": {"$ref": "#"}}}, 1),
        (nested(10), 10),
        (nested(200), 200),
    ],
)
def test_nesting_counts_the_schemas_below_the_root(schema: dict[str, Any], levels: int) -> None:
    assert nesting(schema) == levels


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("levels", [11, 15])
def test_deep_schemas_are_refused_strict_or_not(levels: int, strict: bool) -> None:
    assert fault(nested(levels), strict=strict, braces=1000) == (
        f"{levels} levels of nesting exceeds limit of 10."
    )


def test_ten_levels_pass() -> None:
    assert fault(nested(DEEPEST), strict=False, braces=1000) is None


def test_long_names_are_shortened_in_a_reason() -> None:
    name = "n" * 10_000
    for schema in (
        closed(a=STRING) | {"required": ["a", name]},
        closed(a=STRING) | {"properties": {name: STRING}},
        closed(**{name: OPEN}),
        {"type": name},
    ):
        assert len(reason(schema) or "") < 500


def test_a_long_chain_of_references_is_walked_once() -> None:
    """Each schema is looked at one time, so the work grows with the schema alone."""
    steps = 20_000
    chain = {str(i): {"$ref": f"#/$defs/{i + 1}"} for i in range(steps)}
    schema = closed(a={"$ref": "#/$defs/0"}) | {"$defs": chain | {str(steps): OPEN}}
    assert reason(schema) == f"In context=('properties', 'a'), {NO_ADDITIONAL}"
