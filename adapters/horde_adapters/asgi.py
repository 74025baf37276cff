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
    """A request's body as it arrives. `pause` is the longest silence, `whole` the longest time."""

    def __init__(self, receive: Receive, *, pause: float, whole: float) -> None:
        self._receive = receive
        self._pause = pause
        self._whole = whole
        self._has_ended = False
        self._is_given_up = False

    async def read(self, *, cap: int) -> bytes:
        """The body. Raises ClientLeft, or a Refusal: too large, or too slow.

        A body above `cap` is read on for a while, and thrown away: a client that is still sending
        wouldn't see the answer, and the reset that ends its connection would erase it.
        """
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
            raise refuse("request_too_large", f"The request body is larger than {cap} bytes.")
        if not self._has_ended:
            self._is_given_up = True
            raise refuse("BadRequest", "The request body took too long to arrive.")
        return b"".join(chunks)

    async def discard(self) -> None:
        """Reads what is left of a body that nobody wants, so that its sender sees the answer.

        Raises ClientLeft.
        """
        if not self._is_given_up:
            with suppress(Refusal):
                await self.read(cap=0)

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        self._has_ended = not message.get("more_body", False)
        chunk: bytes = message.get("body", b"")
        return chunk


async def send_answer(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Sends a whole answer."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def all_headers(scope: Scope, name: bytes) -> list[bytes]:
    """Every value of a header, given in lower case as ASGI names are."""
    return [value for key, value in scope["headers"] if key == name]


def only_header(scope: Scope, name: bytes) -> str | None:
    """A header's value as text; several are joined as RFC 9110 5.3 says."""
    values = all_headers(scope, name)
    return b", ".join(values).decode("latin-1") if values else None
