"""All that one simulated Horde holds, and the little that every part of it needs."""

from collections.abc import Callable
from random import Random

import attrs

from horde_simulator.accounts import Accounts
from horde_simulator.eligibility import Standing, shortfall, standing_of
from horde_simulator.faults import FaultPlan, planned
from horde_simulator.images import ImageStore
from horde_simulator.job import Job
from horde_simulator.ledger import Ledger
from horde_simulator.limits import Limiter
from horde_simulator.pricing import size_of
from horde_simulator.queue import Bucket, Queue
from horde_simulator.request import Request
from horde_simulator.scenario import Scenario
from horde_simulator.timeline import Timeline
from horde_simulator.verdict import Grader
from horde_simulator.workers import Registry, Worker


@attrs.define(eq=False)
class State:
    """A Horde. Only `horde_simulator.world` makes one; its parts change it."""

    scenario: Scenario
    random: Random
    timeline: Timeline
    accounts: Accounts
    ledger: Ledger
    limiter: Limiter
    registry: Registry
    queue: Queue
    images: ImageStore
    faults: FaultPlan
    grader: Grader
    sizes: dict[str, float]
    """Billions of parameters of every known model, as priced."""
    requests: dict[str, Request] = attrs.field(factory=dict)
    jobs: dict[str, Job] = attrs.field(factory=dict)
    operations: dict[tuple[str, str], tuple[bytes, str]] = attrs.field(factory=dict)
    """Account and operation key to the body's digest and the request's id."""
    submitted: int = 0
    popped: int = 0
    settled: int = 0
    tokens_settled: int = 0
    work_came: Callable[[Request], None] = lambda _request: None
    """Told of every request that begins to wait: it wakes the built-in workers."""

    @property
    def now(self) -> float:
        return self.timeline.now

    def new_id(self) -> str:
        """A fresh id in the form of a UUID of version 4, from the world's own source."""
        digits = f"{self.random.getrandbits(128):032x}"
        variant = "89ab"[int(digits[16], 16) & 3]
        return (
            f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
        )

    def standing(self, bucket: Bucket) -> Standing:
        """How a bucket's demand stands with the workers now online."""
        version = self.registry.version
        if bucket.standing is None or bucket.standing_of != version:
            fresh = standing_of(bucket.demand, self.registry.online(bucket.demand.models).workers)
            if bucket.standing is not None:
                bucket.before = bucket.standing
                bucket.replaced_at = self.now
            bucket.standing = fresh
            bucket.standing_of = version
        return bucket.standing

    def stale_standing(self, bucket: Bucket, seconds: float) -> Standing:
        """How a demand stood before its last change, if that is no longer ago than this."""
        present = self.standing(bucket)
        if bucket.before is None or self.now - bucket.replaced_at > seconds:
            return present
        return bucket.before

    def shortfall(self, worker: Worker, bucket: Bucket) -> str | None:
        """Why a worker isn't handed requests of a bucket; None when it is."""
        verdicts = self.registry.verdicts(worker)
        if bucket not in verdicts:
            verdicts[bucket] = self._shortfall(worker, bucket)
        return verdicts[bucket]

    def first_for(self, worker: Worker) -> tuple[Request | None, dict[str, int]]:
        """The first waiting request that a worker can serve, and those skipped by reason."""

        def judge(bucket: Bucket) -> str | None:
            return self._shortfall(worker, bucket)

        return self.queue.first(worker.models, self.registry.verdicts(worker), judge)

    def _shortfall(self, worker: Worker, bucket: Bucket) -> str | None:
        reason = shortfall(worker, bucket.demand)
        avoid = bucket.demand.avoid
        # After a strike others are preferred, as long as there are any.
        if reason is None and worker.id in avoid and self.standing(bucket).others(avoid):
            return "struck"
        return reason

    def size(self, model: str) -> float:
        """The billions of parameters that a model is priced with."""
        return self.sizes.get(model, size_of(None))


def fresh_state(scenario: Scenario, seed: int) -> State:
    """The Horde that a scenario starts from, without its workers."""
    random = Random(seed)
    return State(
        scenario=scenario,
        random=random,
        timeline=Timeline(),
        accounts=Accounts(scenario.users),
        ledger=Ledger(),
        limiter=Limiter(scenario.limits),
        registry=Registry(),
        queue=Queue(),
        images=ImageStore(),
        faults=FaultPlan(planned(scenario), random),
        grader=Grader(),
        sizes={model.name: size_of(model.parameters_billion) for model in scenario.models},
    )
