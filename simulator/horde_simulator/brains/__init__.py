"""What a simulated worker says: a brain makes a reply from a job and a random source."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import attrs


@attrs.frozen
class Job:
    """What a brain sees: the pop payload's own fields, and the images' bytes."""

    payload: Mapping[str, Any]
    """As handed out at pop: messages, tools, tool_choice, response_format, max_length, …"""
    model: str
    images: tuple[bytes, ...] = ()
    attempt: int = 1


@attrs.frozen
class Reply:
    """A whole reply, before the worker's clock spreads it over time.

    Tokens are those of `horde_simulator.tokens`; `brains.registry.brain_of` ends every reply at the
    job's stop sequences and `max_length`.
    """

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """In OpenAI's form: `{"id", "type": "function", "function": {"name", "arguments"}}`."""
    finish_reason: str = "stop"
    native_finish_reason: str = "eos"
    delay: float = 0.0
    """Seconds that the worker thinks before the first word, besides its prefill."""


Brain = Callable[[Job, Random], Reply]
