"""Strict readers of single values: the hooks that cattrs calls, one for each key of a request.

cattrs by itself is lenient (`"17"` becomes 17, 1 becomes True). Each maker here takes the key's
path and its limits and returns a structure hook that passes the exact JSON type alone, makes null
an omission, and raises OpenAI's sentence as a `Refusal`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override

from horde_core import faults
from horde_core.legal_text import is_legal, require_text

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]
"""(JSON value, attribute's type) to the attribute's value, as cattrs calls it."""

TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]+$")
LONGEST_TOOL_NAME = 64


def strict_reader(cls: type[T], hooks: Mapping[str, Hook]) -> Callable[[Mapping[str, Any]], T]:
    """A reader of JSON objects into an attrs class, one hook for each attribute.

    Attributes are read in the class's order, an absent key takes the attribute's default, and the
    first `Refusal` of a hook is the reader's own.
    """
    overrides = {name: override(struct_hook=hook) for name, hook in hooks.items()}
    structure = make_dict_structure_fn(
        cls,
        Converter(),
        _cattrs_detailed_validation=False,
        **overrides,  # type: ignore[arg-type] # its keyword options and attributes share a type
    )
    return lambda value: structure(value, cls)


def nullable(read: Callable[[Any], T], default: T) -> Hook:
    """A hook of an optional key: null is an omission."""

    def hook(value: Any, _: Any) -> T:
        return default if value is None else read(value)

    return hook


def boolean(path: str) -> Callable[[Any], bool]:
    def read(value: Any) -> bool:
        if value is True or value is False:
            return bool(value)
        raise faults.wrong_type(path, "a boolean", value)

    return read


def integer(path: str, least: int, most: int | None) -> Callable[[Any], int]:
    """`1.0` is an integer; `true` is none. Both bounds belong to the range."""
    read_whole = whole_number(path)

    def read(value: Any) -> int:
        number = read_whole(value)
        if number < least or (most is not None and number > most):
            raise faults.out_of_range(path, "integer", number, least=least, most=most)
        return number

    return read


def whole_number(path: str) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise faults.wrong_type(path, "an integer", value)

    return read


def decimal(path: str, least: int, most: int) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise faults.wrong_type(path, "a decimal", value)
        if not least <= value <= most:
            raise faults.out_of_range(path, "decimal", value, least=least, most=most)
        return float(value)

    return read


def choice(path: str, words: Sequence[str]) -> Callable[[Any], str]:
    """One of a few words."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise faults.wrong_type(path, f"one of {faults.listed(words, 'or')}", value)
        if value not in words:
            raise faults.bad_value(path, value, words)
        return value

    return read


def text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise faults.wrong_type(path, "a string", value)
    return require_text(value, path)


def full_text(value: Any, path: str) -> str:
    """A string with something in it."""
    if type(value) is str and value and is_legal(value):
        return value
    if value == "":
        raise faults.empty_string(path)
    return text(value, path)


# The readers of members take their owner's path and add the key to it only for a fault: most
# requests have hundreds of members and none.


def required(owner: dict[str, Any], key: str, path: str) -> Any:
    """The value of a key that must be there; null is a value of the wrong type, not an absence."""
    try:
        return owner[key]
    except KeyError:
        raise faults.missing(f"{path}.{key}") from None


def required_object(owner: dict[str, Any], key: str, path: str) -> dict[str, Any]:
    value = required(owner, key, path)
    return value if type(value) is dict else an_object(value, f"{path}.{key}")


def required_text(owner: dict[str, Any], key: str, path: str) -> str:
    value = required(owner, key, path)
    if type(value) is str and is_legal(value):
        return value
    return text(value, f"{path}.{key}")


def required_tool_name(owner: dict[str, Any], path: str) -> str:
    """The `name` of a function on offer, or of a JSON schema."""
    value = required(owner, "name", path)
    if type(value) is str and len(value) <= LONGEST_TOOL_NAME and TOOL_NAME.fullmatch(value):
        return value
    path = f"{path}.name"
    name = full_text(value, path)
    if len(name) > LONGEST_TOOL_NAME:
        raise faults.long_string(path, name, LONGEST_TOOL_NAME)
    raise faults.off_pattern(path, TOOL_NAME.pattern)


def required_word(owner: dict[str, Any], key: str, words: Sequence[str], path: str) -> str:
    """One of a few words."""
    value = required(owner, key, path)
    return value if value in words else choice(f"{path}.{key}", words)(value)


def optional_text(owner: dict[str, Any], key: str, path: str) -> str | None:
    value = owner.get(key)
    if value is None or (type(value) is str and is_legal(value)):
        return value
    return text(value, f"{path}.{key}")


def optional_boolean(owner: dict[str, Any], key: str, path: str) -> bool | None:
    value = owner.get(key)
    if value is None or value is True or value is False:
        return value
    return boolean(f"{path}.{key}")(value)


def optional_object(owner: dict[str, Any], key: str, path: str) -> dict[str, Any] | None:
    value = owner.get(key)
    return value if value is None or type(value) is dict else an_object(value, f"{path}.{key}")


def an_object(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise faults.wrong_type(path, "an object", value)
    return value
