"""Listening sockets of our own, for what hypercorn's configuration has no word for."""

import resource
import socket
from collections.abc import Sequence

import trio

from horde_adapters.settings import Limits

BACKLOG = 4096
"""hypercorn's 100 makes 1,000 connections at once take 8 s (SYN retransmits)."""


class PortTaken(Exception):  # noqa: N818 - the operator's word for it
    """The address can't be listened on."""


async def listen(host: str, port: int, limits: Limits) -> list[trio.SocketListener]:
    """Listens on every address of `host`; port 0 takes a free one, on the first address.

    Accepted sockets inherit what is set here.  TCP_USER_TIMEOUT has the kernel break a connection
    whose client reads nothing for that long: nothing else can end a send that hypercorn shields.
    Raises PortTaken.
    """
    try:
        listeners = await trio.open_tcp_listeners(port, host=host, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PortTaken(f"can't listen on {host} port {port}: {reason}") from error
    if port == 0:
        for spare in listeners[1:]:
            await spare.aclose()
        del listeners[1:]
    for listener in listeners:
        listener.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux only
            listener.socket.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(limits.stall_time * 1000)
            )
    return listeners


def authority(listeners: Sequence[trio.SocketListener]) -> str:
    """`host:port` of the first address, as it stands in a URL."""
    host, port, *_ = listeners[0].socket.getsockname()
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def raise_descriptor_limit() -> None:
    """Each stream holds a descriptor, each call another: the usual 1,024 are some 900 streams."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
