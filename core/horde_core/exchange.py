"""The life of one client request: events in, effects out (the manner of h11).

The exchange holds no socket and no clock.  Whoever drives it performs its effects, tells it what
came of them with the time of the moment, and tells it that time passed when `wake_at` is reached.
All waiting is decided here: grace, budget, keepalives, backoff, pacing, when to cancel
(contract section 9, in its steps).  State changes are in `horde_core.lifecycle`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from horde_core import events
from horde_core.availability import (
    is_ineligible,
    lacking,
    no_eligible_worker,
    no_model_online,
    queue_unavailable,
)
from horde_core.cards import model_not_found
from horde_core.chat import ChatRequest
from horde_core.errors import Refusal, refuse
from horde_core.events import Cancel, Effect, Quote, ReadPool, ReadStatus, Submit
from horde_core.horde_errors import faulted, model_param, refused_submit
from horde_core.lifecycle import TABLE, State, WrongEvent, next_state
from horde_core.native import (
    HordeAnswer,
    Receipt,
    Status,
    UnreadableAnswer,
    read_quote,
    read_receipt,
    read_status,
)
from horde_core.relay import Diverged, Relay
from horde_core.reply import read_reply
from horde_core.response import KeepaliveStyle, Phase, Response
from horde_core.workers import PoolView


@attrs.frozen
class Timing:
    """All that is counted in seconds, or in tries. A deployment sets it; the defaults are the
    contract's."""

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
    slowest_retry: float = 10.0
    keepalive_interval: float = 5.0
    keepalive_style: KeepaliveStyle = "comment"
    cancel_tries: int = 3


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
        self.status: Status | None = None
        """The last status that could be read."""
        self.response = Response(
            request, created=created, trace_id=trace_id, style=timing.keepalive_style
        )
        self.kudos: float | None = None
        self._submit = submit
        self._quote = quote
        self._created = created
        self._timing = timing
        self._relay = Relay(request.n, show_reasoning=request.horde.include_reasoning)
        self._submits = 0
        self._cancels = 0
        self._deadline = float("inf")
        self._next_read = float("inf")
        self._read_began = 0.0
        self._failing_since: float | None = None
        self._failures = 0
        self._ineligible_since: float | None = None
        self._quiet_until = float("inf")
        self._cancel_again = float("inf")
        self._effects: list[Effect] = []

    def handle(self, event: events.Event, now: float) -> list[Effect]:
        """Takes an event at `now` (seconds on the driver's clock) and returns what to do.

        Raises WrongEvent, and changes nothing, for an event that can't happen in this state.
        """
        kind = type(event)
        if kind not in TABLE[self.state]:
            raise WrongEvent(f"{kind.__name__} in state {self.state.value}")
        outcome = _HANDLERS[self.state, kind](self, event, now)
        self.state = next_state(self.state, kind, outcome)
        effects, self._effects = self._effects, []
        return effects

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do, neither for the client nor at the Horde."""
        return self.state is State.ENDED

    @property
    def wake_at(self) -> float:
        """When to tell TimePassed; infinity while only an answer can move it on."""
        state = self.state
        if state is State.WAITING or state is State.READING:
            soonest = min(self._deadline, self._quiet_until)
            if (due := self._relay.next_due) is not None and due < soonest:
                soonest = due
            return min(soonest, self._next_read) if state is State.WAITING else soonest
        if state is State.CANCELLING:
            return self._cancel_again
        if state in (State.LOOKING_UP, State.QUOTING, State.SUBMITTING):
            return self._deadline
        return float("inf")

    # Before the submit ------------------------------------------------------------------------

    def _arrived(self, _: events.Arrived, now: float) -> str:
        timing = self._timing
        budget = timing.stream_budget if self.request.stream else timing.whole_budget
        self._deadline = now + budget
        for index, model in enumerate(self.request.models):
            if ":" in model:  # the front serves no model variants (first seed)
                return self._refuse(model_not_found(model, model_param(self.request, index)))
        self._effects.append(ReadPool(fresh=False))
        return "admitted"

    def _pool_read(self, event: events.PoolRead, _: float) -> str:
        refusal = self._unserved(event.view)
        if refusal is not None:
            if event.fresh:
                return self._refuse(refusal)
            self._effects.append(ReadPool(fresh=True))  # a cached "no" is never final
            return "doubted"
        if self.request.horde.max_kudos is not None:
            self._effects.append(Quote(self._quote))
            return "capped"
        self._send_submit()
        return "served"

    def _unserved(self, view: PoolView) -> Refusal | None:
        for index, model in enumerate(self.request.models):
            if not view.knows(model):
                return model_not_found(model, model_param(self.request, index))
        if not any(model in view.online for model in self.request.models):
            return no_model_online(self.request)
        return None

    def _horde_is_down(self, _: events.Event, __: float) -> str:
        return self._refuse(
            refuse("horde_unreachable", "The AI Horde can't be reached at the moment.")
        )

    def _quoted(self, event: events.QuoteAnswered, _: float) -> str:
        cap = self.request.horde.max_kudos
        assert cap is not None
        try:
            if event.answer.status != 200:
                # A dry run queues nothing, whatever came of it.
                refusal = refused_submit(self.request, event.answer, held=False)
                return self._refuse(attrs.evolve(refusal, held=False))
            kudos = read_quote(event.answer.body).kudos
        except UnreadableAnswer as error:
            return self._refuse(refuse("horde_error", f"AI Horde: {error}.", held=False))
        if kudos > cap:
            return self._refuse(_above_cap(kudos, cap))
        self._send_submit()
        return "affordable"

    # The submit -------------------------------------------------------------------------------

    def _submitted(self, event: events.SubmitAnswered, now: float) -> str:
        answer = event.answer
        if answer.status in (200, 202):
            try:
                self.receipt = read_receipt(answer.body)
            except UnreadableAnswer:
                return self._submit_unknown()
            self.response.trace_id = self.receipt.id
            self._read(now)
            return "accepted"
        refusal = refused_submit(self.request, answer, held=self._submits > 1)
        if refusal.held and answer.retry_after() is None and self._send_submit_again():
            return "resent"
        return self._refuse(refusal)

    def _submit_lost(self, event: events.SubmitLost, now: float) -> str:
        if not event.opened and self._submits == 1:
            return self._horde_is_down(event, now)
        return self._submit_unknown()

    def _submit_unknown(self) -> str:
        """The Horde may hold the job: its operation key makes one more try harmless."""
        if self._send_submit_again():
            return "resent"
        return self._refuse(
            refuse(
                "horde_submit_unknown",
                "The AI Horde's answer to the submit was lost: it may or may not hold the "
                "request. Sending it again may be charged again.",
            )
        )

    def _abandoned_submit(self, event: events.SubmitAnswered, _: float) -> str:
        """The client left while the submit was out: whatever the Horde holds is deleted."""
        answer = event.answer
        if answer.status in (200, 202):
            try:
                self.receipt = read_receipt(answer.body)
            except UnreadableAnswer:
                return "resent" if self._send_submit_again() else "refused"
            self._cancel()
            return "accepted"
        held = refused_submit(self.request, answer, held=False).held
        if held and answer.retry_after() is None and self._send_submit_again():
            return "resent"
        return "refused"

    def _abandoned_submit_lost(self, event: events.SubmitLost, _: float) -> str:
        """Only the answer has the id to delete by, so the submit is sent again to learn it."""
        if event.opened and self._send_submit_again():
            return "resent"
        return "refused"

    def _send_submit(self) -> None:
        self._submits += 1
        self._effects.append(Submit(self._submit))

    def _send_submit_again(self) -> bool:
        if self._submits > 1:
            return False
        self._send_submit()
        return True

    # Following the job ------------------------------------------------------------------------

    def _status_answered(self, event: events.StatusAnswered, now: float) -> str:
        answer = event.answer
        if answer.status == 404:
            self._refuse(refuse("RequestNotFound", "The AI Horde no longer knows the request."))
            return "gone"
        try:
            if answer.status != 200:
                raise UnreadableAnswer(f"status {answer.status}")
            status = read_status(answer.body)
            if status.done and not status.faulted and not status.cancelled:
                return self._done(status)
        except UnreadableAnswer:
            return self._unread(now, answer.retry_after())
        self.status = status
        self._failing_since, self._failures = None, 0
        if status.faulted or status.cancelled:
            self._refuse(self._fault(status))
            return "finished"
        refusal = self._unservable(status, now)
        if refusal is not None:
            return self._refuse_and_cancel(refusal)
        return self._alive(event, status, now)

    def _done(self, status: Status) -> str:
        """Ends with the reply. Raises UnreadableAnswer when the status lacks a generation."""
        n = self.request.n
        generations = sorted(status.generations, key=lambda generation: generation.index)
        if [generation.index for generation in generations] != list(range(n)):
            raise UnreadableAnswer("the status is done without all its generations")
        if all(generation.state == "faulted" for generation in generations):
            raise UnreadableAnswer("the status is done with nothing but faulted generations")
        assert self.receipt is not None
        self.status = status
        try:
            rest = self._relay.finish(generations)
        except Diverged as divergence:
            self._refuse(_diverged(divergence))
            return "finished"
        reply = read_reply(self.request, self.receipt, status, generations, created=self._created)
        if self._relay.served is not None and reply.fingerprint is None:
            served = self._relay.served
            reply = attrs.evolve(reply, model=served.model)
        self._effects += self.response.finish(reply, rest)
        return "finished"

    def _fault(self, status: Status) -> Refusal:
        assert self.receipt is not None
        return faulted(self.receipt.id, status.last_refusal, cancelled=not status.faulted)

    def _unservable(self, status: Status, now: float) -> Refusal | None:
        refusal = lacking(self.request, status)
        if refusal is not None:
            return refusal
        if not is_ineligible(status):
            self._ineligible_since = None
        elif self._ineligible_since is None:
            self._ineligible_since = now
        elif now - self._ineligible_since >= self._timing.grace:
            return no_eligible_worker(
                self.request, f"No online worker could serve it for {self._timing.grace:g} s."
            )
        budget_left = self._deadline - now
        if (
            self.response.phase is Phase.UNOPENED
            and self._read_is_first
            and self.request.horde.availability_mode == "fail_fast"
            and status.processing == 0
            and status.wait_time > budget_left
        ):
            return queue_unavailable(status, budget_left)
        return None

    @property
    def _read_is_first(self) -> bool:
        return self._quiet_until == float("inf")

    def _alive(self, event: events.StatusAnswered, status: Status, now: float) -> str:
        if self._read_is_first:
            self._effects += self.response.open(status)
            self._quiet_until = now + self._timing.keepalive_interval
        if self.request.is_live and status.progress:
            try:
                self._relay.take(
                    status.progress, status.restarted, now=now, open_streams=event.open_streams
                )
            except Diverged as divergence:
                return self._refuse_and_cancel(_diverged(divergence))
            self._send_due_text(now)
        self._schedule_read(status, event.answer, now)
        return "alive"

    def _schedule_read(self, status: Status, answer: HordeAnswer, now: float) -> None:
        """The next read: sooner for a job at work, later far back in the queue."""
        timing = self._timing
        interval = timing.poll_interval
        if status.processing == 0:
            interval = min(timing.slowest_poll, max(interval, status.wait_time / 20))
        self._next_read = max(now, self._read_began + interval)
        if answer.headers.get("x-ratelimit-remaining") == "0":
            # Every answer of a limited route has Retry-After; it counts once nothing is left.
            self._next_read = max(self._next_read, now + (answer.retry_after() or 0))

    def _status_lost(self, _: events.StatusLost, now: float) -> str:
        return self._unread(now, None)

    def _unread(self, now: float, retry_after: float | None) -> str:
        """A read that told nothing: again after a growing pause, for a limited time."""
        if self._failing_since is None:
            self._failing_since = now
        if now - self._failing_since >= self._timing.read_failure_limit:
            return self._give_up_reading()
        pause = min(self._timing.slowest_retry, self._timing.poll_interval * 2**self._failures)
        self._failures += 1
        self._next_read = min(
            max(now + pause, now + (retry_after or 0)),
            self._failing_since + self._timing.read_failure_limit,
        )
        return "unread"

    def _give_up_reading(self) -> str:
        self._refuse_and_cancel(
            refuse(
                "horde_status_lost",
                "The AI Horde didn't tell the request's status for "
                f"{self._timing.read_failure_limit:g} s. The request was cancelled.",
            )
        )
        return "lost"

    def _read(self, now: float) -> None:
        assert self.receipt is not None
        self._read_began = now
        query = self._relay.tail() if self.request.is_live else ""
        self._effects.append(ReadStatus(self.receipt.id, query))

    # Time -------------------------------------------------------------------------------------

    def _time_before_submit(self, _: events.TimePassed, now: float) -> str:
        if now < self._deadline:
            return "in time"
        self._refuse(self._timeout(held=self.state is State.SUBMITTING))
        return "timeout"

    def _time_passed(self, _: events.TimePassed, now: float) -> str:
        if now >= self._deadline:
            self._refuse_and_cancel(self._timeout(held=True))
            return "timeout"
        self._send_due_text(now)
        if now >= self._quiet_until and self.status is not None:
            self._effects += self.response.keepalive(self.status)
            self._quiet_until = now + self._timing.keepalive_interval
        if self.state is State.READING or now < self._next_read:
            return "in time"
        limit = self._timing.read_failure_limit
        if self._failing_since is not None and now - self._failing_since >= limit:
            return self._give_up_reading()
        self._read(now)
        return "read due"

    def _send_due_text(self, now: float) -> None:
        pieces = self._relay.due(now)
        if pieces:
            assert self._relay.served is not None
            self._effects += self.response.text(pieces, self._relay.served)
            self._quiet_until = now + self._timing.keepalive_interval

    def _timeout(self, *, held: bool) -> Refusal:
        return refuse(
            "horde_timeout",
            "The AI Horde didn't finish the request in the time that it may take.",
            held=held,
        )

    # Leaving ----------------------------------------------------------------------------------

    def _left_before_submit(self, _: events.ClientGone, __: float) -> str:
        self.response.abandon()
        return "left"

    def _left(self, _: events.ClientGone, __: float) -> str:
        self.response.abandon()
        self._cancel()
        return "left"

    def _drained_before_submit(self, _: events.Draining, __: float) -> str:
        self._refuse(_draining(held=self.state is State.SUBMITTING))
        return "drained"

    def _drained(self, _: events.Draining, __: float) -> str:
        self._refuse_and_cancel(_draining(held=True))
        return "drained"

    def _cancel(self) -> None:
        assert self.receipt is not None
        self._cancels += 1
        self._cancel_again = float("inf")
        self._effects.append(Cancel(self.receipt.id))

    def _cancel_answered(self, event: events.CancelAnswered, now: float) -> str:
        answer = event.answer
        if answer.status != 429 and answer.status < 500:
            return "cancelled"
        return self._cancel_failed(now, answer.retry_after()) or "cancelled"

    def _cancel_lost(self, _: events.CancelLost, now: float) -> str:
        return self._cancel_failed(now, None) or "given up"

    def _cancel_failed(self, now: float, retry_after: float | None) -> str | None:
        """Again, a few times: a job that nobody waits for costs its owner kudos."""
        if self._cancels >= self._timing.cancel_tries:
            return None
        self._cancel_again = now + max(self._cancels, retry_after or 0)
        return "again"

    def _time_to_cancel(self, _: events.TimePassed, now: float) -> str:
        if now < self._cancel_again:
            return "in time"
        self._cancel()
        return "again"

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


def _above_cap(kudos: float, cap: int) -> Refusal:
    estimate = int(kudos) if kudos == int(kudos) else kudos
    return refuse(
        "max_kudos_exceeded",
        f"The request is estimated at {estimate} kudos, above horde.max_kudos of {cap}. "
        "Lower max_tokens or n, or raise the cap.",
        "horde.max_kudos",
        metadata={"kudos_estimate": estimate, "max_kudos": cap},
    )


def _diverged(divergence: Diverged) -> Refusal:
    return refuse(
        "ChatStreamDiverged",
        f"The live reply broke off: {divergence}. Discard the partial text; "
        "a new request is a new charge.",
    )


def _draining(*, held: bool) -> Refusal:
    return refuse("draining", "The front is shutting down.", held=held)


Handler = Callable[[Exchange, Any, float], str]

_BEFORE_SUBMIT: Sequence[State] = (State.LOOKING_UP, State.QUOTING)

_HANDLERS: dict[tuple[State, type[events.Event]], Handler] = {
    (State.NEW, events.Arrived): Exchange._arrived,
    (State.LOOKING_UP, events.PoolRead): Exchange._pool_read,
    (State.LOOKING_UP, events.PoolLost): Exchange._horde_is_down,
    (State.QUOTING, events.QuoteAnswered): Exchange._quoted,
    (State.QUOTING, events.QuoteLost): Exchange._horde_is_down,
    **{(state, events.TimePassed): Exchange._time_before_submit for state in _BEFORE_SUBMIT},
    **{(state, events.ClientGone): Exchange._left_before_submit for state in _BEFORE_SUBMIT},
    **{(state, events.Draining): Exchange._drained_before_submit for state in _BEFORE_SUBMIT},
    (State.SUBMITTING, events.SubmitAnswered): Exchange._submitted,
    (State.SUBMITTING, events.SubmitLost): Exchange._submit_lost,
    (State.SUBMITTING, events.TimePassed): Exchange._time_before_submit,
    (State.SUBMITTING, events.ClientGone): Exchange._left_before_submit,
    (State.SUBMITTING, events.Draining): Exchange._drained_before_submit,
    (State.ABANDONED, events.SubmitAnswered): Exchange._abandoned_submit,
    (State.ABANDONED, events.SubmitLost): Exchange._abandoned_submit_lost,
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
}
_HANDLERS |= {
    (state, event): Exchange._ignored
    for state, row in TABLE.items()
    for event, outcomes in row.items()
    if "ignored" in outcomes
}
