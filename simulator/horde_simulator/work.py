"""What workers do with jobs: take them, post progress, hand in replies, and fail.

Built-in and external workers go the same ways: these functions are what the HTTP handlers and the
built-in workers' events call.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs
import orjson

from horde_simulator import conformance
from horde_simulator.ending import end
from horde_simulator.fitting import json_length
from horde_simulator.job import Job, JobEvent, JobState
from horde_simulator.pricing import kudos
from horde_simulator.refusals import HordeError, refuse
from horde_simulator.request import EXPIRES_AFTER, MOST_STRIKES, Request, RequestEvent
from horde_simulator.settlement import charge_reply, charge_withheld
from horde_simulator.state import State
from horde_simulator.workers import Worker

LEASE: Final = 150.0
"""Seconds in which a worker must be heard of again (contract, section 4)."""
PROGRESS_INTERVAL_MS: Final = 1000
DEFAULT_EFFORT: Final = "medium"
_SPEED_WEIGHT: Final = 0.3
_SPEED_MATTERS: Final = 0.2


def pop(state: State, worker: Worker) -> tuple[Job | None, dict[str, int]]:
    """Hands the worker the first request that it can serve.

    Returns:
        The job, and how many requests were skipped by reason.
    """
    request, skipped = state.first_for(worker)
    return (None if request is None else take(state, worker, request)), skipped


def take(state: State, worker: Worker, request: Request) -> Job:
    """Gives a waiting request's next job to a worker."""
    request.apply(RequestEvent.POP)
    index = request.take_index()
    state.queue.took(request)
    request.account.unpopped -= 1
    request.expires_at = state.now + EXPIRES_AFTER
    job = Job(
        id=state.new_id(),
        request=request,
        index=index,
        attempt=request.attempt_of(index) + 1,
        worker=worker,
        model=next(model for model in request.demand.models if model in worker.models),
        popped_at=state.now,
        lease_until=state.now + LEASE,
        payload=_payload(state, worker, request, index),
    )
    request.jobs = [*(request.jobs or ()), job]
    worker.running[job.id] = job
    state.jobs[job.id] = job
    state.popped += 1

    state.timeline.at(job.lease_until, _look_at_lease, (state, job))
    return job


def _look_at_lease(popped: tuple[State, Job]) -> None:
    """Takes a job from a worker that has not been heard of in time."""
    state, job = popped
    if job.state is not JobState.PROCESSING:
        return
    if job.lease_until > state.now:
        state.timeline.at(job.lease_until, _look_at_lease, popped)
        return
    strike(state, job, "ChatWorkerTimeout", "The worker was not heard of in time.")


def _payload(state: State, worker: Worker, request: Request, index: int) -> bytes:
    """The payload: the request's own, and what depends on the worker and the reply's number."""
    seed = request.seed
    if seed is None:
        seed = state.random.getrandbits(32)
    extra: dict[str, Any] = {
        "seed": seed if index == 0 else (seed + index) % 2**63,
        "progress": request.progress and "progress" in worker.features,
        "progress_interval_ms": PROGRESS_INTERVAL_MS,
    }
    if "reasoning_effort" in worker.features:
        extra["reasoning_effort"] = request.effort or DEFAULT_EFFORT
    return request.payload + b"," + orjson.dumps(extra)[1:]


def post(state: State, job: Job, seq: int, content: str, reasoning: str) -> bool:
    """Takes a progress post; the texts are cumulative. Tells whether the job was cancelled.

    Raises:
        HordeError: `ChatProgressInvalid` when a text doesn't continue the last post's,
            `DuplicateGen` or `AbortedGen` when the job is over.
    """
    if job.state is JobState.CANCELLED:
        return True
    if job.state is not JobState.PROCESSING:
        raise job.refusal()
    if seq <= job.seq:
        return False
    if job.request.text_only:
        if not content.startswith(job.content) or not reasoning.startswith(job.reasoning):
            raise refuse("ChatProgressInvalid", "The post doesn't continue the one before it.")
        job.content, job.reasoning = content, reasoning
        show(state, job, seq, len(content), len(reasoning))
    else:
        show(state, job, seq, 0, 0)
    return False


def show(state: State, job: Job, seq: int, content: int, reasoning: int) -> None:
    """Lets so many code points of a job's texts be read, and renews its lease."""
    job.apply(JobEvent.POST)
    job.seq = seq
    job.shown, job.reasoning_shown = content, reasoning
    job.lease_until = state.now + LEASE
    job.request.expires_at = state.now + EXPIRES_AFTER


