"""Strict readers of single values: the hooks that cattrs calls, one for each key of a request.

cattrs by itself is lenient (`"17"` becomes 17, 1 becomes True). Each maker here takes the key's
path and its limits and returns a structure hook that passes the exact JSON type alone and raises
OpenAI's sentence as a `Refusal`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override

from horde_core import faults
from horde_core.errors import Refusal
from horde_core.legal_text import is_legal, require_text

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]
"""(JSON value, attribute's type) to the attribute's value, as cattrs calls it."""

TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]+$")
LONGEST_TOOL_NAME = 64


def strict_reader(
    cls: type[T], hooks: Mapping[str, Hook], *, nulls: frozenset[str] = frozenset()
) -> Callable[[Mapping[str, Any]], T]:
    """A reader of JSON objects into an attrs class, one hook for each attribute.

    Attributes are read in the class's order, an absent key takes the attribute's default, and the
    first `Refusal` of a hook is the reader's own. Null is an omission, but for the keys in `nulls`.
    """
    overrides = {name: override(struct_hook=hook) for name, hook in hooks.items()}
    structure = make_dict_structure_fn(
        cls,
        Converter(),
        _cattrs_detailed_validation=False,
        **overrides,  # type: ignore[arg-type] # its keyword options and attributes share a type
    )

    def read(members: Mapping[str, Any]) -> T:
        if None in members.values():
            members = {
                key: value for key, value in members.items() if value is not None or key in nulls
            }
        return structure(members, cls)

    return read


def boolean(path: str) -> Hook:
    def read(value: Any, _: Any) -> bool:
        if value is True or value is False:
            return bool(value)
        raise faults.wrong_type(path, "a boolean", value)

    return read


def integer(path: str, least: int, most: int | None) -> Hook:
    """`1.0` is an integer; `true` is none. Both bounds belong to the range."""

    def read(value: Any, _: Any) -> int:
        number = whole_number(value, path)
        if number < least or (most is not None and number > most):
            raise faults.out_of_range(path, "integer", number, least=least, most=most)
        return number

    return read


def decimal(path: str, least: int, most: int) -> Hook:
    def read(value: Any, _: Any) -> float:
        if type(value) is not float and type(value) is not int:
            raise faults.wrong_type(path, "a decimal", value)
        if not least <= value <= most:
            raise faults.out_of_range(path, "decimal", value, least=least, most=most)
        return float(value)

    return read


def choice(path: str, words: Sequence[str]) -> Hook:
    """One of a few words."""

    def read(value: Any, _: Any) -> str:
        if value in words:
            return str(value)
        raise _no_word(value, words, path)

    return read


def _no_word(value: Any, words: Sequence[str], path: str) -> Refusal:
    if isinstance(value, str):
        return faults.bad_value(path, value, words)
    return faults.wrong_type(path, f"one of {faults.listed(words, 'or')}", value)


def whole_number(value: Any, path: str) -> int:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    raise faults.wrong_type(path, "an integer", value)


def text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise faults.wrong_type(path, "a string", value)
    return require_text(value, path)


def full_text(value: Any, path: str) -> str:
    """A string with something in it."""
    if value == "":
        raise faults.empty_string(path)
    return text(value, path)


# What follows reads members of arrays and objects. It takes their owner's path and adds the index
# or key to it only for a fault: most requests have hundreds of members and none.


def full_texts(values: list[Any], path: str) -> tuple[str, ...]:
    """The strings of an array, each with something in it."""
    return tuple(
        [
            value
            if type(value) is str and value and is_legal(value)
            else full_text(value, f"{path}[{index}]")
            for index, value in enumerate(values)
        ]
    )


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
    if value in words:
        return str(value)
    raise _no_word(value, words, f"{path}.{key}")


def optional_text(owner: dict[str, Any], key: str, path: str) -> str | None:
    value = owner.get(key)
    if value is None or (type(value) is str and is_legal(value)):
        return value
    return text(value, f"{path}.{key}")


def optional_boolean(owner: dict[str, Any], key: str, path: str) -> bool | None:
    value = owner.get(key)
    if value is None or value is True or value is False:
        return value
    raise faults.wrong_type(f"{path}.{key}", "a boolean", value)


def optional_object(owner: dict[str, Any], key: str, path: str) -> dict[str, Any] | None:
    value = owner.get(key)
    return value if value is None or type(value) is dict else an_object(value, f"{path}.{key}")


def an_object(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise faults.wrong_type(path, "an object", value)
    return value
