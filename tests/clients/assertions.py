"""What several clients' tests say of the scripts' cases."""

from collections.abc import Sequence
from typing import Any

ANSWER = "17 × 4 = 68."
"""The simulated model's answer to the scripts' sum."""


def assert_uses_results(text: str) -> None:
    """A final text tells what the scripts' weather service said of Paris and Oslo."""
    assert "18" in text
    assert "-4" in text


def assert_recipe(recipe: Any) -> None:
    """A document of the scripts' schema, which the client has checked and handed out whole."""
    assert set(recipe) == {"title", "difficulty", "ingredients"}
    assert recipe["difficulty"] in ("easy", "hard")
    for ingredient in recipe["ingredients"]:
        assert set(ingredient) == {"name", "grams"}
        assert isinstance(ingredient["grams"], int)


def assert_hundred_words_live(pieces: Sequence[str]) -> None:
    """The words asked for, in more than one piece."""
    assert len("".join(pieces).split()) == 100
    assert len(pieces) > 4
