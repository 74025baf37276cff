"""The `horde` object of a request: the Horde's options that OpenAI has no key for (section 7)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from horde_core import faults
from horde_core.chat import HordeOptions
from horde_core.scalars import Hook, boolean, choice, full_texts, integer, strict_reader

LEAST_CONTEXT: Final = 256
MOST_CONTEXT: Final = 1_048_576
MOST_WORKERS: Final = 10


@attrs.frozen(eq=False, repr=False)
class Option:
    """How one key of the object is read, and what the reference page says of it."""

    hook: Callable[[str], Hook]
    """Makes the reader of the key at a path."""
    values: str
    meaning: str


def _words(*words: str) -> Callable[[str], Hook]:
    return lambda path: choice(path, words)


def _worker_ids(path: str) -> Hook:
    def read(value: Any, _: Any) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise faults.wrong_type(path, "an array of strings", value)
        if not value:
            raise faults.empty_array(path)
        if len(value) > MOST_WORKERS:
            raise faults.long_array(path, value, MOST_WORKERS)
        return full_texts(value, path)

    return read


OPTIONS: Final[Mapping[str, Option]] = {
    "include_reasoning": Option(boolean, "boolean", "whether the reply has `reasoning_content`"),
    "conformance": Option(
        _words("strict", "best_effort"),
        "`strict`, `best_effort`",
        "whether only workers that declare the needed guarantees may serve the request",
    ),
    "openai_guards": Option(
        boolean, "boolean", "refuse a `json_object` request whose messages don't mention JSON"
    ),
    "availability_mode": Option(
        _words("fail_fast", "wait"),
        "`fail_fast`, `wait`",
        "whether to refuse at once when the estimated wait is above the time budget",
    ),
    "context_fit": Option(
        _words("truncate_oldest", "grow", "reject"),
        "`truncate_oldest`, `grow`, `reject`",
        "what to do when the messages don't fit the context",
    ),
    "context_length": Option(
        lambda path: integer(path, LEAST_CONTEXT, MOST_CONTEXT),
        f"integer, {LEAST_CONTEXT} to {MOST_CONTEXT}",
        "tokens asked for before fitting, prompt and reply together",
    ),
    "max_kudos": Option(
        lambda path: integer(path, 1, None),
        "integer, at least 1",
        "refuse the request when its estimate is higher",
    ),
    "only": Option(
        _worker_ids, f"array of 1 to {MOST_WORKERS} worker ids", "the workers that may serve it"
    ),
    "ignore": Option(
        _worker_ids, f"array of 1 to {MOST_WORKERS} worker ids", "the workers that may not"
    ),
    "trusted_workers": Option(boolean, "boolean", "trusted workers only"),
    "slow_workers": Option(boolean, "boolean", "allow workers that are marked slow"),
}
"""In the order of checks, which is that of `HordeOptions`."""

_read = strict_reader(
    HordeOptions, {name: option.hook(f"horde.{name}") for name, option in OPTIONS.items()}
)


def read_options(value: Any, _: Any) -> HordeOptions:
    """Raises the `Refusal` of the first unknown key, else of the first bad value."""
    if not isinstance(value, dict):
        raise faults.wrong_type("horde", "an object", value)
    for key in value:
        if key not in OPTIONS:
            raise faults.unknown(key, OPTIONS, value, "horde")
    return _read(value)
