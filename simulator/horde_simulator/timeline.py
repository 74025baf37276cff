"""The heap of timed events that makes the world's time; events of one instant keep their order."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any


class Timeline:
    """Virtual time in seconds from 0.0, and what happens when.

    Two events of one instant run in the order in which they were planned: each gets a rising
    number, so neither hashes nor addresses decide.
    """

    __slots__ = ("_count", "_heap", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self._count = 0

    def at(self, time: float, happen: Callable[[Any], None], subject: Any = None) -> None:
        """Plans `happen(subject)`; a time that has passed means now."""
        self._count += 1
        heappush(self._heap, (max(time, self.now), self._count, happen, subject))

    def after(self, seconds: float, happen: Callable[[Any], None], subject: Any = None) -> None:
        """Plans `happen(subject)` that many seconds from now."""
        self.at(self.now + seconds, happen, subject)

    @property
    def next_at(self) -> float | None:
        """When the next event is due; None with nothing planned."""
        return self._heap[0][0] if self._heap else None

    def advance(self, to: float) -> None:
        """Runs every event due by `to`, those that they plan included; then it is `to`.

        Raises:
            ValueError: `to` lies in the past.
        """
        if to < self.now:
            raise ValueError(f"time runs forward only: it is {self.now}, not yet {to}")
        heap = self._heap
        while heap and heap[0][0] <= to:
            self.now, _, happen, subject = heappop(heap)
            happen(subject)
        self.now = to

    def __len__(self) -> int:
        return len(self._heap)
