"""The life of one client request: events in, effects out (the manner of h11).

The exchange holds no socket and no clock.  Whoever drives it performs its effects, tells it what
came of them with the time of the moment, and tells it that time passed when `wake_at` is reached.
All waiting is decided here: grace, budget, keepalives, backoff, pacing, when to cancel
(contract section 9, in its steps).  State changes are in `horde_core.lifecycle`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from horde_core import endings, events
from horde_core.availability import Outlook, unserved
from horde_core.cancellation import Cancellation
from horde_core.chat import ChatRequest
from horde_core.errors import Refusal
from horde_core.events import Effect, Quote, ReadPool, ReadStatus, Submit
from horde_core.horde_errors import faulted, refused_submit
from horde_core.lifecycle import TABLE, State, WrongEvent, next_state
from horde_core.native import Receipt, Status, UnreadableAnswer, read_quote, read_status
from horde_core.polling import NEVER, Polling
from horde_core.relay import Diverged, Relay
from horde_core.reply import read_reply
from horde_core.response import Phase, Response
from horde_core.standing import Standing, standing, standing_at_cancel
from horde_core.submission import Submission, without_contents
from horde_core.timing import Timing


class Exchange:
    """One request's life. `submit` and `quote` are the native bodies that it may send.

    `created` is the reply's time stamp in Unix seconds, `trace_id` what `x-request-id` says until
    the Horde gives an id.
    """

    def __init__(
        self,
        request: ChatRequest,
        *,
        submit: bytes,
        quote: bytes,
        created: int,
        trace_id: str,
        timing: Timing,
    ) -> None:
        self.state = State.NEW
        self.request = request
        self.receipt: Receipt | None = None
        self.status: Standing | None = None
        """What the last status that could be read told."""
        self.wake_at = NEVER
        """When to tell TimePassed; infinity while only an answer can move it on."""
        self.response = Response(
            request, created=created, trace_id=trace_id, style=timing.keepalive_style
        )
        self._quote = quote
        self._created = created
        self._timing = timing
        self._relay = Relay(
            request.n, show_reasoning=request.horde.include_reasoning, pace=timing.pace
        )
        self._submission = Submission(request, submit)
        self._cancellation = Cancellation(timing)
        self._polling = Polling(timing)
        self._budget = timing.stream_budget if request.stream else timing.whole_budget
        self._deadline = NEVER
        self._outlook = Outlook(timing.grace)
        self._withheld: Refusal | None = None
        """What the client is told once the Horde has answered the job's cancelling."""
        self._quiet_until = NEVER
        """When a stream has been silent for so long that a keepalive is due."""
        self._effects: list[Effect] = []

    def handle(self, event: events.Event, now: float) -> list[Effect]:
        """Takes an event at `now` (seconds on the driver's clock) and returns what to do.

        Raises WrongEvent, and changes nothing, for an event that can't happen in this state.
        """
        kind = type(event)
        handler = _HANDLERS.get((self.state, kind))
        if handler is None:
            raise WrongEvent(f"{kind.__name__} in state {self.state.value}")
        outcome = handler(self, event, now)
        self.state = next_state(self.state, kind, outcome)
        self.wake_at = self._next_wake()
        effects, self._effects = self._effects, []
        return effects

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do, neither for the client nor at the Horde."""
        return self.state is State.ENDED

    def _next_wake(self) -> float:
        state = self.state
        if state is State.WAITING or state is State.READING:
            soonest = self._relay.next_due
            if self._quiet_until < soonest:
                soonest = self._quiet_until
            if self._polling.next_read < soonest:
                soonest = self._polling.next_read
            return soonest if soonest < self._deadline else self._deadline
        if state is State.CANCELLING:
            return min(self._cancellation.next_try, self._deadline if self._withheld else NEVER)
        return self._deadline if state in _WITHOUT_RECEIPT else NEVER

    # Before the submit ------------------------------------------------------------------------

    def _arrived(self, _: events.Arrived, now: float) -> str:
        self._deadline = now + self._budget
        self._effects.append(ReadPool(fresh=False))
        return "admitted"

    def _pool_read(self, event: events.PoolRead, _: float) -> str:
        refusal = unserved(self.request, event.view)
        if refusal is not None:
            if event.fresh:
                return self._refuse(refusal)
            self._effects.append(ReadPool(fresh=True))  # a cached "no" is never final
            return "doubted"
        if self.request.horde.max_kudos is not None:
            self._effects.append(Quote(self._quote))
            return "capped"
        self._effects.append(self._submission.send())
        return "served"

    def _horde_is_down(self, _: events.Event, __: float) -> str:
        return self._refuse(endings.horde_unreachable())

    def _quoted(self, event: events.QuoteAnswered, _: float) -> str:
        cap = self.request.horde.max_kudos
        assert cap is not None
        try:
            if event.answer.status != 200:
                refusal = refused_submit(self.request, event.answer, held=False)
                return self._refuse(attrs.evolve(refusal, held=False))  # it queues nothing
            kudos = read_quote(event.answer.body).kudos
        except UnreadableAnswer as error:
            return self._refuse(endings.quote_unreadable(str(error)))
        if kudos > cap:
            return self._refuse(endings.above_cap(kudos, cap))
        self._effects.append(self._submission.send())
        return "affordable"

    # The submit -------------------------------------------------------------------------------

    def _submit_answered(self, event: events.SubmitAnswered, _: float) -> str:
        found = self._submission.answered(event.answer)
        if not isinstance(found, Receipt):
            return self._again_or_refused(found)
        self.receipt = found
        self.response.trace_id = found.id
        self._let_go_of_the_submit()
        self._cancel() if self.state is State.ABANDONED else self._read()
        return "accepted"

    def _let_go_of_the_submit(self) -> None:
        """A submit with images is megabytes, and the job may run for minutes."""
        del self._submission, self._quote
        self.request = without_contents(self.request)

    def _submit_lost(self, event: events.SubmitLost, _: float) -> str:
        return self._again_or_refused(self._submission.lost(opened=event.opened))

    def _again_or_refused(self, found: Submit | Refusal) -> str:
        if isinstance(found, Refusal):
            return self._refuse(found)
        self._effects.append(found)
        return "resent"

    # Following the job ------------------------------------------------------------------------

    def _status_answered(self, event: events.StatusAnswered, now: float) -> str:
        answer = event.answer
        if answer.status == 404:
            self._refuse(endings.request_not_found())
            return "gone"
        try:
            if answer.status != 200:
                raise UnreadableAnswer(f"status {answer.status}")
            status = read_status(answer.body)
            if status.done and not status.faulted and not status.cancelled:
                return self._done(status)
        except UnreadableAnswer:
            # Every answer of a limited route has Retry-After; only these two mean it.
            return self._unread(now, answer.retry_after() if answer.status in (429, 503) else None)
        self.status = standing(status)
        if status.faulted or status.cancelled:
            assert self.receipt is not None
            cancelled = not status.faulted
            self._refuse(faulted(self.receipt.id, status.last_refusal, cancelled=cancelled))
            return "finished"
        budget_left = self._deadline - now
        refusal = self._outlook.refusal(self.request, status, now, budget_left=budget_left)
        if refusal is not None:
            return self._cancel_and_refuse(refusal)
        return self._alive(event, status, now)

    def _done(self, status: Status) -> str:
        """Ends with the reply. Raises UnreadableAnswer when the status lacks a generation."""
        generations = sorted(status.generations, key=lambda generation: generation.index)
        if [generation.index for generation in generations] != list(range(self.request.n)):
            raise UnreadableAnswer("the status is done without all its generations")
        assert self.receipt is not None
        self.status = standing(status)
        try:
            rest = self._relay.finish(generations)
        except Diverged as divergence:
            self._refuse(endings.diverged(divergence))
            return "finished"
        reply = read_reply(self.request, self.receipt, status, generations, created=self._created)
        self._effects += self.response.finish(reply, rest)
        return "finished"

    def _alive(self, event: events.StatusAnswered, status: Status, now: float) -> str:
        if self.request.stream and self.response.phase is Phase.UNOPENED:
            self._effects += self.response.open(standing(status))
            self._quiet_until = now + self._timing.keepalive_interval
        if self.request.is_live:
            # Also without a post: that the reply starts over is told before its first words.
            try:
                self._relay.take(
                    status.progress, status.restarted, now=now, open_streams=event.open_streams
                )
            except Diverged as divergence:
                return self._refuse_and_cancel(endings.diverged(divergence))
            self._send_due_text(now)
        self._polling.succeeded(status, event.answer, now)
        return "alive"

    def _status_lost(self, _: events.StatusLost, now: float) -> str:
        return self._unread(now, None)

    def _unread(self, now: float, retry_after: float | None) -> str:
        """A read that told nothing: again after a growing pause, for a limited time."""
        return "unread" if self._polling.failed(now, retry_after) else self._give_up_reading()

    def _give_up_reading(self) -> str:
        self._refuse_and_cancel(endings.status_lost(self._timing.read_failure_limit))
        return "lost"

    def _read(self) -> None:
        assert self.receipt is not None
        query = self._relay.tail() if self.request.is_live else ""
        self._polling.sent()
        self._effects.append(ReadStatus(self.receipt.id, query))

    # Time -------------------------------------------------------------------------------------

    def _time_before_submit(self, _: events.TimePassed, now: float) -> str:
        if now < self._deadline:
            return "in time"
        self._refuse(self._timeout(held=self.state is State.SUBMITTING))
        return "timeout"

    def _time_passed(self, _: events.TimePassed, now: float) -> str:
        if now >= self._deadline:
            self._cancel_and_refuse(self._timeout(held=True))
            return "timeout"
        self._send_due_text(now)
        if now >= self._quiet_until:
            assert self.status is not None
            self._effects += self.response.keepalive(self.status)
            self._quiet_until = now + self._timing.keepalive_interval
        if now < self._polling.next_read:
            return "in time"
        if self._polling.is_lost(now):
            return self._give_up_reading()
        self._read()
        return "read due"

    def _send_due_text(self, now: float) -> None:
        pieces = self._relay.due(now)
        if pieces:
            assert self._relay.served is not None
            self._effects.append(self.response.text(pieces, self._relay.served))
            self._quiet_until = now + self._timing.keepalive_interval

    def _timeout(self, *, held: bool) -> Refusal:
        return endings.timeout(self._budget, held=held)

    # Leaving ----------------------------------------------------------------------------------

    def _left_before_submit(self, _: events.ClientGone, __: float) -> str:
        self.response.abandon()
        return "left"

    def _left(self, _: events.ClientGone, __: float) -> str:
        self.response.abandon()
        self._cancel()
        return "left"

    def _drained_before_submit(self, _: events.Draining, __: float) -> str:
        self._refuse(endings.draining(held=self.state is State.SUBMITTING))
        return "drained"

    def _drained(self, _: events.Draining, __: float) -> str:
        self._refuse_and_cancel(endings.draining(held=True))
        return "drained"

    def _cancel(self) -> None:
        assert self.receipt is not None
        self._effects.append(self._cancellation.send(self.receipt.id))

    def _cancel_answered(self, event: events.CancelAnswered, now: float) -> str:
        self._tell_withheld()
        self.status = standing_at_cancel(event.answer) or self.status
        return "again" if self._cancellation.answered(event.answer, now) else "cancelled"

    def _cancel_lost(self, _: events.CancelLost, now: float) -> str:
        self._tell_withheld()
        return "again" if self._cancellation.failed(now) else "given up"

    def _time_to_cancel(self, _: events.TimePassed, now: float) -> str:
        if now >= self._deadline:  # a Horde that doesn't answer the cancel costs no more time
            self._tell_withheld()
        if now < self._cancellation.next_try:
            return "in time"
        self._cancel()
        return "again"

    def _left_too_late(self, _: events.ClientGone, __: float) -> str:
        self.response.abandon()
        return "ignored"

    def _drained_too_late(self, _: events.Draining, __: float) -> str:
        self._tell_withheld()
        return "ignored"

    def _ignored(self, _: events.Event, __: float) -> str:
        return "ignored"

    # Saying no --------------------------------------------------------------------------------

    def _refuse(self, refusal: Refusal) -> str:
        if self.receipt is not None:
            known: dict[str, Any] = {"request_id": self.receipt.id, **refusal.metadata}
            refusal = attrs.evolve(refusal, metadata=known)
        self._effects += self.response.refuse(refusal)
        return "refused"

    def _refuse_and_cancel(self, refusal: Refusal) -> str:
        self._refuse(refusal)
        self._cancel()
        return "refused"

    def _cancel_and_refuse(self, refusal: Refusal) -> str:
        """The job goes first (contract section 9, step 5); an open stream is told at once."""
        if self.response.phase is Phase.OPEN:
            return self._refuse_and_cancel(refusal)
        self._cancel()
        self._withheld = refusal
        return "refused"

    def _tell_withheld(self) -> None:
        refusal, self._withheld = self._withheld, None
        if refusal is not None:
            self._refuse(refusal)


Handler = Callable[[Exchange, Any, float], str]

_WITHOUT_RECEIPT: Sequence[State] = (State.LOOKING_UP, State.QUOTING, State.SUBMITTING)

_HANDLERS: dict[tuple[State, type[events.Event]], Handler] = {
    (State.NEW, events.Arrived): Exchange._arrived,
    (State.LOOKING_UP, events.PoolRead): Exchange._pool_read,
    (State.LOOKING_UP, events.PoolLost): Exchange._horde_is_down,
    (State.QUOTING, events.QuoteAnswered): Exchange._quoted,
    (State.QUOTING, events.QuoteLost): Exchange._horde_is_down,
    **{(state, events.TimePassed): Exchange._time_before_submit for state in _WITHOUT_RECEIPT},
    **{(state, events.ClientGone): Exchange._left_before_submit for state in _WITHOUT_RECEIPT},
    **{(state, events.Draining): Exchange._drained_before_submit for state in _WITHOUT_RECEIPT},
    (State.SUBMITTING, events.SubmitAnswered): Exchange._submit_answered,
    (State.SUBMITTING, events.SubmitLost): Exchange._submit_lost,
    (State.ABANDONED, events.SubmitAnswered): Exchange._submit_answered,
    (State.ABANDONED, events.SubmitLost): Exchange._submit_lost,
    (State.READING, events.StatusAnswered): Exchange._status_answered,
    (State.READING, events.StatusLost): Exchange._status_lost,
    (State.READING, events.TimePassed): Exchange._time_passed,
    (State.READING, events.ClientGone): Exchange._left,
    (State.READING, events.Draining): Exchange._drained,
    (State.WAITING, events.TimePassed): Exchange._time_passed,
    (State.WAITING, events.ClientGone): Exchange._left,
    (State.WAITING, events.Draining): Exchange._drained,
    (State.CANCELLING, events.CancelAnswered): Exchange._cancel_answered,
    (State.CANCELLING, events.CancelLost): Exchange._cancel_lost,
    (State.CANCELLING, events.TimePassed): Exchange._time_to_cancel,
    (State.CANCELLING, events.ClientGone): Exchange._left_too_late,
    (State.CANCELLING, events.Draining): Exchange._drained_too_late,
}
_HANDLERS = {
    (state, event): Exchange._ignored
    for state, row in TABLE.items()
    for event, outcomes in row.items()
    if "ignored" in outcomes
} | _HANDLERS
