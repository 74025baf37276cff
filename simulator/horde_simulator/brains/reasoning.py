"""`reasoning`: thinks first, within the budget that the effort gives, then answers the question."""

import operator
import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from horde_simulator.brains import Job, Reply
from horde_simulator.brains.conversation import last_user_text
from horde_simulator.brains.topic import Topic, topic_of
from horde_simulator.tokens import count, cut

BUDGETS: Final[Mapping[str, float]] = {
    "none": 0.0,
    "minimal": 0.125,
    "low": 0.25,
    "medium": 0.5,
    "high": 0.75,
    "xhigh": 1.0,
}
"""The share of `max_length` that thinking may take (contract: medium is about half)."""

_STEPS: Final[Mapping[str | None, int]] = {
    "none": 0,
    "minimal": 1,
    "low": 3,
    "medium": 6,
    "high": 12,
    "xhigh": 24,
    None: 9,
}
"""How many thoughts an effort has when nothing cuts them; None: the worker was told nothing."""

_THOUGHTS: Final = (
    "What is known about {about} that matters here?",
    "Let me set aside what sounds right and look at what {about} depends on.",
    "One way is to start from the simplest case and add one thing at a time.",
    "The word '{word}' could be read in two ways; the plain reading fits the rest better.",
    "A counterexample would be a case where {about} fails; I can't think of a common one.",
    "So far this holds together, but '{word}' deserves a second look.",
    "Would somebody new to {about} follow this? Probably, if I give an example.",
    "I should keep the answer short and say first what was asked for.",
    "Wait, is there a hidden assumption about '{word}'? It changes the details, not the outcome.",
    "Checking the other direction: without {about}, the question would not come up at all.",
)
_CLOSING: Final = "That is enough; time to answer."
_ANSWERS: Final = (
    "The short answer to {about}: it comes down to a few things working together.",
    "With {about}, it helps to begin at the part that never changes.",
    "There are two sides to {about}, and they are easier to see one after the other.",
)
_MIDDLE: Final = (
    "There is what you can observe: the visible side of '{word}', which most people notice.",
    "Then there is the cause behind it, and this is where {about} gets interesting.",
    "A small example makes it plain: change one thing about '{word}' and watch what follows.",
    "What often gets mixed up is '{word}' itself and the way it is described.",
    "In practice, the details of {about} depend on where you stand and what you need.",
    "It also explains why simple rules about '{word}' work so well, up to a point.",
    "If you only remember one thing, remember that {about} is a matter of degree.",
)
_LAST: Final = (
    "I am a simulated model, so take the manner for real and the facts with a grain of salt.",
    "Ask on if you want one of these points in more detail (I am a simulated model, after all).",
)
_SUM: Final = re.compile(r"(-?\d{1,12})\s*([-+*×x·/÷])\s*(-?\d{1,12})(?![\d.])")
_OPERATORS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "×": operator.mul,
    "·": operator.mul,
    "x": operator.mul,
}


def reasoning(job: Job, random: Random) -> Reply:
    """Thinks about the last user message, then answers it.

    Told an effort, the model thinks within the effort's share of `max_length` and then closes its
    thoughts. Told none (the worker doesn't declare the feature), nothing closes them, and a small
    `max_length` is spent before the answer begins: `length`, without content.
    """
    question = last_user_text(job)
    topic = topic_of(question)
    thoughts = thoughts_about(job, random, topic)
    limit = job.payload.get("max_length")
    if limit is not None and count(thoughts) >= limit:
        return Reply(
            reasoning=cut(thoughts, limit), finish_reason="length", native_finish_reason="length"
        )
    return Reply(content=_answer(question, topic, random), reasoning=thoughts)


def thoughts_about(job: Job, random: Random, topic: Topic, share: float = 1.0) -> str:
    """Thoughts within the job's budget; `share` is for those with a short way to go."""
    effort = job.payload.get("reasoning_effort")
    steps = round(_STEPS.get(effort, _STEPS["medium"]) * share * random.uniform(0.8, 1.3))
    if effort == "none":
        return ""
    thoughts = [f"The user writes: {topic.quote} So this is about {topic.about}."]
    while len(thoughts) <= steps:
        order = random.sample(_THOUGHTS, len(_THOUGHTS))
        thoughts.extend(text.format(about=topic.about, word=topic.word(random)) for text in order)
    text = " ".join([*thoughts[: max(1, steps)], _CLOSING])
    limit = job.payload.get("max_length")
    if effort is None or limit is None:
        return text
    return cut(text, int(limit * BUDGETS.get(effort, BUDGETS["medium"])))


def _answer(question: str, topic: Topic, random: Random) -> str:
    computed = _computed(question)
    if computed is not None:
        return computed
    middle = random.sample(_MIDDLE, random.randint(3, 5))
    parts = [random.choice(_ANSWERS), *sorted(middle, key=_MIDDLE.index)]
    lines = [part.format(about=topic.about, word=topic.word(random)) for part in parts]
    return f"{lines[0]}\n\n{' '.join(lines[1:])}\n\n{random.choice(_LAST)}"


def _computed(question: str) -> str | None:
    """The answer to a sum of two whole numbers, which a reader will check."""
    found = _SUM.search(question)
    if found is None:
        return None
    left, sign, right = int(found[1]), found[2], int(found[3])
    if sign in _OPERATORS:
        return f"{left} {sign} {right} = {_OPERATORS[sign](left, right)}."
    if right == 0:
        return f"{left} can't be divided by zero."
    whole, rest = divmod(left, right)
    return f"{left} {sign} {right} = {whole}" + (f", remainder {rest}." if rest else ".")
