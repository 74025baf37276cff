"""hypercorn's connections under an accept loop of our own.

`hypercorn.trio.serve` ends the process when one connection's handler raises (an HTTP/2 body that
goes on after its answer is enough), doesn't return while a client refuses to read, and closes the
door before those who knock can be told to come back later.  Its connections are what we want.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Event, RawData
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.lifespan import Lifespan
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from horde_adapters import log
from horde_adapters.accepting import accept_all
from horde_adapters.http11 import WatchfulH11
from horde_adapters.settings import Limits

LAST_WORDS = 0.2
"""Seconds that connections get to close by themselves at the end."""

WRITES_IN_A_ROW = 16
"""A connection lets the others run after so many sends that didn't have to wait."""

App = Callable[..., Awaitable[None]]


async def serve(
    app: App,
    listeners: Sequence[trio.abc.Listener[Any]],
    limits: Limits,
    *,
    stop: Callable[[], Awaitable[None]],
    drain: Callable[[], Awaitable[None]],
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serves an ASGI app until `stop()` returns, then lets `drain()` end what is open, and closes.

    Connections are accepted until `drain()` is over, so that late comers get an answer.
    """
    config = _config(limits)
    wrapped = ASGIWrapper(app)
    context = WorkerContext(None)
    lifespan = Lifespan(wrapped, config, {})
    open_connections: set[_Connection] = set()
    async with trio.open_nursery() as lifespan_nursery:
        await lifespan_nursery.start(lifespan.handle_lifespan)
        await lifespan.wait_for_startup()
        async with trio.open_nursery() as closing:
            async with trio.open_nursery() as connections:
                handler = partial(
                    _Connection, wrapped, config, context, limits=limits, known=open_connections
                )
                async with trio.open_nursery() as accepting:
                    for listener in listeners:
                        accepting.start_soon(
                            accept_all,
                            listener,
                            lambda stream: handler(stream=stream).run(),
                            connections,
                        )
                    task_status.started()
                    await stop()
                    await drain()
                    accepting.cancel_scope.cancel()
                await context.terminated.set()
                closing.start_soon(_break_off_late, open_connections, connections.cancel_scope)
            closing.cancel_scope.cancel()
        await lifespan.wait_for_shutdown()


async def _break_off_late(connections: "set[_Connection]", scope: trio.CancelScope) -> None:
    """hypercorn shields its sends from cancelling, but not from a closed stream."""
    await trio.sleep(LAST_WORDS)
    for connection in tuple(connections):
        await connection.break_off()
    scope.cancel()


class _Connection(TCPServer):
    """One connection. A fault in it ends it alone."""

    def __init__(
        self,
        app: ASGIWrapper,
        config: Config,
        context: WorkerContext,
        *,
        stream: Any,
        limits: Limits,
        known: "set[_Connection]",
    ) -> None:
        # What a request finds in its scope's `state`.
        state = ConnectionState({"connection": self})
        super().__init__(app, config, context, state, stream)
        self._limits = limits
        self._known = known
        self._socket = stream.socket if isinstance(stream, trio.SocketStream) else None
        self._written_at_once = 0
        self._held: list[bytes] | None = None

    async def run(self) -> None:
        self._known.add(self)
        try:
            await super().run()
        except Exception as error:
            log.fault("connection failed", error)
        finally:
            self._known.discard(self)
            await trio.aclose_forcefully(self.stream)

    @property
    def protocol(self) -> ProtocolWrapper:
        """Set by hypercorn, which offers no other place to choose the HTTP/1.1 it speaks."""
        return self._protocol

    @protocol.setter
    def protocol(self, wrapper: ProtocolWrapper) -> None:
        if isinstance(wrapper.protocol, H11Protocol):
            wrapper.protocol = WatchfulH11(
                wrapper.app,
                wrapper.config,
                wrapper.context,
                wrapper.task_group,
                wrapper.state,
                wrapper.ssl,
                wrapper.client,
                wrapper.server,
                wrapper.send,
                limits=self._limits,
            )
        self._protocol = wrapper

    async def protocol_send(self, event: Event) -> None:
        """As hypercorn's, but for what the kernel takes at once, which is nearly always.

        A lock, a shielded scope and two checkpoints a send are most of what hypercorn spends on one
        (measured: 216 function calls, 40 this way), and needed only where a send has to wait.
        """
        if self._held is not None:
            if type(event) is RawData:
                self._held.append(event.data)
                return
            await self.release()
        if type(event) is RawData and self._socket is not None and not self.send_lock.locked():
            try:
                written = os.write(self._socket.fileno(), event.data)
            except OSError:  # full, or gone: the waiting way finds out which
                written = 0
            if written == len(event.data):
                self._written_at_once += 1
                if self._written_at_once % WRITES_IN_A_ROW == 0:
                    await trio.lowlevel.cancel_shielded_checkpoint()
                return
            event = RawData(data=event.data[written:])
        await super().protocol_send(event)

    async def _read_data(self) -> None:
        """As hypercorn's, which lets a connection that its client closed lie about, socket and all,
        until the time for idle ones is over."""
        await super()._read_data()
        await self.idle_task.stop()

    def hold(self) -> None:
        """Keeps what is sent from now on until `release`: a head, a body and its end go as one.

        Not for HTTP/2, where a send may have to wait for what the other side answers.
        """
        if self._held is None:
            self._held = []

    async def release(self) -> None:
        """Sends what was held."""
        held, self._held = self._held, None
        if held:
            await self.protocol_send(RawData(data=b"".join(held)))

    async def break_off(self, last: bytes = b"") -> None:
        """Sends some bytes as they are and closes, in the midst of whatever is going on."""
        if last:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                async with self.send_lock:
                    await self.stream.send_all(last)
        await trio.aclose_forcefully(self.stream)


def _config(limits: Limits) -> Config:
    config = Config()
    config.accesslog = None
    config.errorlog = None
    config.include_server_header = False
    config.keep_alive_timeout = limits.idle_time
    config.keep_alive_max_requests = 100_000
    return config
