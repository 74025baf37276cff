"""The listings: every known model with its counts, and the Horde's totals."""

from math import ceil
from typing import Any

from horde_simulator.state import State
from horde_simulator.status import BACKGROUND_JOB_SECONDS


def model_entry(state: State, model: str) -> dict[str, Any]:
    """A model as `GET /status/models` lists it: threads, tokens per second, what waits."""
    serving = state.registry.serving(model)
    online = [worker for worker in serving if worker.online and not worker.maintenance]
    threads = sum(worker.threads for worker in online)
    speed = sum(worker.threads * worker.speed for worker in online)
    line = state.queue.line(model)
    others = [worker.profile.background_seconds for worker in online if worker.profile is not None]
    ahead = min(others) if len(others) == len(online) and others else 0.0
    known = next((spec for spec in state.scenario.models if spec.name == model), None)
    return {
        "name": model,
        "count": threads,
        "workers": len(online),
        "performance": round(sum(worker.speed for worker in online), 1),
        # Other users' jobs, which a scenario keeps ahead at a worker, wait and take time as well.
        "queued": round(line.tokens + ahead * speed, 1),
        "jobs": float(line.jobs + ceil(ahead / BACKGROUND_JOB_SECONDS)),
        "eta": int(line.tokens / speed + ahead) if speed else (10_000 if line.tokens else 0),
        "type": "text",
        "parameters_billion": known.parameters_billion if known is not None else None,
    }


def performance(state: State) -> dict[str, Any]:
    """The Horde's totals."""
    online = [worker for worker in state.registry.by_id.values() if worker.online]
    return {
        "queued_text_requests": state.queue.jobs,
        "queued_tokens": float(state.queue.tokens),
        "text_worker_count": len(online),
        "text_thread_count": sum(worker.threads for worker in online),
        "settled_tokens": state.tokens_settled,
        "worker_count": 0,
        "thread_count": 0,
    }
