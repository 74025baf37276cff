"""What a status read tells: the jobs, the wait, the pool, and the text new to the reader."""

from collections.abc import Mapping
from math import ceil
from typing import Any, Final

import orjson

from horde_simulator.eligibility import Standing
from horde_simulator.job import Job, JobState
from horde_simulator.pricing import kudos
from horde_simulator.request import Request, RequestState
from horde_simulator.state import State

BACKGROUND_JOB_SECONDS: Final = 5.0
"""How long one of the other users' jobs is that are always ahead at a busy worker."""

Offsets = Mapping[int, tuple[int, int]]
"""By index, how many code points of content and of reasoning the reader has."""


def read_offsets(query: str) -> Offsets:
    """The tails that a query asks for; what can't be read asks for everything."""
    if not query:
        return {}
    offsets: dict[int, tuple[int, int]] = {}
    content = reasoning = 0
    # Digits and colons are all that counts: nothing of it needs percent-decoding but the colon.
    for pair in query.replace("%3A", ":").replace("%3a", ":").split("&"):
        name, _, value = pair.partition("=")
        if name == "content_from":
            content = _offset(value)
        elif name == "reasoning_from":
            reasoning = _offset(value)
        elif name == "from":
            parts = value.split(":")
            if len(parts) == 3:
                offsets[_offset(parts[0])] = (_offset(parts[1]), _offset(parts[2]))
    if content or reasoning:
        offsets[0] = (content, reasoning)
    return offsets


def _offset(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def status_body(
    state: State, request: Request, offsets: Offsets, standing: Standing | None = None
) -> dict[str, Any]:
    """The body of a status or cancel answer.

    Args:
        state: the Horde.
        request: the request, which the Horde holds.
        offsets: how much of each reply the reader has.
        standing: another eligibility than the present one (a stale one).
    """
    if standing is None:
        standing = state.standing(request.bucket)
    latest = request.latest_jobs() if request.jobs else []
    position, wait = _queueing(state, request, latest, standing)
    return {
        "finished": request.settled,
        "processing": request.processing,
        "restarted": request.strikes - (request.state is RequestState.FAULTED),
        "waiting": request.waiting,
        "done": request.over,
        "faulted": request.state is RequestState.FAULTED,
        "cancelled": request.state is RequestState.CANCELLED,
        "wait_time": wait,
        "queue_position": position,
        "kudos": kudos(request.charged),
        "is_possible": bool(standing.eligible),
        "eligible_workers": len(standing.eligible),
        "eligible_worker_threads": standing.threads,
        "pool": standing.pool,
        "context_adjustments": request.adjustments,
        "progress": [
            _progress(job, offsets.get(job.index, (0, 0)))
            for job in latest
            if job.state is JobState.PROCESSING and job.seq and request.text_only
        ],
        "last_refusal": request.last_refusal,
        "generations": [orjson.Fragment(job.generation) for job in latest if job.generation],
    }


def _progress(job: Job, have: tuple[int, int]) -> dict[str, Any]:
    content = min(have[0], job.shown)
    reasoning = min(have[1], job.reasoning_shown)
    return {
        "index": job.index,
        "attempt": job.attempt,
        "seq": job.seq,
        "worker_id": job.worker.id,
        "worker_name": job.worker.name,
        "model": job.model,
        "content_from": content,
        "content": job.content[content : job.shown],
        "reasoning_from": reasoning,
        "reasoning_content": job.reasoning[reasoning : job.reasoning_shown],
    }


def _queueing(
    state: State, request: Request, latest: list[Job], standing: Standing
) -> tuple[int, int]:
    """The position in the queue (0 with nothing waiting) and the seconds until all is done."""
    if request.over:
        return 0, 0
    if not request.waiting:
        running = [job for job in latest if job.state is JobState.PROCESSING]
        return 0, ceil(max((_left_of(state, job) for job in running), default=0))
    jobs, tokens = state.queue.ahead(request.demand, request.place)
    behind, seconds = _background(state, request, standing)
    speed = standing.speed or 1.0
    wait = tokens / speed + seconds + _backlog(state, standing)
    wait += request.waiting * request.demand.max_length / (standing.mean_speed or 1.0)
    return jobs + behind + 1, ceil(wait)


def _left_of(state: State, job: Job) -> float:
    """Seconds that a running job takes at most, going by its worker's speed."""
    whole: float = job.request.demand.max_length / max(job.worker.speed, 0.1)
    return max(1.0, whole - (state.now - job.popped_at))


def _backlog(state: State, standing: Standing) -> float:
    """Seconds until a thread is free, when none is."""
    if any(worker.free_threads > 0 for worker in standing.eligible):
        return 0.0
    running = [job for worker in standing.eligible for job in worker.running.values()]
    return min((_left_of(state, job) for job in running), default=0.0)


def _background(state: State, request: Request, standing: Standing) -> tuple[int, float]:
    """Other users' jobs still ahead at every eligible worker, and the seconds that they take."""
    least: float | None = None
    for worker in standing.eligible:
        seconds = worker.profile.background_seconds if worker.profile is not None else 0.0
        left = max(0.0, request.activated_at + seconds - state.now)
        least = left if least is None else min(least, left)
    return ceil((least or 0.0) / BACKGROUND_JOB_SECONDS), least or 0.0
