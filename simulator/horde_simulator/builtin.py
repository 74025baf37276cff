"""The built-in workers: their lives as events of the timeline, without a thread or a wait."""

from collections.abc import Iterator
from contextlib import suppress

import attrs

from horde_simulator import failing, work
from horde_simulator.brains import Brain
from horde_simulator.brains.registry import brain_of
from horde_simulator.job import Job, JobState
from horde_simulator.performance import Performance, perform
from horde_simulator.refusals import HordeError
from horde_simulator.request import Request
from horde_simulator.scenario import WorkerProfile
from horde_simulator.state import State
from horde_simulator.workers import Worker

POLL_DELAY = 0.1
"""Seconds until an idle worker notices a new request."""
FIRST_POST = 0.25
"""Seconds of generation after which the first words are posted, if the interval is longer."""
HEARTBEAT = 60.0
"""Seconds between the signs of life of a worker that posts no progress."""
SULKING = 10.0
"""Seconds after which a worker that took no job by a fault looks again."""
BACKGROUND_LOOK = 64
"""How many of the nearest requests a worker with other users' jobs ahead looks through."""


@attrs.define(eq=False)
class BuiltIn:
    """A built-in worker's own affairs. `busy` threads may be at jobs that are over already."""

    worker: Worker
    profile: WorkerProfile
    brain: Brain
    present: bool = False
    since: float = 0.0
    busy: int = 0
    wakes_at: float | None = None