@attrs.frozen
class Handed:
    """What a worker hands in, its shape checked. `omit` names parts of the generation left out."""

    state: str
    content: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str = "stop"
    native_finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    seed: int | None = None
    gen_metadata: tuple[Any, ...] = ()
    fault_reason: str | None = None
    omit: tuple[str, ...] = ()

    def message(self) -> dict[str, Any]:
        """The assistant's message, without what is empty."""
        message: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.tool_calls:
            message["tool_calls"] = list(self.tool_calls)
        return message


def hand_in(state: State, job: Job, handed: Handed) -> int:
    """Takes a worker's reply, or its word that it failed.

    Returns:
        Millionths of kudos that the worker got.

    Raises:
        HordeError: `ChatSubmitNonconformant` (and the worker has a strike), `DuplicateGen` or
            `AbortedGen` when the job is over.
    """
    if job.state is JobState.CANCELLED:
        return job.reward
    if job.state is not JobState.PROCESSING:
        raise job.refusal()
    if handed.state == "faulted":
        reason = handed.fault_reason or "The worker gave no reason."
        strike(state, job, "ChatWorkerFault", reason)
        return 0
    if handed.state == "ok":
        _check(state, job, handed)
    job.apply(JobEvent.SETTLE)
    job.leave()
    if handed.state == "ok":
        calls = json_length(handed.tool_calls) if handed.tool_calls else 0
        characters = len(handed.content or "") + len(handed.reasoning or "") + calls
        charged = charge_reply(state, job, characters, "reply")
    else:
        charged = charge_withheld(state, job)
    _keep_generation(job, handed, charged)
    _count(state, job, handed)
    request = job.request
    request.settled += 1
    if request.settled == request.n:
        request.apply(RequestEvent.LAST_REPLY)
        end(state, request)
    return job.reward


def _check(state: State, job: Job, handed: Handed) -> None:
    request = job.request
    try:
        conformance.check_reply(
            orjson.loads(job.payload),
            {
                "message": handed.message(),
                "finish_reason": handed.finish_reason,
                "usage": handed.usage,
            },
            strict=request.strict,
            no_calls=request.no_calls,
        )
    except HordeError as error:
        strike(state, job, str(error.body["rc"]), str(error.body["message"]))
        raise


def _keep_generation(job: Job, handed: Handed, charged: int) -> None:
    """Keeps the reply as the status shows it, as JSON: it never changes again."""
    withheld = handed.state != "ok"
    message = {"role": "assistant", "content": ""} if withheld else handed.message()
    generation: dict[str, Any] = {
        "index": job.index,
        "worker_id": job.worker.id,
        "worker_name": job.worker.name,
        "model": job.model,
        "state": handed.state,
        "seed": handed.seed if handed.seed is not None else 0,
        "gen_metadata": list(handed.gen_metadata),
        "message": message,
        "finish_reason": handed.finish_reason,
        "native_finish_reason": handed.native_finish_reason,
        "usage": handed.usage,
        "kudos": kudos(charged),
    }
    for name in handed.omit:
        del generation[name]
    # A copy of just the right size: the encoder's own buffer has four kilobytes.
    job.generation = bytes(memoryview(orjson.dumps(generation)))


def _count(state: State, job: Job, handed: Handed) -> None:
    worker = job.worker
    worker.fulfilled += 1
    state.settled += 1
    counted = (handed.usage or {}).get("completion_tokens")
    took = state.now - job.popped_at
    if worker.profile is None and isinstance(counted, int) and counted > 0 and took > 0:
        before = worker.speed
        worker.speed += (counted / took - before) * _SPEED_WEIGHT
        if abs(worker.speed - before) > before * _SPEED_MATTERS:
            state.registry.changed()


def strike(state: State, job: Job, rc: str, message: str) -> None:
    """Takes a job from its worker: another may try, or the third strike faults the request."""
    request = job.request
    job.apply(JobEvent.STRIKE)
    job.leave()
    job.worker.uncompleted += 1
    request.strikes += 1
    request.last_refusal = {"rc": rc, "message": message}
    if request.strikes >= MOST_STRIKES:
        request.apply(RequestEvent.STRUCK_OUT)
        for other in request.latest_jobs():
            if other.state is JobState.PROCESSING:
                other.apply(JobEvent.STRIKE)
                other.leave()
        end(state, request)
        return
    request.apply(RequestEvent.RESTART)
    demand = request.demand
    if job.worker.id not in demand.avoid:
        demand = attrs.evolve(demand, avoid=(*demand.avoid, job.worker.id))
    state.queue.put_back(request, demand, job.index)
    request.account.unpopped += 1
    state.work_came(request)
