"""What a question is about, as far as its words tell."""

import re
from random import Random
from typing import Final

import attrs

_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SMALL = """
a about above after again all also am an and any are as ask at be because been before being
between both but by can could did do does doing don't down each explain few for from further
give had has have having he hello help her here hers hi him his how i i'm if in into is it it's
its just know let like make me more most my no nor not now of off on once one only or other our
out over own please say same she should so some such tell than thank thanks that the their them
then there these they this those through to too under until up us very want was we were what
what's when where which while who why will with words would write you your
"""
_SMALL_WORDS: Final = frozenset(_SMALL.split())


@attrs.frozen
class Topic:
    """A question's own words: a quote of it, a phrase for what it is about, its main words."""

    quote: str
    about: str
    words: tuple[str, ...]

    def word(self, random: Random) -> str:
        """One of the main words."""
        return random.choice(self.words)


def topic_of(question: str) -> Topic:
    """Finds the topic in a question's words, small ones left out; `this` when none is left."""
    plain = " ".join(question.split())
    quote = f"'{plain[:120]}{'…' if len(plain) > 120 else ''}'."
    words = [word for word in _WORD.findall(plain[:2000]) if word.lower() not in _SMALL_WORDS]
    main = tuple(dict.fromkeys(word for word in words if not word.isdigit()))[:6]
    if not main:
        return Topic(quote, "this", ("this",))
    return Topic(quote, f"the matter of {_listed(main[:3])}", main)


def _listed(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
