"""The shared clock: never early, at most a slot late, all who are due at once."""

import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from horde_adapters.ticker import CROWD, SLOT, WIDEST, Ticker


@settings(max_examples=50)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_rings_in_time(times: list[float]) -> None:
    """Whatever the times, and in whatever order they were asked for."""
    for asked, rung in zip(times, rung_at(times), strict=True):
        assert asked <= rung <= max(asked, 0) + SLOT + 1e-9


@settings(max_examples=20)
@given(st.lists(st.floats(0.1, 10), min_size=4 * CROWD, max_size=5 * CROWD))
def test_a_crowd_shares_wake_ups(times: list[float]) -> None:
    """At most a wider slot late; and those that come when many wait are on the wide grid."""
    rung = rung_at(times)
    for asked, at in zip(times, rung, strict=True):
        assert asked <= at <= asked + WIDEST * SLOT + 1e-9
    wide = WIDEST * SLOT
    assert all(abs(at / wide - round(at / wide)) < 1e-6 for at in rung[3 * CROWD :])


def rung_at(times: list[float]) -> list[float]:
    """When each was rung that was asked for at the beginning, one after another."""
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
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return [rung[index] for index in range(len(times))]


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
