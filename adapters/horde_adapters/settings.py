"""What a deployment sets, as frozen values. Times are in seconds, sizes in bytes.

Without a repr: one of them is a secret, and `--print-config` is what shows the rest.
"""

from ipaddress import IPv4Network, IPv6Network
from typing import Literal

import attrs

from horde_core.timing import Timing

DEFAULT_HORDE = "https://aihorde.net"


@attrs.frozen(repr=False)
class Settings:
    """One front. The defaults are the contract's, or chosen for the reason given."""

    horde_url: str = DEFAULT_HORDE
    """With or without `/api/v2`."""
    timing: Timing = attrs.field(factory=Timing)
    context_length: int = 4096
    """Tokens, prompt and reply together, of a request that names none."""
    drop_parameters: tuple[str, ...] = ()
    pool_age: float = 10.0
    """How old the view of models and workers may be before it is read anew."""
    ready_age: float = 120.0
    """How old the last answer of the Horde may be for `/readyz`."""
    playground: bool = False
    """Whether `/` is the chat page; else it is a pointer at the docs."""
    most_requests: int = 1000
    """Open chat requests; beyond, `overloaded`."""
    body_cap: int = 20 * 1024 * 1024
    body_pause: float = 20.0
    """Longest silence within a body."""
    body_time: float = 120.0
    """Longest time for a whole body."""
    grace: float = 20.0
    """How long open requests may go on after SIGTERM."""
    service_authorization: str = ""
    """What the Horde knows this service by, sent as `Proxy-Authorization`; empty: not at all."""
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Whose word on a client's address is taken."""
    address_header: Literal["x-forwarded-for", "forwarded"] = "x-forwarded-for"
    """Where they say it. Most proxies pass the other one on as a client sent it."""
    workers: int = 1
    """Processes that this front is one of: what is bounded for all of them is shared out."""
    serve_metrics: bool = True
    """Whether `/metrics` is a route of the front itself."""


@attrs.frozen(repr=False)
class Limits:
    """What one listening server allows each connection."""

    header_time: float = 20.0
    """From a request's first byte to the end of its headers."""
    idle_time: float = 65.0
    """Between requests: above nginx's 60 s for kept upstream connections, so that it closes."""
    stall_time: float = 30.0
    """How long sent bytes may stay unread (TCP_USER_TIMEOUT) until the client counts as gone."""
    send_buffer: int = 128 * 1024
    """What the kernel holds for a client that reads slowly; by itself it would take 4 MiB."""
    pipelined: int = 64 * 1024
    """Bytes kept of requests that follow one still being answered."""
    largest_invited: int = 64 * 1024 * 1024
    """A longer body isn't asked for (`Expect: 100-continue`): whoever serves will refuse it."""


@attrs.frozen(repr=False)
class Deployment:
    """All that the command `serve` takes: where it listens, what it tells, what it runs."""

    host: str = "127.0.0.1"
    port: int = 8000
    metrics: str = "on"
    """`on`: a route of the front; `off`; or an address of its own, `host:port`."""
    log_format: Literal["console", "json"] = "console"
    log_level: Literal["info", "warning", "error"] = "info"
    settings: Settings = attrs.field(factory=Settings)
    limits: Limits = attrs.field(factory=Limits)
