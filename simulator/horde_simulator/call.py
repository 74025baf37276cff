"""A request to the world and what it answers, as values: tests call, adapters carry over HTTP."""

import attrs


@attrs.frozen
class Call:
    """One HTTP request. `path` is percent-decoded and starts with `/api/v2` or `/_sim`."""

    method: str
    path: str
    query: str = ""
    """The raw query string, without `?`."""
    headers: tuple[tuple[str, str], ...] = ()
    """Names in lower case."""
    body: bytes = b""
    address: str = "127.0.0.1"
    """The caller's address, for limits that count by address."""


@attrs.frozen
class Answer:
    """One HTTP response, and how a fault distorts its delivery."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    delay: float = 0.0
    """Seconds that the answer is held back (a slow Horde)."""
    cut: int | None = None
    """Bytes of the whole response after which the connection is cut; 0 sends nothing at all."""


@attrs.frozen
class ImageFetch:
    """Instead of an answer: the world needs these URLs fetched before it can go on.

    Whoever carries the call fetches each (2 s to connect, 2 s to read, at most 3 redirects, public
    addresses only, at most 5 MiB) and hands the results to `World.resume` with the ticket.
    """

    ticket: int
    urls: tuple[str, ...]


@attrs.frozen
class FetchedImage:
    """What a fetch brought: the bytes, or why there are none (a word for the error message)."""

    data: bytes | None
    reason: str | None = None
