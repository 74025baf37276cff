"""Runs a plan: one timeline drives the world and every client's exchange.

It is what the adapters are over sockets: effects become calls, what comes of them events, and the
time that an exchange asks for is told to it.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from horde_benchmarks.storm.link import Link, fetched
from horde_benchmarks.storm.plan import HordeCallName, Plan
from horde_benchmarks.storm.record import Made, Record, Running, Storm
from horde_benchmarks.storm.views import Views
from horde_core import events, native
from horde_core.body import read_body
from horde_core.errors import Refusal
from horde_core.events import Effect, SendBytes, SendHead
from horde_core.exchange import Exchange
from horde_core.job import submit_body
from horde_core.request import read_request
from horde_core.workers import PoolView
from horde_simulator.call import Answer, Call, ImageFetch
from horde_simulator.job import JobState
from horde_simulator.world import World

CREATED: Final = 1_700_000_000
LONGEST_STORM: Final = 4000.0
"""Seconds of virtual time after which something has failed to end: the longest budget is 600 s."""
_CAP: Final = 1_000_000
_CONTEXT: Final = 4096


def run(plan: Plan) -> Storm:
    """The storm that a plan makes, to its end."""
    return Runner(plan).run()


class Runner:
    """One storm on its way."""

    def __init__(self, plan: Plan) -> None:
        self.world = World(plan.scenario)
        self.timeline = self.world.state.timeline
        self.plan = plan
        self.storm = Storm(plan, self.world, [Record(client) for client in plan.clients])
        self.storm.initial = {
            account.name: account.balance for account in self.world.state.accounts.all()
        }
        self.open = 0
        self.views = Views(self.timeline, plan.pool_age)

    def run(self) -> Storm:
        """Lets it happen."""
        drivers = [Driver(self, record) for record in self.storm.records]
        self.open = len(drivers)
        for driver in drivers:
            self.timeline.at(driver.record.client.at, Driver.arrive, driver)
        if self.plan.drain_at is not None:
            for driver in drivers:
                self.timeline.at(self.plan.drain_at, Driver.drain, driver)
        world = self.world
        while self.open:
            at = world.next_event_at
            if at is None or at > LONGEST_STORM:
                self.storm.unfinished = True
                break
            world.advance(at)
        # Calls that are still under way arrive; a job must not begin after everybody has gone.
        world.advance(world.now + 200.0)
        self.storm.horde_calls += self.views.calls
        self.storm.link_faults = sum(driver.link.struck for driver in drivers)
        return self.storm

    def stands_still_until(self, now: float) -> float | None:
        """When the stall is over that the front is in; None outside one."""
        for stall in self.plan.stalls:
            if stall.at <= now < stall.at + stall.seconds:
                return stall.at + stall.seconds
        return None


class Driver:
    """One client's request: from its bytes to the end of its exchange."""

    def __init__(self, runner: Runner, record: Record) -> None:
        self.record = record
        self.exchange: Exchange | None = None
        self._runner = runner
        self._timeline = runner.timeline
        self._woken_at = float("inf")
        self.link = Link(record.client, runner.world, self._watch)

    def arrive(self) -> None:
        """The client's request is there."""
        client, record = self.record.client, self.record
        record.came_at = self._timeline.now
        try:
            request = read_request(read_body(client.body, None, cap=_CAP))
        except Refusal as refusal:
            record.refusal = refusal
            record.complete_at = record.ended_at = self._timeline.now
            self._runner.open -= 1
            return
        record.request = request
        body = partial(submit_body, request, context_length=_CONTEXT)
        capped = request.horde.max_kudos is not None
        self.exchange = Exchange(
            request,
            submit=body(operation_key=client.operation_key),
            quote=body(operation_key=None, dry_run=True) if capped else b"",
            created=CREATED,
            trace_id=client.operation_key,
            timing=self._runner.plan.timing,
        )
        if client.leaves_after is not None:
            self._timeline.after(client.leaves_after, Driver._leave, self)
        self._deliver(events.Arrived())

    def drain(self) -> None:
        """The process is told to end."""
        if self.exchange is not None and not self.exchange.ended:
            if self.record.complete_at is None:
                self.record.drained_at = self._timeline.now
            self.tell(events.Draining())

    def tell(self, event: events.Event) -> None:
        """Delivers an event, after the stall that the front may be in."""
        until = self._runner.stands_still_until(self._timeline.now)
        if until is None:
            self._deliver(event)
        else:
            self._timeline.at(until, self._deliver, event)

    def _leave(self) -> None:
        if self.record.complete_at is None:
            self.record.left_at = self._timeline.now
            self.tell(events.ClientGone())

    def _deliver(self, event: events.Event) -> None:
        exchange, record = self.exchange, self.record
        if exchange is None or (record.ended_at is not None and record.misdeeds):
            return
        now = self._timeline.now
        try:
            self._perform(exchange.handle(event, now), now)
            if record.known_at is None and exchange.receipt is not None:
                record.known_at = now
        except Exception as error:
            record.misdeeds.append(f"{type(event).__name__} raised {error!r}")
            self._end(now)
            return
        if exchange.ended:
            self._end(now)
        elif exchange.wake_at < self._woken_at:
            self._woken_at = exchange.wake_at
            self._timeline.at(self._woken_at, self._wake, self._woken_at)

    def _wake(self, planned: float) -> None:
        if planned != self._woken_at or self.exchange is None or self.exchange.ended:
            return
        until = self._runner.stands_still_until(self._timeline.now)
        if until is not None:
            self._woken_at = until
            self._timeline.at(until, self._wake, until)
            return
        self._woken_at = float("inf")
        self._deliver(events.TimePassed())

    def _end(self, now: float) -> None:
        if self.record.ended_at is None:
            self.record.ended_at = now
            self._runner.open -= 1

    # Effects ----------------------------------------------------------------------------------

    def _perform(self, effects: Iterable[Effect], now: float) -> None:
        for effect in effects:
            match effect:
                case SendBytes(data, last):
                    self._send(data, last, now)
                case SendHead():
                    if self.record.head is not None:
                        self.record.misdeeds.append("a second head")
                    self.record.head = effect
                case events.ReadStatus(request_id, query):
                    self._call("status", "GET", f"{native.STATUS}/{request_id}", query, request_id)
                case events.Submit(body):
                    self._call("submit", "POST", native.SUBMIT, body=body)
                case events.ReadPool(fresh):
                    self._runner.views.read(self.link, fresh, self._viewed)
                case events.Cancel(request_id):
                    self._call("cancel", "DELETE", f"{native.STATUS}/{request_id}", "", request_id)
                case events.Quote(body):
                    self._call("quote", "POST", native.SUBMIT, body=body)

    def _send(self, data: bytes, last: bool, now: float) -> None:
        record = self.record
        if record.head is None:
            record.misdeeds.append("bytes before the head")
        if record.complete_at is not None:
            record.misdeeds.append("bytes after the last")
        if record.left_at is not None and not self._runner.plan.stalls:
            record.misdeeds.append("bytes for a client that has left")
        record.sent.append((now, data))
        if last:
            record.complete_at = now

    def _call(
        self,
        name: HordeCallName,
        method: str,
        path: str,
        query: str = "",
        request_id: str | None = None,
        *,
        body: bytes = b"",
    ) -> None:
        made = Made(name, request_id, self._timeline.now)
        self.record.calls.append(made)
        headers = (("apikey", self.record.client.key), ("client-agent", "storm:1:none"))
        self.link.send(made, Call(method, path, query, headers, body), self._told)

    def _watch(self, made: Made, call: Call) -> Answer:
        """Hands a call to the world, and notes what of it only the world knows."""
        world, record = self._runner.world, self.record
        self._runner.storm.horde_calls += 1
        if made.name == "cancel":
            self._note_running(call)
        held = len(world.state.requests)
        answer = world.handle(call)
        if isinstance(answer, ImageFetch):
            answer = world.resume(answer.ticket, fetched(answer))
        if made.name in ("submit", "quote") and len(world.state.requests) > held:
            record.jobs.append(next(reversed(world.state.requests.values())))
        return answer

    def _note_running(self, call: Call) -> None:
        request = self._runner.world.state.requests.get(call.path.rpartition("/")[2])
        if request is not None and not request.over:
            self.record.cut_short = [
                Running(job, job.streamed)
                for job in request.latest_jobs()
                if job.state is JobState.PROCESSING
            ]

    # What came of them ------------------------------------------------------------------------

    def _viewed(self, view: PoolView | None, fresh: bool) -> None:
        self.record.saw_fresh_view |= fresh
        self.tell(events.PoolLost() if view is None else events.PoolRead(view, fresh))

    def _told(self, made: Made) -> None:
        self.tell(self._event_of(made))

    def _event_of(self, made: Made) -> events.Event:
        answer: Any = made.answer
        lost = answer is None
        if made.name == "status":
            pace = self.record.client.open_streams
            return events.StatusLost() if lost else events.StatusAnswered(answer, pace)
        if made.name == "submit":
            if lost:
                return events.SubmitLost(opened=made not in self.link.refused)
            return events.SubmitAnswered(answer)
        if made.name == "cancel":
            return events.CancelLost() if lost else events.CancelAnswered(answer)
        return events.QuoteLost() if lost else events.QuoteAnswered(answer)
