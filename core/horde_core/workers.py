"""The front's view of the Horde's models and workers, read from its two lists."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from horde_core.native import optional_number as _number
from horde_core.native import read_list


@attrs.frozen
class ChatWorker:
    """An online worker that serves chat, as it declared itself."""

    id: str
    name: str
    models: tuple[str, ...]
    threads: int
    max_length: int
    max_context_length: int
    features: frozenset[str]
    guarantees: frozenset[str]


@attrs.frozen
class KnownModel:
    """A model that the Horde knows, with its queue; 0 workers included."""

    name: str
    queued: float
    """Tokens waiting."""
    eta: int
    """Seconds."""
    performance: float
    """Tokens per second over all its workers."""


@attrs.frozen
class PoolView:
    """Models and online chat workers at one time. Frozen: a newer view is another value."""

    known: Mapping[str, KnownModel]
    workers: tuple[ChatWorker, ...]
    online: Mapping[str, tuple[ChatWorker, ...]] = attrs.field(init=False)
    """Model name to the online chat workers that serve it, in the Horde's order."""

    @online.default
    def _by_model(self) -> Mapping[str, tuple[ChatWorker, ...]]:
        online: dict[str, list[ChatWorker]] = {}
        for worker in self.workers:
            for model in worker.models:
                online.setdefault(model, []).append(worker)
        return {model: tuple(workers) for model, workers in online.items()}

    def knows(self, model: str) -> bool:
        """Whether the Horde has the model at all: listed, or served by a worker."""
        return model in self.known or model in self.online


def read_pool(workers: bytes, models: bytes) -> PoolView:
    """Reads `GET /workers` and `GET /status/models`.

    Raises UnreadableAnswer when either isn't a JSON array; entries that can't be read are left out.
    """
    return PoolView(
        known={model.name: model for model in _known(read_list(models))},
        workers=tuple(_chat_workers(read_list(workers))),
    )


def _known(entries: Sequence[Mapping[str, Any]]) -> list[KnownModel]:
    return [
        KnownModel(
            name=entry["name"],
            queued=_number(entry.get("queued")) or 0.0,
            eta=int(_number(entry.get("eta")) or 0),
            performance=_number(entry.get("performance")) or 0.0,
        )
        for entry in entries
        if isinstance(entry.get("name"), str)
    ]


def _chat_workers(entries: Sequence[Mapping[str, Any]]) -> list[ChatWorker]:
    """Workers in maintenance serve only their owner, and those without `chat` no chat at all."""
    return [
        ChatWorker(
            id=str(entry.get("id", "")),
            name=str(entry.get("name", "")),
            models=_strings(entry.get("models")),
            threads=int(_number(entry.get("threads")) or 1),
            max_length=int(_number(entry.get("max_length")) or 0),
            max_context_length=int(_number(entry.get("max_context_length")) or 0),
            features=frozenset(_strings(entry["chat"].get("features"))),
            guarantees=frozenset(_strings(entry["chat"].get("guarantees"))),
        )
        for entry in entries
        if isinstance(entry.get("chat"), dict)
        and entry.get("online") is not False
        and entry.get("maintenance_mode") is not True
        and entry.get("paused") is not True
    ]


def _strings(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
