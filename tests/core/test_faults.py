"""OpenAI's grammar of messages: kinds, lists of words, near keys, long values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horde_core.faults import edit_distance, kind, listed, shown, suggestions


@pytest.mark.parametrize(
    "value, name",
    [
        (None, "null"),
        (True, "a boolean"),
        (0, "an integer"),
        (0.0, "a decimal number"),
        ("", "a string"),
        ([], "an array"),
        ({}, "an object"),
    ],
)
def test_every_json_value_has_a_name(value: object, name: str) -> None:
    assert kind(value) == name


@pytest.mark.parametrize(
    "words, text",
    [
        (["a"], "'a'"),
        (["a", "b"], "'a' and 'b'"),
        (["a", "b", "c"], "'a', 'b', and 'c'"),
    ],
)
def test_words_are_listed_as_openai_lists_them(words: list[str], text: str) -> None:
    assert listed(words) == text
    assert listed(words, "or") == text.replace(" and ", " or ")


KNOWN = ("stop", "store", "stream", "temperature", "tools", "top_p", "n", "user")


@pytest.mark.parametrize(
    "word, near",
    [
        ("stor", ["stop", "store"]),
        ("temperatur", ["temperature"]),
        ("temprature", ["temperature"]),
        ("tempratur", ["temperature"]),
        ("temprtur", []),
        ("tool", ["tools"]),
        ("topp", ["top_p", "stop"]),
        ("x", []),
        ("", []),
        ("nn", ["n"]),
        ("usr", ["user"]),
        ("t" * 1_000_000, []),
    ],
)
def test_the_nearest_two_within_two_edits_are_suggested(word: str, near: list[str]) -> None:
    assert suggestions(word, KNOWN) == near


@pytest.mark.parametrize(
    "left, right, edits",
    [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "abc", 0),
        ("kitten", "sitting", 3),
        ("flaw", "lawn", 2),
        ("ab", "ba", 2),
    ],
)
def test_the_edit_distance_of_known_pairs(left: str, right: str, edits: int) -> None:
    assert edit_distance(left, right) == edit_distance(right, left) == edits


@given(st.text(max_size=2000))
def test_an_echoed_text_stays_short_and_keeps_its_ends(text: str) -> None:
    echo = shown(text)
    assert len(echo) <= 259
    if len(text) <= 256:
        assert echo == text
    else:
        assert echo == f"{text[:128]}...{text[-128:]}"
