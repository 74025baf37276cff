"""A connection to the Horde: whether it serves again, TLS, and answers at the edge of HTTP."""

import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial

import httpx
import pytest
import trio
import trustme

from adapters.fake_link import Network
from horde_adapters.connection import connect
from horde_adapters.horde import Caller, HordeClient, Lost
from horde_adapters.transport import LifoTransport

HORDE = httpx.URL("http://horde")
CALLER = Caller("0000000000", "test:1:test")
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"

Serve = Callable[[trio.abc.Stream], Awaitable[None]]


async def read_request(stream: trio.abc.Stream) -> bytes:
    """A request without a body, or what came before the end."""
    received = b""
    while b"\r\n\r\n" not in received:
        data = await stream.receive_some()
        if not data:
            break
        received += data
    return received


async def answers(stream: trio.abc.Stream, *parts: bytes, closes: bool = False) -> None:
    """Answers each request with all of `parts`."""
    while await read_request(stream):
        for part in parts:
            await stream.send_all(part)
        if closes:
            await stream.aclose()
            return


async def asked_twice(serve: Serve) -> tuple[list[bytes], int]:
    """The bodies of two answers, and how many connections they took."""
    network = Network()
    transport = LifoTransport(HORDE, connect=network.connect)
    bodies = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, serve, [network.listen("horde")])
        for _ in range(2):
            request = httpx.Request("GET", HORDE)
            response = await transport.handle_async_request(request)
            bodies.append(await response.aread())
        await transport.aclose()
        nursery.cancel_scope.cancel()
    return bodies, network.connections["horde"]


