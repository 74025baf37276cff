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

CROWD = 100
"""For each so many open connections one more is let in in a round: rounds are long when many are
open, and with few open, other processes on the same socket are to get theirs (two workers carried
1.5 times what one did, with eight at once, and 1.9 times with one)."""

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
    for _ in range(1 + len(connections.child_tasks) // CROWD):
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
