"""The three clocks of a simulated Horde over HTTP: real, real times a factor, manual."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import attrs
import httpx
import pytest
import trio
from trio.testing import MockClock

from adapters.stack import HORDE, running
from horde_adapters.transport import LifoTransport
from horde_simulator.document import shipped_scenario


@asynccontextmanager
async def watching(clock: Literal["real", "manual"], factor: float) -> AsyncIterator[Any]:
    """Gives a client of the Horde's own port."""
    scenario = attrs.evolve(shipped_scenario("default"), clock=clock, clock_factor=factor)
    async with running(scenario) as stack:
        transport = LifoTransport(HORDE, connect=stack.network.connect)
        async with httpx.AsyncClient(transport=transport, base_url=HORDE, timeout=100.0) as client:
            yield client


async def time_of(client: httpx.AsyncClient) -> float:
    return float((await client.get("/_sim/state")).json()["time"])


@pytest.mark.parametrize("factor", [1.0, 20.0, 0.5])
async def test_the_real_clock_runs_by_itself(autojump_clock: MockClock, factor: float) -> None:
    """Ten seconds here are ten times the factor there, also when nobody calls meanwhile."""
    async with watching("real", factor) as client:
        before = await time_of(client)
        await trio.sleep(10.0)
        assert await time_of(client) - before == pytest.approx(10.0 * factor, abs=0.01 * factor)
        refused = await client.post("/_sim/advance", json={"seconds": 5})
        assert refused.status_code == 409


async def test_the_manual_clock_stands_still(autojump_clock: MockClock) -> None:
    """Until somebody moves it."""
    async with watching("manual", 1.0) as client:
        await trio.sleep(100.0)
        assert await time_of(client) == 0.0
        moved = await client.post("/_sim/advance", json={"seconds": 7.5})
        assert moved.json() == {"time": 7.5}
        assert await time_of(client) == 7.5


SLOW = {"where": "workers.slow", "seconds": 4.0, "times": 1}


async def test_a_slow_answer_is_slow_in_the_worlds_time(autojump_clock: MockClock) -> None:
    """Four of the world's seconds are two tenths of one here, at twenty times the pace."""
    async with watching("real", 20.0) as client:
        await client.post("/_sim/faults", json=SLOW)
        began = trio.current_time()
        assert (await client.get("/api/v2/workers")).status_code == 200
        assert trio.current_time() - began == pytest.approx(0.2, abs=0.02)


async def test_a_slow_answer_waits_for_whoever_moves_the_clock(autojump_clock: MockClock) -> None:
    """In a manual clock it comes when the clock has been moved far enough."""
    answered: list[int] = []
    async with watching("manual", 1.0) as client, trio.open_nursery() as nursery:

        async def ask() -> None:
            answered.append((await client.get("/api/v2/workers")).status_code)

        await client.post("/_sim/faults", json=SLOW)
        nursery.start_soon(ask)
        await trio.sleep(50.0)
        assert answered == []
        await client.post("/_sim/advance", json={"seconds": 3.9})
        await trio.sleep(1.0)
        assert answered == []
        await client.post("/_sim/advance", json={"seconds": 0.2})
        await trio.sleep(1.0)
        assert answered == [200]
