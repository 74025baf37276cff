"""Accepts connections, several in a round of trio's scheduler.

trio's own loop accepts one a round.  With 2,000 streams open a round takes tens of milliseconds,
and who came last waited nine seconds at the door (measured).
"""

import errno
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from horde_adapters import log

AT_ONCE = 8
"""So many in a round: enough for 400 a second in a process that is full, and few enough that other
processes on the same socket get theirs."""

PAUSE = 0.1
"""Seconds until another try when the process or the machine has no room for one more."""

_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})

Handler = Callable[[Any], Awaitable[None]]


async def accept_all(
    listener: trio.abc.Listener[Any], handler: Handler, connections: trio.Nursery
) -> None:
    """Starts `handler` in `connections` for whoever connects; closes when it is cancelled."""
    async with listener:
        while not isinstance(listener, trio.SocketListener):
            connections.start_soon(handler, await listener.accept())
        # trio's socket has no accept that doesn't wait; this is another handle on the same one.
        with socket.socket(fileno=os.dup(listener.socket.fileno())) as door:
            door.setblocking(False)
            while True:
                await trio.lowlevel.wait_readable(door)
                if not _accept_some(door, handler, connections):
                    await trio.sleep(PAUSE)


def _accept_some(door: socket.socket, handler: Handler, connections: trio.Nursery) -> bool:
    """Whether there was room for all."""
    for _ in range(AT_ONCE):
        try:
            accepted, _ = door.accept()
        except BlockingIOError:  # nobody is left, or another process was faster
            return True
        except OSError as error:
            if error.errno in _NO_ROOM:
                log.fault("no room for a connection", error)
                return False
            continue  # who knocked has gone
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(accepted))
        connections.start_soon(handler, stream)
    return True
