"""Context fitting, with figures worked by hand from the contract's section 2."""

from typing import Any

import pytest

from horde_simulator.fitting import Fitted, fit, settled_prompt_tokens
from horde_simulator.refusals import HordeError


def message(role: str, characters: int, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": "x" * characters} | fields


def fitted(messages: list[dict[str, Any]], **fields: Any) -> Fitted:
    defaults: dict[str, Any] = {
        "max_length": 100,
        "max_context_length": 1000,
        "largest_length": 2048,
        "largest_context": 4096,
        "how": "truncate_oldest",
    }
    return fit(messages, fields.pop("tools_length", 0), **(defaults | fields))


@pytest.mark.parametrize(
    "messages, tools_length, tokens",
    [
        # ceil(10 / 3) + 4
        ([message("user", 10)], 0, 8),
        # the characters of all messages together: ceil(20 / 3) + 2 x 4
        ([message("user", 10), message("assistant", 10)], 0, 15),
        # the tools' JSON besides: ceil(10 / 3) + 4 + ceil(31 / 3)
        ([message("user", 10)], 31, 19),
        # 768 an image: ceil(2 / 3) + 4 + 2 x 768
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "xx"},
                        {"type": "image_url", "image_url": {"url": "data:"}},
                        {"type": "image_url", "image_url": {"url": "data:"}},
                    ],
                }
            ],
            0,
            1541,
        ),
        # calls are rendered: [{"a":"b"}] has 11 characters; ceil(11 / 3) + 4
        ([{"role": "assistant", "content": None, "tool_calls": [{"a": "b"}]}], 0, 8),
        ([message("user", 0)], 0, 4),
    ],
)
def test_prompt_estimate(messages: list[Any], tools_length: int, tokens: int) -> None:
    assert (
        fitted(messages, tools_length=tools_length, max_context_length=4096).prompt_tokens == tokens
    )


def test_settlement_counts_contents_alone() -> None:
    """Neither calls nor tools: ceil(10 / 3) + 2 x 4."""
    messages = [
        message("user", 10),
        {"role": "assistant", "content": None, "tool_calls": [{"a": "b"}]},
    ]
    assert settled_prompt_tokens(messages) == 12


def test_what_fits_stays_as_it_is() -> None:
    """2688 characters are 896 tokens, and 4: with 100 to come just the 1,000."""
    fit_ = fitted([message("user", 2688)])
    assert (fit_.max_length, fit_.max_context_length, fit_.adjustments) == (100, 1000, ())


@pytest.mark.parametrize(
    "characters, largest, context",
    [
        (2691, 4096, 1024),  # 901 + 100 = 1001
        (2760, 4096, 1024),  # 924 + 100 = 1024
        (2763, 4096, 2048),  # 925 + 100 = 1025
        (2763, 1500, 1500),  # the next power of two is declared by nobody
        (2763, None, 2048),  # nobody is online: nothing bounds it
    ],
)
def test_grow(characters: int, largest: int | None, context: int) -> None:
    fit_ = fitted([message("user", characters)], largest_context=largest, how="grow")
    assert fit_.max_context_length == context
    assert fit_.adjustments == ({"from": 1000, "to": context, "reason": "grow"},)


@pytest.mark.parametrize(
    "how, context", [("reject", 1000), ("grow", 4096), ("truncate_oldest", 4096)]
)
def test_what_fits_nowhere_is_refused_with_the_three_figures(how: Any, context: int) -> None:
    """12,000 characters are 4,000 tokens, and 4."""
    with pytest.raises(HordeError) as refused:
        fitted([message("user", 12_000)], how=how)
    body = refused.value.body
    assert body["rc"] == "PromptExceedsContext"
    assert [
        body[key] for key in ("prompt_tokens_estimate", "max_length", "max_context_length")
    ] == [
        4004,
        100,
        context,
    ]


def test_truncation_drops_whole_turns_oldest_first_and_says_how_many_messages() -> None:
    """Five turns of 900 characters each fill 304 tokens a message; 1,000 - 100 leave room for 2."""
    messages = [message("system", 30)]
    for _ in range(5):
        messages += [message("user", 450), message("assistant", 450)]
    messages.append(message("user", 3))
    # 14 + 10 x 154 + 5 = 1,559 tokens; each turn gone takes 308: 1,251; 943; 635
    fit_ = fitted(messages, largest_context=1000)
    assert fit_.prompt_tokens == 635
    assert fit_.adjustments == ({"reason": "truncate_oldest", "dropped_messages": 6},)
    assert [one["role"] for one in fit_.messages] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]


def test_truncation_grows_first_and_keeps_system_messages_within_turns() -> None:
    messages = [
        message("assistant", 3000),
        message("user", 3000),
        message("system", 9),
        message("assistant", 3000),
        message("user", 300),
        message("assistant", 0, tool_calls=[{"id": "c"}]),
        message("tool", 30),
    ]
    # 3 x 1004 + 7 + 104 + (12 characters of calls: 4) + 4 + 14; what is left is 3 messages too many
    fit_ = fitted(messages, largest_context=2048)
    assert [adjustment["reason"] for adjustment in fit_.adjustments] == ["grow", "truncate_oldest"]
    assert fit_.adjustments[1]["dropped_messages"] == 3
    assert [one["role"] for one in fit_.messages] == ["system", "user", "assistant", "tool"]


def test_length_is_lowered_to_what_is_declared_before_anything_is_fitted() -> None:
    fit_ = fitted([message("user", 2400)], max_length=500, largest_length=150)
    assert fit_.max_length == 150
    assert fit_.max_context_length == 1000
    assert fit_.adjustments == ({"from": 500, "to": 150, "reason": "worker_max_length"},)


def test_length_stays_without_an_online_worker() -> None:
    assert fitted([message("user", 3)], max_length=500, largest_length=None).max_length == 500
