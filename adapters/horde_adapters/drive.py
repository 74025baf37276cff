"""Runs one exchange on trio: its effects become calls and bytes, what comes of them its events.

Three kinds of task, in one nursery.  The request's own task is writer and timer: it sends what the
outbox holds, and tells the exchange that time passed (`tell_time` does while a send is held up).
The watcher waits for the client to leave, and acts on it even while the writer is stuck in a send,
which hypercorn lets nobody cancel.  Each call to the Horde is a task of its own; those that change
something there (submit, cancel) are shielded, so that the server's cancelling of the request can't
leave a job behind.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import trio

from horde_adapters import log
from horde_adapters.horde import Caller, HordeClient, Lost
from horde_adapters.metrics import Metrics
from horde_adapters.phases import Phases
from horde_adapters.pool import Pool
from horde_adapters.ticker import SLOT, Ticker
from horde_core import events, sse
from horde_core.errors import refuse
from horde_core.events import Effect, SendBytes, SendHead
from horde_core.exchange import Exchange
from horde_core.lifecycle import State
from horde_core.native import UnreadableAnswer, read_receipt

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
HangUp = Callable[[], Awaitable[None]]

LONGEST_SEND = 120.0
"""Seconds that one send may be held up by a client that reads hardly anything.  One that reads
nothing at all is found out sooner over HTTP/1.1 (TCP_USER_TIMEOUT), and over HTTP/2 only so."""

_TIME_PASSED = events.TimePassed()
_NOTHING_SUBMITTED = (State.NEW, State.LOOKING_UP, State.QUOTING)


class Drive:
    """One request on its way. `open_streams` tells how many live streams the front has open."""

    def __init__(
        self,
        exchange: Exchange,
        caller: Caller,
        *,
        horde: HordeClient,
        pool: Pool,
        ticker: Ticker,
        open_streams: Callable[[], int],
        metrics: Metrics,
    ) -> None:
        self.exchange = exchange
        self.began = trio.current_time()
        self.phases = Phases(metrics, self.began, stream=exchange.request.stream)
        self.first_byte_at: float | None = None
        self.client_left = False
        self.failed = False
        self._caller = caller
        self._horde = horde
        self._pool = pool
        self._ticker = ticker
        self._open_streams = open_streams
        self._count_chunk = metrics.chunks.inc if exchange.request.stream else None
        self._nursery: trio.Nursery
        self._shields: set[trio.CancelScope] = set()
        self._aborted = False
        self._wake = trio.Event()
        self._head: SendHead | None = None
        self._head_is_out = False
        self._sending_since: float | None = None
        self._writing = trio.CancelScope()
        self._data: list[bytes] = []
        self._is_over = False
        """Nothing is left to be done but to send what is there."""
        self._last = False
        self._is_whole = False
        """The response's last bytes were handed over: what the client does now is its affair."""

    async def run(self, receive: Receive, send: Send, hang_up: HangUp | None = None) -> None:
        """Serves the request to its end, the cancelling of its job included.

        `hang_up` breaks the client's connection, where the server offers that.
        """
        self._hang_up = hang_up
        async with trio.open_nursery() as self._nursery:
            self._nursery.start_soon(self._watch, receive)
            self.deliver(events.Arrived())
            try:
                with self._writing:
                    await self._write(send)
                while not self._is_over:  # the writer was cancelled, as its client is lost
                    await self._wait()
            finally:
                if not self._is_over:  # the server cancels this task: nobody gets the reply
                    self.deliver(events.ClientGone())
            self._nursery.cancel_scope.cancel()

    def deliver(self, event: events.Event) -> None:
        """Tells the exchange and performs what it asks for; never waits."""
        if self.failed:
            self._deliver_after_failure(event)
            return
        self._tell(event, trio.current_time())
        self._wake.set()

    def _tell(self, event: events.Event, now: float) -> None:
        try:
            effects = self.exchange.handle(event, now)
            self.phases.follow(self.exchange, now)
            self._perform(effects)
            self._is_over = self.exchange.ended
        except Exception as error:
            self._fail(error)
            if self.exchange.receipt is None:
                self._deliver_after_failure(event)

    def tell_time(self) -> None:
        """Does the writer's other task, the timer's, while a send of it is held up."""
        since, now = self._sending_since, trio.current_time()
        if since is None:
            return
        if now - since > LONGEST_SEND and not self._writing.cancel_called:
            self._lose_client()
            self._writing.cancel()
            if self._hang_up is not None:
                self._nursery.start_soon(self._hang_up)
        elif not self._is_over and self.exchange.wake_at <= now:
            self.deliver(_TIME_PASSED)

    def abort(self) -> None:
        """Breaks off what was shielded: the process ends now."""
        self._aborted = True
        for scope in self._shields:
            scope.cancel()
        self._nursery.cancel_scope.cancel()

    # Writing ----------------------------------------------------------------------------------

    async def _write(self, send: Send) -> None:
        while True:
            if self._head is not None or self._data or self._last:
                await self._flush(send)
            elif self._is_over:
                return
            else:
                await self._wait()

    async def _wait(self) -> None:
        """Until something is to be sent or decided, or the exchange's time has come."""
        self._wake = wake = trio.Event()
        at = self.exchange.wake_at
        if at < float("inf"):
            self._ticker.ring(wake, at)
        await wake.wait()
        now = trio.current_time()
        if not self._is_over and self.exchange.wake_at <= now:
            self._tell(_TIME_PASSED, now)
            if not self._data and self.exchange.wake_at <= now:
                # It has nothing to do after all; never spin on that.
                await trio.sleep(SLOT)

    async def _flush(self, send: Send) -> None:
        """One send for all that is due: what gathered while a send was held up is merged."""
        head = self._head
        if head is not None:
            self._head = None
            self._head_is_out = True
            self.first_byte_at = trio.current_time()
            headers = list(head.headers)
            self._sending_since = self.first_byte_at
            await send({"type": "http.response.start", "status": head.status, "headers": headers})
            self._sending_since = None
        data, self._data = b"".join(self._data), []
        last, self._last = self._last, False
        if self.client_left or not (data or last or head is not None):
            return
        self._is_whole = last
        self._sending_since = trio.current_time()
        await send({"type": "http.response.body", "body": data, "more_body": not last})
        self._sending_since = None

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._lose_client()

    def _lose_client(self) -> None:
        if not self._is_whole:
            self.client_left = True
            self._head, self._data, self._last = None, [], False
        self.deliver(events.ClientGone())

    # Performing -------------------------------------------------------------------------------

    def _perform(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case SendHead():
                    self._head = None if self.client_left else effect
                case SendBytes(data, last):
                    if not self.client_left:
                        self._data.append(data)
                        self._last = last
                        if self._count_chunk is not None and not data.startswith(b":"):
                            self._count_chunk(data.count(b"\n\n"))
                case events.ReadStatus(request_id, query):
                    self._start(self._read_status, request_id, query)
                case events.ReadPool(fresh):
                    view = None if fresh else self._pool.at_hand()
                    if view is None:
                        self._start(self._read_pool, fresh)
                    else:
                        self.deliver(events.PoolRead(view, fresh=False))
                case events.Quote(body):
                    self._start(self._quote, body)
                case events.Submit(body):
                    self._start(self._submit, body)
                case events.Cancel(request_id):
                    self._start(self._cancel, request_id)

    def _start(self, call: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        self._nursery.start_soon(self._guarded, call, *arguments)

    async def _guarded(self, call: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        """A fault in a task is a fault of the request: never a stream that just ends."""
        try:
            await call(*arguments)
        except Exception as error:
            self._fail(error)
            self._wake.set()

    async def _read_pool(self, fresh: bool) -> None:
        try:
            event: events.Event = events.PoolRead(await self._pool.view(fresh=fresh), fresh)
        except Lost:
            event = events.PoolLost()
        self.deliver(event)

    async def _quote(self, body: bytes) -> None:
        try:
            event: events.Event = events.QuoteAnswered(await self._horde.quote(body, self._caller))
        except Lost:
            event = events.QuoteLost()
        self.deliver(event)

    async def _submit(self, body: bytes) -> None:
        event: events.Event = events.SubmitLost(opened=True)
        with self._shield():
            try:
                event = events.SubmitAnswered(await self._horde.submit(body, self._caller))
            except Lost as lost:
                event = events.SubmitLost(lost.opened)
        self.deliver(event)

    async def _read_status(self, request_id: str, query: str) -> None:
        try:
            answer = await self._horde.status(request_id, query, self._caller)
            event: events.Event = events.StatusAnswered(answer, self._open_streams())
        except Lost:
            event = events.StatusLost()
        self.deliver(event)

    async def _cancel(self, request_id: str) -> None:
        event: events.Event = events.CancelLost()
        with self._shield():
            try:
                event = events.CancelAnswered(await self._horde.cancel(request_id, self._caller))
            except Lost:
                event = events.CancelLost()
        self.deliver(event)

    @contextmanager
    def _shield(self) -> Iterator[None]:
        """A scope that only `abort` cancels; the calls in it are bounded."""
        with trio.CancelScope(shield=not self._aborted) as scope:
            self._shields.add(scope)
            try:
                yield
            finally:
                self._shields.discard(scope)

    # Failing ----------------------------------------------------------------------------------

    def _fail(self, error: Exception) -> None:
        """A fault of the front: the client is told, the job is cancelled, the log knows where."""
        if self.failed:
            log.fault("request failed again", error, id=self.exchange.response.trace_id)
            return
        self.failed = self._is_over = True
        log.fault("request failed", error, id=self.exchange.response.trace_id)
        held = self.exchange.state not in _NOTHING_SUBMITTED
        refusal = refuse("internal_error", "The front failed at this request.", held=held)
        if self.client_left or self._is_whole:
            pass
        elif self._head_is_out and self.exchange.request.stream:
            self._data.append(sse.event(refusal.envelope()) + sse.DONE)
            self._last = True
        elif not self._head_is_out:
            body = refusal.body()
            length = (b"content-length", str(len(body)).encode())
            identity = (b"x-request-id", self.exchange.response.trace_id.encode())
            self._head = SendHead(500, (*refusal.answer_headers(), length, identity))
            self._data, self._last = [body], True
        receipt = self.exchange.receipt
        if receipt is not None and not self.exchange.ended:
            self._start(self._cancel, receipt.id)

    def _deliver_after_failure(self, event: events.Event) -> None:
        """Of what comes in late only the submit's answer matters: a job to cancel."""
        if isinstance(event, events.SubmitAnswered) and event.answer.status in (200, 202):
            try:
                receipt = read_receipt(event.answer.body)
            except UnreadableAnswer:
                return
            self._start(self._cancel, receipt.id)
