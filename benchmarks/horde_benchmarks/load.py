"""The client: many streams read by one thread, by hand, so that the server is what is measured."""

import selectors
import socket
from contextlib import suppress
from time import monotonic

import attrs

_CHUNK = b"data: {"


@attrs.define
class Stream:
    """One connection and what came over it. Times are seconds from its connecting."""

    began: float
    status: int = 0
    events: int = 0
    size: int = 0
    first_byte: float | None = None
    first_event: float | None = None
    last_event: float | None = None
    ended: float | None = None
    is_whole: bool = False
    """Whether the response came to its proper end."""
    tail: bytes = b""
    data: bytearray | None = None
    """All of it, when it is to be kept."""

    def take(self, data: bytes, at: float) -> None:
        """Counts events: chunks, whatever comments are between them."""
        if self.first_byte is None:
            self.first_byte = at
            self.status = int(data[9:12] or b"0")
        seen = self.tail[-len(_CHUNK) + 1 :] + data
        if found := seen.count(_CHUNK):
            self.events += found
            self.last_event = at
            if self.first_event is None:
                self.first_event = at
        self.size += len(data)
        if self.data is not None:
            self.data += data
        self.tail = (self.tail + data)[-8:]
        self.is_whole = self.tail.endswith(b"0\r\n\r\n")


def post(path: str, body: bytes, *headers: str) -> bytes:
    """A request's bytes."""
    lines = [f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/json"]
    lines += [*headers, f"content-length: {len(body)}", "connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def get(path: str) -> bytes:
    """The same without a body."""
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode()


def http_chunks(response: bytes) -> list[bytes]:
    """The chunks of a chunked response, as many as the server's sends of its body."""
    rest = response.partition(b"\r\n\r\n")[2]
    chunks = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if length:
            chunks.append(rest[:length])
        rest = rest[length + 2 :]
    return chunks


class Load:
    """Streams of one kind, opened `a_second` at a time and read until all have ended."""

    def __init__(
        self,
        port: int,
        request: bytes,
        streams: int,
        *,
        a_second: float = 0.0,
        keep: bool = False,
    ) -> None:
        self.streams: list[Stream] = []
        self._address = ("127.0.0.1", port)
        self._request = request
        self._count = streams
        self._a_second = a_second
        self._keep = keep
        self._selector = selectors.DefaultSelector()
        self._buffer = bytearray(1 << 18)

    def run(self, seconds: float) -> list[Stream]:
        """Reads until all has ended, or for so long; what is still open is closed then."""
        try:
            self.open_for(seconds)
        finally:
            self.close()
        return self.streams

    def open_for(self, seconds: float) -> None:
        """Reads for so long at most, and leaves open what is."""
        began = monotonic()
        while (now := monotonic()) - began < seconds:
            self._open_more(now - began)
            opening = len(self.streams) < self._count
            if not opening and not self._selector.get_map():
                return
            for key, _ in self._selector.select(0.002 if opening else 0.1):
                self._read(key)

    def close(self) -> None:
        """Closes what is open."""
        for key in list(self._selector.get_map().values()):
            self._close(key)
        self._selector.close()

    def _open_more(self, elapsed: float) -> None:
        wanted = self._count
        if self._a_second:
            wanted = min(wanted, int(elapsed * self._a_second) + 1)
        for _ in range(min(32, wanted - len(self.streams))):
            stream = Stream(monotonic(), data=bytearray() if self._keep else None)
            self.streams.append(stream)
            connection = socket.create_connection(self._address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(self._request)
            connection.setblocking(False)
            self._selector.register(connection, selectors.EVENT_READ, stream)

    def _read(self, key: selectors.SelectorKey) -> None:
        stream: Stream = key.data
        connection = key.fileobj
        assert isinstance(connection, socket.socket)
        size = 0
        with suppress(ConnectionError):
            size = connection.recv_into(self._buffer)
        at = monotonic() - stream.began
        if size:
            stream.take(bytes(memoryview(self._buffer)[:size]), at)
        if not size or stream.is_whole:
            stream.ended = at
            self._close(key)

    def _close(self, key: selectors.SelectorKey) -> None:
        self._selector.unregister(key.fileobj)
        assert isinstance(key.fileobj, socket.socket)
        key.fileobj.close()


def percentile(values: list[float], part: float) -> float:
    """The value that `part` of all are at or below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
