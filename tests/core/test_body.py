"""Bodies as bytes: encodings, sizes, and everything that JSON parsers pass over in silence."""

import gzip
import json
import zlib
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from horde_core.body import DEEPEST, read_body
from horde_core.errors import Refusal

CAP = 20 * 1024 * 1024
UNPARSED = "We could not parse the JSON body of your request."
HINT = (
    "(HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects "
    "a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to "
    "fix this, please contact us through our help center at help.openai.com.)"
)
OBJECT = {"a": "é", "b": [1, 2.5, None, True]}
RAW = json.dumps(OBJECT).encode()


def read(raw: bytes, encoding: str | None = None, cap: int = CAP) -> dict[str, Any]:
    return read_body(raw, encoding, cap=cap)


def refusal(raw: bytes, encoding: str | None = None, cap: int = CAP) -> tuple[int, str, str]:
    with pytest.raises(Refusal) as caught:
        read(raw, encoding, cap)
    assert caught.value.param is None
    return caught.value.status, caught.value.code, caught.value.message


def raw_deflate(data: bytes) -> bytes:
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(data) + deflater.flush()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" ",
        b"{",
        b'{"a":1',
        b"{'a':1}",
        b'{"a":1,}',
        b'{"a":01}',
        b'{"a":+1}',
        b'{"a":.5}',
        b'{"a":tru}',
        b'{"a":1}x',
        b'{"a":1}{"a":1}',
        b'{"a":1}\0',
        b'{"a":"\n"}',
        b'{"a":"\x00"}',
        b'{"a":"\\x"}',
        b'{"a":"\\ud8"}',
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":"\xc0\xaf"}',
        '{"a":1}'.encode("utf-16"),
        b'{"a":' + b"9" * 5000 + b"}",
        b"model=a&messages=b",
        b"\x1f\x8b\x08",
    ],
)
def test_what_is_not_json_is_refused_in_openai_words(raw: bytes) -> None:
    assert refusal(raw) == (400, "BadRequest", f"{UNPARSED} {HINT}")


@pytest.mark.parametrize(
    "raw, detail",
    [
        (b'{"a":NaN}', "JSON has no number NaN."),
        (b'{"a":[Infinity]}', "JSON has no number Infinity."),
        (b'{"a":-Infinity}', "JSON has no number -Infinity."),
        (b'{"a":1e400}', "The number 1e400 is too large."),
        (b'{"a":[-1e999]}', "The number -1e999 is too large."),
        (b'{"a":1.0e309}', "The number 1.0e309 is too large."),
        (b'{"a":1,"a":1}', "The key 'a' occurs twice in one object."),
        (b'{"a":1,"b":2,"b":3,"a":4}', "The key 'b' occurs twice in one object."),
        (b'{"a":1,"\\u0061":2}', "The key 'a' occurs twice in one object."),
        (b'{"b":[{"c":{"d":1,"d":{}}}]}', "The key 'd' occurs twice in one object."),
        (b'{"":1,"":1}', "The key '' occurs twice in one object."),
        # A parser that counts colons must not be talked out of it
        (b'{"a":1,"a":2,"b":"\\u003a"}', "The key 'a' occurs twice in one object."),
        (b'{"a":1,"a":2,"b":"\\u003A"}', "The key 'a' occurs twice in one object."),
        (b'{"a":"::","a":2,"b":"\\\\u003a:"}', "The key 'a' occurs twice in one object."),
        (
            b'{"a":' + b"[" * 254 + b"]" * 254 + b"}",
            "It nests more than 254 levels deep.",
        ),
        (b"[" * 100_000 + b"]" * 100_000, "It nests more than 254 levels deep."),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "It nests more than 254 levels deep."),
        (b"[" * 600 + b'"\\ud800"' + b"]" * 600, "It nests more than 254 levels deep."),
    ],
)
def test_what_a_parser_would_pass_over_is_refused_by_name(raw: bytes, detail: str) -> None:
    assert refusal(raw) == (400, "BadRequest", f"{UNPARSED} {detail}")


@pytest.mark.parametrize(
    "raw, kind",
    [
        (b"[]", "an array"),
        (b'"x"', "a string"),
        (b"1", "an integer"),
        (b"1.5", "a decimal number"),
        (b"null", "null"),
        (b"true", "a boolean"),
        (b"123456789012345678901234567890", "an integer"),
    ],
)
def test_a_body_is_an_object(raw: bytes, kind: str) -> None:
    message = f"Invalid type for the request body: expected an object, but got {kind} instead."
    assert refusal(raw) == (400, "BadRequest", message)


@pytest.mark.parametrize(
    "raw, encoding",
    [
        (RAW, None),
        (RAW, ""),
        (RAW, "identity"),
        (b"\xef\xbb\xbf" + RAW, None),
        (b" \t\r\n" + RAW + b"\r\n", None),
        (orjson.dumps(OBJECT), None),
        (json.dumps(OBJECT, indent=1, ensure_ascii=False).encode(), None),
        (gzip.compress(RAW), "gzip"),
        (gzip.compress(b"\xef\xbb\xbf" + RAW), " GZIP "),
        (gzip.compress(RAW), "x-gzip"),
        (zlib.compress(RAW), "deflate"),
        (raw_deflate(RAW), "deflate"),
    ],
)
def test_a_body_is_read_whatever_it_is_wrapped_in(raw: bytes, encoding: str | None) -> None:
    assert read(raw, encoding) == OBJECT


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "gzip;q=1", "compress", "\0"])
def test_another_encoding_is_415(encoding: str) -> None:
    status, code, message = refusal(RAW, encoding)
    assert (status, code) == (415, "unsupported_encoding")
    assert "send the body as it is, or with 'gzip' or 'deflate'" in message


