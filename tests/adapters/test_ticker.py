"""The shared clock: never early, at most a slot late, all who are due at once."""

import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from horde_adapters.ticker import SLOT, Ticker


@settings(max_examples=50)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_rings_in_time(times: list[float]) -> None:
    """Whatever the times, and in whatever order they were asked for."""
    rung: dict[int, float] = {}

    async def wait(index: int, event: trio.Event) -> None:
        await event.wait()
        rung[index] = trio.current_time()

    async def main() -> None:
        ticker = Ticker()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ticker.run)
            async with trio.open_nursery() as waiters:
                for index, at in enumerate(times):
                    event = trio.Event()
                    ticker.ring(event, at)
                    waiters.start_soon(wait, index, event)
                    await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    for index, at in enumerate(times):
        assert at <= rung[index] <= max(at, 0) + SLOT + 1e-9


async def test_sooner_than_all_before(autojump_clock: trio.testing.MockClock) -> None:
    """A wait that is shorter than those that are out cuts the ticker's sleep."""
    ticker = Ticker()
    late, soon = trio.Event(), trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ticker.run)
        ticker.ring(late, 100)
        await trio.sleep(1)
        ticker.ring(soon, 2)
        await soon.wait()
        assert trio.current_time() == 2
        assert not late.is_set()
        nursery.cancel_scope.cancel()
