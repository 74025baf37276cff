"""Reading JSON bodies as strictly as the Horde does, and saying where they are wrong."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from horde_simulator.refusals import HordeError, invalid_payload, refuse

MISSING: Final = "Missing required parameter in the JSON body"
_DEEPEST: Final = 200
"""Levels of nesting: the encoder writes 254, so what is kept can always be handed on."""


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object that a body holds.

    Raises:
        HordeError: 400 for what is no JSON object or nests too deep, `NulByteInPayload` for a
            NUL anywhere, `InvalidPromptEncoding` for an unpaired surrogate anywhere.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _why_unreadable(body, str(error)) from None
    if not isinstance(value, dict):
        raise invalid_payload({"": f"{_shown(value)} is not of type 'object'"})
    if body.count(b"{") + body.count(b"[") > _DEEPEST and _depth(value) > _DEEPEST:
        raise invalid_payload({"": f"is nested deeper than {_DEEPEST} levels"})
    if b"\\u0000" in body and any("\0" in text for text in _texts(value)):
        raise refuse("NulByteInPayload", "The payload contains a NUL byte.")
    return value


def _why_unreadable(body: bytes, reason: str) -> HordeError:
    """Unpaired surrogates are JSON to the standard library and none to a strict parser."""
    try:
        value = json.loads(body)
        surrogates = any(_has_surrogate(text) for text in _texts(value))
    except (ValueError, RecursionError):
        surrogates = False
    if surrogates:
        return refuse("InvalidPromptEncoding", "The payload is not valid Unicode text.")
    return invalid_payload({"": f"Failed to decode JSON object: {reason}"})


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _depth(value: object) -> int:
    """How many arrays and objects are within one another at the deepest place."""
    depth, level = 0, [value]
    while level:
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        depth += 1
        level = inner
    return depth


def _texts(value: object) -> Iterator[str]:
    """Every string in a JSON value, keys included; a list of what is left, never a recursion."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            left.extend(item.keys())
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)


class Reader:
    """Takes typed values out of one JSON object, and collects what is wrong with them.

    A wrong or missing value reads as the default; `errors` then has a text under its path. Booleans
    are not numbers, and a number with a fraction part is no integer.
    """

    __slots__ = ("_path", "_values", "errors")

    def __init__(self, values: Mapping[str, Any], errors: dict[str, str], path: str = "") -> None:
        self._values = values
        self._path = path
        self.errors = errors

    def at(self, key: str) -> str:
        """The path of a key from the body's root, such as `params.max_length`."""
        return f"{self._path}{key}"

    def wrong(self, key: str, text: str) -> None:
        """Notes what is wrong with a key; the first fault of a path stands."""
        self.errors.setdefault(self.at(key), text)

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        value = self._values.get(key, default)
        if type(value) is not int:
            self.wrong(key, f"{_shown(value)} is not of type 'integer'")
        elif value < low:
            self.wrong(key, f"{value} is less than the minimum of {low}")
        elif value > high:
            self.wrong(key, f"{value} is greater than the maximum of {high}")
        else:
            return value
        return default

    def optional_integer(self, key: str, low: int, high: int) -> int | None:
        return None if self._values.get(key) is None else self.integer(key, 0, low, high)

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value = self._values.get(key, default)
        if type(value) is not float and type(value) is not int:
            self.wrong(key, f"{_shown(value)} is not of type 'number'")
        elif value < low:
            self.wrong(key, f"{value} is less than the minimum of {low:g}")
        elif value > high:
            self.wrong(key, f"{value} is greater than the maximum of {high:g}")
        else:
            return value
        return default

    def boolean(self, key: str, default: bool) -> bool:
        value = self._values.get(key, default)
        if type(value) is bool:
            return value
        self.wrong(key, f"{_shown(value)} is not of type 'boolean'")
        return default

    def optional_boolean(self, key: str) -> bool | None:
        return None if self._values.get(key) is None else self.boolean(key, False)

    def choice(self, key: str, options: Sequence[str], default: str | None) -> str | None:
        value = self._values.get(key, default)
        if value is default or (type(value) is str and value in options):
            return value
        self.wrong(key, f"{_shown(value)} is not one of {list(options)}")
        return default

    def text(self, key: str, default: str | None = None, longest: int | None = None) -> str | None:
        value = self._values.get(key, default)
        if value is None and default is None:
            return None
        if type(value) is not str:
            self.wrong(key, f"{_shown(value)} is not of type 'string'")
        elif longest is not None and len(value) > longest:
            self.wrong(key, f"{_shown(value)} is longer than {longest} characters")
        else:
            return value
        return default

    def required_text(self, key: str) -> str:
        value = self._values.get(key)
        if type(value) is str:
            return value
        self.wrong(key, MISSING if value is None else f"{_shown(value)} is not of type 'string'")
        return ""

    def texts(self, key: str, most: int, *, least: int = 0) -> tuple[str, ...]:
        """A list of strings; an absent one is empty, and missing when `least` says so."""
        value = self._values.get(key)
        if value is None:
            if least:
                self.wrong(key, MISSING)
            return ()
        if type(value) is not list or not all(type(item) is str for item in value):
            self.wrong(key, f"{_shown(value)} is not an array of strings")
        elif len(value) < least:
            self.wrong(key, f"{_shown(value)} is too short")
        elif len(value) > most:
            self.wrong(key, f"{_shown(value)} is too long")
        else:
            return tuple(value)
        return ()

    def objects(self, key: str, most: int, *, required: bool = False) -> list[dict[str, Any]]:
        """A list of objects; each one that is none is wrong under its own index."""
        value = self._values.get(key)
        if value is None:
            if required:
                self.wrong(key, MISSING)
            return []
        if type(value) is not list:
            self.wrong(key, f"{_shown(value)} is not of type 'array'")
            return []
        if len(value) > most:
            self.wrong(key, f"{len(value)} items are more than {most}")
            return []
        for index, item in enumerate(value):
            if type(item) is not dict:
                self.wrong(f"{key}.{index}", f"{_shown(item)} is not of type 'object'")
                return []
        return value

    def object(self, key: str) -> dict[str, Any]:
        """An object; an absent one is empty."""
        value = self._values.get(key)
        if value is None:
            return {}
        if type(value) is dict:
            return value
        self.wrong(key, f"{_shown(value)} is not of type 'object'")
        return {}


def _shown(value: object) -> str:
    """A value in an error text: short, whatever was sent."""
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
