"""The few ASGI words that the apps share: how a body is read and how an answer is sent."""

from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

import trio

from horde_core.errors import Refusal, refuse

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]


LARGEST_DISCARD = 64 * 1024 * 1024
"""Bytes beyond the cap that are read for the sake of an answer that is seen."""


class ClientLeft(Exception):  # noqa: N818 - what happened, and no fault
    """The client closed its connection before its request was whole."""


class Incoming:
    """A request's body as it arrives. `pause` is the longest silence, `whole` the longest time.

    `length` is what its headers say, 0 when they say nothing.
    """

    def __init__(self, receive: Receive, *, pause: float, whole: float, length: int = 0) -> None:
        self._receive = receive
        self._pause = pause
        self._whole = whole
        self._length = length
        self._has_ended = False
        self._is_given_up = False

    @property
    def is_awaited(self) -> bool:
        """Whether there is more of it that would be read."""
        return not (self._has_ended or self._is_given_up)

    async def read(self, *, cap: int) -> bytes:
        """The body. Raises ClientLeft, or a Refusal: too large, at once if it says so, or too slow.

        A body that turns out to be above `cap` is read on for a while, and thrown away.
        """
        if self._length > cap:
            self._is_given_up = self._length > cap + LARGEST_DISCARD
            raise _too_large(cap)
        return await self._read(cap)

    async def _read(self, cap: int) -> bytes:
        chunks: list[bytes] = []
        size = 0
        ends_at = trio.current_time() + self._whole
        with trio.CancelScope() as waiting:
            while not self._has_ended:
                waiting.deadline = min(ends_at, trio.current_time() + self._pause)
                chunk = await self._next()
                size += len(chunk)
                if size <= cap:
                    chunks.append(chunk)
                else:
                    chunks.clear()
                    if size > cap + LARGEST_DISCARD:
                        self._is_given_up = True
                        break
        if size > cap:
            raise _too_large(cap)
        if not self._has_ended:
            self._is_given_up = True
            raise refuse("BadRequest", "The request body took too long to arrive.")
        return b"".join(chunks)

    async def discard(self) -> None:
        """Reads what is left of a body that nobody wants, so that its sender sees the answer.

        Many send all of it before they read, and a connection closed meanwhile is reset, which
        erases the answer.  Raises ClientLeft.
        """
        if self.is_awaited:
            with suppress(Refusal):
                await self._read(0)

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        self._has_ended = not message.get("more_body", False)
        chunk: bytes = message.get("body", b"")
        return chunk


def _too_large(cap: int) -> Refusal:
    return refuse("request_too_large", f"The request body is larger than {cap} bytes.")


async def send_answer(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Sends a whole answer."""
    await _send_head_and_body(send, status, headers, body, more_body=False)


async def send_early_answer(
    send: Send, status: int, headers: Headers, body: bytes, rest: Incoming
) -> None:
    """Sends an answer to a request of which there may be more, and reads that to its end."""
    if not rest.is_awaited:
        await send_answer(send, status, headers, body)
        return
    await _send_head_and_body(send, status, headers, body, more_body=True)
    with suppress(ClientLeft):  # it has its answer
        await rest.discard()
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_head_and_body(
    send: Send, status: int, headers: Headers, body: bytes, *, more_body: bool
) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body, "more_body": more_body})


def declared_length(scope: Scope) -> int:
    """What the headers say of the body's length in bytes; 0 when they say nothing usable."""
    value = only_header(scope, b"content-length") or ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else 0


def all_headers(scope: Scope, name: bytes) -> list[bytes]:
    """Every value of a header, given in lower case as ASGI names are."""
    return [value for key, value in scope["headers"] if key == name]


def only_header(scope: Scope, name: bytes) -> str | None:
    """A header's value as text; several are joined as RFC 9110 5.3 says."""
    values = all_headers(scope, name)
    return b", ".join(values).decode("latin-1") if values else None
