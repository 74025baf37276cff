"""Legal Unicode text: what the Horde takes in a string, checked where a string is forwarded.

The Horde refuses NUL characters (`NulByteInPayload`) and unpaired surrogates
(`InvalidPromptEncoding`) anywhere in a submit. Text that the front drops may hold either.
"""

import json
from collections.abc import Mapping
from typing import Any

import orjson

from horde_core.errors import Refusal, refuse
from horde_core.faults import BAD_REQUEST


def is_plain(value: str) -> bool:
    """Whether `value` is legal at a glance; other text may be legal as well."""
    return value.isascii() and "\0" not in value


def require_text(value: str, path: str) -> str:
    """Returns `value`; raises a `BadRequest` at `path` when it isn't legal text."""
    if "\0" in value:
        raise _illegal("a NUL character", path)
    if not value.isascii() and not _has_utf8(value):
        raise _illegal("an unpaired surrogate", path)
    return value


def require_tree(value: Mapping[str, Any], path: str) -> bytes:
    """Checks every key and string of a JSON object that is forwarded unchanged.

    Returns it as compact JSON. Raises a `BadRequest` at the first illegal string, or at the object
    with an illegal key: the key itself can't be printed.
    """
    try:
        compact = orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        compact = b""
    if not compact or (b"\\" in compact and b"\\u0000" in compact):
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


def _walk(root: object, path: str) -> None:
    """In document order, without recursion: the nesting is the client's."""
    stack: list[tuple[object, str]] = [(root, path)]
    while stack:
        value, place = stack.pop()
        if isinstance(value, str):
            require_text(value, place)
        elif isinstance(value, Mapping):
            for key in value:
                require_text(key, place)
            stack += [(member, f"{place}.{key}") for key, member in reversed([*value.items()])]
        elif isinstance(value, list | tuple):
            stack += [(value[i], f"{place}[{i}]") for i in reversed(range(len(value)))]


def _has_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _illegal(what: str, path: str) -> Refusal:
    return refuse(BAD_REQUEST, f"Invalid '{path}': string contains {what}.", path)
