"""Model cards: what `GET /v1/models` says of each model that an online worker serves.

The figures are maxima and unions over the model's online workers, so they are hints: a request
that needs two things may find no single worker that has both (first seed, the model card).
"""

from typing import Any

from horde_core.faults import no_such_model
from horde_core.workers import ChatWorker, PoolView

ALWAYS_SUPPORTED = (
    "frequency_penalty",
    "max_completion_tokens",
    "max_tokens",
    "n",
    "presence_penalty",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
)

# What a worker's declaration adds to `supported_parameters`.
_BY_FEATURE = {
    "tools": ("tools",),
    "parallel_tool_calls": ("parallel_tool_calls",),
    "response_format.json_object": ("response_format",),
    "response_format.json_schema": ("response_format", "structured_outputs"),
    "reasoning_effort": ("reasoning_effort", "include_reasoning"),
}
_BY_GUARANTEE = {"tool_choice": ("tool_choice",)}


def model_list(view: PoolView, *, created: int) -> dict[str, Any]:
    """The list's body: most workers first, then by id."""
    models = sorted(view.online, key=lambda model: (-len(view.online[model]), model))
    return {"object": "list", "data": [_card(view, model, created) for model in models]}


def model_card(view: PoolView, model: str, *, created: int) -> dict[str, Any]:
    """One model's card. Raises `model_not_found` without an online worker, or with a `:`."""
    if ":" in model or model not in view.online:
        raise no_such_model(model, "model")
    return _card(view, model, created)


def _card(view: PoolView, model: str, created: int) -> dict[str, Any]:
    workers = view.online[model]
    features = _union(workers, "features")
    guarantees = _union(workers, "guarantees")
    context = max(worker.max_context_length for worker in workers)
    known = view.known.get(model)
    return {
        "id": model,
        "object": "model",
        "created": created,
        "owned_by": "ai-horde",
        "name": model,
        "context_length": context,
        "architecture": {
            "input_modalities": ["text", "image"] if "image_input" in features else ["text"],
            "output_modalities": ["text"],
        },
        "top_provider": {
            "context_length": context,
            "max_completion_tokens": max(worker.max_length for worker in workers),
            "is_moderated": False,
        },
        "supported_parameters": _supported(features, guarantees),
        "x_horde": {
            "workers": len(workers),
            "threads": sum(worker.threads for worker in workers),
            "queued": known.queued if known else 0.0,
            "eta": known.eta if known else 0,
            "tokens_per_second": known.performance if known else 0.0,
            "features": sorted(features),
            "guarantees": sorted(guarantees),
        },
    }


def _union(workers: tuple[ChatWorker, ...], declared: str) -> set[str]:
    return set().union(*(getattr(worker, declared) for worker in workers))


def _supported(features: set[str], guarantees: set[str]) -> list[str]:
    supported = set(ALWAYS_SUPPORTED)
    for feature in features:
        supported.update(_BY_FEATURE.get(feature, ()))
    for guarantee in guarantees:
        supported.update(_BY_GUARANTEE.get(guarantee, ()))
    return sorted(supported)
