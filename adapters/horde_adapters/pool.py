"""The cached view of the Horde's models and workers (contract section 9, step 2).

One read is in flight at a time and serves all who wait; it runs in the front's own nursery, so a
client that leaves takes nobody's view away.  While the Horde fails, an old view is better than
none.
"""

import math

import trio

from horde_adapters.horde import HordeClient, Lost
from horde_core.workers import PoolView

RETRY_PAUSE = 2.0
"""Seconds after a failed read in which an old view is served without another try."""

SPACING = 1.5
BURST = 4
"""Reads of two calls each: with them the Horde's 90 calls a minute are never reached, though a
stranger may ask for unknown models all day."""


class _Read:
    """One read of the two lists, and what came of it. It may have to wait for its turn."""

    def __init__(self) -> None:
        self.began = math.inf
        self.over = trio.Event()
        self.outcome: PoolView | Lost = Lost(False, "the read was broken off")


class Pool:
    """`longest_age` is in seconds, as is `spacing`, the least time between many reads."""

    def __init__(
        self,
        horde: HordeClient,
        nursery: trio.Nursery,
        *,
        longest_age: float,
        spacing: float = SPACING,
    ) -> None:
        self._horde = horde
        self._nursery = nursery
        self._longest_age = longest_age
        self._spacing = spacing
        self._view: PoolView | None = None
        self._read_at = -math.inf
        self._failed_at = -math.inf
        self._due = -math.inf
        self._reading: _Read | None = None

    @property
    def age(self) -> float:
        """Seconds since the Horde last told its models and workers; infinite before it did."""
        return trio.current_time() - self._read_at

    def at_hand(self) -> PoolView | None:
        """The view, as long as it is young enough not to be read anew."""
        return self._view if self._is_good_for(trio.current_time()) else None

    async def view(self, *, fresh: bool = False) -> PoolView:
        """The view, read anew when it is old; `fresh` takes none that began before this moment.

        Raises Lost when the Horde fails and there is no older view, or none may be taken.
        """
        asked = trio.current_time()
        if not fresh and (view := self.at_hand()) is not None:
            return view
        read = self._reading
        if read is not None and fresh and read.began < asked:
            await read.over.wait()
            read = self._reading
        if read is None:
            read = self._begin()
        await read.over.wait()
        if isinstance(read.outcome, PoolView):
            return read.outcome
        if self._view is not None and not fresh:
            return self._view
        raise Lost(read.outcome.opened, read.outcome.reason)

    def _is_good_for(self, now: float) -> bool:
        return now - self._read_at < self._longest_age or now - self._failed_at < RETRY_PAUSE

    def _begin(self) -> _Read:
        read = self._reading = _Read()
        self._nursery.start_soon(self._run, read)
        return read

    async def _run(self, read: _Read) -> None:
        try:
            await self._take_turn()
            read.began = trio.current_time()
            read.outcome = self._view = await self._horde.pool()
            self._read_at = trio.current_time()
        except Lost as lost:
            read.outcome = lost
            self._failed_at = trio.current_time()
        finally:
            self._reading = None
            read.over.set()

    async def _take_turn(self) -> None:
        """Spaces reads, a few in a row excepted (the generic cell rate algorithm)."""
        begin = max(trio.current_time(), self._due - self._spacing * (BURST - 1))
        self._due = max(begin, self._due) + self._spacing
        await trio.sleep_until(begin)
