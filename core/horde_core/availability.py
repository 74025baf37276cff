"""Whether a request can ever be served, as the pool and the status tell, and the refusal if not.

`done` and `faulted` count most, then `processing`, then what the pool lacks, then `is_possible`.
"""

from horde_core.chat import ChatRequest
from horde_core.errors import Refusal, refuse
from horde_core.faults import no_such_model
from horde_core.horde_errors import model_param
from horde_core.native import LIMITS, ExceededLimit, Status
from horde_core.workers import PoolView


def unserved(request: ChatRequest, view: PoolView) -> Refusal | None:
    """Before the submit: every id has to exist, and one of them to be served now."""
    for index, model in enumerate(request.models):
        if not view.knows(model):
            return no_such_model(model, model_param(request, index))
    if not any(model in view.online for model in request.models):
        return no_model_online(request)
    return None


class Outlook:
    """What the statuses of one job have told so far. `grace` is in seconds."""

    __slots__ = ("_grace", "_ineligible_since", "_is_first_read")

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._ineligible_since: float | None = None
        self._is_first_read = True

    def refusal(
        self, request: ChatRequest, status: Status, now: float, *, budget_left: float
    ) -> Refusal | None:
        """Takes the status read at `now`: the refusal of a job without prospects, or None."""
        is_first, self._is_first_read = self._is_first_read, False
        refusal = lacking(request, status)
        if refusal is not None:
            return refusal
        if not is_ineligible(status):
            self._ineligible_since = None
        elif self._ineligible_since is None:
            self._ineligible_since = now
        elif now - self._ineligible_since >= self._grace:
            return no_eligible_worker(
                request, f"No online worker could serve it for {self._grace:g} s{_beyond(status)}."
            )
        if (
            is_first
            and request.horde.availability_mode == "fail_fast"
            and status.processing == 0
            and status.wait_time > budget_left
        ):
            return queue_unavailable(status, budget_left)
        return None


def lacking(request: ChatRequest, status: Status) -> Refusal | None:
    """The refusal of a request that no online worker can serve as it stands, or None."""
    pool = status.pool
    if pool is None or status.processing > 0:
        return None
    if pool.online_workers == 0:
        return no_eligible_worker(request, _nobody(request))
    temperature = [limit for limit in pool.exceeded_limits if limit.limit in LIMITS]
    if pool.missing_features or pool.missing_guarantees or temperature:
        return _missing(pool.missing_features, pool.missing_guarantees, temperature)
    for limit in pool.exceeded_limits:
        if limit.limit == "max_length":
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


def _nobody(request: ChatRequest) -> str:
    """Why the pool is empty: the client's own restrictions may have left nobody in it."""
    options = request.horde
    restrictions = {
        "horde.only": options.only,
        "horde.ignore": options.ignore,
        "horde.trusted_workers": options.trusted_workers,
        "horde.slow_workers": not options.slow_workers,
    }
    given = [name for name, value in restrictions.items() if value]
    if not given:
        return "The model is not served by any online worker."
    allow = "allows" if len(given) == 1 else "allow"
    return f"The model is not served by any online worker that {' and '.join(given)} {allow}."


def _beyond(status: Status) -> str:
    """What no worker reaches, where the pool tells: a context, say, that is larger than any."""
    limits = status.pool.exceeded_limits if status.pool else ()
    told = "; ".join(_exceeded(limit) for limit in limits)
    return f" ({told})" if told else ""


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
    lacks += [_exceeded(limit) for limit in limits]
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


def _exceeded(limit: ExceededLimit) -> str:
    return (
        f"limit {limit.limit}: {_figure(limit.requested)} requested, "
        f"at most {_figure(limit.largest)} served"
    )


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"


def _names(request: ChatRequest) -> str:
    return ", ".join(f"`{name[:200]}`" for name in request.models)
