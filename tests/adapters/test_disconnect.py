"""A client that leaves over a real socket: exactly one DELETE, however the request was sent."""

import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from adapters.raw import cancels, connect, post, read_until, requests, submits, wait_for
from adapters.stack import PLAIN, SLOW
from horde_adapters.background import FrontServer, SimulatedHordeServer
from horde_adapters.settings import Limits

LONG: dict[str, Any] = {
    "model": PLAIN,
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "Write 900 words."}],
}
"""Some 17 s of work."""

H2C = (
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
)
WEBSOCKET = ("Connection: Upgrade", "Upgrade: websocket")

# What a client offers in its headers, and what it sends after its body.
WAYS: dict[str, tuple[tuple[str, ...], bytes]] = {
    "plain": ((), b""),
    "offers h2c": (H2C, b""),
    "offers websocket": (WEBSOCKET, b""),
    "stray line break": ((), b"\r\n"),
    "pipelined request": ((), b"GET /healthz HTTP/1.1\r\nHost: front\r\n\r\n"),
    "pipelined chat": ((), post(**LONG)),
    "half a request after it": ((), b"POST /v1/chat/comple"),
    "expects 100-continue": (("Expect: 100-continue",), b""),
}


def is_at_work(horde: SimulatedHordeServer) -> bool:
    """Whether a worker has the job."""
    return any(request["state"] == "processing" for request in requests(horde))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_leaving_while_a_worker_generates(
    way: str, stream: bool, simulated_horde: SimulatedHordeServer, horde_front: FrontServer
) -> None:
    """The job is deleted once, and long before it would have been done."""
    headers, after = WAYS[way]
    connection = connect(horde_front.base_url)
    connection.sendall(post(*headers, stream=stream, **LONG) + after)
    if stream:
        read_until(connection, b'"content"')
    else:
        wait_for(lambda: is_at_work(simulated_horde))
    connection.close()
    wait_for(lambda: cancels(simulated_horde) == 1)
    assert [request["state"] for request in requests(simulated_horde)] == ["cancelled"]
    assert simulated_horde.verdict() == {"ok": True, "findings": []}
    assert submits(simulated_horde) == 1


@pytest.mark.parametrize("way", WAYS)
def test_leaving_a_queue(
    way: str, simulated_horde: SimulatedHordeServer, horde_front: FrontServer
) -> None:
    """Before a worker has the job it is deleted as well, with nothing sent that could fail."""
    headers, after = WAYS[way]
    connection = connect(horde_front.base_url)
    connection.sendall(post(*headers, model=SLOW) + after)
    wait_for(lambda: submits(simulated_horde) == 1)
    connection.close()
    wait_for(lambda: cancels(simulated_horde) == 1)
    assert [request["state"] for request in requests(simulated_horde)] == ["cancelled"]
    assert simulated_horde.verdict()["ok"]


def test_leaving_by_reset(simulated_horde: SimulatedHordeServer, horde_front: FrontServer) -> None:
    """A reset is a leaving as well as a close."""
    connection = connect(horde_front.base_url)
    connection.sendall(post(stream=True, **LONG))
    read_until(connection, b'"content"')
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
    wait_for(lambda: cancels(simulated_horde) == 1)


def test_half_close_is_leaving(
    simulated_horde: SimulatedHordeServer, horde_front: FrontServer
) -> None:
    """The contract takes a client that ends its sending side for one that leaves."""
    connection = connect(horde_front.base_url)
    connection.sendall(post(stream=True, **LONG))
    read_until(connection, b'"content"')
    connection.shutdown(socket.SHUT_WR)
    wait_for(lambda: cancels(simulated_horde) == 1)
    connection.close()


def stall(url: str) -> socket.socket:
    """A connection whose stream fills every buffer, as nothing reads it."""
    parts = urlsplit(url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.connect((parts.hostname, parts.port))
    connection.sendall(post(model=PLAIN, max_tokens=1024, n=20, stream=True))
    return connection


def waiting_bytes(connection: socket.socket) -> int:
    """How many bytes have arrived and wait to be read."""
    try:
        return len(connection.recv(1 << 20, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except BlockingIOError:
        return 0


def test_stalled_reader_is_taken_for_gone(simulated_horde: SimulatedHordeServer) -> None:
    """A client that reads nothing for the stall time has left, though a send is stuck."""
    simulated_horde.add_worker(name="fast", models=[PLAIN], threads=20, tokens_per_second=30.0)
    limits = Limits(stall_time=1.0, send_buffer=4096)
    with FrontServer(simulated_horde.url, limits=limits) as front:
        connection = stall(front.base_url)
        wait_for(lambda: cancels(simulated_horde) == 1)
        connection.close()
    assert simulated_horde.verdict()["ok"]


def test_stalled_reader_that_leaves(simulated_horde: SimulatedHordeServer) -> None:
    """When it closes, the DELETE goes out though the send is still stuck."""
    simulated_horde.add_worker(name="fast", models=[PLAIN], threads=20, tokens_per_second=30.0)
    limits = Limits(stall_time=600.0, send_buffer=4096)
    with FrontServer(simulated_horde.url, limits=limits) as front:
        connection = stall(front.base_url)
        unread, since = 0, 0.0

        def is_stuck() -> bool:
            # Polls are at most 3 s apart, so in 4 s without a byte a send is held up.
            nonlocal unread, since
            now = simulated_horde.call(lambda: simulated_horde.world.now)
            unread, before = waiting_bytes(connection), unread
            if unread == 0 or unread != before:
                since = now
            return now - since > 4

        wait_for(is_stuck)
        connection.close()
        wait_for(lambda: cancels(simulated_horde) == 1)


def test_pipelined_requests_are_answered_in_turn(horde_front: FrontServer) -> None:
    """What came early is answered when its turn comes, blank lines between requests or not."""
    connection = connect(horde_front.base_url)
    get = b"GET /healthz HTTP/1.1\r\nHost: front\r\n\r\n"
    connection.sendall(get + b"\r\n" + get + b"\r\n\r\n" + get)
    seen = b""
    while seen.count(b'{"status":"ok"}') < 3:
        seen += connection.recv(65536)
    connection.sendall(b"\r\n" + get)
    assert b"200" in read_until(connection, b'{"status":"ok"}')
    assert seen.count(b"HTTP/1.1 200") == 3
    connection.close()


def test_upgrades_are_passed_over(horde_front: FrontServer) -> None:
    """A GET that offers to upgrade gets its answer in HTTP/1.1, and the connection stays usable."""
    connection = connect(horde_front.base_url)
    for offered in ("h2c", "websocket"):
        connection.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: front\r\nConnection: Upgrade\r\n"
            b"Upgrade: %s\r\n\r\n" % offered.encode()
        )
        assert read_until(connection, b'{"status":"ok"}').startswith(b"HTTP/1.1 200")
    connection.close()
