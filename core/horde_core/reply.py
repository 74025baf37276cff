"""A finished job as OpenAI's `chat.completion`: choices, usage, `x_horde` (contract section 8)."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from horde_core.chat import ChatRequest
from horde_core.errors import to_json
from horde_core.native import Generation, Receipt, Status

_CENSORED_STATES = frozenset({"censored", "csam"})


@attrs.frozen
class Choice:
    """One generation in OpenAI's terms."""

    index: int
    content: str
    reasoning: str | None
    """None when there is none, or when it is hidden."""
    tool_calls: tuple[Mapping[str, Any], ...]
    finish_reason: str
    native_finish_reason: str | None
    notice: str | None

    def body(self) -> dict[str, Any]:
        """The choice of a whole reply."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if self.tool_calls and not self.content else self.content,
            "refusal": None,
        }
        if self.reasoning is not None:
            message["reasoning_content"] = self.reasoning
        if self.tool_calls:
            message["tool_calls"] = list(self.tool_calls)
        return {
            "index": self.index,
            "message": message,
            "logprobs": None,
            "finish_reason": self.finish_reason,
            "native_finish_reason": self.native_finish_reason,
        }


@attrs.frozen
class Reply:
    """All that the end of a request tells, for a whole body as for a stream's last chunks."""

    request_id: str
    created: int
    model: str
    fingerprint: str | None
    choices: tuple[Choice, ...]
    usage: Mapping[str, Any]
    x_horde: Mapping[str, Any]

    def body(self) -> bytes:
        """The `chat.completion` as JSON."""
        return to_json(
            {
                "id": completion_id(self.request_id),
                "object": "chat.completion",
                "created": self.created,
                "model": self.model,
                "choices": [choice.body() for choice in self.choices],
                "usage": self.usage,
                "service_tier": "default",
                "system_fingerprint": self.fingerprint,
                "x_horde": self.x_horde,
            }
        )


def completion_id(request_id: str) -> str:
    """The completion's id: the Horde's request id, recognisable."""
    return f"chatcmpl-{request_id}"


def fingerprint(worker_id: str | None, model: str) -> str | None:
    """`fp_` and 12 hex digits of worker and model; None when the worker is unknown."""
    if worker_id is None:
        return None
    return "fp_" + hashlib.sha256(f"{worker_id}\n{model}".encode()).hexdigest()[:12]


def read_reply(
    request: ChatRequest,
    receipt: Receipt,
    status: Status,
    generations: Sequence[Generation],
    *,
    created: int,
) -> Reply:
    """Makes the reply of a done request. `generations` are complete, in order of their index."""
    choices = tuple(_choice(request, receipt.id, generation) for generation in generations)
    first = generations[0]
    model = first.model or request.models[0]
    usage, estimated = _usage(receipt, generations)
    x_horde: dict[str, Any] = {
        "request_id": receipt.id,
        "worker_id": first.worker_id,
        "worker_name": first.worker_name,
        "kudos": status.kudos,
        "context_adjustments": list(status.context_adjustments or receipt.context_adjustments)
        or None,
        "notice": next((choice.notice for choice in choices if choice.notice), None),
        "usage_estimated": estimated,
    }
    if request.n > 1:
        x_horde["generations"] = [
            {
                "index": generation.index,
                "worker_id": generation.worker_id,
                "worker_name": generation.worker_name,
                "model": generation.model,
            }
            for generation in generations
        ]
    return Reply(
        request_id=receipt.id,
        created=created,
        model=model,
        fingerprint=fingerprint(first.worker_id, model),
        choices=choices,
        usage=usage,
        x_horde=x_horde,
    )


def _choice(request: ChatRequest, request_id: str, generation: Generation) -> Choice:
    calls = _tool_calls(request_id, generation)
    shown = generation.reasoning if request.horde.include_reasoning else ""
    reason = _finish_reason(request, generation, has_calls=bool(calls))
    return Choice(
        index=generation.index,
        content=generation.content,
        reasoning=shown or None,
        tool_calls=calls,
        finish_reason=reason,
        native_finish_reason=generation.native_finish_reason,
        notice=_notice(generation, reason, has_calls=bool(calls)),
    )


def _finish_reason(request: ChatRequest, generation: Generation, *, has_calls: bool) -> str:
    if generation.state in _CENSORED_STATES or generation.finish_reason == "content_filter":
        return "content_filter"
    if generation.finish_reason == "length":
        return "length"
    if has_calls:
        return "stop" if request.forces_function else "tool_calls"
    return "stop"


def _notice(generation: Generation, reason: str, *, has_calls: bool) -> str | None:
    """What a user should know about a reply without text, in words to show."""
    if reason == "content_filter":
        return "The reply was censored by the worker or the AI Horde."
    if generation.content or has_calls:
        return None
    if generation.reasoning and reason == "length":
        return (
            "The reply ran out of tokens while the model was thinking. "
            "Send a fresh request with a larger max_tokens or a lower reasoning_effort."
        )
    if generation.reasoning:
        return "The model ended after thinking, without an answer."
    return "The worker returned an empty reply."


def _tool_calls(request_id: str, generation: Generation) -> tuple[Mapping[str, Any], ...]:
    """The calls in OpenAI's form; a missing or repeated id is replaced by one made from its place.

    The id is a hash and not drawn, so the stream and the reply agree about it.
    """
    seen: set[str] = set()
    calls: list[Mapping[str, Any]] = []
    for at, call in enumerate(generation.tool_calls):
        function = call.get("function")
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        call_id = call.get("id")
        if not isinstance(call_id, str) or not call_id or call_id in seen:
            place = f"{request_id}/{generation.index}/{at}"
            call_id = f"call_{hashlib.sha256(place.encode()).hexdigest()[:24]}"
        seen.add(call_id)
        calls.append(
            {
                "id": call_id,
                "type": "function",
                "function": {
                    "name": function["name"],
                    "arguments": _arguments(function.get("arguments")),
                },
            }
        )
    return tuple(calls)


def _arguments(value: object) -> str:
    """Arguments are JSON text; none are `{}`, and a careless worker's object is written out."""
    if isinstance(value, str):
        return value if value.strip() else "{}"
    return "{}" if value is None else to_json(value).decode()


def _usage(receipt: Receipt, generations: Sequence[Generation]) -> tuple[dict[str, Any], bool]:
    """Tokens over all choices, the prompt counted once; True when any of it is an estimate."""
    counted = [generation.usage for generation in generations]
    prompt = next((usage.prompt for usage in counted if usage), receipt.prompt_tokens_estimate)
    completion = sum(
        generation.usage.completion if generation.usage else _estimate(generation, receipt)
        for generation in generations
    )
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    reasoning = [usage.reasoning for usage in counted if usage and usage.reasoning is not None]
    if reasoning:
        usage["completion_tokens_details"] = {"reasoning_tokens": sum(reasoning)}
    return usage, not all(counted)


def _estimate(generation: Generation, receipt: Receipt) -> int:
    """The Horde's own count for an uncounted reply: `t(s)` of its settlement (kudos rules)."""
    calls = to_json(list(generation.tool_calls)).decode() if generation.tool_calls else ""
    text = generation.reasoning + generation.content + calls
    tokens = max(20, math.ceil(len(text) / 4))
    return min(receipt.max_length, tokens) if receipt.max_length else tokens
