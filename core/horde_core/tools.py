"""`tools` and `tool_choice` (contract section 5)."""

from typing import Any, Final

from horde_core import faults, schemas
from horde_core.chat import Tool, ToolChoice
from horde_core.errors import refuse
from horde_core.legal_text import require_tree
from horde_core.scalars import (
    an_object,
    optional_boolean,
    optional_object,
    optional_text,
    required_object,
    required_text,
    required_tool_name,
    required_word,
)

MOST_TOOLS: Final = 128
MODES: Final = ("none", "auto", "required")

_PLACES = tuple([f"tools[{index}].function" for index in range(MOST_TOOLS)])


def read_tools(value: Any, _: Any) -> tuple[Tool, ...]:
    """The functions on offer; an empty list is an omission."""
    if not isinstance(value, list):
        raise faults.wrong_type("tools", "an array of objects", value)
    if len(value) > MOST_TOOLS:
        raise faults.long_array("tools", value, MOST_TOOLS)
    return tuple([_read_tool(item, index) for index, item in enumerate(value)])


def _read_tool(item: Any, index: int) -> Tool:
    function = _function(item, index)
    path = _PLACES[index]
    name = required_tool_name(function, path)
    description = optional_text(function, "description", path)
    parameters = optional_object(function, "parameters", path)
    strict = optional_boolean(function, "strict", path)
    if parameters is not None:
        _check_parameters(name, parameters, strict, path)
    return Tool(name, description, parameters, strict)


def _function(item: Any, index: int) -> dict[str, Any]:
    if type(item) is dict and item.get("type") == "function":
        function = item.get("function")
        if type(function) is dict:
            return function
    path = f"tools[{index}]"
    required_word(an_object(item, path), "type", ("function",), path)
    return required_object(item, "function", path)


def _check_parameters(
    name: str, parameters: dict[str, Any], strict: bool | None, path: str
) -> None:
    compact = require_tree(parameters, f"{path}.parameters")
    reason = schemas.fault(parameters, strict=strict is True, braces=compact.count(b"{"))
    if reason is not None:
        raise refuse(
            faults.UNSUPPORTED,
            f"Invalid schema for function '{name}': {reason}",
            f"{path}.parameters",
        )


def read_tool_choice(value: Any, _: Any) -> ToolChoice | None:
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
    function = required_object(value, "function", "tool_choice")
    name = required_text(function, "name", "tool_choice.function")
    required_word(value, "type", ("function",), "tool_choice")
    return ToolChoice("function", name)
