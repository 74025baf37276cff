"""The brain `reasoning`: thoughts within a budget, then an answer to the question."""

from random import Random
from typing import Any

import pytest

from horde_simulator.brains import Reply
from horde_simulator.brains.ending import ended
from horde_simulator.brains.reasoning import reasoning
from horde_simulator.tokens import count
from simulator.jobs import job_of


def reply_to(said: str, seed: int = 1, **payload: Any) -> Reply:
    job = job_of(said, **payload)
    return ended(reasoning(job, Random(seed)), job)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "effort, share", [("minimal", 0.125), ("low", 0.25), ("medium", 0.5), ("high", 0.75)]
)
@pytest.mark.parametrize("limit", [32, 100, 512])
def test_thoughts_keep_to_the_efforts_budget(
    effort: str, share: float, limit: int, seed: int
) -> None:
    """And an answer follows, though it may be cut."""
    reply = reply_to("Why is the sky blue?", seed, reasoning_effort=effort, max_length=limit)
    assert 0 < count(reply.reasoning) <= limit * share
    assert reply.content
    assert count(reply.reasoning) + count(reply.content) <= limit


def test_none_disables_thinking() -> None:
    """The answer is there all the same."""
    reply = reply_to("Why is the sky blue?", reasoning_effort="none")
    assert reply.reasoning == ""
    assert "sky" in reply.content


def test_more_effort_is_more_thought() -> None:
    """Where the budget leaves room."""
    efforts = ("none", "minimal", "low", "medium", "high", "xhigh")
    lengths = [
        count(reply_to("Why?", 3, reasoning_effort=effort, max_length=16384).reasoning)
        for effort in efforts
    ]
    assert lengths == sorted(set(lengths))


@pytest.mark.parametrize("effort", [None, "xhigh"])
def test_without_a_cap_the_tokens_can_run_out(effort: str | None) -> None:
    """`length` with reasoning and no content, as the front's users have to be told."""
    payload: dict[str, Any] = {} if effort is None else {"reasoning_effort": effort}
    reply = reply_to("Why is the sky blue?", max_length=40, **payload)
    assert (reply.finish_reason, reply.content) == ("length", "")
    assert count(reply.reasoning) == 40


def test_thoughts_and_answer_speak_of_the_question() -> None:
    """Its words are in both."""
    reply = reply_to("How do lighthouses work?", reasoning_effort="medium")
    assert "lighthouses" in reply.reasoning
    assert "lighthouses" in reply.content
    assert (reply.finish_reason, reply.native_finish_reason) == ("stop", "eos")


@pytest.mark.parametrize(
    "said, answer",
    [
        ("What is 17*23?", "17 * 23 = 391."),
        ("17 × 23", "17 × 23 = 391."),
        ("how much is 5 + -8", "5 + -8 = -3."),
        ("100 - 1", "100 - 1 = 99."),
        ("17 / 5?", "17 / 5 = 3, remainder 2."),
        ("20 ÷ 5", "20 ÷ 5 = 4."),
        ("1/0", "1 can't be divided by zero."),
    ],
)
def test_sums_are_right(said: str, answer: str) -> None:
    """A reader will check these."""
    assert reply_to(said, reasoning_effort="medium").content == answer


@pytest.mark.parametrize("seed", range(40))
def test_a_chat_at_the_demos_speed_takes_five_to_ten_seconds(seed: int) -> None:
    """40 tokens a second, the default 512 tokens, medium effort."""
    reply = reply_to("Why is the sky blue?", seed, reasoning_effort="medium", max_length=512)
    seconds = (count(reply.reasoning) + count(reply.content)) / 40
    assert 4.5 <= seconds <= 10


@pytest.mark.parametrize("said", ["", "???", "42", "the of and", "x" * 20_000])
def test_any_question_gets_an_answer(said: str) -> None:
    """Without a main word, or with nothing but one."""
    reply = reply_to(said, reasoning_effort="medium")
    assert reply.content
    assert reply.reasoning
