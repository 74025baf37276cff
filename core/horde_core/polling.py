"""When to read a request's status next: as often as allowed, and patiently when reads fail."""

from horde_core.native import HordeAnswer, Status
from horde_core.timing import Timing

NEVER = float("inf")


class Polling:
    """The schedule of one request's reads. Times are seconds on the exchange's clock."""

    __slots__ = ("_failing_since", "_failures", "_timing", "next_read")

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._failing_since: float | None = None
        self._failures = 0
        self.next_read = NEVER

    def sent(self) -> None:
        """A read is out: the next one is scheduled when it is known what came of it."""
        self.next_read = NEVER

    def succeeded(self, status: Status, answer: HordeAnswer, now: float) -> None:
        """Sets the next read: soon for a job at work, later far back in the queue.

        The pause is counted from the answer. The Horde counts reads by when they come in, and a
        read that was slow to come in, sent on a busy machine, must not be followed too soon.
        """
        self._failing_since, self._failures = None, 0
        interval = self._timing.poll_interval
        if status.processing == 0:
            interval = min(self._timing.slowest_poll, max(interval, status.wait_time / 20))
        self.next_read = now + interval
        if answer.headers.get("x-ratelimit-remaining") == "0":
            # Every answer of a limited route has Retry-After; it counts once nothing is left.
            self.next_read = max(self.next_read, now + (answer.retry_after() or 0))

    def failed(self, now: float, retry_after: float | None) -> bool:
        """Sets the next try after a growing pause; False when reads have failed for too long."""
        if self._failing_since is None:
            self._failing_since = now
        if self.is_lost(now):
            return False
        pause = min(self._timing.slowest_retry, self._timing.poll_interval * 2**self._failures)
        self._failures += 1
        self.next_read = min(now + max(pause, retry_after or 0), self._lost_at)
        return True

    def is_lost(self, now: float) -> bool:
        """Whether every read has failed for as long as reads may."""
        return now >= self._lost_at

    @property
    def _lost_at(self) -> float:
        """The same sum for the wake and for the test of it: rounding mustn't add a read between."""
        since = self._failing_since
        return NEVER if since is None else since + self._timing.read_failure_limit
