"""A pool-free httpx transport: a stack of connections to one origin, last in, first out.

httpcore's pool looks at every connection for every idle one, twice a request: at 500 in flight a
poll costs 26 ms of CPU there.  Here taking and giving back are O(1).  The most recently used
connection is the likeliest to be alive, and the rest age at the bottom of the stack.
"""

import ssl
from collections import deque
from collections.abc import Awaitable, Callable

import attrs
import httpx
import trio

from horde_adapters.connection import Connection, connect

Connect = Callable[[str, int, ssl.SSLContext | None], Awaitable[trio.abc.Stream]]


@attrs.frozen
class _Idle:
    connection: Connection
    since: float


class LifoTransport(httpx.AsyncBaseTransport):
    """Speaks HTTP/1.1 to one origin. `idle_limit` is in seconds.

    A request's extension `target` goes out in place of its URL's path and query; of its timeouts
    the one for connecting is kept, and whoever asks bounds the rest.  Raises httpx's transport
    errors; ConnectError and ConnectTimeout mean that no connection was opened, so nothing of the
    request left this process.
    """

    def __init__(
        self,
        origin: httpx.URL,
        *,
        ssl_context: ssl.SSLContext | None = None,
        idle_limit: float = 30.0,
        connect: Connect = connect,
    ) -> None:
        self._host = origin.raw_host.decode("ascii")
        self._port = origin.port or {"http": 80, "https": 443}[origin.scheme]
        self._ssl_context = ssl_context
        self._idle_limit = idle_limit
        self._connect = connect
        self._idle: deque[_Idle] = deque()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await self._close_aged()
        connection = await self._take() or await self._open(request)
        try:
            target = request.extensions.get("target") or request.url.raw_path
            head = await connection.ask(request, target)
        except BaseException:
            await connection.aclose()
            raise
        return httpx.Response(
            head.status_code,
            headers=list(head.headers),
            stream=_Body(self, connection),
        )

    async def _open(self, request: httpx.Request) -> Connection:
        longest = request.extensions.get("timeout", {}).get("connect")
        try:
            with trio.fail_after(float("inf") if longest is None else longest):
                stream = await self._connect(self._host, self._port, self._ssl_context)
        except trio.TooSlowError as error:
            raise httpx.ConnectTimeout(
                f"no connection in {longest:g} s", request=request
            ) from error
        except (OSError, trio.BrokenResourceError) as error:
            raise httpx.ConnectError(_reason(error), request=request) from error
        return Connection(stream)

    async def _take(self) -> Connection | None:
        """The last connection given back that the other side hasn't closed meanwhile."""
        while self._idle:
            connection = self._idle.pop().connection
            if not connection.is_stale():
                return connection
            await connection.aclose()
        return None

    async def release(self, connection: Connection) -> None:
        """Keeps a connection whose answer was read to its end, and closes another."""
        if connection.may_be_kept():
            self._idle.append(_Idle(connection, trio.current_time()))
        else:
            await connection.aclose()

    async def _close_aged(self) -> None:
        oldest = trio.current_time() - self._idle_limit
        while self._idle and self._idle[0].since < oldest:
            await self._idle.popleft().connection.aclose()

    async def aclose(self) -> None:
        """Closes what lies idle; connections in use close with their answers."""
        while self._idle:
            await self._idle.pop().connection.aclose()


def _reason(error: BaseException) -> str:
    """Why no connection came about, and where: trio puts one in the message, one in the cause."""
    cause = error.__cause__
    if isinstance(cause, BaseExceptionGroup):  # of several addresses
        cause = cause.exceptions[0]
    return ": ".join(said for said in (str(error), str(cause or "")) if said)


class _Body(httpx.AsyncByteStream):
    """An answer's body, which gives its connection back at the end."""

    def __init__(self, transport: LifoTransport, connection: Connection) -> None:
        self._transport = transport
        self._connection: Connection | None = connection

    def __aiter__(self) -> "_Body":
        return self

    async def __anext__(self) -> bytes:
        connection = self._connection
        if connection is None:
            raise StopAsyncIteration
        data = await connection.next_data()
        if data is None:
            await self.aclose()
            raise StopAsyncIteration
        return data

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._transport.release(connection)
