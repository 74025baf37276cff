"""Reading JSON schemas: references, two schemas folded into one, and how deep a schema must go."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

Schema = Mapping[str, Any] | bool

TYPES: Final = ("object", "array", "string", "number", "integer", "boolean", "null")
BRANCHES: Final = ("anyOf", "oneOf")

# What a schema without `type` is most likely about, by the rules that it has.
_RULES_OF_TYPES: Final[Mapping[str, str]] = {
    "object": "properties required additionalProperties patternProperties propertyNames "
    "minProperties maxProperties",
    "array": "items prefixItems minItems maxItems uniqueItems contains",
    "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
    "string": "minLength maxLength pattern format",
}
_TELLING: Final = {rule: kind for kind, rules in _RULES_OF_TYPES.items() for rule in rules.split()}
_LARGER: Final = frozenset(
    ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"]
)
_SMALLER: Final = frozenset(
    ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"]
)


class Unwritable(Exception):  # noqa: N818 - says what the schema is, here and now
    """No value could be written for a schema at this place."""


def types_of(schema: Schema) -> tuple[str, ...]:
    """The types that a schema names, or that its rules tell; empty for one that says nothing."""
    if isinstance(schema, bool):
        return ()
    named = schema.get("type")
    if isinstance(named, str):
        return (named,)
    if isinstance(named, Sequence):
        return tuple(named)
    return next(((_TELLING[rule],) for rule in schema if rule in _TELLING), ())


def pointed_at(root: Schema, reference: str) -> Schema:
    """The schema that a local reference (`#`, `#/$defs/x`, `#anchor`) names; False for none."""
    pointer = unquote(reference.removeprefix("#"))
    if not reference.startswith("#"):
        return False
    if pointer and not pointer.startswith("/"):
        return _anchored(root, pointer)
    found: Any = root
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return False
    return found if isinstance(found, Mapping | bool) else False


def _anchored(root: Any, anchor: str) -> Schema:
    stack = [root]
    while stack:
        here = stack.pop()
        if isinstance(here, Mapping):
            if here.get("$anchor") == anchor:
                return here
            stack.extend(here.values())
        elif isinstance(here, list):
            stack.extend(here)
    return False


def merged(first: Schema, second: Schema) -> Schema:
    """One schema that asks for all that both ask for, without an `allOf` where one can do so."""
    if first is False or second is False:
        return False
    if first is True or second is True:
        return second if first is True else first
    out = dict(first)
    left_over: list[Schema] = []
    for rule, value in second.items():
        if rule not in out or out[rule] == value:
            out[rule] = value
            continue
        joined = _joined(rule, out[rule], value)
        if joined is None:
            left_over.append({rule: value})
        else:
            out[rule] = joined
    if out.get("type") == [] or out.get("enum") == []:
        return False
    for part in left_over:
        # A second pattern, `not`, `anyOf`…: kept as a whole, and checked when a value is written.
        out["allOf"] = [*out.get("allOf", ()), part]
    return _apart(out) if left_over else out


def _apart(schema: dict[str, Any]) -> Schema:
    """A schema whose leftover parts can't be folded in: each becomes a `not` of its `not`.

    Folding would meet them again and again; as a double negation they are checked, not folded.
    """
    parts = schema.pop("allOf")
    negated: Any = {"anyOf": [{"not": part} for part in parts]}
    before = schema.get("not")
    schema["not"] = negated if before is None else {"anyOf": [before, negated]}
    return schema


def _joined(rule: str, first: Any, second: Any) -> Any:
    """What a rule says when two schemas have it; None when the two can't be put into one."""
    if rule in _LARGER:
        return max(first, second)
    if rule in _SMALLER:
        return min(first, second)
    if rule in ("properties", "patternProperties", "$defs", "definitions"):
        both = {name: merged(first[name], second[name]) for name in first if name in second}
        return {**first, **second, **both}
    if rule == "required":
        return list(dict.fromkeys((*first, *second)))
    if rule == "type":
        return _types_in_both(first, second)
    if rule == "enum":
        return [value for value in first if value in second]
    if rule in ("additionalProperties", "items", "propertyNames"):
        return merged(first, second)
    if rule == "uniqueItems":
        return True
    if rule in ("title", "description", "default", "examples", "$schema", "$comment", "$id"):
        return second
    return None


def _types_in_both(first: Any, second: Any) -> list[str]:
    one = [first] if isinstance(first, str) else list(first)
    two = [second] if isinstance(second, str) else list(second)
    both = [kind for kind in one if kind in two]
    # An integer is a number too.
    if "integer" not in both and (
        ("integer" in one and "number" in two) or ("integer" in two and "number" in one)
    ):
        both.append("integer")
    return both


def height(schema: Schema, root: Schema, seen: frozenset[str] = frozenset()) -> float:
    """The least nesting of a value for the schema: infinite along a reference to itself."""
    if isinstance(schema, bool) or len(seen) > 30:
        return 0 if schema is True else math.inf
    if "$ref" in schema:
        reference = schema["$ref"]
        if reference in seen:
            return math.inf
        return height(pointed_at(root, reference), root, seen | {reference})
    least = [
        min((height(part, root, seen) for part in schema[rule]), default=0.0)
        for rule in BRANCHES
        if rule in schema
    ]
    least += [height(part, root, seen) for part in schema.get("allOf", ())]
    properties = schema.get("properties", {})
    inner = [properties[key] for key in schema.get("required", ()) if key in properties]
    if schema.get("minItems", 0) > 0:
        inner.append(schema.get("items", True))
    return max([0.0, *least, *(1 + height(part, root, seen) for part in inner)])
