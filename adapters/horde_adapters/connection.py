"""One HTTP/1.1 connection to the Horde: h11 over a trio stream, one request at a time.

httpcore does the same, for every protocol and option, with locks, a trace and half a dozen
generators: half of what a poll cost (measured in function calls), and polls are what the front
does most.
"""

import select
import ssl
from collections.abc import AsyncIterable

import h11
import httpx
import trio

_READ_SIZE = 64 * 1024
_LARGEST_HEAD = 100 * 1024
"""Bytes of an answer's head, as httpcore allows."""


class Connection:
    """Raises httpx's transport errors, whose kinds say how far a request came."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)

    async def ask(self, request: httpx.Request, target: bytes) -> h11.Response:
        """Sends a request and reads the head of its answer, of those of kind 1xx the last."""
        headers = request.headers
        try:
            # Before anything is sent: what h11 finds illegal in it never reaches the other side.
            parts = [
                self._http.send(
                    h11.Request(method=request.method, target=target, headers=headers.raw)
                )
            ]
            if "content-length" in headers or "transfer-encoding" in headers:
                assert isinstance(request.stream, AsyncIterable)
                parts += [self._http.send(h11.Data(data=part)) async for part in request.stream]
            parts.append(self._http.send(h11.EndOfMessage()))
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error), request=request) from error
        refused: Exception | None = None
        try:
            await self._stream.send_all(b"".join(part for part in parts if part))
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            refused = error  # a server may answer what it doesn't read to the end
        try:
            while not isinstance(event := await self._next_event(), h11.Response):
                pass
        except (httpx.ReadError, httpx.RemoteProtocolError) as error:
            if refused is not None:
                raise httpx.WriteError(str(refused), request=request) from refused
            raise error
        return event

    async def next_data(self) -> bytes | None:
        """A part of the answer's body; None at its end, when the next request may be asked."""
        event = await self._next_event()
        if isinstance(event, h11.Data):
            return bytes(event.data)
        return None

    async def _next_event(self) -> h11.Event:
        http = self._http
        try:
            while (event := http.next_event()) is h11.NEED_DATA:
                http.receive_data(bytes(await self._stream.receive_some(_READ_SIZE)))
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise httpx.ReadError(str(error)) from error
        if not isinstance(event, h11.Event):  # it answers what wasn't asked, or not as HTTP has it
            raise httpx.RemoteProtocolError("the server went on after its answer")
        return event

    def may_be_kept(self) -> bool:
        """Whether another request may follow; makes it ready for that one."""
        http = self._http
        if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
            return False
        # An answer that ended with the connection looks like another to h11.
        if http.trailing_data != (b"", False):
            return False
        http.start_next_cycle()
        return True

    def is_stale(self) -> bool:
        """Whether the other side closed it, or says something that nobody asked for."""
        stream = self._stream
        if isinstance(stream, trio.SSLStream):
            stream = stream.transport_stream
        if not isinstance(stream, trio.SocketStream):
            return False
        poll = select.poll()
        poll.register(stream.socket.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    async def aclose(self) -> None:
        """Closes at once: nothing waits for the other side."""
        await trio.aclose_forcefully(self._stream)


async def connect(host: str, port: int, context: ssl.SSLContext | None) -> trio.abc.Stream:
    """Opens a stream, with TLS if there is a context. Raises OSError, or trio's broken resource."""
    stream = await trio.open_tcp_stream(host, port)
    if context is None:
        return stream
    secured = trio.SSLStream(stream, context, server_hostname=host, https_compatible=True)
    try:
        await secured.do_handshake()
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return secured
