"""Legal Unicode text: what the Horde takes in a string, checked where a string is forwarded.

The Horde refuses NUL characters (`NulByteInPayload`) and unpaired surrogates
(`InvalidPromptEncoding`) anywhere in a submit. Text that the front drops may hold either.
"""

import json
from collections.abc import Mapping
from typing import Any

import attrs
import orjson

from horde_core.errors import Refusal, refuse
from horde_core.faults import BAD_REQUEST, shown

_BACKSLASH = ord("\\")
"""As a number, which is found in bytes eight times as fast as one byte of bytes (measured)."""


def is_legal(value: str) -> bool:
    return "\0" not in value and (value.isascii() or _has_utf8(value))


def require_text(value: str, path: str) -> str:
    """Returns `value`; raises a `BadRequest` at `path` when it isn't legal text."""
    if is_legal(value):
        return value
    raise _illegal("a NUL character" if "\0" in value else "an unpaired surrogate", path)


def require_tree(value: Mapping[str, Any], path: str) -> bytes:
    """Checks every key and string of a JSON object that is forwarded unchanged.

    Returns it as compact JSON. Raises a `BadRequest` at the first illegal string, or at the object
    with an illegal key: the key itself can't be printed.
    """
    try:
        compact = orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        compact = b""
    if not compact or (_BACKSLASH in compact and b"\\u0000" in compact):
        _walk(value, path)
        compact = compact_json(value)
    return compact


def compact_json(value: object) -> bytes:
    """Compact UTF-8 JSON of legal text, integers of any size included (orjson takes 64 bits)."""
    try:
        return orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def compact_size(value: object) -> int:
    """Bytes of compact JSON of any value, illegal text in it counted as it came."""
    try:
        return len(orjson.dumps(value))
    except (TypeError, orjson.JSONEncodeError):
        compact = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        return len(compact.encode("utf-8", "surrogatepass"))


@attrs.frozen(eq=False, repr=False)
class _Place:
    """A node's place as a chain: thousands of members share their parent's part of the path."""

    step: str
    above: "_Place | None" = None

    def path(self) -> str:
        steps = []
        place: _Place | None = self
        while place is not None:
            steps.append(place.step)
            place = place.above
        return shown("".join(reversed(steps)))


def _walk(root: object, path: str) -> None:
    """In document order, without recursion: the nesting is the client's."""
    stack: list[tuple[object, _Place]] = [(root, _Place(path))]
    while stack:
        value, place = stack.pop()
        if isinstance(value, str):
            _require_at(value, place)
        elif isinstance(value, Mapping):
            for key in value:
                _require_at(key, place)
            members = [(member, _Place(f".{key}", place)) for key, member in value.items()]
            stack += reversed(members)
        elif isinstance(value, list | tuple):
            items = [(item, _Place(f"[{index}]", place)) for index, item in enumerate(value)]
            stack += reversed(items)


def _require_at(value: str, place: _Place) -> None:
    if not is_legal(value):
        require_text(value, place.path())


def _has_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _illegal(what: str, path: str) -> Refusal:
    return refuse(BAD_REQUEST, f"Invalid '{path}': string contains {what}.", path)
