"""The simulated Horde over HTTP: its time, its pictures, and answers held back or cut."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx
import pytest
import trio
from PIL import Image

from adapters.fake_link import Network
from adapters.stack import HORDE, PLAIN
from horde_adapters.fetch import ImageFetcher
from horde_adapters.server import serve
from horde_adapters.settings import Limits
from horde_adapters.simulated import SimulatedHorde
from horde_adapters.transport import LifoTransport
from horde_simulator.document import shipped_scenario
from horde_simulator.scenario import FaultSpec, Scenario
from horde_simulator.world import World

STATUS = b"HTTP/1.1 200 OK\r\n"


@asynccontextmanager
async def served(
    scenario: Scenario, **options: Any
) -> AsyncIterator[tuple[World, httpx.AsyncClient, Network]]:
    """A world, and a client for it."""
    network = Network()
    world = World(scenario)
    app = SimulatedHorde(world, **options)
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(
            partial(
                serve, app, [network.listen("horde")], Limits(), stop=stop.wait, drain=app.drain
            )
        )
        transport = LifoTransport(HORDE, connect=network.connect)
        async with httpx.AsyncClient(transport=transport, base_url=HORDE, timeout=100) as client:
            yield world, client, network
        stop.set()


def scenario(**changes: Any) -> Scenario:
    """The default one, changed."""
    import attrs

    return attrs.evolve(shipped_scenario("default"), **changes)


async def test_real_time_times_a_factor(autojump_clock: trio.testing.MockClock) -> None:
    """The world's clock runs with ours, so many times as fast."""
    async with served(scenario(clock_factor=10.0)) as (world, client, _):
        await trio.sleep(3)
        await client.get("/api/v2/status/heartbeat")
        assert world.now == pytest.approx(30)
        await trio.sleep(0.5)
        await client.get("/api/v2/status/heartbeat")
        assert world.now == pytest.approx(35)


async def test_manual_time(autojump_clock: trio.testing.MockClock) -> None:
    """A manual clock moves by `/_sim/advance` and by nothing else."""
    async with served(scenario(clock="manual")) as (world, client, _):
        await trio.sleep(100)
        await client.get("/api/v2/status/heartbeat")
        assert world.now == 0
        answer = await client.post("/_sim/advance", json={"seconds": 12.5})
        assert answer.status_code == 200
        assert world.now == 12.5


@pytest.mark.parametrize("factor", [1.0, 4.0])
async def test_slow_answer(factor: float, autojump_clock: trio.testing.MockClock) -> None:
    """A fault holds an answer back in the world's time."""
    fault = FaultSpec("workers.slow", times=1, options={"seconds": 8.0})
    async with served(scenario(clock_factor=factor, faults=(fault,))) as (_, client, _network):
        began = trio.current_time()
        answer = await client.get("/api/v2/workers")
        assert trio.current_time() - began == pytest.approx(8 / factor)
        assert answer.status_code == 200


async def test_slow_answer_in_manual_time(autojump_clock: trio.testing.MockClock) -> None:
    """There it comes when the time was moved far enough."""
    fault = FaultSpec("workers.slow", times=1, options={"seconds": 8.0})
    got: list[int] = []
    async with served(scenario(clock="manual", faults=(fault,))) as (_, client, _network):

        async def ask() -> None:
            got.append((await client.get("/api/v2/workers")).status_code)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await trio.sleep(20)
            await client.post("/_sim/advance", json={"seconds": 7.0})
            await trio.sleep(20)
            assert got == []
            await client.post("/_sim/advance", json={"seconds": 1.0})
        assert got == [200]


@pytest.mark.parametrize("cut", [0, 1, 5, len(STATUS), len(STATUS) + 10, 400])
async def test_cut_answer(cut: int, autojump_clock: trio.testing.MockClock) -> None:
    """Exactly so many bytes of the response go out, then the connection ends."""
    fault = FaultSpec("workers.cut_after", times=1, options={"bytes": float(cut)})
    async with served(scenario(faults=(fault,))) as (_, _client, network):
        link = await network.connect("horde")
        await link.send_all(b"GET /api/v2/workers HTTP/1.1\r\nHost: horde\r\n\r\n")
        got = b""
        with trio.fail_after(60):
            while data := await link.receive_some():
                got += data
        await link.aclose()
    assert len(got) == cut
    assert (STATUS + got[len(STATUS) :]).startswith(got)


def picture() -> bytes:
    """A small red PNG."""
    data = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(data, "PNG")
    return data.getvalue()


@pytest.mark.parametrize("found, status", [(True, 202), (False, 400)])
async def test_pictures_are_fetched(
    found: bool, status: int, autojump_clock: trio.testing.MockClock
) -> None:
    """A submit with a picture's URL waits for it; without it, it is refused."""

    async def answer(request: httpx.Request) -> httpx.Response:
        await trio.sleep(1)
        return httpx.Response(200, content=picture()) if found else httpx.Response(404)

    async def resolve(host: str, port: int) -> list[str]:
        await trio.lowlevel.checkpoint()
        return ["93.184.216.34"]

    fetcher = ImageFetcher(resolve, httpx.MockTransport(answer))
    async with served(scenario(), fetcher=fetcher) as (world, client, _):
        content = [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "http://pictures.example/a.png"}},
        ]
        submitted = await client.post(
            "/api/v2/generate/chat/async",
            headers={"apikey": "rich-key"},
            json={
                "messages": [{"role": "user", "content": content}],
                "models": ["aphrodite/Qwen/Qwen2.5-VL-7B-Instruct"],
                "params": {"max_length": 64, "max_context_length": 4096},
            },
        )
        assert world.now >= 1
    assert submitted.status_code == status
    if not found:
        assert submitted.json()["rc"].startswith("SourceImage")


async def test_bad_paths_and_bodies(autojump_clock: trio.testing.MockClock) -> None:
    """Whatever is asked, the answer is a Horde's error and the world goes on."""
    async with served(scenario()) as (_, client, _network):
        statuses = [
            (await client.get("/nonsense")).status_code,
            (await client.post("/api/v2/generate/chat/async", content=b"\xff{")).status_code,
            (await client.request("BREW", "/api/v2/workers")).status_code,
            (await client.get("/api/v2/generate/chat/status/%00")).status_code,
        ]
        models = await client.get("/api/v2/status/models?type=text&model_state=all")
    assert all(400 <= status < 500 for status in statuses)
    assert any(entry["name"] == PLAIN for entry in models.json())
