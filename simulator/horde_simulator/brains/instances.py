"""Documents for a JSON schema: values that it accepts, and that a reader finds plausible.

A model under a grammar writes what the schema allows; this does it from the schema alone. What is
written is checked with the `jsonschema` library, piece by piece where a rule can't be written
towards (`not`, `oneOf`, `if`), and as a whole. A schema that nothing fits gets the last attempt.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any, Final

import attrs
from jsonschema import Draft202012Validator, exceptions
from referencing.exceptions import Unresolvable

from horde_simulator.brains.plausible import Plausible
from horde_simulator.brains.quantities import number_for
from horde_simulator.brains.schema_rules import (
    BRANCHES,
    TYPES,
    Schema,
    Unwritable,
    height,
    merged,
    pointed_at,
    types_of,
)
from horde_simulator.brains.strings import string_for


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ATTEMPTS: Final = 10
_CHECKED: Final = _set_of(
    "not if oneOf dependentRequired dependentSchemas dependencies contains uniqueItems "
    "multipleOf pattern propertyNames patternProperties format const enum "
    "unevaluatedProperties unevaluatedItems minProperties maxProperties"
)
"""Rules that a written value is checked against at once, because they may need another try."""
_ROOMY: Final = 3
"""Nesting down to which optional properties and longer lists are written."""
_DEEPEST: Final = 60
_MOST_VALUES: Final = 3000
_UNUSABLE: Final = (Unresolvable, RecursionError, ValueError, TypeError, re.error)
"""What the library raises for references that lead nowhere and patterns that aren't Python's."""


def valid_for(schema: Schema, value: Any) -> bool:
    """Whether the library finds the value valid; what it can't follow finds nothing valid."""
    try:
        return bool(Draft202012Validator(schema).is_valid(value))
    except _UNUSABLE:
        return False


def is_schema(schema: Any) -> bool:
    """Whether the library takes the value for a schema."""
    try:
        return _is_schema(json.dumps(schema))
    except RecursionError:
        return False


@lru_cache(256)
def _is_schema(text: str) -> bool:
    """Clients send the same schemas over and over, and the library takes a millisecond for one."""
    try:
        Draft202012Validator.check_schema(json.loads(text))
    except exceptions.SchemaError:
        return False
    return True


def instance_of(schema: Schema, random: Random, plausible: Plausible) -> Any:
    """A value that the schema accepts, as far as one is found within a few attempts.

    Args:
        schema: the root, with its `$defs`; draft 2020-12, `definitions` too.
        plausible: knows what names and the conversation suggest.
    """
    if not is_schema(schema):
        return {}
    value: Any = None
    for attempt in range(_ATTEMPTS):
        roomy = _ROOMY if attempt < 4 else attempt % 2
        writer = _Writer(schema, random, plausible, roomy, shuffled=attempt > 0)
        try:
            value = writer.value(schema, "", 0)
        except (Unwritable, RecursionError):
            continue
        if valid_for(schema, value):
            return value
    return {} if value is None else value


