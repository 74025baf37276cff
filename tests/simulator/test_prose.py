"""The brain `prose`: the length asked for, the scripts asked for, else pleasant English."""

import unicodedata
from random import Random

import pytest

from horde_simulator.brains.passages import CLOSERS, PASSAGES
from horde_simulator.brains.prose import prose
from simulator.jobs import job_of


def written(said: str, seed: int = 1) -> str:
    return prose(job_of(said), Random(seed)).content


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "said, words",
    [
        ("Write 1 word.", 1),
        ("Tell me something in 8 words", 8),
        ("a text of 17 words please", 17),
        ("Write about the sea in 50 words.", 50),
        ("in fifty words", 50),
        ("200 words on bread", 200),
        ("A 300-word story", 300),
        ("exactly two hundred words", 200),
        ("seven simple words", 7),
        ("2500 words", 2500),
    ],
)
def test_a_number_of_words_is_met_exactly(said: str, words: int, seed: int) -> None:
    """Whatever sentences the seed picks."""
    assert len(written(said, seed).split()) == words


@pytest.mark.parametrize("said, sentences", [("one sentence", 1), ("Say it in 3 sentences", 3)])
def test_a_number_of_sentences_is_met(said: str, sentences: int) -> None:
    """Sentences are those of the passages."""
    known = {sentence for passage in PASSAGES for sentence in passage}
    text = written(said)
    assert sum(sentence in text for sentence in known) == sentences


@pytest.mark.parametrize(
    "said, paragraphs", [("a paragraph", 1), ("two short paragraphs", 2), ("5 paragraphs", 5)]
)
def test_a_number_of_paragraphs_is_met(said: str, paragraphs: int) -> None:
    """An empty line stands between them."""
    assert len(written(said).split("\n\n")) == paragraphs


@pytest.mark.parametrize(
    "said, low, high",
    [
        ("Tell me something", 60, 200),
        ("A short text, please", 20, 70),
        ("Tell me a story", 250, 440),
        ("a word about trains", 60, 200),
        ("a few words", 60, 200),
    ],
)
def test_without_a_number_the_seed_picks_a_length_that_suits(
    said: str, low: int, high: int
) -> None:
    """Short is short, a story is long, and most is between."""
    lengths = {len(written(said, seed).split()) for seed in range(30)}
    assert low <= min(lengths)
    assert max(lengths) <= high
    assert len(lengths) > 5


def test_a_greeting_is_returned() -> None:
    """A first chat begins with the user's hello."""
    assert written("Hello there").startswith("Hello!")
    assert not written("Say hello").startswith("Hello!")


SCRIPT_NAMES = {
    "Write in Greek": "GREEK",
    "Something Russian": "CYRILLIC",
    "in Arabic please": "ARABIC",
    "in Hindi": "DEVANAGARI",
    "in Thai": "THAI",
    "in Chinese": "CJK",
    "in Japanese": "HIRAGANA",
    "Korean": "HANGUL",
    "with combining marks": "COMBINING",
    "some flags": "REGIONAL",
    "emoji!": "ZERO",
}


@pytest.mark.parametrize("said", SCRIPT_NAMES)
def test_a_script_that_is_asked_for_is_written(said: str) -> None:
    """By Unicode's own names of the characters."""
    names = [unicodedata.name(sign, "") for sign in written(said)]
    assert any(name.startswith(SCRIPT_NAMES[said]) for name in names)


@pytest.mark.parametrize("seed", range(5))
def test_several_scripts_are_all_scripts(seed: int) -> None:
    """One prompt covers everything that is hard on code that counts or cuts text."""
    text = written("Write a few lines in several scripts", seed)
    names = {unicodedata.name(sign, "").split(" ")[0] for sign in text}
    assert {"LATIN", "CYRILLIC", "GREEK", "ARABIC", "DEVANAGARI", "THAI"} <= names
    assert {"CJK", "HIRAGANA", "HANGUL", "COMBINING", "ZERO", "VARIATION"} <= names
    assert "\u200d" in text
    assert "\U0001f1e9\U0001f1ea" in text
    assert unicodedata.normalize("NFC", text) != text


def test_several_scripts_of_a_length_reach_it() -> None:
    """The paragraphs come over again."""
    assert len(written("400 words in several languages").split()) >= 400


def test_most_replies_are_plain_english() -> None:
    """Another script comes unasked in about one of twenty."""
    foreign = sum(not written("Tell me something", seed).isascii() for seed in range(400))
    assert 5 <= foreign <= 45


def test_the_same_seed_writes_the_same() -> None:
    """And another one something else."""
    assert written("Hi", 4) == written("Hi", 4)
    assert len({written("Hi", seed) for seed in range(10)}) > 5


def test_closers_have_the_words_that_their_place_says() -> None:
    """What exact lengths rely on."""
    assert [len(closer.split()) for closer in CLOSERS] == list(range(1, len(CLOSERS) + 1))
