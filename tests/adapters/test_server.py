"""Sends over real sockets: what the kernel takes at once, and what it doesn't."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio

from horde_adapters.listener import listen
from horde_adapters.server import WRITES_IN_A_ROW, serve
from horde_adapters.settings import Limits

PIECES = tuple(random.Random(7).randbytes(size) for size in (1, 100_000, 7, 2_000_000, 300, 65536))
GET = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
START = {"type": "http.response.start", "status": 200, "headers": []}

App = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


@asynccontextmanager
async def served(app: App) -> AsyncIterator[trio.SocketStream]:
    """A connection to a server of this app."""
    limits = Limits()
    listeners = await listen("127.0.0.1", 0, limits)
    stop = trio.Event()

    async def with_lifespan(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await app(scope, receive, send)
            return
        for _ in range(2):
            message = await receive()
            await send({"type": f"{message['type']}.complete"})

    async def drain() -> None:
        """Nothing is open that has to end by itself."""

    async with trio.open_nursery() as nursery:
        run = partial(serve, with_lifespan, listeners, limits, stop=stop.wait, drain=drain)
        await nursery.start(run)
        port = listeners[0].socket.getsockname()[1]
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            yield stream
        stop.set()


def body_of(response: bytes) -> bytes:
    """A chunked body, put together."""
    rest = response.partition(b"\r\n\r\n")[2]
    body = b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return body
        body += rest[:length]
        rest = rest[length + 2 :]


@pytest.mark.parametrize("reads", [1 << 20, 50_000, 4096], ids=("fast", "slower", "slowest"))
async def test_a_reader_gets_every_byte_in_order_however_slowly_it_reads(reads: int) -> None:
    """Pieces that fit the kernel's buffer and pieces that don't alternate."""

    async def app(_scope: dict[str, Any], _receive: Any, send: Any) -> None:
        await send(START)
        for piece in PIECES:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async with served(app) as stream:
        await stream.send_all(GET)
        response = b""
        while piece := await stream.receive_some(reads):
            response += piece
            await trio.lowlevel.checkpoint()
    assert body_of(response) == b"".join(PIECES)


async def test_a_stream_of_sends_lets_others_run() -> None:
    """An app that does nothing but send isn't alone: the loop gets its turn in between."""
    turns = 0
    over = trio.Event()

    async def app(_scope: dict[str, Any], _receive: Any, send: Any) -> None:
        await send(START)
        nonlocal turns
        turns = 0
        for _ in range(10 * WRITES_IN_A_ROW):
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
        over.set()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def count() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            await trio.lowlevel.checkpoint()

    async with served(app) as stream, trio.open_nursery() as nursery:
        nursery.start_soon(count)
        await stream.send_all(GET)
        await over.wait()
    assert turns >= 9


async def test_sends_after_the_reader_left_fail_nowhere() -> None:
    """The app learns of it from `receive`, as with hypercorn, and what it sends is dropped."""
    heard: list[str] = []
    told = trio.Event()

    async def app(_scope: dict[str, Any], receive: Any, send: Any) -> None:
        await send(START)
        await receive()
        heard.append((await receive())["type"])
        for _ in range(3):
            await send({"type": "http.response.body", "body": b"x" * 10, "more_body": True})
        told.set()

    async with served(app) as stream:
        await stream.send_all(GET)
        await stream.receive_some(10)
        await stream.aclose()
        await told.wait()
    assert heard == ["http.disconnect"]
