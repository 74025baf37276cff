"""Documents for JSON schemas: always valid, by the library's judgement."""

from random import Random
from typing import Any
from uuid import UUID

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horde_simulator.brains.instances import instance_of
from horde_simulator.brains.plausible import Plausible
from horde_simulator.brains.strings import FORMATS
from simulator.schemas import schemas


def check(schema: Any, value: Any) -> None:
    jsonschema.Draft202012Validator(schema).validate(value)


@settings(max_examples=400, deadline=None)
@given(schemas(), st.integers(0, 1000))
def test_every_generated_schema_gets_a_valid_document(schema: Any, seed: int) -> None:
    """Any schema that some value fits gets one that fits."""
    check(schema, instance_of(schema, Random(seed), Plausible("Something in Paris, 7 times")))


TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "left": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                "right": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value", "left", "right", "children"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/node",
}
HARD: dict[str, Any] = {
    "recursive tree": TREE,
    "recursive root": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "next": {"anyOf": [{"$ref": "#"}, {"const": 0}]},
        },
        "required": ["name", "next"],
        "additionalProperties": False,
    },
    "mutual recursion": {
        "$defs": {
            "a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "required": ["b"]},
            "b": {"type": "array", "items": {"$ref": "#/$defs/a"}},
        },
        "$ref": "#/$defs/a",
    },
    "reference beside rules": {
        "definitions": {"small": {"type": "integer", "maximum": 10}},
        "type": "object",
        "properties": {"n": {"$ref": "#/definitions/small", "minimum": 9}},
        "required": ["n"],
    },
    "escaped pointer": {"$defs": {"a/b~c": {"const": 3}}, "$ref": "#/$defs/a~1b~0c"},
    "anchor": {"$defs": {"x": {"$anchor": "here", "enum": ["yes"]}}, "$ref": "#here"},
    "oneOf that overlaps": {
        "oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "multipleOf": 5}]
    },
    "not": {"type": "integer", "minimum": 1, "maximum": 6, "not": {"multipleOf": 2}},
    "allOf of bounds": {
        "allOf": [{"type": "integer"}, {"minimum": 100}, {"maximum": 103}, {"multipleOf": 2}]
    },
    "allOf of two patterns": {
        "allOf": [{"type": "string", "pattern": "^[a-c]{3}"}, {"pattern": "[a-z]$"}]
    },
    "allOf of enums": {"allOf": [{"enum": [1, "two", 3]}, {"enum": ["two", 4]}]},
    "if then": {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "size": {"type": "integer"}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "a"}}},
        "then": {"required": ["size"]},
        "else": {"not": {"required": ["size"]}},
    },
    "dependent keys": {
        "type": "object",
        "properties": {"card": {"type": "integer"}, "address": {"type": "string"}},
        "required": ["card"],
        "dependentRequired": {"card": ["address"], "address": ["town"]},
    },
    "unique items": {
        "type": "array",
        "items": {"enum": [1, 2, 3, 4]},
        "minItems": 4,
        "uniqueItems": True,
    },
    "prefix items": {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "items": False,
        "minItems": 2,
    },
    "contains": {"type": "array", "contains": {"const": 7}, "minContains": 2},
    "pattern properties": {
        "type": "object",
        "patternProperties": {"^x-[a-z]+$": {"type": "integer"}},
        "additionalProperties": False,
        "minProperties": 2,
    },
    "property names": {
        "type": "object",
        "propertyNames": {"pattern": "^[A-Z]{3}$"},
        "additionalProperties": {"type": "boolean"},
        "minProperties": 3,
    },
    "zod's bounds": {
        "type": "integer",
        "minimum": -9007199254740991,
        "maximum": 9007199254740991,
    },
    "exclusive bounds one apart": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "multiple of a tenth": {"type": "number", "multipleOf": 0.5, "minimum": 0.4, "maximum": 1.2},
    "fixed length": {"type": "string", "minLength": 200, "maxLength": 200},
    "pattern without an end": {"type": "string", "pattern": "^ab", "minLength": 30},
    "ten deep": {"type": "object", "properties": {}, "required": []},
}
deepest: dict[str, Any] = HARD["ten deep"]
for _ in range(10):
    deepest["properties"]["in"] = {"type": "object", "properties": {}, "required": []}
    deepest["required"].append("in")
    deepest = deepest["properties"]["in"]


@pytest.mark.parametrize("name", HARD)
def test_hard_schemas_get_valid_documents_whatever_the_seed(name: str) -> None:
    """Recursion ends, and rules that can't be written towards are met by trying again."""
    for seed in range(25):
        check(HARD[name], instance_of(HARD[name], Random(seed), Plausible("Hello")))


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "string", "enum": [1]},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#"},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "object", "additionalProperties": False, "minProperties": 1},
        {"type": "string", "pattern": "(?=x)y"},
        {"type": "no such type"},
        {"$ref": "https://elsewhere.example/schema"},
    ],
)
def test_a_schema_that_nothing_fits_still_gets_an_answer(schema: Any) -> None:
    """A model answers something; the Horde's check is what refuses it."""
    instance_of(schema, Random(1), Plausible("Hello"))


def test_the_same_seed_writes_the_same_document() -> None:
    """Replies depend on the seed and the job only."""
    documents = [instance_of(TREE, Random(5), Plausible("")) for _ in range(2)]
    assert documents[0] == documents[1]


def test_values_come_from_what_was_said() -> None:
    """Names, ages, places, and words of an enum are taken over from the conversation."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "city": {"type": "string"},
            "mood": {"enum": ["glad", "tired", "very_happy"]},
        },
        "required": ["name", "age", "city", "mood"],
    }
    said = Plausible("John Smith is 42 years old, lives in Berlin and is very happy.")
    expected = {"name": "John Smith", "age": 42, "city": "Berlin", "mood": "very_happy"}
    assert expected == instance_of(schema, Random(1), said)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_formats_are_kept(name: str) -> None:
    """As far as the library checks them; a UUID is of version 4."""
    schema = {"type": "string", "format": name}
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    for seed in range(10):
        value = instance_of(schema, Random(seed), Plausible(""))
        jsonschema.Draft202012Validator(schema, format_checker=checker).validate(value)
        if name == "uuid":
            assert UUID(value).version == 4


@pytest.mark.parametrize(
    "name, said, value",
    [
        ("date", "on 2026-05-04, please", "2026-05-04"),
        ("email", "to ada@example.org", "ada@example.org"),
        ("uri", "see https://example.org/a?b=c", "https://example.org/a?b=c"),
    ],
)
def test_formats_take_over_what_was_said(name: str, said: str, value: str) -> None:
    """Rather than invent something."""
    schema = {"type": "string", "format": name}
    assert instance_of(schema, Random(1), Plausible(said)) == value
