"""Requests whose end two readers may see in different places, and lines that could be forged.

What a proxy before the front takes for one request must not be two for the front, or the second
would be a stranger's (RFC 9112, section 11.2).  Each shape hides a `GET /healthz`.
"""

import re

import pytest
import trio

from adapters.stack import running

HIDDEN = b"GET /healthz HTTP/1.1\r\nHost: front\r\n\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: front\r\n"
CHUNKED = b"0\r\n\r\n" + HIDDEN

SHAPES = {
    "length and chunked": POST
    + b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % len(CHUNKED)
    + CHUNKED,
    "chunked and length": POST
    + b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n" % len(CHUNKED)
    + CHUNKED,
    "two lengths": POST + b"Content-Length: 0\r\nContent-Length: 40\r\n\r\n" + HIDDEN,
    "a list of lengths": POST + b"Content-Length: 0, 40\r\n\r\n" + HIDDEN,
    "a signed length": POST + b"Content-Length: +0\r\n\r\n" + HIDDEN,
    "a hex length": POST + b"Content-Length: 0x0\r\n\r\n" + HIDDEN,
    "a length in the wrong place": POST + b"Content-Length : 0\r\n\r\n" + HIDDEN,
    "an encoding nobody knows": POST + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKED,
    "two encodings": POST
    + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"
    + CHUNKED,
    "an encoding with a tab": POST + b"Transfer-Encoding:\x0bchunked\r\n\r\n" + CHUNKED,
    "a folded encoding": POST + b"X: a\r\n Transfer-Encoding: chunked\r\n\r\n" + CHUNKED,
    "a name with a bare line feed": POST + b"X: a\nContent-Length: 0\r\rb\r\n\r\n" + HIDDEN,
    "a bare carriage return": POST + b"X: a\rContent-Length: 0\r\n\r\n" + HIDDEN,
    "a chunk of no size": POST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n" + HIDDEN,
    "a chunk of a signed size": POST + b"Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n" + HIDDEN,
    "a chunk of a size in hex form": POST
    + b"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n"
    + HIDDEN,
    "chunked in HTTP/1.0": POST.replace(b"/1.1", b"/1.0")
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + CHUNKED,
    "a NUL in a value": POST + b"X: a\x00b\r\nContent-Length: 0\r\n\r\n" + HIDDEN,
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_the_hidden_request_is_not_answered(
    shape: str, autojump_clock: trio.testing.MockClock
) -> None:
    """What is answered is an error, and then the connection is closed.

    A folded line is one line with the last (RFC 9112 5.2), so that its request has no body, and
    the chunk after it is no request.
    """
    async with running() as stack:
        link = await stack.network.connect("front")
        await link.send_all(SHAPES[shape])
        seen = b""
        with trio.move_on_after(200):
            while data := await link.receive_some():
                seen += data
        await link.aclose()
        submits = stack.submits
    assert b'{"status":"ok"}' not in seen
    statuses = re.findall(rb"HTTP/1\.1 (\d+) ", seen)
    assert statuses in ([b"400"], [b"501"], [b"400", b"400"]), seen[:200]
    assert len(statuses) == 1 or shape == "a folded encoding"
    assert submits == 0
