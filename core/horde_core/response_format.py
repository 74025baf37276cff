"""`response_format` (contract section 6)."""

from typing import Any, Final

from horde_core import faults, schemas
from horde_core.chat import ResponseFormat
from horde_core.errors import refuse
from horde_core.legal_text import require_tree
from horde_core.scalars import (
    an_object,
    optional_boolean,
    optional_text,
    required_object,
    required_tool_name,
    required_word,
)

KINDS: Final = ("json_object", "json_schema", "text")
SCHEMA_KEYS: Final = ("name", "description", "schema", "strict")

_PATH = "response_format"
_SCHEMA_PATH = "response_format.json_schema"


def read_response_format(value: Any, _: Any) -> ResponseFormat | None:
    """A JSON format; None for text, which is what there is without one."""
    an_object(value, _PATH)
    kind = required_word(value, "type", KINDS, _PATH)
    takes_schema = kind == "json_schema"
    for key, member in value.items():
        # `json_schema` belongs to its own type alone (measured); null is an omission there.
        if key == "type" or (key == "json_schema" and (takes_schema or member is None)):
            continue
        raise faults.unknown(key, (), (), _PATH)
    if takes_schema:
        return _read_json_schema(required_object(value, "json_schema", _PATH))
    return ResponseFormat("json_object") if kind == "json_object" else None


def _read_json_schema(value: dict[str, Any]) -> ResponseFormat:
    for key in value:
        if key not in SCHEMA_KEYS:
            raise faults.unknown(key, SCHEMA_KEYS, value, _SCHEMA_PATH)
    name = required_tool_name(value, _SCHEMA_PATH)
    description = optional_text(value, "description", _SCHEMA_PATH)
    schema = required_object(value, "schema", _SCHEMA_PATH)
    strict = optional_boolean(value, "strict", _SCHEMA_PATH)
    compact = require_tree(schema, f"{_SCHEMA_PATH}.schema")
    reason = schemas.fault(schema, strict=strict is True, braces=compact.count(b"{"))
    if reason is not None:
        raise refuse(
            faults.UNSUPPORTED, f"Invalid schema for response_format '{name}': {reason}", _PATH
        )
    return ResponseFormat("json_schema", name, schema, description, strict)
