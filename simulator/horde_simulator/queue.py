"""The queue: which request a worker is handed next, and how much is ahead of one.

A request enters with its account's kudos and gains 50 for every 10 s of waiting, the anonymous
ones from between -50 and 0 (contract, section 4). As everyone gains at the same pace, who is ahead
of whom never changes: the rank is fixed at activation as `5 x time - kudos`, and nothing is ever
sorted again. Requests with one demand share a bucket, so a pop looks at each demand once, and
never at each request.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

import attrs

from horde_simulator.eligibility import Demand, Standing
from horde_simulator.line import Line, Place
from horde_simulator.request import Request

GAIN_PER_SECOND: Final = 5.0


_MOST_BUCKETS: Final = 4096
"""Demands that are remembered with nothing waiting; a Horde sees far fewer."""


@attrs.define(eq=False)
class Bucket:
    """The waiting requests of one demand, and how that demand stands."""

    demand: Demand
    heap: list[tuple[Place, Request]] = attrs.field(factory=list)
    requests: int = 0
    standing: Standing | None = None
    standing_of: int = -1
    """The registry's version that `standing` was made for."""
    before: Standing | None = None
    """The standing that the present one has replaced, at `replaced_at`."""
    replaced_at: float = 0.0

    def tidy(self) -> None:
        """Drops from the top what waits no more, or elsewhere: the top is the first that waits."""
        heap = self.heap
        while heap and (heap[0][1].bucket is not self or not heap[0][1].waiting):
            heappop(heap)


class Queue:
    """All waiting jobs."""

    def __init__(self) -> None:
        self._buckets: dict[Demand, Bucket] = {}
        self._by_model: dict[str, dict[Bucket, None]] = {}
        """The buckets with something waiting, in the order of their filling."""
        self._lines: dict[str, Line] = {}
        self._by_place: dict[Place, Request] = {}
        self.requests = 0
        self.jobs = 0
        self.tokens = 0

    def bucket(self, demand: Demand) -> Bucket:
        """The bucket of a demand, which needn't hold anything."""
        bucket = self._buckets.get(demand)
        if bucket is None:
            if len(self._buckets) >= _MOST_BUCKETS:
                self._buckets = {d: b for d, b in self._buckets.items() if b.requests}
            bucket = self._buckets[demand] = Bucket(demand)
        return bucket

    def line(self, model: str) -> Line:
        """What waits for a model."""
        line = self._lines.get(model)
        if line is None:
            line = self._lines[model] = Line()
        return line

    def add(self, request: Request, jobs: int) -> None:
        """Lets jobs of a request wait, in its bucket and at its place.

        `request.waiting` counts them already.
        """
        demand = request.bucket.demand
        bucket = request.bucket = self.bucket(demand)
        if request.waiting == jobs:
            self.requests += 1
            bucket.requests += 1
            heappush(bucket.heap, (request.place, request))
            self._by_place[request.place] = request
            for model in demand.models:
                self._by_model.setdefault(model, {})[bucket] = None
        self._change(request, jobs)

    def took(self, request: Request, jobs: int = 1) -> None:
        """Notes that jobs of a request wait no more; `request.waiting` counts that already."""
        self._change(request, -jobs)
        if request.waiting:
            return
        bucket = request.bucket
        self.requests -= 1
        bucket.requests -= 1
        del self._by_place[request.place]
        bucket.tidy()
        if bucket.requests == 0:
            bucket.heap.clear()
            for model in bucket.demand.models:
                del self._by_model[model][bucket]

    def put_back(self, request: Request, demand: Demand, index: int) -> None:
        """Lets a struck job wait again, the whole request under what it now demands."""
        request.returned = [*(request.returned or ()), index]
        self._leave(request)
        request.waiting += 1
        self._enter(request, demand)

    def demand_anew(self, request: Request, demand: Demand) -> None:
        """Puts a waiting request under another demand, at the same place."""
        self._leave(request)
        self._enter(request, demand)

    def _leave(self, request: Request) -> None:
        waiting, request.waiting = request.waiting, 0
        if waiting:
            self.took(request, waiting)
        request.waiting = waiting

    def _enter(self, request: Request, demand: Demand) -> None:
        request.bucket = self.bucket(demand)
        self.add(request, request.waiting)

    def _change(self, request: Request, jobs: int) -> None:
        self.jobs += jobs
        self.tokens += jobs * request.bucket.demand.max_length
        tokens = jobs * request.bucket.demand.max_length
        for model in request.bucket.demand.models:
            self.line(model).change(request.place, jobs, tokens)

    def first(
        self,
        models: tuple[str, ...],
        verdicts: dict[Bucket, str | None],
        judge: Callable[[Bucket], str | None],
    ) -> tuple[Request | None, dict[str, int]]:
        """The first request that a worker can serve, and how many it can't, by reason.

        Args:
            models: those that the worker serves.
            verdicts: why it can't serve which buckets, as far as that is known; added to.
            judge: the same for a bucket that isn't known yet; None when it can.
        """
        found: tuple[Place, Request] | None = None
        skipped: dict[str, int] = {}
        looked_at = 0
        seen: set[Bucket] = set()
        for model in models:
            for bucket in self._by_model.get(model, ()):
                if len(bucket.demand.models) > 1:
                    if bucket in seen:
                        continue
                    seen.add(bucket)
                looked_at += bucket.requests
                try:
                    reason = verdicts[bucket]
                except KeyError:
                    reason = verdicts[bucket] = judge(bucket)
                if reason is not None:
                    skipped[reason] = skipped.get(reason, 0) + bucket.requests
                    continue
                top = bucket.heap[0]
                if found is None or top < found:
                    found = top
        if self.requests > looked_at:
            skipped["models"] = self.requests - looked_at
        return (None if found is None else found[1]), skipped

    def nearest(self, model: str, most: int) -> list[Request]:
        """The first requests waiting for a model, at most so many."""
        return [self._by_place[place] for place in self.line(model).head(most)]

    def ahead(self, demand: Demand, place: Place) -> tuple[int, int]:
        """Jobs and tokens ahead of a place, in the line of the demand's least busy model."""
        return min([self.line(model).before(place) for model in demand.models])
