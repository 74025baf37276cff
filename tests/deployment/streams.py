"""Chat clients by the hundred: one task each, the bytes read as they are."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import attrs
import orjson
import trio

from deployment.rig import MODEL

Ending = Literal["whole", "cut", "left"]


@attrs.define
class Chat:
    """One request and what came of it. `leave_after` is in seconds."""

    key: str = "rich-key"
    stream: bool = True
    max_tokens: int = 200
    leave_after: float = math.inf
    retries: int = 0
    """How often it comes again when told that it may, as stock SDKs do (twice by default)."""
    ending: Ending | None = None
    status: int = 0
    head: bytes = b""
    body: bytes = b""
    first_byte: float = math.inf
    """Seconds from its asking, in the last try."""

    async def run(self, port: int) -> None:
        """Asks, reads to the end, comes again after a refusal that allows it."""
        while True:
            with trio.move_on_after(self.leave_after):
                await self._ask(port)
            if self.ending is None:
                self.ending = "left"
            if self.status < 500 or not self.retries or self.header("x-should-retry") == "false":
                break
            self.retries -= 1
            await trio.sleep(float(self.header("retry-after") or 1))

    def header(self, name: str) -> str | None:
        """A header of the answer."""
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.lower() == name.encode():
                return value.strip().decode()
        return None

    @property
    def error(self) -> dict[str, Any] | None:
        """The error that it was told, as an answer or within its stream."""
        if self.status == 200 and self.stream:
            for event in self.events():
                if isinstance(event, dict) and "error" in event:
                    found: dict[str, Any] = event["error"]
                    return found
            return None
        document: dict[str, Any] = orjson.loads(self.body)
        return document.get("error")

    def events(self) -> list[Any]:
        """A stream's events: JSON, or `[DONE]`."""
        lines = [line[6:] for line in self.body.split(b"\n\n") if line.startswith(b"data: ")]
        return ["[DONE]" if line == b"[DONE]" else orjson.loads(line) for line in lines]

    @property
    def is_served(self) -> bool:
        """Whether the whole reply came."""
        if self.ending != "whole" or self.status != 200:
            return False
        if not self.stream:
            return bool(orjson.loads(self.body)["choices"][0]["finish_reason"])
        return self.body.endswith(b"data: [DONE]\n\n") and b'"finish_reason":"' in self.body

    async def _ask(self, port: int) -> None:
        self.ending, self.status, self.head, self.body = None, 0, b"", b""
        body = orjson.dumps(
            {
                "model": MODEL,
                "messages": [{"role": "user", "content": "Write 2000 words about the sea."}],
                "max_tokens": self.max_tokens,
                "stream": self.stream,
                "horde": {"availability_mode": "wait"},
            }
        )
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nHost: front\r\nConnection: close\r\n"
            f"Authorization: Bearer {self.key}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        async with await trio.open_tcp_stream("127.0.0.1", port) as connection:
            await connection.send_all(head.encode() + body)
            await self._read(connection)

    async def _read(self, connection: trio.SocketStream) -> None:
        reader = _Reader()
        began = trio.current_time()
        try:
            while not reader.is_whole and (data := await connection.receive_some(65536)):
                if not self.head:
                    self.first_byte = trio.current_time() - began
                reader.take(data)
                self.head, self.status = reader.head, reader.status
        except trio.BrokenResourceError:
            pass
        finally:
            self.body = reader.body
        self.ending = "whole" if reader.is_whole else "cut"


class _Reader:
    """One HTTP/1.1 response, chunked or of a given length."""

    def __init__(self) -> None:
        self.head = b""
        self.status = 0
        self.is_whole = False
        self._pending = bytearray()
        self._body = bytearray()
        self._left: int | None = None

    @property
    def body(self) -> bytes:
        return bytes(self._body)

    def take(self, data: bytes | bytearray) -> None:
        self._pending += data
        if not self.head and not self._take_head():
            return
        if self._left is not None:
            self._body += self._pending
            self._pending.clear()
            self.is_whole = len(self._body) >= self._left
            return
        while self._take_chunk():
            pass

    def _take_head(self) -> bool:
        head, end, rest = self._pending.partition(b"\r\n\r\n")
        if not end:
            return False
        self.head, self._pending = bytes(head), rest
        self.status = int(head[9:12])
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                self._left = int(line[15:])
        return True

    def _take_chunk(self) -> bool:
        size, end, rest = self._pending.partition(b"\r\n")
        if not end:
            return False
        length = int(size, 16)
        if len(rest) < length + 2:
            return False
        self._body += rest[:length]
        self._pending = rest[length + 2 :]
        self.is_whole = length == 0
        return not self.is_whole


def run_all(port: int, chats: Sequence[Chat], *between: Any) -> None:
    """Runs all of them at once, and each of `between`, async functions, beside them."""

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for chat in chats:
                nursery.start_soon(chat.run, port)
            for function in between:
                nursery.start_soon(function)

    trio.run(main)
