"""JSON Schemas of tools and formats: how deep they nest, and OpenAI's rules for strict ones.

A schema is data that is forwarded unchanged, so what isn't a rule here is never a fault, and
whatever is found where a schema should be (a boolean, a list, nonsense) is simply no schema.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from horde_core import faults

Schema = Mapping[str, Any]
Place = tuple[str, ...]
"""Keys from the root down, list indexes as words, as OpenAI prints them."""

DEEPEST: Final = 10

_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_LISTS = ("prefixItems", "anyOf", "oneOf", "allOf")
_SINGLES = (
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_EVERYWHERE = (*_MAPS, *_LISTS, *_SINGLES)
# Definitions come last: a fault in one is reported where the schema first uses it.
_STRICT_ORDER = (
    "properties",
    "items",
    "prefixItems",
    "anyOf",
    "oneOf",
    "allOf",
    "additionalProperties",
    "$defs",
    "definitions",
)

_REQUIRED = (
    "'required' is required to be supplied and to be an array including every key in properties."
)
_NO_TARGET = "reference can only point to definitions defined at the top level of the schema."
_INDEX = re.compile("[0-9]{1,9}")


def fault(schema: Schema, *, strict: bool, braces: int) -> str | None:
    """Why a schema is refused, in OpenAI's words without their opening; None when it isn't.

    `braces` is an upper bound on the objects in it: so few can't nest too deep, and most schemas
    need no walk at all.
    """
    if braces > DEEPEST + 1:
        depth = nesting(schema)
        if depth > DEEPEST:
            return f"{depth} levels of nesting exceeds limit of {DEEPEST}."
    return _strict_fault(schema) if strict else None


def nesting(schema: Schema) -> int:
    """Levels of schemas below the root, a scalar leaf included; references are not followed."""
    depth = 0
    level = [schema]
    while level := [child for parent in level for _, child in _children(parent, _EVERYWHERE)]:
        depth += 1
    return depth


def _children(schema: Schema, keywords: tuple[str, ...]) -> Iterator[tuple[Place, Schema]]:
    """The schemas directly inside one, each with its place below it."""
    for keyword in keywords:
        value = schema.get(keyword)
        found: list[tuple[Place, Any]]
        if keyword in _MAPS:
            members = value.items() if isinstance(value, Mapping) else ()
            found = [((keyword, name), member) for name, member in members]
        elif isinstance(value, list):
            # `items` of older drafts is a list as well.
            found = [((keyword, str(index)), member) for index, member in enumerate(value)]
        else:
            found = [((keyword,), value)]
        for place, member in found:
            if isinstance(member, Mapping):
                yield place, member


def _strict_fault(root: Schema) -> str | None:
    kind = _root_type(root)
    if kind != "object":
        shown = faults.shown(str(kind))
        return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{shown}\"'."
    seen: set[int] = set()
    waiting: list[tuple[Place, Schema]] = [((), root)]
    while waiting:
        place, schema = waiting.pop()
        if id(schema) in seen:
            continue
        seen.add(id(schema))
        reason = _object_fault(schema)
        children = [(place + below, child) for below, child in _children(schema, _STRICT_ORDER)]
        if "$ref" in schema:
            target = _target(schema, root)
            if target is None:
                reason = reason or _NO_TARGET
            else:
                children.insert(0, (place, target))
        if reason is not None:
            return f"In context={faults.shown(str(place))}, {reason}"
        waiting += reversed(children)
    return None


def _object_fault(schema: Schema) -> str | None:
    """The two rules of an object schema: closed, and every property required."""
    kind = schema.get("type")
    is_object = kind == "object" or (isinstance(kind, list) and "object" in kind)
    if not is_object and "properties" not in schema:
        return None
    if schema.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false."
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        return "'properties' is required to be an object."
    return _required_fault(properties, schema.get("required", []))


def _required_fault(properties: Schema, required: Any) -> str | None:
    names = required if isinstance(required, list) else []
    listed = {name for name in names if isinstance(name, str)}
    missing = next((name for name in properties if name not in listed), None)
    if missing is not None:
        return f"{_REQUIRED} Missing '{faults.shown(missing)}'."
    extra = [name for name in names if not isinstance(name, str) or name not in properties]
    if extra:
        return f"{_REQUIRED} Extra required key '{faults.shown(str(extra[0]))}' supplied."
    return None if isinstance(required, list) else _REQUIRED


def _root_type(root: Schema) -> Any:
    """The `type` of the root, behind its references if it has any; None when they lead nowhere."""
    schema: Schema | None = root
    followed: set[int] = set()
    while schema is not None and "$ref" in schema and id(schema) not in followed:
        followed.add(id(schema))
        schema = _target(schema, root)
    return None if schema is None else schema.get("type")


def _target(schema: Schema, root: Schema) -> Schema | None:
    """What a local reference points at (RFC 6901), one step far; None when that is no schema."""
    reference = schema["$ref"]
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    target: Any = root
    for word in unquote(reference[1:]).split("/")[1:]:
        target = _step(target, word.replace("~1", "/").replace("~0", "~"))
    return target if isinstance(target, Mapping) else None


def _step(value: Any, word: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(word)
    if isinstance(value, list) and _INDEX.fullmatch(word) and int(word) < len(value):
        return value[int(word)]
    return None
