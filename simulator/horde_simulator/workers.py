"""The workers of a Horde, built-in and external: what they declare, and whether they are online."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

from horde_simulator.accounts import Account
from horde_simulator.scenario import WorkerProfile

if TYPE_CHECKING:
    from horde_simulator.job import Job

ONLINE_FOR: Final = 300.0
"""Seconds for which a worker is online after its last call (contract, section 4)."""
UNMEASURED_SPEED: Final = 20.0
"""Tokens per second that a worker counts with until it has finished a job."""
_MOST_VERDICTS: Final = 10_000


@attrs.define(eq=False)
class Worker:
    """A worker. One with a `profile` is built in; one without speaks to the Horde over HTTP."""

    id: str
    name: str
    owner: Account
    models: tuple[str, ...]
    threads: int
    max_length: int
    max_context_length: int
    features: frozenset[str]
    guarantees: frozenset[str]
    limits: Mapping[str, float]
    speed: float = UNMEASURED_SPEED
    """Tokens per second of one thread."""
    trusted: bool = False
    slow: bool = False
    maintenance: bool = False
    bridge_agent: str = "unknown:0:unknown"
    profile: WorkerProfile | None = None
    declared: Any = None
    """An external worker's last declarations as sent: equal ones need no second look."""
    born_at: float = 0.0
    last_seen: float = 0.0
    online: bool = False
    left_at: float | None = None
    fulfilled: int = 0
    uncompleted: int = 0
    earned: int = 0
    """Millionths of kudos."""
    running: dict[str, "Job"] = attrs.field(factory=dict)
    verdicts: dict[Any, str | None] = attrs.field(factory=dict)
    """Why it can't serve which buckets, as of version `verdicts_of`."""
    verdicts_of: int = -1

    @property
    def free_threads(self) -> int:
        return self.threads - len(self.running)

    def as_json(self, now: float) -> dict[str, Any]:
        """The worker as `GET /workers` lists it."""
        return {
            "id": self.id,
            "name": self.name,
            "type": "text",
            "online": self.online,
            "models": list(self.models),
            "threads": self.threads,
            "max_length": self.max_length,
            "max_context_length": self.max_context_length,
            "performance": f"{self.speed:.1f} tokens per second",
            "trusted": self.trusted,
            "maintenance_mode": self.maintenance,
            "paused": False,
            "bridge_agent": self.bridge_agent,
            "uptime": int(now - self.born_at),
            "requests_fulfilled": self.fulfilled,
            "uncompleted_jobs": self.uncompleted,
            "kudos_rewards": self.earned / 1e6,
            "chat": {
                "features": sorted(self.features),
                "guarantees": sorted(self.guarantees),
                "limits": dict(self.limits),
            },
        }


@attrs.frozen
class Online:
    """The workers that are online for some models, in the order of their coming.

    Those in maintenance are among them (they serve their owners), and don't count for the largest.
    """

    workers: tuple[Worker, ...]
    largest_length: int | None
    """The largest `max_length` that one of them declares; None without any."""
    largest_context: int | None


class Registry:
    """All workers by id and name. `version` rises whenever what they can serve changes."""

    def __init__(self) -> None:
        self.by_id: dict[str, Worker] = {}
        self._by_name: dict[str, Worker] = {}
        self._by_model: dict[str, list[Worker]] = {}
        self._online: dict[tuple[str, ...], Online] = {}
        self.version = 0
        self.on_change: Callable[[], None] = lambda: None

    def changed(self) -> None:
        """Voids every verdict that was made on what the workers declared until now."""
        self.version += 1
        self._online.clear()
        self.on_change()

    def add(self, worker: Worker) -> None:
        """Registers a worker under its id, name and models."""
        self.by_id[worker.id] = worker
        self._by_name[worker.name] = worker
        self._index(worker)

    def remove(self, worker: Worker) -> None:
        """Forgets a worker."""
        del self.by_id[worker.id]
        if self._by_name.get(worker.name) is worker:
            del self._by_name[worker.name]
        self._drop(worker)
        self.changed()

    def _index(self, worker: Worker) -> None:
        for model in worker.models:
            self._by_model.setdefault(model, []).append(worker)
        self.changed()

    def _drop(self, worker: Worker) -> None:
        for model in worker.models:
            self._by_model[model].remove(worker)

    def serve_models(self, worker: Worker, models: Iterable[str]) -> None:
        """Changes the models that a registered worker serves."""
        self._drop(worker)
        worker.models = tuple(dict.fromkeys(models))
        self._index(worker)

    def named(self, name: str) -> Worker | None:
        """The worker of a name."""
        return self._by_name.get(name)

    def serving(self, model: str) -> list[Worker]:
        """Every worker that serves a model, online or not, in the order of their coming."""
        return self._by_model.get(model, [])

    def online(self, models: tuple[str, ...]) -> "Online":
        """The workers online that serve one of these models."""
        found = self._online.get(models)
        if found is None:
            seen: dict[str, Worker] = {}
            for model in models:
                seen.update((w.id, w) for w in self.serving(model) if w.online)
            active = [w for w in seen.values() if not w.maintenance]
            found = self._online[models] = Online(
                workers=tuple(seen.values()),
                largest_length=max((w.max_length for w in active), default=None),
                largest_context=max((w.max_context_length for w in active), default=None),
            )
        return found

    def set_online(self, worker: Worker, online: bool, now: float) -> None:
        """Notes that a worker came or left."""
        if worker.online != online:
            worker.online = online
            worker.left_at = None if online else now
            self.changed()

    def verdicts(self, worker: Worker) -> dict[Any, str | None]:
        """Why the worker can't serve which buckets of the queue, as far as it was asked.

        Emptied whenever what workers declare has changed.
        """
        if worker.verdicts_of != self.version or len(worker.verdicts) > _MOST_VERDICTS:
            worker.verdicts.clear()
            worker.verdicts_of = self.version
        return worker.verdicts
