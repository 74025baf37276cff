"""The keys of a chat request: the tables from which requests are read and the reference is made.

`Keys` lists the keys that the front uses in the order in which OpenAI checks them (measured), so
the first attribute that can't be read is the request's one error.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from horde_core import faults, parameters
from horde_core.chat import HordeOptions, Message, ResponseFormat, Tool, ToolChoice
from horde_core.messages import read_messages
from horde_core.options import read_options
from horde_core.parameters import (
    EFFORTS,
    LEAST_TOKENS,
    MOST_MODELS,
    MOST_REPLIES,
    MOST_STOPS,
    MOST_TOKENS,
    token_limit,
)
from horde_core.response_format import read_response_format
from horde_core.scalars import Hook, boolean, decimal, integer, strict_reader
from horde_core.tools import MOST_TOOLS, read_tool_choice, read_tools

_INT64 = 2**63
_NO_OPTIONS = HordeOptions()


@attrs.define(eq=False, repr=False)
class Keys:
    """A request's values by OpenAI's names, in the order of checks."""

    model: str | None = None
    models: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    max_completion_tokens: int | None = None
    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    user: None = None
    seed: int | None = None
    response_format: ResponseFormat | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    stop: tuple[str, ...] = ()
    stream: bool = False
    stream_options: bool = False
    """Whether `include_usage` is true."""
    horde: HordeOptions = _NO_OPTIONS


@attrs.frozen(eq=False, repr=False)
class Key:
    """How a key is read, and what the reference page says of its values."""

    hook: Hook
    values: str
    sent_as: str
    takes_null: bool = False
    """Whether null is a value to the reader; else it is an omission."""


_NOT_SENT = "not sent"
_LIMIT = f"integer, {LEAST_TOKENS} to {MOST_TOKENS} (512)"
_PENALTY = "number, -2 to 2 (0)"


def _sampling(name: str, least: int, most: int, values: str) -> Key:
    return Key(decimal(name, least, most), values, f"`params.{name}`")


KEYS: Final[Mapping[str, Key]] = {
    "model": Key(parameters.read_model, "a model's id", "`models`"),
    "models": Key(
        parameters.read_models, f"array of 1 to {MOST_MODELS} ids, in place of `model`", "`models`"
    ),
    "messages": Key(read_messages, "array of messages", "`messages`", takes_null=True),
    "tools": Key(read_tools, f"array of up to {MOST_TOOLS} functions", "`tools`"),
    "tool_choice": Key(
        read_tool_choice, "`none`, `auto`, `required` or a function, with `tools`", "`tool_choice`"
    ),
    "parallel_tool_calls": Key(
        boolean("parallel_tool_calls"), "boolean, with `tools`", "`parallel_tool_calls`"
    ),
    "max_completion_tokens": Key(
        token_limit("max_completion_tokens"), _LIMIT, "`params.max_length`"
    ),
    "n": Key(integer("n", 1, MOST_REPLIES), f"integer, 1 to {MOST_REPLIES} (1)", "`params.n`"),
    "temperature": _sampling("temperature", 0, 2, "number, 0 to 2 (1)"),
    "top_p": _sampling("top_p", 0, 1, "number, 0 to 1 (1)"),
    "presence_penalty": _sampling("presence_penalty", -2, 2, _PENALTY),
    "frequency_penalty": _sampling("frequency_penalty", -2, 2, _PENALTY),
    "user": Key(parameters.read_user, "string", _NOT_SENT),
    "seed": Key(integer("seed", -_INT64, _INT64 - 1), "integer, signed 64 bit", "`params.seed`"),
    "response_format": Key(
        read_response_format, "type `text`, `json_object` or `json_schema`", "`response_format`"
    ),
    "max_tokens": Key(token_limit("max_tokens"), _LIMIT, "`params.max_length`"),
    "reasoning_effort": Key(
        parameters.read_effort,
        ", ".join(f"`{word}`" for word in EFFORTS),
        "`params.reasoning_effort`",
    ),
    "stop": Key(
        parameters.read_stop,
        f"string, or array of up to {MOST_STOPS} strings",
        "`params.stop_sequence`",
    ),
    "stream": Key(boolean("stream"), "boolean (false)", _NOT_SENT),
    "stream_options": Key(
        parameters.read_stream_options,
        "object with `include_usage`, a boolean, with `stream`",
        _NOT_SENT,
    ),
    "horde": Key(read_options, "object of the Horde's own options", "see below"),
}

_read = strict_reader(
    Keys,
    {name: key.hook for name, key in KEYS.items()},
    nulls=frozenset([name for name, key in KEYS.items() if key.takes_null]),
)


def read_keys(document: Mapping[str, Any]) -> Keys:
    """Raises the `Refusal` of the first key, in OpenAI's order, whose value can't be taken."""
    return _read(document)


def _is_false(value: Any) -> bool:
    return value is False


def _is_zero(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and value == 0


@attrs.frozen(eq=False, repr=False)
class ClientDefault:
    """A key that stock clients send at a value that changes nothing; that value is dropped."""

    accepts: Callable[[Any], bool]
    values: str
    instead: str = ""


CLIENT_DEFAULTS: Final[Mapping[str, ClientDefault]] = {
    "logprobs": ClientDefault(_is_false, "false"),
    "top_logprobs": ClientDefault(_is_zero, "0"),
    "store": ClientDefault(_is_false, "false", "Leave it out or send false."),
    "service_tier": ClientDefault(
        lambda value: value in ("auto", "default"),
        "`auto`, `default`",
        "Leave it out or send 'auto'.",
    ),
    "logit_bias": ClientDefault(lambda value: value == {}, "an empty object"),
}

UNSERVED: Final[Mapping[str, str]] = {
    "functions": "Use 'tools' instead.",
    "function_call": "Use 'tool_choice' instead.",
    "moderation": "",
    "safety_identifier": "",
    "prompt_cache_options": "",
    "prompt_cache_key": "",
    "prompt_cache_retention": "",
    "metadata": "",
    "prediction": "",
    "verbosity": "",
    "audio": "",
    "modalities": "",
    "web_search_options": "",
}
"""Keys that OpenAI documents and the Horde has nothing for, each with what to send in its place."""

TAKEN: Final = frozenset(KEYS) | CLIENT_DEFAULTS.keys()


def refuse_unserved(document: Mapping[str, Any]) -> None:
    """Raises the `Refusal` of the first key, in the client's order, that the front doesn't take."""
    for key, value in document.items():
        if key in KEYS:
            continue
        default = CLIENT_DEFAULTS.get(key)
        if default is None and key not in UNSERVED:
            raise faults.unknown(key, TAKEN, document)
        if value is None or (default is not None and default.accepts(value)):
            continue
        instead = UNSERVED[key] if default is None else default.instead
        raise faults.unsupported_parameter(key, instead)
