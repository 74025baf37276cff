"""Raw connections to a real server, for what no HTTP client does, with bounded waits."""

import json
import socket
import time
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from adapters.stack import chat_body
from horde_adapters.background import SimulatedHordeServer

LONGEST = 15.0
"""Seconds after which a wait on a busy machine counts as failed."""


def connect(url: str) -> socket.socket:
    """A connection to the server of a URL."""
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=LONGEST)


def post(*headers: str, path: str = "/v1/chat/completions", **keys: Any) -> bytes:
    """The bytes of a chat request, with further header lines."""
    body = json.dumps(chat_body(**keys)).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: front", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def read_until(connection: socket.socket, marker: bytes) -> bytes:
    """Everything up to and with the marker, and what came in the same piece."""
    seen = b""
    while marker not in seen:
        piece = connection.recv(65536)
        assert piece, f"closed before {marker!r} came: {seen[-500:]!r}"
        seen += piece
    return seen


def read_to_end(connection: socket.socket) -> bytes:
    """Everything until the other side closes."""
    seen = b""
    while piece := connection.recv(65536):
        seen += piece
    return seen


def wait_for(happened: Callable[[], bool]) -> None:
    """Waits until something has happened in the server; fails after a bound."""
    give_up = time.monotonic() + LONGEST
    while not happened():
        assert time.monotonic() < give_up, "it didn't happen"
        time.sleep(0.01)


def cancels(horde: SimulatedHordeServer) -> int:
    """How many DELETEs the Horde got."""
    return sum(call["method"] == "DELETE" for call in horde.journal())


def submits(horde: SimulatedHordeServer) -> int:
    """How many submits the Horde got."""
    return sum(call["path"].endswith("/chat/async") for call in horde.journal())


def requests(horde: SimulatedHordeServer) -> list[dict[str, Any]]:
    """The requests that the Horde knows."""
    with urllib.request.urlopen(horde.url.removesuffix("/api/v2") + "/_sim/state") as answer:
        known: list[dict[str, Any]] = json.load(answer)["requests"]
    return known