@attrs.define(eq=False)
class _Writer:
    root: Schema
    random: Random
    plausible: Plausible
    roomy: int
    shuffled: bool
    """Whether parts of an `allOf` are folded in any order: the first one's pattern is written."""
    written: int = 0
    _validator: Draft202012Validator = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._validator = Draft202012Validator(self.root)

    def value(self, schema: Schema, name: str, depth: int) -> Any:
        """A value for a schema that stands under a property called `name`."""
        self.written += 1
        if schema is False or depth > _DEEPEST or self.written > _MOST_VALUES:
            raise Unwritable(name)
        if schema is True:
            return self.plausible.text(name, "", self.random)
        needs_check = not _CHECKED.isdisjoint(schema)
        for _ in range(_ATTEMPTS if needs_check else 1):
            value = self.once(schema, name, depth)
            if not needs_check or self.accepts(schema, value):
                return value
        raise Unwritable(name)

    def accepts(self, schema: Schema, value: Any) -> bool:
        try:
            return bool(self._validator.evolve(schema=schema).is_valid(value))
        except _UNUSABLE:
            return False

    def once(self, schema: Mapping[str, Any], name: str, depth: int) -> Any:
        schema = self.flat(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.one_of_enum(schema, name)
        if "if" in schema:
            return self.value(self.conditional(schema), name, depth)
        branch = next((rule for rule in BRANCHES if rule in schema), None)
        if branch is not None:
            return self.from_branch(schema, branch, name, depth)
        kind = self.kind_of(schema, depth)
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            return self.array(schema, name, depth)
        return self.scalar(kind, schema, name)

    def flat(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema with its reference and its `allOf` folded in."""
        for _ in range(50):
            parts: Sequence[Schema] = schema.get("allOf", ())
            if "$ref" in schema:
                parts = (*parts, pointed_at(self.root, schema["$ref"]))
            elif "allOf" not in schema:
                return schema
            if self.shuffled:
                parts = self.random.sample(parts, len(parts))
            folded: Schema = {k: rule for k, rule in schema.items() if k not in ("$ref", "allOf")}
            for part in parts:
                folded = merged(part, folded)
            if folded is True:
                return {}
            if folded is False:
                break
            schema = folded
        raise Unwritable

    def conditional(self, schema: Mapping[str, Any]) -> Schema:
        """The schema with one side of its condition folded in."""
        rest = {key: rule for key, rule in schema.items() if key not in ("if", "then", "else")}
        if self.random.random() < 0.5:
            return merged(merged(rest, schema["if"]), schema.get("then", True))
        return merged(rest, schema.get("else", True))

    def one_of_enum(self, schema: Mapping[str, Any], name: str) -> Any:
        rest = {key: rule for key, rule in schema.items() if key != "enum"}
        fitting = [value for value in schema["enum"] if not rest or self.accepts(rest, value)]
        if not fitting:
            raise Unwritable(name)
        mentioned = self.plausible.mentioned(fitting)
        return mentioned if mentioned is not None else self.random.choice(fitting)

    def from_branch(self, schema: Mapping[str, Any], rule: str, name: str, depth: int) -> Any:
        rest = {key: value for key, value in schema.items() if key != rule}
        branches: Sequence[Schema] = schema[rule]
        order = self.random.sample(range(len(branches)), len(branches))
        if depth > self.roomy:
            order.sort(key=lambda at: height(branches[at], self.root))
        else:
            # A null is legal and tells nothing: it comes last where there is room.
            order.sort(key=lambda at: types_of(branches[at]) == ("null",))
        for at in order:
            joined = merged(rest, branches[at])
            try:
                value = self.value(joined, name, depth)
            except Unwritable:
                continue
            if self.accepts(schema, value):
                return value
        raise Unwritable(name)

    def kind_of(self, schema: Mapping[str, Any], depth: int) -> str:
        kinds = types_of(schema) or TYPES
        if "type" not in schema and len(kinds) > 1:
            return "string"
        telling = [kind for kind in kinds if kind != "null"] or list(kinds)
        if depth > self.roomy:
            flat = [kind for kind in kinds if kind not in ("object", "array")]
            return (flat or list(kinds))[0]
        return self.random.choice(telling)

    def object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties: Mapping[str, Schema] = schema.get("properties", {})
        required = list(dict.fromkeys(schema.get("required", ())))
        least = schema.get("minProperties", 0)
        most = schema.get("maxProperties", math.inf)
        out: dict[str, Any] = {}
        # In the schema's own order, as models under a grammar write them.
        for key in dict.fromkeys((*properties, *required)):
            if key not in required and not self.has_room(depth, len(out), required, most):
                continue
            rules = self.rules_for(schema, key)
            try:
                out[key] = self.value(rules, key, depth + 1)
            except Unwritable:
                if key in required:
                    raise
        for key in self.dependents(schema, out):
            out[key] = self.value(self.rules_for(schema, key), key, depth + 1)
        while len(out) < least:
            key = self.new_key(schema, out)
            out[key] = self.value(self.rules_for(schema, key), key, depth + 1)
        return out

    def dependents(self, schema: Mapping[str, Any], out: Mapping[str, Any]) -> list[str]:
        """Keys that the written ones bring with them, and those that these bring in turn."""
        brings: Mapping[str, Sequence[str]] = schema.get("dependentRequired", {})
        keys = list(out)
        for key in keys:
            keys.extend(other for other in brings.get(key, ()) if other not in keys)
        return keys[len(out) :]

    def has_room(self, depth: int, size: int, required: Sequence[str], most: float) -> bool:
        if depth >= self.roomy or max(size, len(required)) >= most:
            return False
        return self.random.random() < 0.7

    def rules_for(self, schema: Mapping[str, Any], key: str) -> Schema:
        """All that an object's schema says about the value of one key."""
        named = schema.get("properties", {})
        rules: list[Schema] = [named[key]] if key in named else []
        for pattern, rule in schema.get("patternProperties", {}).items():
            if self.accepts({"pattern": pattern}, key):
                rules.append(rule)
        if not rules:
            rules = [schema.get("additionalProperties", True)]
        return rules[0] if len(rules) == 1 else {"allOf": rules}

    def new_key(self, schema: Mapping[str, Any], taken: Mapping[str, Any]) -> str:
        patterns = [{"pattern": pattern} for pattern in schema.get("patternProperties", {})]
        names: Schema = schema.get("propertyNames", True)
        for _ in range(20):
            options: list[Schema] = [{"type": "string", **rule} for rule in patterns]
            if schema.get("additionalProperties", True) is not False:
                options.append({"type": "string", "minLength": 1})
            if not options:
                break
            rule = merged(self.random.choice(options), names)
            key = self.value(rule, "key", _ROOMY)
            if isinstance(key, str) and key not in taken:
                return key
        raise Unwritable

    def array(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        prefix: Sequence[Schema] = schema.get("prefixItems", ())
        rest: Schema = schema.get("items", True)
        least = int(schema.get("minItems", 0))
        if "contains" in schema:
            least = max(least, int(schema.get("minContains", 1)))
        most = schema.get("maxItems", least + 3)
        if rest is False:
            most = min(most, len(prefix))
        size = least
        if depth < self.roomy:
            size = self.random.randint(
                least, max(least, min(int(most), max(3, least, len(prefix))))
            )
            size = max(size, min(1, int(most)))
        singular = name[:-1] if name.endswith("s") else name
        items: list[Any] = []
        for at in range(size):
            rule = prefix[at] if at < len(prefix) else rest
            if at < int(schema.get("minContains", 1)) and "contains" in schema:
                rule = merged({"allOf": [rule]}, schema["contains"])
            items.append(self.item(rule, singular, depth, items, schema))
        return items

    def item(
        self, rule: Schema, name: str, depth: int, items: Iterable[Any], schema: Mapping[str, Any]
    ) -> Any:
        for _ in range(_ATTEMPTS):
            value = self.value(rule, name, depth + 1)
            if not schema.get("uniqueItems") or value not in items:
                return value
        raise Unwritable(name)

    def scalar(self, kind: str, schema: Mapping[str, Any], name: str) -> Any:
        if kind == "null":
            return None
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind == "string":
            return string_for(schema, name, self.plausible, self.random)
        return number_for(kind, schema, name, self.plausible, self.random)
