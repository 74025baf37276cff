"""The pool-free transport: reuse, order, staleness, and what became of a request that failed."""

from contextlib import suppress

import httpx
import pytest
import trio

from adapters.fake_link import LinkStream, Network
from horde_adapters.horde import Caller, HordeClient, InvalidUrl, Lost, horde_origin
from horde_adapters.transport import LifoTransport

HORDE = "http://horde"
CALLER = Caller("0000000000", "test:1:test")
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


async def answer_all(network: Network, answers: list[bytes], **ending: bool) -> None:
    """A server: each connection answers one request after another, then closes."""
    listener = network.listen("horde")
    async with trio.open_nursery() as nursery:
        while True:
            nursery.start_soon(_answer, await listener.accept(), answers)


async def _answer(stream: LinkStream, answers: list[bytes]) -> None:
    while answers:
        received = b""
        while b"\r\n\r\n" not in received:
            data = await stream.receive_some()
            if not data:
                return
            received += data
        await stream.send_all(answers.pop(0))
    await stream.aclose()


def client(network: Network) -> HordeClient:
    """A Horde client over the network."""
    transport = LifoTransport(httpx.URL(HORDE), connect=network.connect)
    return HordeClient(HORDE, agent="test", transport=transport)


async def test_one_connection_serves_calls_in_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The connection given back last is taken first, so one is enough for calls in a row."""
    network = Network()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer_all, network, [ANSWER] * 10)
        await trio.testing.wait_all_tasks_blocked()
        horde = client(network)
        for _ in range(5):
            answer = await horde.status("a", "", CALLER)
            assert (answer.status, answer.body) == (200, b"{}")
        assert network.connections["horde"] == 1
        await horde.aclose()
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("deadline", [0.0, 0.5, 1.0, 1.5])
async def test_a_call_that_is_cancelled_closes_its_connection(
    deadline: float, autojump_clock: trio.testing.MockClock
) -> None:
    """At once, while its answer is awaited, with its answer there: never left open, unused."""
    network = Network()
    listener = network.listen("horde")
    transport = LifoTransport(httpx.URL(HORDE), connect=network.connect)
    horde = HordeClient(HORDE, agent="test", transport=transport)
    open_connections = 0

    async def serve() -> None:
        nonlocal open_connections
        stream = await listener.accept()
        open_connections += 1
        nursery.start_soon(serve)
        while await stream.receive_some():
            await trio.sleep(1.0)
            with suppress(trio.BrokenResourceError):
                await stream.send_all(ANSWER)
        open_connections -= 1
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        await horde.status("a", "", CALLER)
        assert open_connections == 1
        with trio.move_on_after(deadline):
            await horde.submit(b"{}", CALLER)
        await trio.sleep(5.0)
        await horde.aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert open_connections == 0
        nursery.cancel_scope.cancel()


async def test_idle_connections_are_closed(autojump_clock: trio.testing.MockClock) -> None:
    """One that lay idle for longer than the limit isn't used again."""
    network = Network()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer_all, network, [ANSWER] * 10)
        await trio.testing.wait_all_tasks_blocked()
        horde = client(network)
        await horde.status("a", "", CALLER)
        await trio.sleep(31)
        await horde.status("a", "", CALLER)
        assert network.connections["horde"] == 2
        await horde.aclose()
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("cut", range(len(ANSWER)))
async def test_cut_anywhere_is_lost_and_may_have_arrived(
    cut: int, autojump_clock: trio.testing.MockClock
) -> None:
    """However much of an answer came: the Horde may have done what was asked, and once only."""
    network = Network()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer_all, network, [ANSWER[:cut]])
        await trio.testing.wait_all_tasks_blocked()
        horde = client(network)
        with pytest.raises(Lost) as lost:
            await horde.submit(b"{}", CALLER)
        assert lost.value.opened
        assert network.connections["horde"] == 1
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\0" * 100])
async def test_no_http(answer: bytes, autojump_clock: trio.testing.MockClock) -> None:
    """What isn't HTTP is a loss, never another error."""
    network = Network()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer_all, network, [answer])
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(Lost):
            await client(network).status("a", "", CALLER)
        nursery.cancel_scope.cancel()


async def test_nothing_reached_a_horde_without_a_connection(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A connection that can't be opened proves that the submit wasn't sent."""
    with pytest.raises(Lost) as lost:
        await client(Network()).submit(b"{}", CALLER)
    assert not lost.value.opened


async def test_silent_horde(autojump_clock: trio.testing.MockClock) -> None:
    """An answer that doesn't come, or drips, ends within the call's bound."""
    network = Network()

    async def drip(stream: LinkStream) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        while True:
            await stream.send_all(b"x")
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        listener = network.listen("horde")
        horde = client(network)
        began = trio.current_time()
        with pytest.raises(Lost):
            await horde.status("a", "", CALLER)
        assert trio.current_time() - began == 20
        (await listener.accept())
        nursery.start_soon(lambda: _accept(listener, drip))
        began = trio.current_time()
        with pytest.raises(Lost):
            await horde.status("a", "", CALLER)
        assert trio.current_time() - began == 20
        nursery.cancel_scope.cancel()


async def _accept(listener, serve) -> None:  # type: ignore[no-untyped-def]
    try:
        await serve(await listener.accept())
    except trio.BrokenResourceError:
        return


async def test_endless_answer(autojump_clock: trio.testing.MockClock) -> None:
    """An answer beyond the bound is given up, not held."""
    network = Network()
    size = 17 * 1024 * 1024
    big = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + b"x" * size
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer_all, network, [big])
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(Lost, match="larger than"):
            await client(network).status("a", "", CALLER)
        nursery.cancel_scope.cancel()


async def test_redirects_are_not_followed(autojump_clock: trio.testing.MockClock) -> None:
    """A redirect is an answer like another; the key goes nowhere else."""
    network = Network()
    moved = b"HTTP/1.1 302 Found\r\nlocation: http://other/\r\ncontent-length: 0\r\n\r\n"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer_all, network, [moved])
        await trio.testing.wait_all_tasks_blocked()
        answer = await client(network).status("a", "", CALLER)
        assert answer.status == 302
        assert set(network.connections) == {"horde"}
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "url",
    [
        "https://horde.example",
        "https://horde.example/",
        "https://horde.example/api/v2",
        "https://horde.example/api/v2/",
        " https://horde.example/api/v2\n",
    ],
)
def test_horde_urls(url: str) -> None:
    """With or without `/api/v2` and slashes."""
    assert str(horde_origin(url)) == "https://horde.example"


@pytest.mark.parametrize("url", ["", "horde", "ftp://horde", "http://", "http://[::1", "//horde"])
def test_no_horde_urls(url: str) -> None:
    """What can't be one is said to be none."""
    with pytest.raises(InvalidUrl):
        horde_origin(url)
