"""hypercorn's HTTP/1.1, made to notice that a client left while its request is being answered.

hypercorn 0.18 stops reading a connection when h11 says PAUSED, that is when bytes follow the
request (a stray CRLF, a pipelined request) or when the request offered an `Upgrade`, and so learns
of the client's leaving only after the response.  Here reading goes on: what comes early waits in
h11's buffer, up to a bound, until the response is out.

Offers to upgrade are passed over, as RFC 9110 7.8 allows: there is no WebSocket here, and HTTP/2
over cleartext is spoken with prior knowledge only (RFC 9113 3.1 withdrew the upgrade).
"""

import uuid
from http import HTTPStatus
from typing import Any

import h11
import trio
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol.h11 import H11Protocol

from horde_adapters.cors import with_cors
from horde_adapters.settings import Limits
from horde_core.errors import refuse

_BLANK_LINES = b"\r\n"
_PHRASES = {status.value: status.phrase.encode() for status in HTTPStatus}
_COMPLAINTS = {
    400: "The request isn't valid HTTP/1.1.",
    431: "The headers of the request are too long.",
}
_WITH_STATUS = (h11.Response, h11.InformationalResponse)


class _Connection(h11.Connection):
    """h11's server side; waiting for the response to end looks like waiting for data."""

    def __init__(self, largest_headers: int, largest_invited: int) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=largest_headers)
        self._largest_invited = largest_invited
        self._is_too_large = False

    def next_event(self) -> Any:
        """Raises RemoteProtocolError also for a body whose end two readers may see differently.

        h11 goes by the chunks and a proxy may go by the length, so what the one takes for one
        request would be two for the other (RFC 9112 6.3 allows to reject it).
        """
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if b"content-length" in names and b"transfer-encoding" in names:
                raise h11.RemoteProtocolError("both a length and chunks", error_status_hint=400)
            length = next(
                (value for name, value in event.headers if name == b"content-length"), b"0"
            )
            self._is_too_large = int(length) > self._largest_invited
        return h11.NEED_DATA if event is h11.PAUSED else event

    def receive_data(self, data: bytes) -> None:
        """Blank lines before a request are ignored (RFC 9112 2.2)."""
        if data and self.their_state is h11.IDLE and not self.trailing_data[0]:
            data = data.lstrip(_BLANK_LINES)
            if not data:
                return
        super().receive_data(data)

    def send(self, event: Any) -> Any:
        """With the reason phrase, which hypercorn leaves out and some clients show to their users
        (RFC 9110 15 names each)."""
        data = super().send(event)
        if data is not None and type(event) in _WITH_STATUS and not event.reason:
            phrase = _PHRASES.get(event.status_code, b"")
            return data.replace(b" \r\n", b" " + phrase + b"\r\n", 1)
        return data

    @property
    def they_are_waiting_for_100_continue(self) -> bool:
        """Nobody is invited to send a body that is refused for its length."""
        return super().they_are_waiting_for_100_continue and not self._is_too_large

    @property
    def is_busy(self) -> bool:
        """Whether a whole request is being answered."""
        return self.their_state not in (h11.IDLE, h11.SEND_BODY, h11.CLOSED, h11.ERROR)


class WatchfulH11(H11Protocol):
    """One connection. The limits come on top of hypercorn's own configuration."""

    connection: _Connection

    def __init__(self, *args: Any, limits: Limits) -> None:
        super().__init__(*args)
        self._limits = limits
        self.connection = self._new_connection()
        self._turn = trio.Lock()
        self._header_timer: trio.CancelScope | None = None

    def _new_connection(self) -> _Connection:
        return _Connection(self.config.h11_max_incomplete_size, self._limits.largest_invited)

    async def handle(self, event: Event) -> None:
        await super().handle(event)
        if isinstance(event, RawData):
            most = self._limits.pipelined
            while self.connection.is_busy and len(self.connection.trailing_data[0]) > most:
                await self.can_read.clear()
                await self.can_read.wait()
            self._time_headers()
        elif isinstance(event, Closed):
            self._stop_header_timer()

    async def _handle_events(self) -> None:
        # Two tasks come here: the reader, and the one that follows up on bytes that came early.
        async with self._turn:
            await super()._handle_events()

    async def _create_stream(self, request: h11.Request) -> None:
        self._stop_header_timer()
        headers = [(name, value) for name, value in request.headers if name != b"upgrade"]
        if len(headers) < len(request.headers):
            request = h11.Request(
                method=request.method,
                target=request.target,
                headers=headers,
                http_version=request.http_version,
            )
        await super()._create_stream(request)

    async def _check_protocol(self, event: h11.Request) -> None:
        if event.method == b"PRI":
            # HTTP/2 begins, and no request with it: hypercorn would wait for one for ever.
            await self.send(Updated(idle=True))
            await super()._check_protocol(event)

    async def _send_error_response(self, status_code: int) -> None:
        """What isn't HTTP is told so like anything else: envelope, CORS headers and id."""
        refusal = refuse("BadRequest", _COMPLAINTS.get(status_code, _COMPLAINTS[400]))
        body = refusal.body()
        headers = (
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            (b"x-request-id", uuid.uuid4().hex.encode()),
            *with_cors(refusal.answer_headers()),
            *self.config.response_headers("h11"),
        )
        await self._send_h11_event(h11.Response(status_code=status_code, headers=list(headers)))
        await self._send_h11_event(h11.Data(data=body))
        await self._send_h11_event(h11.EndOfMessage())

    async def _maybe_recycle(self) -> None:
        async with self._turn:
            await super()._maybe_recycle()
            early, _ = self.connection.trailing_data
            if self.connection.their_state is not h11.IDLE or not early:
                return
            # A new h11 connection, as blank lines can't be taken out of the old one's buffer.
            self.connection = self._new_connection()
            self.connection.receive_data(early)
        if self.connection.trailing_data[0]:
            self.task_group.spawn(self._follow_up)

    async def _follow_up(self) -> None:
        await self._handle_events()
        self._time_headers()

    def _time_headers(self) -> None:
        """Starts the time limit of a request whose headers have begun to arrive."""
        began = self.connection.their_state is h11.IDLE and bool(self.connection.trailing_data[0])
        if began and self._header_timer is None:
            self._header_timer = trio.CancelScope()
            self.task_group.spawn(self._limit_headers, self._header_timer)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    async def _limit_headers(self, scope: trio.CancelScope) -> None:
        with scope:
            await trio.sleep(self._limits.header_time)
        if not scope.cancelled_caught:
            await self.send(Closed())
