"""Legal text in strings, keys and whole trees; compact JSON of any of them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horde_core.errors import Refusal
from horde_core.legal_text import compact_json, compact_size, require_text, require_tree


def place_of(value: dict[str, Any]) -> str | None:
    """The path at which the tree is refused, or None."""
    try:
        require_tree(value, "p")
    except Refusal as refusal:
        return refusal.param
    return None


@pytest.mark.parametrize("text", ["", "a", "é漢🐎", "\x01\x7f", "\uffff\ue000", "\\u0000"])
def test_legal_text_passes(text: str) -> None:
    assert require_text(text, "p") == text


@pytest.mark.parametrize(
    "text, what",
    [
        ("\0", "a NUL character"),
        ("é\0", "a NUL character"),
        ("\ud800", "an unpaired surrogate"),
        ("a\udfffb", "an unpaired surrogate"),
        ("\0\ud800", "a NUL character"),
    ],
)
def test_illegal_text_is_refused_at_its_path(text: str, what: str) -> None:
    with pytest.raises(Refusal) as caught:
        require_text(text, "stop[1]")
    refusal = caught.value
    assert (refusal.code, refusal.param) == ("BadRequest", "stop[1]")
    assert refusal.message == f"Invalid 'stop[1]': string contains {what}."


@pytest.mark.parametrize(
    "tree, place",
    [
        ({}, None),
        ({"a": "\\u0000", "b": ["\\", '"']}, None),
        ({"a": 2**70, "b": -(2**70)}, None),
        ({"a": {"b": ["x", {"c": "\0"}]}}, "p.a.b[1].c"),
        ({"a": {"b": ["x", {"c": "\ud800"}]}}, "p.a.b[1].c"),
        ({"a": {"\0": 1}}, "p.a"),
        ({"\ud800": 1}, "p"),
        ({"a": 2**70, "b": "\0"}, "p.b"),
        # The first in the document's order
        ({"a": ["\0"], "b": "\0"}, "p.a[0]"),
        ({"b": "\ud800", "a": ["\0"]}, "p.b"),
        ({"a": {"b": 1, "c": "\0"}, "\0": 1}, "p"),
    ],
)
def test_a_tree_is_refused_at_its_first_illegal_string(
    tree: dict[str, Any], place: str | None
) -> None:
    assert place_of(tree) == place


def test_a_long_key_above_many_members_is_not_copied_for_each() -> None:
    """Its path is made for the one that is refused, and shortened: 20 GB otherwise."""
    key = "k" * 1_000_000
    tree = {key: [*range(20_000), "\0"]}
    place = place_of(tree)
    assert place == "p." + "k" * 126 + "..." + "k" * 121 + "[20000]"


ANY_TEXT = st.text(st.characters())
"""Surrogates included."""

TREES = st.recursive(
    st.none() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=10,
)


def strings_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [*value, *(s for member in value.values() for s in strings_of(member))]
    return [s for item in value for s in strings_of(item)] if isinstance(value, list) else []


@given(st.dictionaries(ANY_TEXT, TREES, max_size=4))
def test_a_tree_passes_when_all_its_strings_do(tree: dict[str, Any]) -> None:
    surrogates = {chr(code) for code in range(0xD800, 0xE000)}
    illegal = any("\0" in s or surrogates & set(s) for s in strings_of(tree))
    assert (place_of(tree) is not None) == illegal
    if not illegal:
        assert json.loads(compact_json(tree)) == tree
        assert require_tree(tree, "p") == compact_json(tree)


@given(TREES)
def test_the_compact_size_is_that_of_unescaped_utf8(tree: Any) -> None:
    plain = json.dumps(tree, separators=(",", ":"), ensure_ascii=False)
    assert compact_size(tree) == len(plain.encode("utf-8", "surrogatepass"))
