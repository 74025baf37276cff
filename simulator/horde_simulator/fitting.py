"""Making the messages fit the context: growing it, dropping the oldest turns, or refusing.

Contract, section 2 ("Context fitting").
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import attrs
import orjson

from horde_simulator.refusals import refuse

Fit = Literal["truncate_oldest", "grow", "reject"]
FITS: Final = ("truncate_oldest", "grow", "reject")
MESSAGE_TOKENS: Final = 4
IMAGE_TOKENS: Final = 768
_LARGEST_CONTEXT: Final = 1048576

Message = Mapping[str, Any]


@attrs.frozen
class Fitted:
    """What was made of a request: the messages left, and the sizes they are served with."""

    messages: Sequence[Message]
    max_length: int
    max_context_length: int
    prompt_tokens: int
    adjustments: tuple[Mapping[str, Any], ...]


def content_sizes(message: Message) -> tuple[int, int]:
    """Characters of a message's texts, and how many images it has."""
    content = message.get("content")
    if content is None:
        return 0, 0
    if isinstance(content, str):
        return len(content), 0
    characters = images = 0
    for part in content:
        if part["type"] == "text":
            characters += len(part["text"])
        else:
            images += 1
    return characters, images


def _sizes(message: Message) -> tuple[int, int]:
    """Characters and images of a message as it is rendered: its calls are part of it."""
    characters, images = content_sizes(message)
    calls = message.get("tool_calls")
    if calls:
        characters += json_length(calls)
    return characters, images


def json_length(value: object) -> int:
    """Characters of a value's compact JSON."""
    return len(orjson.dumps(value).decode())


def _tokens(characters: int) -> int:
    return -(-characters // 3)


def settled_prompt_tokens(messages: Sequence[Message]) -> int:
    """The estimate over the messages' contents alone, by which a reply is settled (section 5)."""
    characters = images = 0
    for message in messages:
        more_characters, more_images = content_sizes(message)
        characters += more_characters
        images += more_images
    return _tokens(characters) + MESSAGE_TOKENS * len(messages) + IMAGE_TOKENS * images


def fit(
    messages: Sequence[Message],
    tools_length: int,
    *,
    max_length: int,
    max_context_length: int,
    largest_length: int | None,
    largest_context: int | None,
    how: Fit,
) -> Fitted:
    """Fits the messages, lowering `max_length` to what is declared first.

    Args:
        messages: as submitted; parts checked.
        tools_length: characters of the tools' JSON that a worker is given.
        max_length: tokens asked for.
        max_context_length: the context asked for, prompt and reply together.
        largest_length: the largest `max_length` that an online worker of the models declares.
        largest_context: likewise its context; None for both without an online worker.
        how: what may be done to make them fit.

    Raises:
        HordeError: `PromptExceedsContext` with the three figures.
    """
    adjustments: list[Mapping[str, Any]] = []
    length = max_length
    if largest_length is not None and largest_length < max_length:
        length = largest_length
        adjustments.append({"from": max_length, "to": length, "reason": "worker_max_length"})
    sizes = [_sizes(message) for message in messages]
    fixed = _tokens(tools_length)
    prompt = fixed + _estimate(sizes)
    context = max_context_length
    if how != "reject" and prompt + length > context:
        context = _grown(prompt + length, context, largest_context)
        if context != max_context_length:
            adjustments.append({"from": max_context_length, "to": context, "reason": "grow"})
    if how == "truncate_oldest" and prompt + length > context:
        room = context - length - fixed
        kept = _without_oldest(messages, sizes, room)
        dropped = len(messages) - len(kept)
        if dropped:
            messages = [messages[index] for index in kept]
            prompt = fixed + _estimate([sizes[index] for index in kept])
            adjustments.append({"reason": "truncate_oldest", "dropped_messages": dropped})
    if prompt + length > context:
        raise _exceeds(prompt, length, context)
    return Fitted(messages, length, context, prompt, tuple(adjustments))


def _estimate(sizes: Sequence[tuple[int, int]]) -> int:
    characters = images = 0
    for more_characters, more_images in sizes:
        characters += more_characters
        images += more_images
    return _tokens(characters) + MESSAGE_TOKENS * len(sizes) + IMAGE_TOKENS * images


def _grown(needed: int, context: int, largest: int | None) -> int:
    """The next power of two that holds what is needed, no larger than any worker declares."""
    bound = _LARGEST_CONTEXT if largest is None else largest
    power = 1 << (needed - 1).bit_length()
    return max(context, min(power, bound))


def _without_oldest(
    messages: Sequence[Message], sizes: Sequence[tuple[int, int]], room: int
) -> list[int]:
    """The indices left when whole turns are dropped, oldest first, until the rest has room.

    A turn is a user message with everything up to the next one; what comes before the first user
    message counts as a turn of its own. System messages and the latest turn stay.
    """
    turns: list[list[int]] = [[]]
    for index, message in enumerate(messages):
        if message["role"] == "user":
            turns.append([])
        turns[-1].append(index)
    turns.pop()
    dropped: set[int] = set()
    characters = sum(size[0] for size in sizes)
    rest = MESSAGE_TOKENS * len(sizes) + IMAGE_TOKENS * sum(size[1] for size in sizes)
    for turn in turns:
        if _tokens(characters) + rest <= room:
            break
        gone = [index for index in turn if messages[index]["role"] != "system"]
        dropped.update(gone)
        characters -= sum(sizes[index][0] for index in gone)
        rest -= MESSAGE_TOKENS * len(gone) + IMAGE_TOKENS * sum(sizes[index][1] for index in gone)
    return [index for index in range(len(messages)) if index not in dropped]


def _exceeds(prompt: int, length: int, context: int) -> Exception:
    return refuse(
        "PromptExceedsContext",
        f"The prompt's {prompt} tokens and max_length {length} exceed the context of {context}.",
        prompt_tokens_estimate=prompt,
        max_length=length,
        max_context_length=context,
    )
