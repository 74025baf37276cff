"""What can happen to an exchange, and what it asks for: two closed families of frozen values.

Events come in (something was answered, something was lost, time passed, the client left), effects
go out (submit this, read that, send these bytes).  Neither knows a socket or a clock.
"""

import attrs

from horde_core.native import HordeAnswer
from horde_core.workers import PoolView


@attrs.frozen
class Arrived:
    """The request is whole and checked; its time budget runs from here."""


@attrs.frozen
class PoolRead:
    """The view of models and workers; `fresh` when it was read for this request."""

    view: PoolView
    fresh: bool


@attrs.frozen
class PoolLost:
    """No view could be had: the Horde fails, and there is no older one."""


@attrs.frozen
class QuoteAnswered:
    """The dry run's answer, whatever its status."""

    answer: HordeAnswer


@attrs.frozen
class QuoteLost:
    """The dry run got no whole answer."""


@attrs.frozen
class SubmitAnswered:
    """The submit's answer, whatever its status."""

    answer: HordeAnswer


@attrs.frozen
class SubmitLost:
    """The submit got no whole answer; `opened` False proves that nothing reached the Horde."""

    opened: bool


@attrs.frozen
class StatusAnswered:
    """A status read's answer, whatever its status."""

    answer: HordeAnswer
    open_streams: int = 1
    """How many streams the front has open, which sets the pace of the text."""


@attrs.frozen
class StatusLost:
    """A status read got no whole answer."""


@attrs.frozen
class CancelAnswered:
    """The cancel's answer, whatever its status."""

    answer: HordeAnswer


@attrs.frozen
class CancelLost:
    """The cancel got no whole answer."""


@attrs.frozen(init=False)  # one an event, and an empty `__init__` takes as long as its chunk
class TimePassed:
    """The clock reached `Exchange.wake_at`, or may have."""


@attrs.frozen
class ClientGone:
    """The client closed its connection, or its sending side."""


@attrs.frozen
class Draining:
    """The process ends now: the grace period for open requests is over."""


Event = (
    Arrived
    | PoolRead
    | PoolLost
    | QuoteAnswered
    | QuoteLost
    | SubmitAnswered
    | SubmitLost
    | StatusAnswered
    | StatusLost
    | CancelAnswered
    | CancelLost
    | TimePassed
    | ClientGone
    | Draining
)


@attrs.frozen
class ReadPool:
    """Get a view of models and workers; `fresh` asks for one no older than this moment."""

    fresh: bool


@attrs.frozen
class Quote:
    """Submit `body` as a dry run."""

    body: bytes


@attrs.frozen
class Submit:
    """Submit `body`; a second one for the same exchange has the same `operation_key`."""

    body: bytes


@attrs.frozen
class ReadStatus:
    """Read the request's status now, with this query."""

    request_id: str
    query: str


@attrs.frozen
class Cancel:
    """Delete the request."""

    request_id: str


@attrs.frozen
class SendHead:
    """Send a status line and headers; bytes follow."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]


@attrs.frozen
class SendBytes:
    """Send these bytes of the body; `last` ends it."""

    data: bytes
    last: bool = False


Effect = ReadPool | Quote | Submit | ReadStatus | Cancel | SendHead | SendBytes
