"""A thousand connections at once, and a client that reads nothing.

    python -m horde_benchmarks.connections

The baseline of the first is bare hypercorn on a socket with room for 4,096 to wait.
"""

import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any

import trio

from horde_adapters.listener import listen
from horde_adapters.server import serve
from horde_adapters.settings import Limits
from horde_benchmarks import load, server_process, streams
from horde_benchmarks.figures import Figure, of_samples

ROUNDS = 5
CONNECTIONS = 1000
STALL = 2.0
"""Seconds; the shipped limit is 30."""


def first_byte_of_all(port: int, path: str) -> float:
    """Seconds to the first byte, of the 95th in a hundred."""
    done = load.Load(port, load.get(path), CONNECTIONS).run(60)
    return load.percentile([stream.first_byte or 60.0 for stream in done], 0.95)


def many_connections() -> Iterator[Figure]:
    """Target 19."""
    ours, bare = [], []
    with (
        server_process.on_client_core(),
        streams.horde() as upstream,
        streams.front(upstream) as server,
        server_process.running("horde_benchmarks.bare") as baseline,
    ):
        for _ in range(ROUNDS):
            ours.append(first_byte_of_all(server.port, "/healthz") * 1000)
            bare.append(first_byte_of_all(baseline.port, "/burst/1") * 1000)
    yield of_samples("1,000 connections at once: first byte, p95", ours, "ms")
    yield of_samples("bare hypercorn, backlog 4096", bare, "ms")
    ratios = [a / b for a, b in zip(ours, bare, strict=True)]
    yield of_samples("1,000 connections ÷ bare, backlog 4096", ratios, "×", goal=1.1, target=19)


def stalled_reader() -> Iterator[Figure]:
    """Target 18: when the app learns of it, and when the server is gone after its signal."""
    told, closed = trio.run(_stall)
    yield Figure("a reader that stalls: over the limit", told - STALL, "s", goal=1.0, target=18)
    yield Figure("the server's end with one that stalls", closed, "s", goal=1.0, target=18)


async def _stall() -> tuple[float, float]:
    limits = Limits(stall_time=STALL, send_buffer=4096)
    listeners = await listen("127.0.0.1", 0, limits)
    stop, told = trio.Event(), trio.Event()
    stalled = 0

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        nonlocal stalled
        if scope["type"] == "lifespan":
            for _ in range(2):
                await send({"type": f"{(await receive())['type']}.complete"})
            return
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_send_for_ever, send)
            while (await receive())["type"] != "http.disconnect":
                pass
            stalled += 1
            if stalled == 1:
                told.set()
            nursery.cancel_scope.cancel()

    async def drain() -> None:
        """Nothing is waited for: the stalled are to be broken off."""

    def connect() -> socket.socket:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(listeners[0].socket.getsockname())
        client.sendall(load.get("/"))
        return client

    began = monotonic()
    async with trio.open_nursery() as nursery:
        run = partial(serve, app, listeners, limits, stop=stop.wait, drain=drain)
        await nursery.start(run)
        client = connect()
        with trio.move_on_after(STALL + 10):
            await told.wait()
        seconds = monotonic() - began
        other = connect()
        await trio.sleep(0.5)
        ending = monotonic()
        stop.set()
    client.close()
    other.close()
    return seconds, monotonic() - ending


async def _send_for_ever(send: Any) -> None:
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        while True:
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            await trio.sleep(0.01)


if __name__ == "__main__":
    for subject in (many_connections, stalled_reader):
        for figure in subject():
            print(figure.line(), flush=True)
