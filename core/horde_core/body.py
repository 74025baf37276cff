"""A request's body: bytes as they came to one JSON object, or a refusal.

The common body is parsed by orjson. What orjson passes over in silence (keys given twice, integers
above 64 bits) sends the body to a second, exact parser, which also explains what orjson refuses.
"""

import json
import re
import zlib
from typing import Any, Final

import orjson

from horde_core.errors import Refusal, refuse
from horde_core.faults import BAD_REQUEST, kind, shown

DEEPEST: Final = 254
"""Levels of nesting that orjson writes; what can't be written again can't be taken."""

_UNPARSED = "We could not parse the JSON body of your request."
_HINT = (
    "(HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects "
    "a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to "
    "fix this, please contact us through our help center at help.openai.com.)"
)
_BOM = b"\xef\xbb\xbf"
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")


def read_body(raw: bytes, content_encoding: str | None, *, cap: int) -> dict[str, Any]:
    """The JSON object in a request's body.

    `cap` is in bytes and holds for the body as sent and as decoded. Strings may still hold NUL
    characters and unpaired surrogates: what is forwarded is checked where it is read.
    Raises a `Refusal`: `request_too_large`, `unsupported_encoding` or `BadRequest`.
    """
    data = decode(raw, content_encoding, cap=cap).removeprefix(_BOM)
    try:
        document = orjson.loads(data)
        exact = _is_exact(data, document)
    except (orjson.JSONDecodeError, TypeError):
        exact = False
    if not exact:
        document = _parse_exactly(data)
    if not isinstance(document, dict):
        raise refuse(
            BAD_REQUEST,
            f"Invalid type for the request body: expected an object, but got {kind(document)} "
            "instead.",
        )
    return document


def decode(raw: bytes, content_encoding: str | None, *, cap: int) -> bytes:
    """Undoes `Content-Encoding` without ever holding more than `cap` decoded bytes."""
    if len(raw) > cap:
        raise _too_large(cap)
    encoding = (content_encoding or "identity").strip().lower()
    if encoding in ("identity", ""):
        return raw
    bits = _WINDOW_BITS.get(encoding)
    if bits is None:
        raise refuse(
            "unsupported_encoding",
            f"Unsupported Content-Encoding '{shown(encoding)}': send the body as it is, or with "
            "'gzip' or 'deflate'.",
        )
    if encoding == "deflate" and not _has_zlib_header(raw):
        bits = -15  # Some clients send the bare stream of RFC 1951; RFC 9110 8.4.1.2 notes it.
    return _inflate(raw, bits, encoding, cap)


def _inflate(raw: bytes, bits: int, encoding: str, cap: int) -> bytes:
    inflater = zlib.decompressobj(bits)
    try:
        data = inflater.decompress(raw, cap + 1)
    except zlib.error:
        data, whole = b"", False
    else:
        whole = inflater.eof and not inflater.unused_data
    if len(data) > cap:
        raise _too_large(cap)
    if not whole:
        raise refuse("unsupported_encoding", f"The body is not valid '{encoding}' data.")
    return data


def _has_zlib_header(raw: bytes) -> bool:
    """RFC 1950 2.2: method 8, and the first two bytes are a multiple of 31."""
    return len(raw) > 1 and raw[0] & 0x0F == 8 and int.from_bytes(raw[:2], "big") % 31 == 0


def _is_exact(data: bytes, document: object) -> bool:
    """Whether orjson's reading is all that the body says.

    A body that is compact JSON already (the common SDKs') comes out the same when written again.
    In others, without an escaped colon, the colons are those after keys and those in strings. A
    key that came twice has lost one at least, so the document written again has fewer.  A run of
    19 digits may be an integer that became a float.  The tests may doubt a sound body, which is
    then parsed once more; they pass no unsound one.
    """
    again = orjson.dumps(document)
    if again == data:
        return True
    return (
        data.count(b":") == again.count(b":")
        and not (b"\\" in data and _ESCAPED_COLON.search(data))
        and not _may_have_long_integer(data)
    )


def _may_have_long_integer(data: bytes) -> bool:
    """Looks at every sixth byte first, where 19 digits in a row leave three."""
    sample = data[::6].translate(_DIGITS_TO_ZERO)
    return b"000" in sample and b"0" * 19 in data.translate(_DIGITS_TO_ZERO)


def _parse_exactly(data: bytes) -> object:
    try:
        document = json.loads(
            data.decode(),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        # Malformed JSON or UTF-8, or an integer of more digits than Python reads (4,300).
        raise refuse(BAD_REQUEST, f"{_UNPARSED} {_HINT}") from None
    _require_depth(document)
    return document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise refuse(
            BAD_REQUEST, f"{_UNPARSED} The key '{shown(twice)}' occurs twice in one object."
        )
    return members


def _constant(name: str) -> float:
    raise refuse(BAD_REQUEST, f"{_UNPARSED} JSON has no number {name}.")


def _finite(digits: str) -> float:
    number = float(digits)
    if number - number != 0:
        raise refuse(BAD_REQUEST, f"{_UNPARSED} The number {shown(digits)} is too large.")
    return number


def _require_depth(document: object) -> None:
    level = [document]
    for _ in range(DEEPEST):
        level = [
            member
            for value in level
            for member in (value.values() if isinstance(value, dict) else _items(value))
            if isinstance(member, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _too_deep() -> Refusal:
    return refuse(BAD_REQUEST, f"{_UNPARSED} It nests more than {DEEPEST} levels deep.")


def _too_large(cap: int) -> Refusal:
    return refuse("request_too_large", f"The request body is larger than {cap} bytes.")