class Crew:
    """All built-in workers of a Horde."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._members: dict[str, BuiltIn] = {}
        state.work_came = self._work_came
        state.registry.on_change = self._workers_changed

    def add(self, profile: WorkerProfile) -> Worker:
        """Hires a worker; it comes online when its profile says."""
        state = self._state
        worker = Worker(
            id=profile.id if profile.id is not None else state.new_id(),
            name=profile.name,
            owner=state.accounts.add_earner(profile.name),
            models=tuple(dict.fromkeys(profile.models)),
            threads=profile.threads,
            max_length=profile.max_length,
            max_context_length=profile.max_context_length,
            features=frozenset(profile.features),
            guarantees=frozenset(profile.guarantees),
            limits=dict(profile.limits),
            speed=profile.tokens_per_second,
            trusted=profile.trusted,
            slow=profile.slow,
            maintenance=profile.maintenance,
            bridge_agent="horde_simulator:1:built-in",
            profile=profile,
            born_at=state.now,
        )
        state.registry.add(worker)
        member = self._members[worker.id] = BuiltIn(worker, profile, brain_of(profile))
        if profile.online_from <= state.now:
            self._come(member)
        else:
            state.timeline.at(profile.online_from, self._come, member)
        if profile.online_until is not None:
            state.timeline.at(profile.online_until, self._go, member)
        return worker

    def remove(self, worker: Worker) -> None:
        """Lets a worker go at once; what it was at is never handed in."""
        member = self._members.pop(worker.id)
        member.present = False

    def change(self, worker: Worker, profile: WorkerProfile) -> None:
        """Gives a worker another speed, brain or background."""
        member = self._members[worker.id]
        member.profile = worker.profile = profile
        member.brain = brain_of(profile)
        worker.speed = profile.tokens_per_second

    def _come(self, member: BuiltIn) -> None:
        if self._members.get(member.worker.id) is not member:
            return
        member.present = True
        member.since = self._state.now
        self._state.registry.set_online(member.worker, True, self._state.now)
        self._wake(member, 0.0)

    def _go(self, member: BuiltIn) -> None:
        member.present = False
        if self._members.get(member.worker.id) is not member:
            return
        fault = self._state.faults.strike("stale_check_in", worker=_names(member))
        late = failing.seconds(fault, "seconds")
        if late:
            self._state.timeline.after(late, self._check_out, member)
        else:
            self._check_out(member)

    def _check_out(self, member: BuiltIn) -> None:
        if not member.present:
            self._state.registry.set_online(member.worker, False, self._state.now)

    def _work_came(self, request: Request) -> None:
        for worker in self._state.standing(request.bucket).eligible:
            member = self._members.get(worker.id)
            if member is None:
                continue
            fault = self._state.faults.strike(
                "declarations_change", worker=_names(member), model=request.demand.models[0]
            )
            if fault is not None:
                failing.declare(self._state, worker, fault)
            self._wake(member, POLL_DELAY)

    def _workers_changed(self) -> None:
        """Who may serve what has changed: whoever is idle looks again at what waits."""
        if self._state.queue.requests:
            for member in self._members.values():
                if member.busy < member.worker.threads:
                    self._wake(member, POLL_DELAY)

    def _wake(self, member: BuiltIn, delay: float) -> None:
        at = self._state.now + delay
        if member.present and (member.wakes_at is None or at < member.wakes_at):
            member.wakes_at = at
            self._state.timeline.at(at, self._awake, member)

    def _awake(self, member: BuiltIn) -> None:
        if member.wakes_at is None or member.wakes_at > self._state.now:
            return
        member.wakes_at = None
        while member.present and member.busy < member.worker.threads:
            since = self._state.now - member.since
            if self._state.faults.strike("never_pops", worker=_names(member), count=since):
                if self._state.queue.requests:
                    self._wake(member, SULKING)
                return
            job = self._pop(member)
            if job is None:
                return
            self._begin(member, job)

    def _pop(self, member: BuiltIn) -> Job | None:
        if not member.profile.background_seconds:
            return work.pop(self._state, member.worker)[0]
        return self._pop_behind_others(member)

    def _pop_behind_others(self, member: BuiltIn) -> Job | None:
        """The first request whose turn has come after the other users' jobs ahead of it."""
        state, worker = self._state, member.worker
        ripe_at: float | None = None
        for model in worker.models:
            for request in state.queue.nearest(model, BACKGROUND_LOOK):
                if state.shortfall(worker, request.bucket) is not None:
                    continue
                at = request.activated_at + member.profile.background_seconds
                if at <= state.now:
                    return work.take(state, worker, request)
                ripe_at = at if ripe_at is None else min(ripe_at, at)
        if ripe_at is not None:
            self._wake(member, ripe_at - state.now)
        return None

    def _begin(self, member: BuiltIn, job: Job) -> None:
        member.busy += 1
        state = self._state
        if state.faults.strike("vanishes_after_pop", worker=_names(member), model=job.model):
            self._free_after_lease(member, job)
            return
        act = perform(state, job, member.brain, member.busy)
        failing.spoil_text(state, act, _names(member))
        self._next(self._act(member, act))

    def _next(self, steps: Iterator[float]) -> None:
        """Runs an act to its next pause; it plans itself again after that many seconds."""
        pause = next(steps, None)
        if pause is not None:
            self._state.timeline.after(pause, self._next, steps)

    def _act(self, member: BuiltIn, act: Performance) -> Iterator[float]:
        """A job from pop to submit; yields the seconds until it goes on."""
        state, job = self._state, act.job
        names, model = _names(member), job.model
        fault = state.faults.strike("faults_job", worker=names, model=model)
        yield act.prefill
        if fault is not None:
            self._hand_in(job, failing.faulted(fault))
            self._done(member)
            return
        late = state.faults.strike("late_submit", worker=names, model=model)
        if late is not None:
            yield max(0.0, job.lease_until - state.now) + failing.seconds(late, "seconds")
            self._hand_in(job, act.handed())
            self._done(member)
            return
        for pause in act.pauses(member.profile.progress_interval, FIRST_POST, HEARTBEAT):
            yield pause
            if not member.present or job.state is not JobState.PROCESSING:
                self._abandon(member, job)
                return
            act.post(state)
            count = float(act.posts)
            if act.posts_progress:
                vanishes = state.faults.strike(
                    "vanishes_after_posts", worker=names, model=model, count=count
                )
                if vanishes is not None:
                    self._free_after_lease(member, job)
                    return
                if state.faults.strike(
                    "restarts_with_other_text", worker=names, model=model, count=count
                ):
                    job.request.retold = True
                    self._hand_in(job, failing.given_up())
                    self._done(member)
                    return
        yield act.rest
        if not member.present:
            self._abandon(member, job)
            return
        handed = failing.spoil_submit(state, act, names)
        self._hand_in(job, handed)
        if state.faults.strike("duplicate_submit", worker=names, model=model):
            self._hand_in(job, handed)
        failing.rest(state, member.worker, names)
        self._done(member)

    def _hand_in(self, job: Job, handed: work.Handed) -> None:
        """A built-in worker takes every refusal as it comes, as most worker programs do."""
        with suppress(HordeError):
            work.hand_in(self._state, job, handed)

    def _abandon(self, member: BuiltIn, job: Job) -> None:
        if job.state is JobState.PROCESSING:
            self._free_after_lease(member, job)
        else:
            self._done(member)

    def _free_after_lease(self, member: BuiltIn, job: Job) -> None:
        wait = job.lease_until - self._state.now + POLL_DELAY
        self._state.timeline.after(max(0.0, wait), self._done, member)

    def _done(self, member: BuiltIn) -> None:
        member.busy -= 1
        self._wake(member, 0.0)


def _names(member: BuiltIn) -> tuple[str, str]:
    return member.worker.name, member.worker.id