@pytest.mark.parametrize(
    "raw, encoding",
    [
        (RAW, "gzip"),
        (b"", "gzip"),
        (b"", "deflate"),
        (gzip.compress(RAW)[:-1], "gzip"),
        (gzip.compress(RAW)[:20], "gzip"),
        (gzip.compress(RAW) + b"x", "gzip"),
        (gzip.compress(RAW) + gzip.compress(RAW), "gzip"),
        (zlib.compress(RAW)[:-2], "deflate"),
        (b"\xff\xff\xff", "deflate"),
    ],
)
def test_a_body_that_is_not_what_its_encoding_says_is_415(raw: bytes, encoding: str) -> None:
    assert refusal(raw, encoding) == (
        415,
        "unsupported_encoding",
        f"The body is not valid '{encoding}' data.",
    )


def test_the_cap_holds_for_the_body_as_sent_and_as_decoded() -> None:
    too_large = (413, "request_too_large", f"The request body is larger than {len(RAW)} bytes.")
    assert read(RAW, cap=len(RAW)) == OBJECT
    assert refusal(RAW + b" ", cap=len(RAW)) == too_large
    small = gzip.compress(b'{"a":1}' + b" " * 5000)
    assert len(small) < len(RAW) + 20
    assert read(small, "gzip", cap=5007) == {"a": 1}
    assert refusal(small, "gzip", cap=5006)[:2] == (413, "request_too_large")


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, raw_deflate])
def test_a_bomb_is_refused_without_being_unpacked(pack: Any) -> None:
    """1 GiB in a megabyte; no more than the cap and a byte is ever held."""
    bomb = pack(b"\0" * (64 * 1024 * 1024))
    encoding = "gzip" if pack is gzip.compress else "deflate"
    assert refusal(bomb, encoding, cap=1024 * 1024)[:2] == (413, "request_too_large")


def test_a_twenty_mebibyte_body_is_read() -> None:
    text = "x" * (CAP - len('{"a":""}'))
    assert read(b'{"a":"%s"}' % text.encode())["a"] == text


@pytest.mark.parametrize("name", ["m" * 1_000_000, "é" * 500_000])
def test_a_name_of_a_megabyte_is_read(name: str) -> None:
    assert read(json.dumps({"model": name}).encode())["model"] == name


@pytest.mark.parametrize(
    "raw, document",
    [
        # NUL and unpaired surrogates are told where they are read, not here
        (b'{"a":"\\u0000"}', {"a": "\0"}),
        (b'{"a":"\\ud800","\\udc00":1}', {"a": "\ud800", "\udc00": 1}),
        (b'{"a":"\\ud83d\\udc0e"}', {"a": "🐎"}),
        # Integers of any size are exact
        (b'{"a":18446744073709551616}', {"a": 2**64}),
        (b'{"a": -9223372036854775809}', {"a": -(2**63) - 1}),
        (b'{"a": 18446744073709551615}', {"a": 2**64 - 1}),
        (b'{"a": 1.5, "b": "12345678901234567890"}', {"a": 1.5, "b": "12345678901234567890"}),
        (b'{"a": 1e-400}', {"a": 0.0}),
        (b'{"a": "x:y", "b:c": "\\u003a"}', {"a": "x:y", "b:c": ":"}),
        (b'{"a": "\\\\u003a", "b": 1}', {"a": "\\u003a", "b": 1}),
        (b'{"a":' + b"[" * 253 + b"]" * 253 + b"}", None),
        (b'{"a": "\\ud800","b":' + b"[" * 253 + b"1" + b"]" * 253 + b"}", None),
    ],
)
def test_a_sound_body_is_read_exactly(raw: bytes, document: Any) -> None:
    got = read(raw)
    if document is not None:
        assert got == document
        assert [type(value) for value in got.values()] == [type(v) for v in document.values()]


def test_the_deepest_nesting_is_the_one_that_can_be_written_again() -> None:
    """The limit is orjson's: one level more can't be serialised."""
    deepest = json.loads("[" * DEEPEST + "]" * DEEPEST)
    assert orjson.dumps(deepest)
    with pytest.raises(orjson.JSONEncodeError):
        orjson.dumps([deepest])


ANY_TEXT = st.text(st.characters())
"""Surrogates included."""

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(
    st.dictionaries(ANY_TEXT, JSON_VALUES, max_size=5),
    st.sampled_from([None, (",", ":"), (", ", ": ")]),
    st.booleans(),
)
def test_any_object_is_read_as_it_was_written(
    document: dict[str, Any], separators: Any, ascii_only: bool
) -> None:
    text = json.dumps(document, separators=separators, ensure_ascii=ascii_only)
    # An unpaired surrogate can only be sent escaped; a pair of escapes is one character.
    raw = text.encode("utf-8", "backslashreplace")
    assert read(raw) == json.loads(raw)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_a_refusal(raw: bytes) -> None:
    for encoding in (None, "gzip", "deflate"):
        try:
            outcome: object = read(raw, encoding)
        except Refusal as refused:
            outcome = refused.status
        assert isinstance(outcome, dict) or outcome in (400, 413, 415)


@given(JSON_VALUES, JSON_VALUES, st.text('ab:\\"', max_size=4), st.booleans())
def test_a_key_given_twice_is_always_found(
    one: Any, other: Any, key: str, ascii_only: bool
) -> None:
    name = json.dumps(key)
    members = [json.dumps(value, ensure_ascii=ascii_only) for value in (one, other)]
    twice = f'{{"x": {{{name}: {members[0]}, {name}:{members[1]}}}}}'
    assert "occurs twice in one object" in refusal(twice.encode("utf-8", "backslashreplace"))[2]
