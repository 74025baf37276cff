"""The front's view of workers and models, cached and shared as its adapters share it.

Read anew when it is old; an older one serves while the Horde fails; one that began before the
moment isn't fresh.
"""

from collections.abc import Callable
from typing import Final

from horde_benchmarks.storm.link import Link
from horde_benchmarks.storm.record import Made
from horde_core.native import MODELS, WORKERS, UnreadableAnswer
from horde_core.workers import PoolView, read_pool
from horde_simulator.call import Call
from horde_simulator.timeline import Timeline

SPACING: Final = 1.5
"""Seconds between two reads, of two calls each: the Horde allows 90 calls a minute."""

Viewed = Callable[[PoolView | None, bool], None]


class Views:
    """All clients' views of one Horde. `longest_age` is in seconds."""

    def __init__(self, timeline: Timeline, longest_age: float) -> None:
        self.calls = 0
        self._timeline = timeline
        self._longest_age = longest_age
        self._view: PoolView | None = None
        self._read_at = -1e9
        self._began = -1e9
        self._waiting: list[tuple[Viewed, bool]] = []
        self._is_reading = False
        self._late: list[tuple[Link, Viewed]] = []
        """Who asked for a fresh view while an older read was under way."""

    def read(self, link: Link, fresh: bool, viewed: Viewed) -> None:
        """Gets a view and hands it over, None when there is none."""
        now = self._timeline.now
        if not fresh and self._view is not None and now - self._read_at < self._longest_age:
            self._timeline.at(now, lambda _: viewed(self._view, fresh))
        elif not self._is_reading:
            self._begin(link, [(viewed, fresh)])
        elif fresh and self._began < now:
            self._late.append((link, viewed))
        else:
            self._waiting.append((viewed, fresh))

    def _begin(self, link: Link, waiting: list[tuple[Viewed, bool]]) -> None:
        self._is_reading = True
        self._waiting = waiting
        at = max(self._timeline.now, self._began + SPACING)
        self._began = at
        self._timeline.at(at, self._ask_workers, link)

    def _ask_workers(self, link: Link) -> None:
        made = Made("pool", None, self._timeline.now)
        call = Call("GET", WORKERS, "type=text")
        self.calls += 1
        link.send(made, call, lambda made: self._ask_models(link, made))

    def _ask_models(self, link: Link, workers: Made) -> None:
        if workers.answer is None or workers.answer.status != 200:
            self._over(None)
            return
        body = workers.answer.body
        made = Made("pool", None, self._timeline.now)
        call = Call("GET", MODELS, "type=text&model_state=all")
        self.calls += 1
        link.send(made, call, lambda made: self._read_both(body, made))

    def _read_both(self, workers: bytes, models: Made) -> None:
        view = None
        if models.answer is not None and models.answer.status == 200:
            try:
                view = read_pool(workers, models.answer.body)
            except UnreadableAnswer:
                view = None
        self._over(view)

    def _over(self, view: PoolView | None) -> None:
        if view is not None:
            self._view, self._read_at = view, self._timeline.now
        self._is_reading = False
        waiting, self._waiting = self._waiting, []
        late, self._late = self._late, []
        for viewed, fresh in waiting:
            viewed(view if fresh else view or self._view, fresh)
        if late:
            self._begin(late[0][0], [(viewed, True) for _, viewed in late])