@pytest.mark.parametrize(
    ("parts", "closes", "body", "connections"),
    [
        ([ANSWER], False, b"{}", 1),
        ([ANSWER[:10], ANSWER[10:39], ANSWER[39:]], False, b"{}", 1),
        ([b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", ANSWER], False, b"{}", 1),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], False, b"", 1),
        (
            [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"],
            False,
            b"{}",
            1,
        ),
        ([b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}"], False, b"{}", 2),
        ([b"HTTP/1.1 200 OK\r\n\r\n{", b"}"], True, b"{}", 2),
        ([b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}"], False, b"{}", 2),
        # Bytes that nobody asked for: the next answer can't be told from them.
        ([ANSWER + ANSWER], False, b"{}", 2),
    ],
    ids=["plain", "pieces", "hints", "empty", "chunked", "close", "to the end", "1.0", "two"],
)
async def test_answers_and_whether_the_connection_serves_again(
    parts: list[bytes],
    closes: bool,
    body: bytes,
    connections: int,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """RFC 9112, 9.3: it persists unless one side says otherwise, and its answer was read."""
    serve = partial(_serve, parts=parts, closes=closes)
    assert await asked_twice(serve) == ([body, body], connections)


async def _serve(stream: trio.abc.Stream, *, parts: list[bytes], closes: bool) -> None:
    await answers(stream, *parts, closes=closes)


async def test_an_answer_to_what_was_not_read_to_its_end(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A server that refuses a large body may close while it is sent; its word counts (9.6)."""
    network = Network()
    transport = LifoTransport(HORDE, connect=network.connect)

    async def refuse(stream: trio.abc.Stream) -> None:
        await stream.send_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, refuse, [network.listen("horde")])
        horde = HordeClient(str(HORDE), agent="test", transport=transport)
        answer = await horde.submit(b"x" * 1_000_000, CALLER)
        assert answer.status == 413
        nursery.cancel_scope.cancel()


async def test_a_body_that_comes_in_parts_is_sent_whole(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """httpx's streams of unknown length go out in chunks."""
    network = Network()
    transport = LifoTransport(HORDE, connect=network.connect)
    received = b""

    async def serve(stream: trio.abc.Stream) -> None:
        nonlocal received
        while not received.endswith(b"0\r\n\r\n"):
            received += await stream.receive_some()
        await stream.send_all(ANSWER)

    async def parts() -> AsyncGenerator[bytes, None]:
        yield b"one"
        yield b"four"

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, serve, [network.listen("horde")])
        async with aclosing(parts()) as content:
            response = await transport.handle_async_request(
                httpx.Request("POST", HORDE, content=content)
            )
        assert await response.aread() == b"{}"
        nursery.cancel_scope.cancel()
    assert received.partition(b"\r\n\r\n")[2] == b"3\r\none\r\n4\r\nfour\r\n0\r\n\r\n"


async def test_what_is_no_http_is_never_sent(autojump_clock: trio.testing.MockClock) -> None:
    """A line break in a header would be another header, or another request."""
    network = Network()
    transport = LifoTransport(HORDE, connect=network.connect)
    network.listen("horde")
    request = httpx.Request("GET", HORDE, headers={"client-agent": "a\r\nb: c"})
    with pytest.raises(httpx.LocalProtocolError):
        await transport.handle_async_request(request)


async def test_a_reader_that_leaves_closes_the_connection(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """An answer that isn't read to its end leaves nothing to be taken for the next one."""
    network = Network()
    transport = LifoTransport(HORDE, connect=network.connect)
    closed = trio.Event()

    async def serve(stream: trio.abc.Stream) -> None:
        await read_request(stream)
        await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsome")
        if not await stream.receive_some():
            closed.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, serve, [network.listen("horde")])
        response = await transport.handle_async_request(httpx.Request("GET", HORDE))
        assert isinstance(response.stream, httpx.AsyncByteStream)
        async for part in response.stream:
            assert part == b"some"
            break
        await response.aclose()
        await closed.wait()
        nursery.cancel_scope.cancel()


async def test_no_connection_in_time(autojump_clock: trio.testing.MockClock) -> None:
    """Nothing reached the Horde, and its client says so."""

    async def never(host: str, port: int, context: ssl.SSLContext | None) -> trio.abc.Stream:
        await trio.sleep_forever()
        raise AssertionError

    transport = LifoTransport(HORDE, connect=never)
    horde = HordeClient(str(HORDE), agent="test", transport=transport)
    with pytest.raises(Lost) as lost:
        await horde.submit(b"{}", CALLER)
    assert not lost.value.opened
    assert trio.current_time() == 5


async def real_server(nursery: trio.Nursery, serve: Serve) -> int:
    """A server on a real socket; its port."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    nursery.start_soon(trio.serve_listeners, serve, listeners)
    port: int = listeners[0].socket.getsockname()[1]
    return port


async def test_a_connection_closed_while_it_lay_idle_is_not_used() -> None:
    """A submit on it would be lost without anybody knowing how far it came."""
    closing = trio.Event()
    closed = trio.Event()

    async def once(stream: trio.abc.Stream) -> None:
        await read_request(stream)
        await stream.send_all(ANSWER)
        await closing.wait()
        await stream.aclose()
        closed.set()

    async with trio.open_nursery() as nursery:
        port = await real_server(nursery, once)
        horde = HordeClient(f"http://127.0.0.1:{port}", agent="test")
        assert (await horde.status("a", "", CALLER)).body == b"{}"
        closing.set()
        await closed.wait()
        assert (await horde.submit(b"", CALLER)).body == b"{}"
        await horde.aclose()
        nursery.cancel_scope.cancel()


async def test_a_port_that_nobody_listens_on() -> None:
    """The reason names the address, as an operator has to find the mistake."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    await listeners[0].aclose()
    horde = HordeClient(f"http://127.0.0.1:{port}", agent="test")
    with pytest.raises(Lost, match=rf"127\.0\.0\.1:{port} failed: .*refused") as lost:
        await horde.status("a", "", CALLER)
    assert not lost.value.opened


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Who vouches for the tests' servers."""
    return trustme.CA()


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    """A client's settings: as shipped, but for whom it trusts."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def secured(authority: trustme.CA, name: str, serve: Serve) -> Serve:
    """Serves over TLS under a name."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(context)

    async def handler(stream: trio.abc.Stream) -> None:
        try:
            await serve(trio.SSLStream(stream, context, server_side=True, https_compatible=True))
        except trio.BrokenResourceError:  # the client didn't like the certificate
            await trio.aclose_forcefully(stream)

    return handler


async def test_tls(authority: trustme.CA) -> None:
    """As the AI Horde is reached: one connection for calls in a row, and a new one for a stale."""
    connections = 0

    async def twice(stream: trio.abc.Stream) -> None:
        nonlocal connections
        connections += 1
        for _ in range(2):
            if await read_request(stream):
                await stream.send_all(ANSWER)
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        port = await real_server(nursery, secured(authority, "localhost", twice))
        url = httpx.URL(f"https://localhost:{port}")
        transport = LifoTransport(url, ssl_context=trusting(authority))
        horde = HordeClient(str(url), agent="test", transport=transport)
        for number in range(4):
            assert (await horde.status("a", "", CALLER)).body == b"{}"
            if number == 1:
                await trio.testing.wait_all_tasks_blocked()
        assert connections == 2
        await horde.aclose()
        nursery.cancel_scope.cancel()


async def test_a_certificate_of_another_name(authority: trustme.CA) -> None:
    """Nothing is said to a stranger, and the reason tells what is wrong."""
    async with trio.open_nursery() as nursery:
        port = await real_server(nursery, secured(authority, "aihorde.example", answers))
        url = httpx.URL(f"https://localhost:{port}")
        transport = LifoTransport(url, ssl_context=trusting(authority))
        horde = HordeClient(str(url), agent="test", transport=transport)
        with pytest.raises(Lost, match="certificate verify failed") as lost:
            await horde.submit(b"{}", CALLER)
        assert not lost.value.opened
        nursery.cancel_scope.cancel()


async def test_a_stranger_is_not_trusted(authority: trustme.CA) -> None:
    """By default only the machine's own authorities are believed."""
    async with trio.open_nursery() as nursery:
        port = await real_server(nursery, secured(authority, "localhost", answers))
        with pytest.raises(trio.BrokenResourceError):
            await connect("localhost", port, ssl.create_default_context())
        nursery.cancel_scope.cancel()
