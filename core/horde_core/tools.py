"""`tools` and `tool_choice` (contract section 5)."""

from typing import Any, Final

from horde_core import faults, schemas
from horde_core.chat import Tool, ToolChoice
from horde_core.errors import Refusal, refuse
from horde_core.legal_text import require_tree
from horde_core.scalars import (
    an_object,
    optional_boolean,
    optional_text,
    required,
    text,
    tool_name,
)

MOST_TOOLS: Final = 128
MODES: Final = ("none", "auto", "required")


def read_tools(value: Any) -> tuple[Tool, ...]:
    """The functions on offer; an empty list is an omission."""
    if not isinstance(value, list):
        raise faults.wrong_type("tools", "an array of objects", value)
    if len(value) > MOST_TOOLS:
        raise faults.long_array("tools", value, MOST_TOOLS)
    return tuple([_read_tool(item, f"tools[{index}]") for index, item in enumerate(value)])


def _read_tool(item: Any, path: str) -> Tool:
    an_object(item, path)
    kind = required(item, "type", path)
    if kind != "function":
        if not isinstance(kind, str):
            raise faults.wrong_type(f"{path}.type", "'function'", kind)
        raise faults.bad_value(f"{path}.type", kind, ("function",))
    function = required(item, "function", path)
    path = f"{path}.function"
    an_object(function, path)
    name = tool_name(required(function, "name", path), f"{path}.name")
    description = optional_text(function, "description", path)
    parameters = function.get("parameters")
    strict = optional_boolean(function, "strict", path)
    if parameters is not None:
        path = f"{path}.parameters"
        compact = require_tree(an_object(parameters, path), path)
        reason = schemas.fault(parameters, strict=strict is True, braces=compact.count(b"{"))
        if reason is not None:
            raise _bad_schema(name, reason, path)
    return Tool(name, description, parameters, strict)


def _bad_schema(name: str, reason: str, path: str) -> Refusal:
    return refuse(faults.UNSUPPORTED, f"Invalid schema for function '{name}': {reason}", path)


def read_tool_choice(value: Any) -> ToolChoice | None:
    """A mode, or the one function that is forced; whether it is on offer is checked later."""
    if isinstance(value, str):
        if value not in MODES:
            raise faults.bad_value("tool_choice", value, MODES)
        return ToolChoice(value)  # type: ignore[arg-type]
    if not isinstance(value, dict):
        # "one of one of" is OpenAI's own (measured).
        expected = "one of one of 'none', 'auto', or 'required' or object"
        raise faults.wrong_type("tool_choice", expected, value)
    # OpenAI asks for the function before it looks at the type (measured).
    function = an_object(required(value, "function", "tool_choice"), "tool_choice.function")
    name = text(required(function, "name", "tool_choice.function"), "tool_choice.function.name")
    kind = required(value, "type", "tool_choice")
    if kind != "function":
        if not isinstance(kind, str):
            raise faults.wrong_type("tool_choice.type", "'function'", kind)
        raise faults.bad_value("tool_choice.type", kind, ("function",))
    return ToolChoice("function", name)
