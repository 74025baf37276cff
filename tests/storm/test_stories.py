"""What the storm found, each a seed with its story: broken again, the seed fails; mended, it holds.

A change of what a seed means makes these fail, and then another seed of the same story is due.
"""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from horde_benchmarks.storm.checks import check
from horde_benchmarks.storm.plan import plan_of
from horde_benchmarks.storm.run import run
from horde_core import workers
from horde_core.cancellation import Cancellation
from horde_core.exchange import Exchange
from horde_core.lifecycle import State
from horde_core.native import read_list
from horde_core.relay import Relay
from storm.mutants import Patch, no_head_for_a_quick_reply


@attrs.frozen
class Story:
    """A fault that there was: its seed, the rule that it broke, and how to have it back."""

    name: str
    seed: int
    rule: str
    tells: str
    bring_back: Callable[[Patch], None]


def any_array_is_a_list_of_models(patch: Patch) -> None:
    def read(body: bytes) -> Any:
        return () if body.startswith(b'["this"') else read_list(body)

    patch.setattr(workers, "read_list", read)


def a_refused_cancel_is_done(patch: Patch) -> None:
    def answered(self: Cancellation, answer: Any, now: float) -> bool:
        if answer.status != 429 and answer.status < 500:
            return False
        return self.failed(now, answer.retry_after())

    patch.setattr(Cancellation, "answered", answered)


def restarts_are_told_by_posts_only(patch: Patch) -> None:
    take = Relay.take

    def with_posts(self: Relay, posts: Any, restarted: int, **moment: Any) -> None:
        if posts:
            take(self, posts, restarted, **moment)

    patch.setattr(Relay, "take", with_posts)


def a_refusal_waits_for_its_cancel(patch: Patch) -> None:
    next_wake = Exchange._next_wake

    def without_deadline(self: Exchange) -> float:
        if self.state is State.CANCELLING:
            return self._cancellation.next_try
        return next_wake(self)

    patch.setattr(Exchange, "_next_wake", without_deadline)


STORIES = (
    Story(
        "the head of a quick stream",
        2,
        "one outcome",
        "A reply that was there at the first status read went out without its headers.",
        no_head_for_a_quick_reply,
    ),
    Story(
        "an array of other things",
        72,
        "an outcome that the world explains",
        "A Horde that answered the model list with an array of strings made every model unknown.",
        any_array_is_a_list_of_models,
    ),
    Story(
        "a cancel refused",
        19,
        "no job is left behind",
        "A Horde in maintenance answered the cancel with 400; that was taken for done.",
        a_refused_cancel_is_done,
    ),
    Story(
        "a restart without a word",
        1331,
        "nothing after a restart",
        "A status that told of a restart but had no progress post yet let old text go on.",
        restarts_are_told_by_posts_only,
    ),
    Story(
        "a cancel that hangs",
        10,
        "an end within the budget",
        "A refusal that waits for its job's cancel was told seconds after the budget was out.",
        a_refusal_waits_for_its_cancel,
    ),
)


def rules_broken(seed: int) -> set[str]:
    """The rules that a seed breaks."""
    return {finding.rule for finding in check(run(plan_of(seed)))}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_a_story(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed holds; with the fault brought back it breaks the rule."""
    assert rules_broken(story.seed) == set(), story.tells
    story.bring_back(monkeypatch)
    assert story.rule in rules_broken(story.seed), story.tells
