"""Who knocks is let in, many at a time, and a full process says so and tries again."""

import errno
import logging
import socket
from typing import Any

import pytest
import trio

from horde_adapters.accepting import CROWD, PAUSE, accept_all


@pytest.mark.parametrize(("are_open", "rounds_needed"), [(0, 8), (7 * CROWD, 1)])
async def test_a_full_process_lets_many_in_in_one_round(are_open: int, rounds_needed: int) -> None:
    """One in a round, and one more for each hundred that are open."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
    rounds: list[int] = []

    async def handler(stream: trio.SocketStream) -> None:
        rounds.append(passed)
        await stream.aclose()
        await trio.sleep_forever()

    passed = 0
    async with trio.open_nursery() as nursery:
        for _ in range(are_open):
            nursery.start_soon(trio.sleep_forever)
        nursery.start_soon(accept_all, listeners[0], handler, nursery)
        while len(rounds) < 8:
            await trio.lowlevel.checkpoint()
            passed += 1
        nursery.cancel_scope.cancel()
    for client in clients:
        client.close()
    # Tasks of one round run in any order, so that a round may be counted before or after.
    assert abs(max(rounds) - min(rounds) + 1 - rounds_needed) <= 1


async def test_it_closes_its_socket() -> None:
    """Nobody can connect once it is over."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]

    async def handler(stream: trio.SocketStream) -> None:
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(accept_all, listeners[0], handler, nursery)
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        assert await stream.receive_some() == b""
        await stream.aclose()
        nursery.cancel_scope.cancel()
    with pytest.raises(OSError):
        await trio.open_tcp_stream("127.0.0.1", port)


@pytest.mark.parametrize("reason", [errno.EMFILE, errno.ECONNABORTED])
async def test_a_failure_to_accept_is_no_end(
    reason: int,
    autojump_clock: trio.testing.MockClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Without room it is logged and tried again after a pause; a guest that has gone is passed."""
    failures = 2
    accept = socket.socket.accept

    def failing(self: socket.socket) -> Any:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise OSError(reason, "not now")
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", failing)
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    client = socket.create_connection(listeners[0].socket.getsockname()[:2])
    let_in = trio.Event()

    async def handler(stream: trio.SocketStream) -> None:
        let_in.set()
        await stream.aclose()

    with caplog.at_level(logging.ERROR):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(accept_all, listeners[0], handler, nursery)
            await let_in.wait()
            nursery.cancel_scope.cancel()
    client.close()
    full = reason == errno.EMFILE
    assert trio.current_time() == pytest.approx(2 * PAUSE if full else 0)
    assert len(caplog.records) == (2 if full else 0)
