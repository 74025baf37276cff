"""Native answers as the Horde would send them, for tests that play the Horde by hand."""

import json
from collections.abc import Mapping
from typing import Any

from horde_core.native import HordeAnswer
from horde_core.workers import PoolView, read_pool

REQUEST_ID = "6f0d3a1e-0000-4000-8000-000000000001"
MODEL = "koboldcpp/Qwen3-8B"


def answer(body: object, status: int = 200, **headers: str) -> HordeAnswer:
    """An answer with a JSON body; header names with underscores for dashes."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HordeAnswer(status, {k.replace("_", "-"): v for k, v in headers.items()}, raw)


def receipt(**changes: Any) -> HordeAnswer:
    """A submit's 202."""
    return answer(
        {"id": REQUEST_ID, "kudos": 10, "prompt_tokens_estimate": 12, "max_length": 512} | changes,
        202,
    )


def status(**changes: Any) -> dict[str, Any]:
    """A waiting request's status; changes replace whole fields."""
    waiting: dict[str, Any] = {
        "finished": 0,
        "processing": 0,
        "restarted": 0,
        "waiting": 1,
        "done": False,
        "faulted": False,
        "cancelled": False,
        "wait_time": 2,
        "queue_position": 1,
        "kudos": 1.0,
        "is_possible": True,
        "eligible_workers": 1,
        "eligible_worker_threads": 2,
        "pool": {
            "online_workers": 1,
            "online_threads": 2,
            "missing_features": [],
            "missing_guarantees": [],
            "exceeded_limits": [],
        },
        "context_adjustments": [],
        "progress": [],
        "last_refusal": None,
        "generations": [],
    }
    return waiting | changes


def pool(**changes: Any) -> dict[str, Any]:
    """The `pool` of a status."""
    return status()["pool"] | changes  # type: ignore[no-any-return]


def progress(content: str = "", *, start: int = 0, **changes: Any) -> dict[str, Any]:
    """A progress entry from an offset on."""
    entry = {
        "index": 0,
        "attempt": 1,
        "seq": 1,
        "worker_id": "w-1",
        "worker_name": "one",
        "model": MODEL,
        "content_from": start,
        "content": content,
        "reasoning_from": 0,
        "reasoning_content": "",
    }
    return entry | changes


def generation(content: str = "Hello.", **changes: Any) -> dict[str, Any]:
    """A finished generation."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    message |= changes.pop("message", {})
    entry = {
        "index": 0,
        "worker_id": "w-1",
        "worker_name": "one",
        "model": MODEL,
        "state": "ok",
        "seed": 0,
        "gen_metadata": [],
        "message": message,
        "finish_reason": "stop",
        "native_finish_reason": "eos",
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "reasoning_tokens": 0},
        "kudos": 2.5,
    }
    return entry | changes


def done(*generations: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """The status of a finished request."""
    return status(
        done=True, waiting=0, finished=max(1, len(generations)), wait_time=0, kudos=3.5,
        generations=list(generations) or [generation()], **changes,
    )  # fmt: skip


def view(*online: str, known: tuple[str, ...] = ()) -> PoolView:
    """A view in which each model of `online` has a worker."""
    workers = [
        {
            "id": f"w-{at}", "name": f"worker {at}", "type": "text", "online": True,
            "models": [model], "threads": 2, "max_length": 1024, "max_context_length": 8192,
            "chat": {"features": ["progress"], "guarantees": ["no_prompt_trim"], "limits": {}},
        }
        for at, model in enumerate(online)
    ]  # fmt: skip
    models = [{"name": name, "queued": 0, "eta": 0} for name in (*online, *known)]
    return read_pool(json.dumps(workers).encode(), json.dumps(models).encode())
