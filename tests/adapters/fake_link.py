"""A network without sockets: whole HTTP over memory streams, so that time can be virtual.

It leans on what hypercorn asks of a socket stream, which is only used here.
"""

import socket
from typing import Any

import trio
import trio.testing


class _Socket:
    """As much of a socket as hypercorn looks at."""

    family = socket.AF_INET

    def __init__(self, peer_port: int) -> None:
        self._peer_port = peer_port

    def getpeername(self) -> tuple[str, int]:
        return "127.0.0.1", self._peer_port

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 80


class LinkStream(trio.abc.HalfCloseableStream):
    """One end of a link."""

    def __init__(self, stream: Any, peer_port: int) -> None:
        self._stream = stream
        self.socket = _Socket(peer_port)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        received: bytes | bytearray = await self._stream.receive_some(max_bytes)
        return received

    async def aclose(self) -> None:
        await self._stream.aclose()


class LinkListener(trio.abc.Listener[LinkStream]):
    """Accepts what `Network.connect` opens."""

    def __init__(self) -> None:
        self.opened, self._accepted = trio.open_memory_channel[LinkStream](1000)

    async def accept(self) -> LinkStream:
        return await self._accepted.receive()

    async def aclose(self) -> None:
        await self._accepted.aclose()


class Network:
    """Hosts by name. Transports connect through it."""

    def __init__(self) -> None:
        self._listeners: dict[str, LinkListener] = {}
        self.connections: dict[str, int] = {}
        """How often each host was connected to."""

    def listen(self, host: str) -> LinkListener:
        """Makes a host exist."""
        self._listeners[host] = LinkListener()
        return self._listeners[host]

    def close(self, host: str) -> None:
        """Makes a host refuse new connections."""
        del self._listeners[host]

    async def connect(self, host: str, port: int = 80, context: object = None) -> Any:
        """Opens a link to a host; raises OSError without one."""
        await trio.lowlevel.checkpoint()
        if host not in self._listeners:
            raise ConnectionRefusedError(f"no host {host}")
        self.connections[host] = port = self.connections.get(host, 0) + 1
        ours, theirs = trio.testing.memory_stream_pair()
        try:
            await self._listeners[host].opened.send(LinkStream(theirs, 10_000 + port))
        except trio.BrokenResourceError:
            raise ConnectionRefusedError(f"{host} is closed") from None
        return ours
