"""Which worker may serve which request: what a request demands, and why a worker falls short.

Requests with the same demand form one bucket of the queue, so a verdict is made once for all.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from horde_simulator.submission import Submission
from horde_simulator.workers import Worker

# Facts of the request and the worker that have nothing to do with declarations: the status counts
# the workers that pass them as the request's pool (contract, section 3).
RESTRICTIONS: Final = frozenset({"models", "worker_id", "untrusted", "slow", "maintenance"})
TEMPERATURE_LIMIT: Final = "max_temperature_with_tools"


@attrs.frozen(cache_hash=True)
class Demand:
    """All that decides who can serve a request."""

    models: tuple[str, ...]
    features: tuple[str, ...]
    guarantees: tuple[str, ...]
    max_length: int
    max_context_length: int
    tools_temperature: float | None
    """The temperature when tools are offered, else None: no worker limits it then."""
    workers: tuple[str, ...]
    blacklist: bool
    trusted: bool
    slow: bool
    owner: str | None
    """The account's name when workers of its own are in maintenance: those serve it still."""
    avoid: tuple[str, ...] = ()
    """Ids of workers that had a strike over the request: others are preferred."""


def needed_features(submission: Submission) -> tuple[str, ...]:
    """What a worker must declare to be handed the job (contract, section 4)."""
    needed = []
    if submission.offers_tools:
        needed.append("tools")
    if submission.parallel_tool_calls is not None:
        needed.append("parallel_tool_calls")
    if submission.format != "text":
        needed.append(f"response_format.{submission.format}")
        if submission.offers_tools:
            needed.append("tools_with_response_format")
    if submission.params.reasoning_effort is not None:
        needed.append("reasoning_effort")
    if submission.image_urls:
        needed.append("image_input")
    return tuple(needed)


def needed_guarantees(submission: Submission) -> tuple[str, ...]:
    """What a worker must guarantee; nothing under `best_effort`."""
    if not submission.strict:
        return ()
    needed = []
    if submission.tools and submission.tool_choice not in (None, "none", "auto"):
        needed.append("tool_choice")
    format_ = submission.response_format
    if submission.format == "json_schema" and format_ is not None:
        strict = format_["json_schema"].get("strict") is True
        needed += ["json_schema_strict"] if strict else []
    needed.append("no_prompt_trim")
    return tuple(needed)


def demand_of(
    submission: Submission, max_length: int, max_context_length: int, owner: str | None
) -> Demand:
    """The demand of a submission, with the sizes that fitting has left it."""
    return Demand(
        models=submission.models,
        features=needed_features(submission),
        guarantees=needed_guarantees(submission),
        max_length=max_length,
        max_context_length=max_context_length,
        tools_temperature=submission.params.temperature if submission.offers_tools else None,
        workers=submission.workers,
        blacklist=submission.worker_blacklist,
        trusted=submission.trusted_workers,
        slow=submission.slow_workers,
        owner=owner,
    )


def shortfall(worker: Worker, demand: Demand) -> str | None:
    """The first reason for which a worker can't serve a demand; None when it can."""
    if not any(model in worker.models for model in demand.models):
        return "models"
    if demand.workers and (worker.id in demand.workers) == demand.blacklist:
        return "worker_id"
    if demand.trusted and not worker.trusted:
        return "untrusted"
    if worker.slow and not demand.slow:
        return "slow"
    if worker.maintenance and (demand.owner is None or worker.owner.name != demand.owner):
        return "maintenance"
    if not worker.features.issuperset(demand.features):
        return "features"
    if not worker.guarantees.issuperset(demand.guarantees):
        return "guarantees"
    if demand.max_length > worker.max_length:
        return "max_length"
    if demand.max_context_length > worker.max_context_length:
        return "max_context_length"
    if demand.tools_temperature is not None:
        limit = worker.limits.get(TEMPERATURE_LIMIT)
        if limit is not None and demand.tools_temperature > limit:
            return TEMPERATURE_LIMIT
    return None


@attrs.frozen
class Standing:
    """How a demand stands with the workers that are online."""

    eligible: tuple[Worker, ...]
    threads: int
    speed: float
    """Tokens per second of all eligible threads together."""
    pool: Mapping[str, Any]
    """The status's own `pool`."""

    @property
    def mean_speed(self) -> float:
        """Tokens per second of one eligible thread."""
        return self.speed / self.threads if self.threads else 0.0

    def others(self, avoid: tuple[str, ...]) -> bool:
        """Whether a worker is eligible that the request doesn't avoid."""
        return any(worker.id not in avoid for worker in self.eligible)


def standing_of(demand: Demand, online: Sequence[Worker]) -> Standing:
    """The standing of a demand.

    Args:
        demand: what is asked for.
        online: the workers online that serve one of the demand's models.
    """
    pool: list[Worker] = []
    eligible: list[Worker] = []
    for worker in online:
        reason = shortfall(worker, demand)
        if reason is None:
            eligible.append(worker)
        if reason not in RESTRICTIONS:
            pool.append(worker)
    return Standing(
        eligible=tuple(eligible),
        threads=sum(worker.threads for worker in eligible),
        speed=sum(worker.threads * worker.speed for worker in eligible),
        pool={
            "online_workers": len(pool),
            "online_threads": sum(worker.threads for worker in pool),
            "missing_features": _missing(demand.features, [w.features for w in pool]),
            "missing_guarantees": _missing(demand.guarantees, [w.guarantees for w in pool]),
            "exceeded_limits": _exceeded(demand, pool),
        },
    )


def _missing(needed: tuple[str, ...], declared: list[frozenset[str]]) -> list[str]:
    """What nobody in a pool declares; with nobody in it nothing is said to be missing."""
    if not declared:
        return []
    return [name for name in needed if not any(name in one for one in declared)]


def _exceeded(demand: Demand, pool: list[Worker]) -> list[dict[str, Any]]:
    if not pool:
        return []
    exceeded: list[dict[str, Any]] = []
    for limit, requested, largest in (
        ("max_length", demand.max_length, max(w.max_length for w in pool)),
        (
            "max_context_length",
            demand.max_context_length,
            max(w.max_context_length for w in pool),
        ),
    ):
        if requested > largest:
            exceeded.append({"limit": limit, "requested": requested, "largest": largest})
    requested_heat = demand.tools_temperature
    if requested_heat is not None:
        limits = [w.limits.get(TEMPERATURE_LIMIT) for w in pool if "tools" in w.features]
        known = [limit for limit in limits if limit is not None]
        if known and len(known) == len(limits) and requested_heat > max(known):
            exceeded.append(
                {"limit": TEMPERATURE_LIMIT, "requested": requested_heat, "largest": max(known)}
            )
    return exceeded
