"""A client's JSON body to a `ChatRequest`, or to its one refusal.

The order of checks is the contract's (section 3): what is missing, unknown keys, each key in
OpenAI's order, keys against one another, missing contents, the model.
"""

from collections.abc import Mapping
from typing import Any, Final

from horde_core import faults
from horde_core.chat import ChatRequest
from horde_core.errors import refuse
from horde_core.keys import Keys, read_keys, refuse_unserved
from horde_core.legal_text import compact_size
from horde_core.messages import mention_json, require_contents

DEFAULT_MAX_TOKENS: Final = 512
LARGEST_TOOLING: Final = 256 * 1024
"""Bytes of compact JSON of tools, tool_choice and response_format (first seed)."""

_TOOLING = ("tools", "tool_choice", "response_format")


def read_request(
    document: Mapping[str, Any], *, drop_parameters: frozenset[str] = frozenset()
) -> ChatRequest:
    """The whole checked request.

    `document` is a body as `horde_core.body` reads it; `drop_parameters` are the keys that the
    deployment drops at any value, and those found are the request's `dropped`.
    Raises a `Refusal`: 400, or 404 `model_not_found` for an id that can't be a model's.
    """
    dropped: tuple[str, ...] = ()
    if drop_parameters:
        dropped = tuple([key for key in document if key in drop_parameters])
        document = {key: value for key, value in document.items() if key not in drop_parameters}
    _require_keys(document)
    refuse_unserved(document)
    keys = read_keys(document)
    _refuse_large_tooling(document, keys)
    _refuse_conflicts(document, keys)
    require_contents(document["messages"], keys.messages)
    _guard_json(keys)
    models = (keys.model,) if keys.model is not None else keys.models
    _refuse_variants(models, keys)
    limit = keys.max_tokens or keys.max_completion_tokens or DEFAULT_MAX_TOKENS
    return ChatRequest(
        models=models,
        messages=keys.messages,
        from_models_key=keys.model is None,
        max_tokens=limit,
        temperature=keys.temperature,
        top_p=keys.top_p,
        frequency_penalty=keys.frequency_penalty,
        presence_penalty=keys.presence_penalty,
        stop=keys.stop,
        seed=keys.seed,
        n=keys.n,
        stream=keys.stream,
        include_usage=keys.stream_options,
        reasoning_effort=keys.reasoning_effort,
        tools=keys.tools,
        tool_choice=keys.tool_choice,
        parallel_tool_calls=keys.parallel_tool_calls,
        response_format=keys.response_format,
        horde=keys.horde,
        dropped=dropped,
    )


def _require_keys(document: Mapping[str, Any]) -> None:
    if document.get("model") in (None, "") and document.get("models") is None:
        raise refuse(faults.BAD_REQUEST, "you must provide a model parameter", "model")
    if "messages" not in document:
        raise faults.missing("messages")


def _refuse_large_tooling(document: Mapping[str, Any], keys: Keys) -> None:
    if not keys.tools and keys.response_format is None:
        return
    size = sum(compact_size(document[key]) for key in _TOOLING if document.get(key) is not None)
    if size > LARGEST_TOOLING:
        raise refuse(
            faults.UNSUPPORTED,
            "'tools', 'tool_choice' and 'response_format' are too large. Expected at most "
            f"{LARGEST_TOOLING} bytes of compact JSON together, but got {size} bytes instead.",
            "tools" if keys.tools else "response_format",
        )


def _refuse_conflicts(document: Mapping[str, Any], keys: Keys) -> None:
    """Keys that contradict or need one another, in the order of checks."""
    if keys.model is not None and keys.models:
        raise refuse(
            faults.CONFLICT,
            "Setting 'model' and 'models' at the same time is not supported.",
            "models",
        )
    _refuse_tool_conflicts(keys)
    limit, other = keys.max_tokens, keys.max_completion_tokens
    if limit is not None and other is not None and limit != other:
        raise refuse(
            faults.CONFLICT,
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens",
        )
    if document.get("stream_options") is not None and not keys.stream:
        raise refuse(
            faults.CONFLICT,
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
        )
    if keys.horde.only and keys.horde.ignore:
        raise refuse(
            faults.CONFLICT,
            "Setting 'horde.only' and 'horde.ignore' at the same time is not supported.",
            "horde.only",
        )


def _refuse_tool_conflicts(keys: Keys) -> None:
    if not keys.tools:
        for key, value in (
            ("tool_choice", keys.tool_choice),
            ("parallel_tool_calls", keys.parallel_tool_calls),
        ):
            if value is not None:
                raise refuse(
                    faults.CONFLICT,
                    f"Invalid value for '{key}': '{key}' is only allowed when 'tools' are "
                    "specified.",
                    key,
                )
    name = keys.tool_choice.function if keys.tool_choice is not None else None
    if name is not None and all(tool.name != name for tool in keys.tools):
        raise refuse(
            faults.UNSUPPORTED,
            f"Invalid value for 'tool_choice': no function named '{faults.shown(name)}' was "
            "specified in the 'tools' parameter.",
            "tool_choice",
        )


def _guard_json(keys: Keys) -> None:
    """OpenAI's own rule, which a client may ask for (first seed, "Structured output")."""
    chosen = keys.response_format
    if chosen is None or chosen.kind != "json_object" or not keys.horde.openai_guards:
        return
    if not mention_json(keys.messages):
        raise refuse(
            faults.UNSUPPORTED,
            "'messages' must contain the word 'json' in some form, to use 'response_format' of "
            "type 'json_object'.",
            "messages",
        )


def _refuse_variants(models: tuple[str, ...], keys: Keys) -> None:
    """The front serves no model variants, so an id with a colon is nobody's (first seed)."""
    for index, model in enumerate(models):
        if ":" in model:
            param = "model" if keys.model is not None else f"models[{index}]"
            raise faults.no_such_model(model, param)
