"""A `ChatRequest` to the body of the Horde's submit (contract/horde, section 2)."""

from typing import Any, Final

from horde_core.chat import (
    ChatRequest,
    FullMessage,
    ImagePart,
    Message,
    ResponseFormat,
    TextPart,
    Tool,
    ToolChoice,
)
from horde_core.legal_text import compact_json

NO_PARAMETERS: Final = {"type": "object", "properties": {}, "additionalProperties": False}
"""What a tool without `parameters` takes: nothing."""

NEUTRAL_SAMPLING: Final = {"rep_pen": 1.0, "top_k": 0, "min_p": 0.0}
"""Sent always, so that no worker's own defaults apply (first seed, "Sampling defaults")."""


def submit_body(
    request: ChatRequest,
    *,
    operation_key: str | None,
    context_length: int,
    dry_run: bool = False,
) -> bytes:
    """The submit's compact JSON; with `dry_run` the same job's quote, which has no operation.

    `context_length` is the deployment's default in tokens, for a request that names none.
    """
    options = request.horde
    body: dict[str, Any] = {
        "messages": [_message(message) for message in request.messages],
        "params": _params(request, context_length),
        "models": request.models,
        "workers": options.only or options.ignore,
        "worker_blacklist": bool(options.ignore),
        "trusted_workers": options.trusted_workers,
        "slow_workers": options.slow_workers,
        "conformance": options.conformance,
        "context_fit": options.context_fit,
        "progress": request.is_live,
        "dry_run": dry_run,
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if request.tool_choice is not None:
            body["tool_choice"] = _tool_choice(request.tool_choice)
        if request.parallel_tool_calls is not None:
            body["parallel_tool_calls"] = request.parallel_tool_calls
    if request.response_format is not None:
        body["response_format"] = _response_format(request.response_format)
    if operation_key is not None and not dry_run:
        body["operation_key"] = operation_key
    return compact_json(body)


def _params(request: ChatRequest, context_length: int) -> dict[str, Any]:
    params: dict[str, Any] = {
        "n": request.n,
        "max_length": request.max_tokens,
        "max_context_length": request.horde.context_length or context_length,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "frequency_penalty": request.frequency_penalty,
        "presence_penalty": request.presence_penalty,
        **NEUTRAL_SAMPLING,
        "stop_sequence": request.stop,
    }
    if request.seed is not None:
        params["seed"] = request.seed
    if request.reasoning_effort is not None:
        params["reasoning_effort"] = request.reasoning_effort
    return params


def _message(message: Message) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if type(message.content) is tuple:
        sent["content"] = [_part(part) for part in message.content]
    if type(message) is FullMessage:
        _add_rest(sent, message)
    return sent


def _add_rest(sent: dict[str, Any], message: FullMessage) -> None:
    if message.name is not None:
        sent["name"] = message.name
    if message.tool_calls:
        sent["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        sent["tool_call_id"] = message.tool_call_id


def _part(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    image = {"url": part.url}
    if part.detail is not None:
        image["detail"] = part.detail
    return {"type": "image_url", "image_url": image}


def _tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    function["parameters"] = NO_PARAMETERS if tool.parameters is None else tool.parameters
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _tool_choice(choice: ToolChoice) -> str | dict[str, Any]:
    if choice.mode == "function":
        return {"type": "function", "function": {"name": choice.function}}
    return choice.mode


def _response_format(chosen: ResponseFormat) -> dict[str, Any]:
    if chosen.kind == "json_object":
        return {"type": "json_object"}
    schema: dict[str, Any] = {"name": chosen.name, "schema": chosen.schema}
    if chosen.description is not None:
        schema["description"] = chosen.description
    if chosen.strict is not None:
        schema["strict"] = chosen.strict
    return {"type": "json_schema", "json_schema": schema}
