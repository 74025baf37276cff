"""The deletion of a job that nobody waits for: once, and again only when the Horde failed."""

from typing import Final

from horde_core.events import Cancel
from horde_core.native import HordeAnswer
from horde_core.polling import NEVER
from horde_core.timing import Timing

GONE: Final = frozenset({200, 404})
"""Statuses that tell the job is over. A Horde in maintenance refuses with a 400 and keeps it."""


class Cancellation:
    """The tries of one request's DELETE. Times are seconds on the exchange's clock."""

    __slots__ = ("_timing", "_tries", "next_try")

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._tries = 0
        self.next_try = NEVER

    def send(self, request_id: str) -> Cancel:
        """The deletion as an effect."""
        self._tries += 1
        self.next_try = NEVER
        return Cancel(request_id)

    def answered(self, answer: HordeAnswer, now: float) -> bool:
        """Whether to try again: whenever the Horde didn't say that the job is over."""
        if answer.status in GONE:
            return False
        return self.failed(now, answer.retry_after())

    def failed(self, now: float, retry_after: float | None = None) -> bool:
        """Whether to try again: a second DELETE is harmless, a job left behind costs kudos."""
        if self._tries >= self._timing.cancel_tries:
            return False
        self.next_try = now + max(self._tries, retry_after or 0)
        return True
