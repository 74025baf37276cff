"""The cached view of workers: one read at a time, fresh when asked, stale when the Horde fails."""

import pytest
import trio

from horde_adapters.horde import HordeClient, Lost
from horde_adapters.pool import Pool
from horde_core.workers import PoolView


class Lists(HordeClient):
    """A Horde that needs a second to tell its lists, and can fail."""

    def __init__(self) -> None:
        super().__init__("http://horde", agent="test")
        self.reads: list[float] = []
        self.fails = False

    async def pool(self) -> PoolView:
        self.reads.append(trio.current_time())
        await trio.sleep(1)
        if self.fails:
            raise Lost(True, "it fails")
        return PoolView(known={}, workers=())


async def test_one_read_serves_all_who_wait(autojump_clock: trio.testing.MockClock) -> None:
    """And those who come while the view is young."""
    lists = Lists()
    async with trio.open_nursery() as nursery:
        pool = Pool(lists, nursery, longest_age=10)
        async with trio.open_nursery() as askers:
            for _ in range(5):
                askers.start_soon(pool.view)
        await trio.sleep(9)
        await pool.view()
        assert len(lists.reads) == 1
        await trio.sleep(2)
        await pool.view()
        assert len(lists.reads) == 2


async def test_fresh_is_no_older_than_the_asking(autojump_clock: trio.testing.MockClock) -> None:
    """A read that had begun before doesn't count; those who ask meanwhile share the next one."""
    lists = Lists()
    async with trio.open_nursery() as nursery:
        pool = Pool(lists, nursery, longest_age=10)
        async with trio.open_nursery() as askers:
            askers.start_soon(pool.view)
            await trio.sleep(0.5)
            for _ in range(3):
                askers.start_soon(lambda: pool.view(fresh=True))
        assert lists.reads == [0, 1]


async def test_stale_while_it_fails(autojump_clock: trio.testing.MockClock) -> None:
    """An old view is served, without a try for each who asks; a fresh one can't be had."""
    lists = Lists()
    async with trio.open_nursery() as nursery:
        pool = Pool(lists, nursery, longest_age=10)
        view = await pool.view()
        lists.fails = True
        await trio.sleep(20)
        assert await pool.view() is view
        assert await pool.view() is view
        assert len(lists.reads) == 2
        assert pool.age > 20
        with pytest.raises(Lost):
            await pool.view(fresh=True)
        lists.fails = False
        await trio.sleep(20)
        assert await pool.view() is not view
        assert pool.age == 0


async def test_no_view_at_all(autojump_clock: trio.testing.MockClock) -> None:
    """Before the first success there is nothing to serve."""
    lists = Lists()
    lists.fails = True
    async with trio.open_nursery() as nursery:
        pool = Pool(lists, nursery, longest_age=10)
        with pytest.raises(Lost):
            await pool.view()
        assert pool.age == float("inf")


async def test_reads_are_spaced(autojump_clock: trio.testing.MockClock) -> None:
    """However often a fresh view is asked for, the Horde's 90 calls a minute aren't reached."""
    lists = Lists()
    async with trio.open_nursery() as nursery:
        pool = Pool(lists, nursery, longest_age=10)
        while trio.current_time() < 120:
            await pool.view(fresh=True)
    for begin in lists.reads:
        within = [read for read in lists.reads if begin <= read < begin + 60]
        assert 2 * len(within) <= 90


async def test_leaving_takes_nobodys_view(autojump_clock: trio.testing.MockClock) -> None:
    """Who asked first may go; who waits with it gets the view."""
    lists = Lists()
    async with trio.open_nursery() as nursery:
        pool = Pool(lists, nursery, longest_age=10)
        with trio.move_on_after(0.5):
            await pool.view()
        assert isinstance(await pool.view(), PoolView)
        assert lists.reads == [0]
