"""Texts for regular expressions."""

import re
from random import Random

import pytest

from horde_simulator.brains.patterns import UnsupportedPattern, text_matching


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "abc",
        "^abc$",
        "a|bc|",
        "^(?:a|b(c|d))+$",
        "(?P<year>\\d{4})-(?<month>0[1-9]|1[0-2])",
        "[a-f0-9]{8}",
        "[^a-z]{3}",
        "[]a]+",
        "[a\\]b-]{5}",
        "[\\d_]+[\\w.]*[^\\s]",
        "\\d+\\.\\d{2}",
        "\\D\\W\\S\\s",
        "\\u00e9\\x41\\t",
        "x{3,}y{0,2}z{2}",
        "a??b*?c+?d{1,3}?",
        "^[A-Z][a-z]+( [A-Z][a-z]+)*$",
        "^\\+?[1-9]\\d{1,14}$",
        "^(\\w+@\\w+)\\.(com|org)$",
        "^\\{\\}$",
        "{a}",
        "[а-я]{4}",
    ],
)
def test_the_text_matches_as_a_whole(pattern: str) -> None:
    """By the library's own judgement, whatever the seed and the repeats."""
    python = re.compile(pattern.replace("(?<month>", "(?P<month>"))
    for seed in range(20):
        for more in (0, 1, 6):
            assert python.fullmatch(text_matching(pattern, Random(seed), more)), pattern


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)b",
        "(?!a)b",
        "(?<=a)b",
        "(?P=name)",
        "(a)\\1",
        "\\p{L}",
        "(a",
        "a)",
        "[a",
        "a\\",
        "\\u12",
        "a{",
        "a{x}",
        "[^\\d\\D\\s\\w\\W -~]",
        "(" * 100,
        "((a{999}){999}){999}",
    ],
)
def test_what_goes_beyond_is_refused_at_once(pattern: str) -> None:
    """Never an endless text, never another kind of error."""
    with pytest.raises(UnsupportedPattern):
        text_matching(pattern, Random(1))
