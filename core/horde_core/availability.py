"""What a status read says about ever being served, and the refusal it leads to (contract: status).

`done` and `faulted` count most, then `processing`, then what the pool lacks, then `is_possible`.
"""

from horde_core.chat import ChatRequest
from horde_core.errors import Refusal, refuse
from horde_core.native import ExceededLimit, Status


def lacking(request: ChatRequest, status: Status) -> Refusal | None:
    """The refusal of a request that no online worker can serve as it stands, or None."""
    pool = status.pool
    if pool is None or status.processing > 0:
        return None
    if pool.online_workers == 0:
        return no_eligible_worker(request, "The model is not served by any online worker.")
    temperature = [limit for limit in pool.exceeded_limits if limit.limit != "max_length"]
    if pool.missing_features or pool.missing_guarantees or temperature:
        return _missing(pool.missing_features, pool.missing_guarantees, temperature)
    for limit in pool.exceeded_limits:
        return _too_long(request, limit)
    return None


def is_ineligible(status: Status) -> bool:
    """Whether nobody could take the request right now; a grace covers short absences."""
    if status.processing > 0:
        return False
    return status.eligible_workers == 0 or not status.is_possible


def no_eligible_worker(request: ChatRequest, why: str) -> Refusal:
    """503 for a request that has no worker, with what to do about it."""
    return refuse(
        "no_eligible_worker",
        f"{why} Check the model card of {_names(request)} for its workers and "
        "supported_parameters, change the request, or wait for workers.",
    )


def no_model_online(request: ChatRequest) -> Refusal:
    """The same before the submit: known models, none of which a worker serves now."""
    if len(request.models) == 1:
        why = f"The model `{request.models[0]}` is not served by any worker at the moment."
    else:
        why = "None of the requested models is served by any worker at the moment."
    return no_eligible_worker(request, why)


def queue_unavailable(status: Status, budget_left: float) -> Refusal:
    """Under `fail_fast`: the estimated wait is longer than the request may take."""
    return refuse(
        "queue_unavailable",
        f"The estimated wait of {status.wait_time} s is above the {budget_left:.0f} s left for "
        f"this request, with {status.eligible_worker_threads} eligible worker threads. Retry "
        'later, or send horde.availability_mode "wait" to queue all the same.',
        retry_after=max(1.0, status.wait_time - budget_left),
        metadata={
            "eligible_worker_threads": status.eligible_worker_threads,
            "estimated_wait": status.wait_time,
            "budget_left": round(budget_left),
        },
    )


def _missing(
    features: tuple[str, ...], guarantees: tuple[str, ...], limits: list[ExceededLimit]
) -> Refusal:
    lacks: list[str] = []
    if features:
        lacks.append("features: " + ", ".join(features))
    if guarantees:
        lacks.append("guarantees: " + ", ".join(guarantees))
    lacks += [
        f"limit {limit.limit}: {_figure(limit.requested)} requested, "
        f"at most {_figure(limit.largest)} served"
        for limit in limits
    ]
    advice = ["Drop or change what is missing"]
    if limits:
        advice.append("lower the temperature")
    if guarantees:
        advice.append('send horde.conformance "best_effort" to do without the guarantees')
    return refuse(
        "no_worker_supports_features",
        f"No online worker of the model supports what the request needs ({'; '.join(lacks)}). "
        f"{', or '.join(advice)}.",
        metadata={
            "missing_features": list(features),
            "missing_guarantees": list(guarantees),
            "exceeded_limits": [limit.limit for limit in limits],
        },
    )


def _too_long(request: ChatRequest, limit: ExceededLimit) -> Refusal:
    largest = f" Send max_tokens {_figure(limit.largest)} or less." if limit.largest else ""
    return refuse(
        "no_worker_supports_limit",
        f"No online worker of the model serves max_tokens {request.max_tokens}.{largest}",
        "max_tokens",
    )


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"


def _names(request: ChatRequest) -> str:
    return ", ".join(f"`{name[:200]}`" for name in request.models)
