"""The frozen values that a checked chat request is made of (OpenAI's terms).

`horde_core.request` makes them from a client's body; `horde_core.job` turns them into the Horde's
submit body; the exchange and the reply read what they need from them.  Every limit and pattern has
been checked by then, so nothing here validates.  Prompts are in them, so that none has a repr.
"""

from collections.abc import Mapping
from typing import Any, Literal

import attrs

Role = Literal["system", "user", "assistant", "tool"]
ToolChoiceMode = Literal["none", "auto", "required", "function"]
ContextFit = Literal["truncate_oldest", "grow", "reject"]


@attrs.frozen(repr=False)
class TextPart:
    """One `text` part of a content array that also holds an image."""

    text: str


@attrs.frozen(repr=False)
class ImagePart:
    """One `image_url` part: a data URL or a public http(s) URL."""

    url: str
    detail: str | None = None


@attrs.frozen(repr=False)
class ToolCall:
    """A call in an assistant message; `arguments` is the model's own text, valid JSON or not."""

    id: str
    name: str
    arguments: str


@attrs.frozen(repr=False)
class Message:
    """One message; a `developer` message has become `system`, text-only arrays one string.

    Most have no more than this, and each attribute of a frozen value takes time to set.
    """

    role: Role
    content: str | tuple[TextPart | ImagePart, ...] | None


@attrs.frozen(repr=False)
class FullMessage(Message):
    """A message with a name, with calls, or with the id of the call that it answers."""

    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@attrs.frozen(repr=False)
class Tool:
    """A function on offer. `parameters` is the client's JSON Schema, forwarded unchanged."""

    name: str
    description: str | None = None
    parameters: Mapping[str, Any] | None = None
    strict: bool | None = None


@attrs.frozen(repr=False)
class ToolChoice:
    """`function` names the one function that mode `function` forces."""

    mode: ToolChoiceMode
    function: str | None = None


@attrs.frozen(repr=False)
class ResponseFormat:
    """A non-text format; `name`, `schema`, `description`, `strict` belong to `json_schema`."""

    kind: Literal["json_object", "json_schema"]
    name: str | None = None
    schema: Mapping[str, Any] | None = None
    description: str | None = None
    strict: bool | None = None


@attrs.frozen(repr=False)
class HordeOptions:
    """The `horde` object of a request: what OpenAI has no key for. Defaults are the contract's."""

    include_reasoning: bool = True
    conformance: Literal["strict", "best_effort"] = "strict"
    openai_guards: bool = False
    availability_mode: Literal["fail_fast", "wait"] = "fail_fast"
    context_fit: ContextFit = "truncate_oldest"
    context_length: int | None = None
    """Tokens, prompt and reply together; None takes the deployment's default."""
    max_kudos: int | None = None
    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    trusted_workers: bool = False
    slow_workers: bool = True


@attrs.frozen(repr=False)
class ChatRequest:
    """A whole checked request. Omitted sampling keys have their neutral values."""

    models: tuple[str, ...]
    messages: tuple[Message, ...]
    from_models_key: bool = False
    """True when the client sent `models`: an unknown id is then reported at `models[i]`."""
    max_tokens: int = 512
    temperature: float = 1.0
    top_p: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    stop: tuple[str, ...] = ()
    seed: int | None = None
    n: int = 1
    stream: bool = False
    include_usage: bool = False
    reasoning_effort: str | None = None
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    horde: HordeOptions = HordeOptions()
    dropped: tuple[str, ...] = ()
    """Keys that the deployment told the front to drop, in the client's order (for the metrics)."""

    @property
    def is_live(self) -> bool:
        """Whether the reply may be relayed while it is generated (first seed, "Streaming")."""
        return self.stream and not self.tools and self.response_format is None

    @property
    def forces_function(self) -> bool:
        """Whether `tool_choice` names one function, under which calls finish with `stop`."""
        return self.tool_choice is not None and self.tool_choice.mode == "function"
