"""What one seed decides: the Horde, its clients, and everything that goes wrong, as frozen values.

A plan is data, so that a failing one can be made smaller: each client and each fault can be taken
away and the rest stays as it was (every client has a source of chance of its own).
"""

from random import Random
from typing import Final, Literal

import attrs

from horde_benchmarks.storm.asks import MODELS, OFFLINE, ask
from horde_core.native import ANONYMOUS_KEY, FEATURES, GUARANTEES
from horde_core.timing import Timing
from horde_simulator.faults import CALLS, FAULTS
from horde_simulator.scenario import FaultSpec, ModelSpec, Scenario, UserSpec, WorkerProfile

HordeCallName = Literal["quote", "submit", "status", "cancel", "pool"]

RICH_KEY: Final = "rich-key"
_KEYS: Final = (*(RICH_KEY,) * 8, *("thin-key",) * 4, *("poor-key",) * 3, *(ANONYMOUS_KEY,) * 4)
_NOBODYS_KEY: Final = "nobodys-key"
_USERS: Final = (
    UserSpec(RICH_KEY, "Rich", 1_000_000.0, trusted=True),
    UserSpec("thin-key", "Thin", 400.0),
    UserSpec("poor-key", "Poor", 30.0),
)
_SIZES: Final = (3.0, 8.0, 7.0, 12.0)


@attrs.frozen
class LinkFault:
    """What happens to one call between the front and the Horde, besides the Horde's own faults."""

    call: HordeCallName
    nth: int
    """Which of this client's calls of that name, from 0."""
    kind: Literal["refused", "lost going", "lost coming", "late going", "late coming"]
    seconds: float
    """Until the loss shows, or how late it is."""


@attrs.frozen
class Client:
    """One client with its one request."""

    number: int
    at: float
    """When the request arrives, in seconds."""
    kind: str
    body: bytes
    key: str
    leaves_after: float | None
    """Seconds after the arrival; None: it stays."""
    operation_key: str
    open_streams: int
    """How many streams the front says it has open, which sets the pace."""
    latency: float
    """The most seconds that a call takes one way without a fault."""
    seed: int
    """Of the latencies drawn."""
    faults: tuple[LinkFault, ...]


@attrs.frozen
class Stall:
    """The front's process stands still: what should have reached it comes at the end."""

    at: float
    seconds: float


@attrs.frozen
class Plan:
    """A whole storm."""

    seed: int
    scenario: Scenario
    clients: tuple[Client, ...]
    timing: Timing
    pool_age: float
    """How long the front goes by one view of the workers, in seconds."""
    stalls: tuple[Stall, ...]
    drain_at: float | None
    """When the front is told to end; nobody comes later."""


def plan_of(seed: int) -> Plan:
    """The plan of a seed; the same in every process."""
    random = Random(f"storm {seed}")
    lasts = random.choice((5.0, 20.0, 60.0))
    wordy = random.random() < 0.3
    drain_at = random.uniform(1.0, lasts + 10.0) if random.random() < 0.15 else None
    clients = tuple(
        _client(Random(f"client {number} of storm {seed}"), number, lasts, wordy)
        for number in range(random.choice((4, 12, 30, 60)))
    )
    if drain_at is not None:
        clients = tuple(client for client in clients if client.at < drain_at)
    stalls: tuple[Stall, ...] = ()
    if random.random() < 0.1:
        stalls = (Stall(random.uniform(0.0, lasts), random.choice((0.5, 5.0, 40.0))),)
    return Plan(
        seed=seed,
        scenario=_scenario(random, seed, wordy),
        clients=clients,
        timing=_timing(random),
        pool_age=random.choice((0.0, 10.0, 10.0, 60.0)),
        stalls=stalls,
        drain_at=drain_at,
    )


def _timing(random: Random) -> Timing:
    """Mostly short budgets: a job that nobody serves is polled until its budget is out."""
    return Timing(
        stream_budget=random.choice((20.0, 30.0, 45.0, 90.0, 600.0)),
        whole_budget=random.choice((10.0, 20.0, 40.0, 280.0)),
        grace=random.choice((2.0, 5.0, 15.0)),
        read_failure_limit=random.choice((5.0, 15.0, 60.0)),
        keepalive_interval=random.choice((1.0, 5.0)),
        keepalive_style=random.choice(("comment", "comment", "chunk", "off")),
    )


def _client(random: Random, number: int, lasts: float, wordy: bool) -> Client:
    kind, body = ask(random, number, wordy)
    leaves = None
    if random.random() < 0.25:
        leaves = random.choice((random.uniform(0.0, 0.3), random.uniform(0.0, 12.0)))
    faults: tuple[LinkFault, ...] = ()
    if random.random() < 0.3:
        faults = tuple(_link_fault(random) for _ in range(random.randint(1, 3)))
        if random.random() < 0.3:  # a link that fails again and again
            faults = tuple(attrs.evolve(faults[0], nth=nth) for nth in range(4))
    return Client(
        number=number,
        at=random.uniform(0.0, lasts),
        kind=kind,
        body=body,
        key=_NOBODYS_KEY if random.random() < 0.03 else random.choice(_KEYS),
        leaves_after=leaves,
        operation_key=f"{random.getrandbits(128):032x}",
        open_streams=random.choice((1, 50, 400, 2000)),
        latency=random.choice((0.0, 0.02, 0.02, 0.5)),
        seed=random.getrandbits(32),
        faults=faults,
    )


