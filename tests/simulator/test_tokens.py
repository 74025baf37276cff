"""The simulated tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horde_simulator import tokens


@given(st.text())
def test_pieces_join_back_to_the_text(text: str) -> None:
    assert "".join(tokens.pieces(text)) == text
    assert tokens.count(text) == len(tokens.pieces(text))


@given(st.text(), st.integers(-1, 40))
def test_a_cut_is_the_first_pieces(text: str, limit: int) -> None:
    assert tokens.cut(text, limit) == "".join(tokens.pieces(text)[: max(0, limit)])


@pytest.mark.parametrize(
    "text, pieces",
    [
        ("", []),
        ("Hello, world", ["Hello", ",", " world"]),
        ("a  b ", ["a", "  b", " "]),
        ("internationally", ["internat", "ionally"]),
        ("né 👍🏽", ["né", " 👍", "🏽"]),
    ],
)
def test_pieces(text: str, pieces: list[str]) -> None:
    assert tokens.pieces(text) == pieces
