"""HTTP/1.1 connections: early bytes, limits, and nothing left of a closed one."""

import json

import pytest
import trio

from adapters.stack import SLOW, chat_body, running
from horde_adapters.settings import Limits, Settings

GET = b"GET /healthz HTTP/1.1\r\nHost: front\r\n\r\n"


async def read(link: trio.abc.ReceiveStream, count: int, marker: bytes) -> bytes:
    """Reads until a marker has come so often."""
    seen = b""
    while seen.count(marker) < count:
        data = await link.receive_some()
        assert data, seen
        seen += data
    return seen


def chat(**keys: object) -> bytes:
    """A chat request's bytes."""
    body = json.dumps(chat_body(**keys)).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: front\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def test_headers_in_two_pieces(autojump_clock: trio.testing.MockClock) -> None:
    """Their time limit ends with them: the answer may take much longer."""
    async with running() as stack:
        link = await stack.network.connect("front")
        request = chat(model=SLOW, stream=True, max_tokens=64)
        await link.send_all(request[:30])
        await trio.sleep(10)
        began = trio.current_time()
        await link.send_all(request[30:])
        seen = await read(link, 1, b"data: [DONE]\n\n")
        assert trio.current_time() - began > 25
        await link.send_all(GET)
        await read(link, 1, b'{"status":"ok"}')
        await link.aclose()
    assert b'"finish_reason":"' in seen


async def test_each_request_has_its_own_limit(autojump_clock: trio.testing.MockClock) -> None:
    """Also one that begins while another is being answered, counted from when its turn comes."""
    async with running() as stack:
        link = await stack.network.connect("front")
        await link.send_all(chat(model=SLOW, max_tokens=64) + GET[:20])
        await read(link, 1, b'"object":"chat.completion"')
        began = trio.current_time()
        with trio.fail_after(100):
            while await link.receive_some():
                pass
        took = trio.current_time() - began
        await link.aclose()
    assert took == pytest.approx(20, abs=0.01)


@pytest.mark.parametrize("pipelined", [0, 1000])
async def test_more_early_bytes_than_are_kept(
    pipelined: int, autojump_clock: trio.testing.MockClock
) -> None:
    """Beyond the bound the rest waits in the connection, and is answered in its turn as well."""
    async with running(limits=Limits(pipelined=pipelined)) as stack:
        link = await stack.network.connect("front")
        await link.send_all(chat(model=SLOW, max_tokens=64) + GET * 200)
        seen = await read(link, 200, b'{"status":"ok"}')
        await link.aclose()
    assert seen.startswith(b"HTTP/1.1 200")
    assert seen.count(b"HTTP/1.1 200") == 201


async def test_chats_pipelined(autojump_clock: trio.testing.MockClock) -> None:
    """Two chats at once are served one after the other, whole."""
    async with running() as stack:
        link = await stack.network.connect("front")
        await link.send_all(chat(stream=True) + chat(stream=True) + chat())
        seen = await read(link, 1, b'"object":"chat.completion",')
        await link.aclose()
    assert seen.count(b"data: [DONE]") == 2
    assert seen.index(b"data: [DONE]") < seen.index(b'"object":"chat.completion",')
    assert stack.submits == 3


async def test_closed_connection_leaves_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """Tasks and sockets of a connection end with it, not with the time for idle ones."""
    async with running() as stack:
        await stack.client.get("/healthz")
        await trio.testing.wait_all_tasks_blocked()
        before = trio.lowlevel.current_statistics().tasks_living
        links = [await stack.network.connect("front") for _ in range(20)]
        for index, link in enumerate(links):
            await link.send_all(GET)
            await read(link, 1, b'{"status":"ok"}')
            if index % 2:
                await link.send_all(GET[:10])
            await link.aclose()
        await trio.sleep(0.1)
        assert trio.lowlevel.current_statistics().tasks_living == before


async def test_unfinished_body_ends_the_connection(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A body given up can't be told from the next request, so there is none on that connection."""
    async with running(settings=Settings(body_pause=1.0)) as stack:
        link = await stack.network.connect("front")
        await link.send_all(chat()[:-5])
        seen = b""
        while data := await link.receive_some():
            seen += data
        await link.aclose()
    assert seen.startswith(b"HTTP/1.1 400")
    assert seen.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"\0\1\2\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"x" * 100_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\ngarbage that is no frame at all",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
async def test_garbage_harms_nobody(garbage: bytes, autojump_clock: trio.testing.MockClock) -> None:
    """What isn't HTTP ends its own connection; the next one is served."""
    async with running() as stack:
        link = await stack.network.connect("front")
        await link.send_all(garbage)
        with trio.fail_after(100):
            while await link.receive_some():
                pass
        await link.aclose()
        answer = await stack.client.get("/healthz")
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("sent", "line"),
    [
        (GET, b"HTTP/1.1 200 OK"),
        (b"GET /nowhere HTTP/1.1\r\nHost: front\r\n\r\n", b"HTTP/1.1 404 Not Found"),
        (b"GET / HTTP/1.1\r\nno header\r\n\r\n", b"HTTP/1.1 400 Bad Request"),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
            b"HTTP/1.1 100 Continue",
        ),
    ],
)
async def test_status_lines_have_their_phrase(
    sent: bytes, line: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """Some clients show nothing else of an error to their users (RFC 9110 15)."""
    async with running() as stack:
        link = await stack.network.connect("front")
        await link.send_all(sent)
        answer = await link.receive_some()
        await link.aclose()
    assert answer.partition(b"\r\n")[0] == line


@pytest.mark.parametrize("expects", [b"", b"Expect: 100-continue\r\n"])
@pytest.mark.parametrize("length", [1001, 10**9])
async def test_a_length_above_the_cap_is_refused_unread(
    length: int, expects: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """The size comes before the JSON (contract section 3), and its body isn't asked for."""
    limits, settings = Limits(largest_invited=1000), Settings(body_cap=1000)
    async with running(limits=limits, settings=settings) as stack:
        link = await stack.network.connect("front")
        began = trio.current_time()
        await link.send_all(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: front\r\n%bContent-Length: %d\r\n\r\n"
            % (expects, length)
        )
        answer = await link.receive_some()
        assert trio.current_time() == began
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b'"code":"request_too_large"' in answer
        await link.aclose()


async def test_a_refused_body_is_read_to_its_end(autojump_clock: trio.testing.MockClock) -> None:
    """Its sender may read the answer only then; a reset would have erased it."""
    async with running(settings=Settings(body_cap=1000)) as stack:
        link = await stack.network.connect("front")
        await link.send_all(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: front\r\nContent-Length: 5000\r\n\r\n"
        )
        for _ in range(5):
            await trio.sleep(1)
            await link.send_all(b"x" * 1000)
        await link.send_all(GET)
        seen = await read(link, 1, b'{"status":"ok"}')
        await link.aclose()
    assert seen.count(b"HTTP/1.1 413 ") == 1