def _link_fault(random: Random) -> LinkFault:
    call: HordeCallName = random.choice(("quote", "submit", "submit", "status", "cancel", "pool"))
    return LinkFault(
        call=call,
        nth=random.choice((0, 0, 1, 2)) if call != "status" else random.randint(0, 8),
        kind=random.choice(("refused", "lost going", "lost coming", "late going", "late coming")),
        seconds=random.choice((0.0, 0.2, 3.0, 30.0, 100.0)),
    )


def _scenario(random: Random, seed: int, wordy: bool) -> Scenario:
    known = (*zip(MODELS, _SIZES, strict=True), (OFFLINE, None))
    return Scenario(
        name=f"storm {seed}",
        seed=seed,
        clock="manual",
        limits=random.choice(("service", "service", "service", "public")),
        models=tuple(ModelSpec(name, size) for name, size in known),
        users=_USERS,
        workers=tuple(_worker(random, number, wordy) for number in range(random.randint(1, 5))),
        faults=tuple(
            _fault(random, number, wordy) for number in range(random.choice((0, 0, 1, 2, 4, 8)))
        ),
    )


def _worker(random: Random, number: int, wordy: bool) -> WorkerProfile:
    able = random.random()
    features: tuple[str, ...] = ("progress",)
    guarantees: tuple[str, ...] = ("no_prompt_trim",)
    if able < 0.75:
        features, guarantees = FEATURES, GUARANTEES
    elif able < 0.85:
        features = tuple(random.sample(FEATURES, random.randint(0, len(FEATURES))))
        guarantees = tuple(random.sample(GUARANTEES, random.randint(0, len(GUARANTEES))))
    comes_late = random.random() < 0.15
    return WorkerProfile(
        name=f"worker-{number}",
        id=f"00000000-0000-4000-8000-00000000000{number}",
        models=MODELS if number == 0 else tuple(random.sample(MODELS, random.randint(1, 3))),
        threads=random.choice((1, 2, 8)),
        max_length=random.choice((64, 512, 2048)),
        max_context_length=random.choice((2048, 4096, 8192, 8192, 32768)),
        features=features,
        guarantees=guarantees,
        limits={"max_temperature_with_tools": 1.0} if random.random() < 0.1 else {},
        trusted=random.random() < 0.3,
        slow=random.random() < 0.2,
        online_from=random.uniform(0.0, 30.0) if comes_late else 0.0,
        online_until=random.uniform(5.0, 60.0) if random.random() < 0.2 else None,
        tokens_per_second=random.choice((20.0, 60.0) if wordy else (60.0, 200.0, 400.0)),
        prefill_seconds=random.choice((0.0, 0.1, 1.0)),
        load_factor=random.choice((0.0, 0.2)),
        jitter=random.choice((0.0, 0.2)),
        progress_interval=random.choice((0.3, 0.5, 0.5, 1.0, 1.0, None)),
        brain=random.choice(("mixed", "mixed", "mixed", "echo", "prose")),
    )


def _fault(random: Random, number: int, wordy: bool) -> FaultSpec:
    """Any row of the table: a few times at once, or now and then all the time."""
    often = random.random() < 0.5
    groups = (_WORKER_FAULTS, _WORKER_FAULTS, _TEXT_FAULTS, _CALL_FAULTS, _OTHERS)
    where = random.choice(random.choice(groups[2:4] if wordy else groups))
    return FaultSpec(
        where,
        times=None if often else random.randint(1, 4),
        chance=random.choice((0.03, 0.2, 0.6)) if often else None,
        after=float(random.choice((0, 0, 1, 3))),
        options=_options(random, where),
        name=f"fault-{number}",
    )


def _options(random: Random, where: str) -> dict[str, float | bool]:
    """Of calls: how long an answer is held back or a caller is to wait, whether they worked."""
    kind = where.partition(".")[2]
    if kind in ("slow", "rate_limited", "rate_limited_with_rc"):
        return {"seconds": random.choice((1.0, 2.0, 7.0, 30.0))}
    if kind in ("error_500", "html_502"):
        return {"effect": random.random() < 0.5}
    return {}


_WORKER_FAULTS: Final = tuple(row.where for row in FAULTS.values() if row.side == "worker")
# All of the storm's workers are built in: faults of a worker's calls would never strike.
_TEXT_FAULTS: Final = (
    "diverges",
    "restarts_with_other_text",
    "submits_nonconformant",
    "vanishes_after_posts",
)
"""Those that void text which a client may have seen."""
_CALL_FAULTS: Final = tuple(where for where in FAULTS if where.partition(".")[0] in (*CALLS, "any"))
_OTHERS: Final = tuple(
    row.where for row in FAULTS.values() if row.side == "horde" and "." not in row.where
)
