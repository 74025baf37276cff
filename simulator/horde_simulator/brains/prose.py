"""`prose`: pleasant paragraphs of the length asked for, in the scripts asked for."""

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from horde_simulator.brains import Job, Reply
from horde_simulator.brains.conversation import last_user_text
from horde_simulator.brains.passages import ASKED_AS, CLOSERS, GREETING, PASSAGES, SCRIPTS

_COUNTING: Final = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS: Final = {word: number for number, word in enumerate(_COUNTING.split(), start=1)} | {
    "twenty": 20,
    "fifty": 50,
}
_LENGTH: Final = re.compile(
    rf"\b(?P<number>\d{{1,6}}|an?|{'|'.join(_NUMBERS)})(?P<hundred>[\s-]+hundred)?[\s-]+"
    r"(?:(?!few|couple|hundred)[^\W\d]+[\s-]+)?(?P<unit>word|sentence|paragraph)s?\b",
    re.IGNORECASE,
)
_GREETED: Final = re.compile(r"^\W*(hi|hello|hey|good (morning|evening|day))\b", re.IGNORECASE)
_SEVERAL: Final = re.compile(
    r"\b(several|many|all|different) (scripts|languages|alphabets)\b", re.IGNORECASE
)
_SHORT: Final = re.compile(r"\b(short|brief|briefly|quick)\b", re.IGNORECASE)
_LONG: Final = re.compile(r"\b(long|essay|story|detailed|at length)\b", re.IGNORECASE)
_MOST_WORDS: Final = 20_000
"""More than `max_length` can hold in any script."""
_PARAGRAPH: Final = 4
"""Sentences in a paragraph."""


def prose(job: Job, random: Random) -> Reply:
    """Writes English by default, other scripts when asked (one reply in twenty unasked)."""
    prompt = last_user_text(job)
    scripts = _scripts_asked(prompt)
    if scripts:
        return Reply(_in_scripts(scripts, prompt, random))
    sentences = _english(random)
    greeting = [GREETING] if _GREETED.match(prompt) else []
    number, unit = _asked(prompt)
    if unit == "word":
        return Reply(_paragraphs(_of_words(number, sentences)))
    if unit is not None:
        count = min(number, 2000) if unit == "sentence" else min(number, 500) * _PARAGRAPH
        return Reply(_paragraphs([next(sentences) for _ in range(count)]))
    written = _about(_usual_words(prompt, random), greeting, sentences)
    if random.random() < 0.05:
        written.append(random.choice(SCRIPTS[random.choice(list(SCRIPTS))]))
    return Reply(_paragraphs(written))


def _asked(prompt: str) -> tuple[int, str | None]:
    """The length that the prompt asks for and its unit; (0, None) when it asks for none."""
    found = _LENGTH.search(prompt)
    if found is None:
        return 0, None
    word, unit = found["number"].lower(), found["unit"].lower()
    if word in ("a", "an") and not found["hundred"]:
        return (0, None) if unit == "word" else (1, unit)
    number = int(word) if word.isdecimal() else _NUMBERS.get(word, 1)
    return max(1, min(_MOST_WORDS, number * (100 if found["hundred"] else 1))), unit


def _usual_words(prompt: str, random: Random) -> int:
    if _SHORT.search(prompt):
        return random.randint(20, 40)
    if _LONG.search(prompt):
        return random.randint(250, 400)
    return random.randint(60, 150)


def _english(random: Random) -> Iterator[str]:
    """Whole passages, one after the other, in an order that the seed picks; without an end."""
    while True:
        for passage in random.sample(PASSAGES, len(PASSAGES)):
            yield from passage


def _about(words: int, begun: Sequence[str], sentences: Iterator[str]) -> list[str]:
    """Whole sentences until there are about so many words."""
    written = list(begun)
    length = 0
    while length < words:
        written.append(next(sentences))
        length += len(written[-1].split())
    return written


def _of_words(words: int, sentences: Iterator[str]) -> list[str]:
    """Whole sentences with exactly so many words; the last one closes the gap."""
    written: list[str] = []
    left = words
    while left > len(CLOSERS):
        sentence = next(sentences)
        size = len(sentence.split())
        if size <= left:
            written.append(sentence)
            left -= size
        elif left <= 2 * len(CLOSERS):
            written.append(CLOSERS[left // 2 - 1])
            left -= left // 2
    if left:
        written.append(CLOSERS[left - 1])
    return written


def _paragraphs(sentences: Sequence[str]) -> str:
    starts = range(0, len(sentences), _PARAGRAPH)
    return "\n\n".join(" ".join(sentences[at : at + _PARAGRAPH]) for at in starts)


def _scripts_asked(prompt: str) -> list[str]:
    if _SEVERAL.search(prompt):
        return list(SCRIPTS)
    said = prompt.lower()
    return [
        script
        for script, names in ASKED_AS.items()
        if any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said) for name in names)
    ]


def _in_scripts(scripts: Sequence[str], prompt: str, random: Random) -> str:
    """A paragraph in each script, over again until the words asked for are written."""
    number, unit = _asked(prompt)
    words = number if unit == "word" else 1
    written: list[str] = []
    length = 0
    while length < words or len(written) < len(scripts):
        script = scripts[len(written) % len(scripts)]
        paragraph = " ".join(random.sample(SCRIPTS[script], len(SCRIPTS[script])))
        written.append(paragraph)
        length += len(paragraph.split())
    return "\n\n".join(written)
