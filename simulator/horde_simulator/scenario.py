"""A scenario: the models, users, workers and faults of one simulated Horde, as frozen values."""

from collections.abc import Mapping
from typing import Any, Literal

import attrs


@attrs.frozen
class ModelSpec:
    """A model that the simulated Horde knows, with or without workers."""

    name: str
    parameters_billion: float | None = None
    """None: unknown to the reference, priced as 13."""


@attrs.frozen
class UserSpec:
    """An account. The anonymous one, key 0000000000, is always there."""

    key: str
    username: str = "user"
    kudos: float = 0.0
    trusted: bool = False


@attrs.frozen
class FaultSpec:
    """One planned fault. `where` names it (see `horde_simulator.faults`)."""

    where: str
    times: int | None = None
    """How often, then never again; None with no `chance` either: always."""
    chance: float | None = None
    """Seeded probability, 0 to 1, at each opportunity."""
    model: str | None = None
    worker: str | None = None
    """A worker's name or id."""
    after: float = 0.0
    """Posts, polls or seconds before it may strike, as the fault's table says."""
    options: Mapping[str, Any] = attrs.field(factory=dict)
    """What the fault itself takes, such as `reason`, `seconds` or `bytes`."""
    name: str | None = None
    """By which another fault can follow this one."""
    follows: str | None = None
    """The name of the fault that must have struck before this one may."""


@attrs.frozen
class WorkerProfile:
    """A built-in worker: what it declares, how fast it is, what it says, how it fails."""

    name: str
    models: tuple[str, ...]
    id: str | None = None
    """None: drawn from the world's random source."""
    threads: int = 1
    max_length: int = 1024
    max_context_length: int = 8192
    features: tuple[str, ...] = ("progress",)
    guarantees: tuple[str, ...] = ("no_prompt_trim",)
    limits: Mapping[str, float] = attrs.field(factory=dict)
    trusted: bool = False
    slow: bool = False
    maintenance: bool = False
    online_from: float = 0.0
    online_until: float | None = None
    tokens_per_second: float = 40.0
    prefill_seconds: float = 0.1
    prefill_per_1000_tokens: float = 0.5
    load_factor: float = 0.0
    """How much slower each further busy thread makes the worker: 0.5 is half as slow again."""
    jitter: float = 0.0
    """Standard deviation of the speed, as a share of it; a normal clamped at 3 deviations."""
    progress_interval: float | None = 0.5
    """Seconds between progress posts; None: the reply arrives whole."""
    brain: str = "mixed"
    script: tuple[Mapping[str, Any], ...] = ()
    """Rules of the `script` brain."""
    faults: tuple[FaultSpec, ...] = ()
    background_seconds: float = 0.0
    """Seconds of other users' jobs that are always ahead in this worker's queue."""


@attrs.frozen
class Scenario:
    """Everything that one simulated Horde starts from."""

    name: str = "unnamed"
    seed: int = 1
    clock: Literal["real", "manual"] = "real"
    clock_factor: float = 1.0
    limits: Literal["service", "public", "off"] = "service"
    service_authorization: str = ""
    """The `Proxy-Authorization` of a service whose word on its users' addresses is taken."""
    models: tuple[ModelSpec, ...] = ()
    users: tuple[UserSpec, ...] = ()
    workers: tuple[WorkerProfile, ...] = ()
    faults: tuple[FaultSpec, ...] = ()
