"""The way between the front and the Horde: latencies, losses, and how long the front waits."""

from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from horde_benchmarks.storm.asks import PICTURE
from horde_benchmarks.storm.plan import Client, HordeCallName, LinkFault
from horde_benchmarks.storm.record import Made
from horde_core.native import HordeAnswer
from horde_simulator.call import Answer, Call, FetchedImage, ImageFetch
from horde_simulator.timeline import Timeline
from horde_simulator.world import World

LONGEST: Final[Mapping[HordeCallName, float]] = {
    "quote": 75.0,
    "submit": 75.0,
    "status": 20.0,
    "cancel": 12.0,
    "pool": 10.0,
}
"""Seconds that the front waits for one answer, as its adapters do."""
FETCH_TIME: Final = 0.3
"""Seconds that a picture takes to be fetched."""

Told = Callable[[Made], None]
"""Called once when the call is over for the front: `answer` is set, or it is lost."""


class Link:
    """One client's calls on their way. `opened` of a loss is in `refused`."""

    def __init__(self, client: Client, world: World, watch: Callable[[Made, Call], Answer]) -> None:
        self._timeline: Timeline = world.state.timeline
        self._world = world
        self._watch = watch
        self._random = Random(client.seed)
        self._latency = client.latency
        self._faults = {(fault.call, fault.nth): fault for fault in client.faults}
        self._made: Counter[HordeCallName] = Counter()
        self.struck = 0
        self.refused: set[Made] = set()
        """Calls for which no connection could be opened."""

    def send(self, made: Made, call: Call, told: Told) -> None:
        """Puts a call on its way."""
        fault = self._next_fault(made.name)
        timeline, longest = self._timeline, made.sent_at + LONGEST[made.name]
        if fault is not None and fault.kind == "refused":
            self.refused.add(made)
            timeline.after(min(fault.seconds, 5.0), self._lose, (made, told))
            return
        going = self._latency * self._random.random()
        if fault is not None and fault.kind == "lost going":
            at = min(longest, timeline.now + going + fault.seconds)
            timeline.at(at, self._lose, (made, told))
            return
        if fault is not None and fault.kind == "late going":
            going += fault.seconds
        if timeline.now + going >= longest:
            # The front gives up first, and the call arrives all the same.
            timeline.at(longest, self._lose, (made, told))
        timeline.after(going, self._arrive, (made, call, told, fault))

    def _next_fault(self, name: HordeCallName) -> LinkFault | None:
        nth = self._made[name]
        self._made[name] += 1
        fault = self._faults.get((name, nth)) if self._faults else None
        self.struck += fault is not None
        return fault

    def _arrive(self, sent: tuple[Made, Call, Told, LinkFault | None]) -> None:
        made, call, told, fault = sent
        made.arrived = True
        answer = self._watch(made, call)
        coming = answer.delay + self._latency * self._random.random()
        longest = made.sent_at + LONGEST[made.name]
        is_lost = answer.cut is not None
        if fault is not None and fault.kind == "lost coming":
            is_lost = True
            coming += fault.seconds
        if fault is not None and fault.kind == "late coming":
            coming += fault.seconds
        at = self._timeline.now + coming
        if is_lost or at > longest:
            self._timeline.at(min(at, longest), self._lose, (made, told))
        else:
            self._timeline.at(at, self._answer, (made, told, answer))

    def _lose(self, sent: tuple[Made, Told]) -> None:
        made, told = sent
        if made.over_at is None:
            made.over_at = self._timeline.now
            told(made)

    def _answer(self, sent: tuple[Made, Told, Answer]) -> None:
        made, told, answer = sent
        if made.over_at is None:
            made.over_at = self._timeline.now
            made.answer = HordeAnswer(answer.status, dict(answer.headers), answer.body)
            told(made)


def fetched(fetch: ImageFetch) -> list[FetchedImage]:
    """What the pictures of a submit come to."""
    return [FetchedImage(PICTURE) for _ in fetch.urls]
