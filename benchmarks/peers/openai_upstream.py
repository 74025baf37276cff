"""An OpenAI server that costs next to nothing: streams of one chunk, paced or all at once.

python benchmarks/peers/openai_upstream.py --port 8301 --events 120 --gap 0.05
"""

import argparse
import asyncio
import re

CHUNK = (
    b'data: {"id":"chatcmpl-0","object":"chat.completion.chunk","created":1700000000,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":" hello"},"finish_reason":null}]}\n\n'
)
LAST = (
    b'data: {"id":"chatcmpl-0","object":"chat.completion.chunk","created":1700000000,"model":"m",'
    b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

ABOUT = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
"""For fronts that ask what their upstream is before they use it."""


def framed(data: bytes) -> bytes:
    """An HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Upstream(asyncio.Protocol):
    """One connection: a stream for each request on it."""

    def __init__(self, events: int, gap: float) -> None:
        self._events = events
        self._gap = gap
        self._data = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, separator, rest = self._data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if not separator or (length and len(rest) < int(length[1])):
            return
        self._data = rest[int(length[1]) if length else 0 :]
        if head.startswith(b"GET "):
            self._transport.write(ABOUT)
            return
        self._transport.write(HEAD)
        loop = asyncio.get_running_loop()
        self._send(loop, loop.time(), 0)

    def _send(self, loop: asyncio.AbstractEventLoop, began: float, sent: int) -> None:
        if self._transport.is_closing():
            return
        if not self._gap:
            self._transport.write(framed(CHUNK) * self._events)
            sent = self._events
        if sent >= self._events:
            self._transport.write(framed(LAST) + b"0\r\n\r\n")
            return
        self._transport.write(framed(CHUNK))
        loop.call_at(began + (sent + 1) * self._gap, self._send, loop, began, sent + 1)


async def serve(port: int, events: int, gap: float) -> None:
    """Until it is stopped."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Upstream(events, gap), "127.0.0.1", port, backlog=4096
    )
    print("port", port, flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--events", type=int, default=120)
    parser.add_argument("--gap", type=float, default=0.05)
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.events, options.gap))


if __name__ == "__main__":
    main()
