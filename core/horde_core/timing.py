"""All that an exchange counts in seconds or in tries."""

from typing import Literal

import attrs

from horde_core.pacing import Pace

KeepaliveStyle = Literal["comment", "chunk", "off"]


@attrs.frozen(repr=False)
class Timing:
    """A deployment sets these; the defaults are the contract's (sections 9 and 10)."""

    stream_budget: float = 600.0
    whole_budget: float = 280.0
    """Node's fetch drops a request that has no headers after 300 s, and its users ask again."""
    grace: float = 15.0
    """How long a request may have no eligible worker."""
    poll_interval: float = 1.1
    """The Horde allows 60 reads a minute of one request."""
    slowest_poll: float = 3.0
    """Between reads of a request that waits far back in the queue."""
    read_failure_limit: float = 60.0
    """How long reads may fail in a row."""
    slowest_retry: float = 10.0
    keepalive_interval: float = 5.0
    keepalive_style: KeepaliveStyle = "comment"
    cancel_tries: int = 3
    pace: Pace = attrs.field(factory=Pace)
