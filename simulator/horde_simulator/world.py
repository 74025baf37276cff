"""A simulated Horde as plain code: calls in, answers out, in a time that its caller sets.

    world = World(shipped_scenario("default"), seed=7)
    answer = world.handle(Call("GET", "/api/v2/workers", query="type=text"))
    world.advance(12.5)

The world never waits, reads a clock, opens a socket or logs. The same seed and the same calls at
the same times give the same bytes, in every process.
"""

from collections.abc import Sequence

import attrs

from horde_simulator import control
from horde_simulator.accounts import Account
from horde_simulator.builtin import Crew
from horde_simulator.call import Answer, Call, FetchedImage, ImageFetch
from horde_simulator.journal import Journal
from horde_simulator.router import Router
from horde_simulator.scenario import FaultSpec, Scenario, WorkerProfile
from horde_simulator.state import State, fresh_state
from horde_simulator.workers import Worker

SIM_PREFIX = "/_sim"


class World:
    """One Horde and its time.

    Args:
        scenario: what it starts from.
        seed: of its one source of chance; the scenario's own by default.
    """

    state: State
    journal: Journal

    def __init__(self, scenario: Scenario, *, seed: int | None = None) -> None:
        self._load(scenario, scenario.seed if seed is None else seed)

    def _load(self, scenario: Scenario, seed: int) -> None:
        self.seed = seed
        self.state = fresh_state(scenario, seed)
        self.journal = Journal()
        self._crew = Crew(self.state)
        self._router = Router(self.state, self.journal)
        for profile in scenario.workers:
            self._crew.add(profile)

    @property
    def now(self) -> float:
        """Seconds since the world began."""
        return self.state.timeline.now

    @property
    def next_event_at(self) -> float | None:
        """When something happens by itself; None with nothing planned."""
        return self.state.timeline.next_at

    @property
    def scenario(self) -> Scenario:
        """What the world was started from."""
        return self.state.scenario

    def advance(self, to: float) -> None:
        """Lets time pass, and everything happen that is due by then.

        Raises:
            ValueError: `to` lies in the past.
        """
        self.state.timeline.advance(to)

    def handle(self, call: Call) -> Answer | ImageFetch:
        """Answers a call at this moment of the world.

        A submit with pictures to fetch comes back as an `ImageFetch`, to go on with `resume`.
        Every fault of a call is an answer: nothing is raised.
        """
        if call.path.startswith(SIM_PREFIX):
            return control.handle(self, call)
        return self._router.handle(call)

    def resume(self, ticket: int, images: Sequence[FetchedImage]) -> Answer:
        """Goes on with a submit whose pictures were fetched, in the order of its URLs.

        Raises:
            KeyError: there is no such ticket (any more).
        """
        return self._router.resume(ticket, images)

    def add_worker(self, profile: WorkerProfile) -> Worker:
        """Adds a built-in worker and plans its faults; it comes online when its profile says."""
        for fault in profile.faults:
            self.add_fault(attrs.evolve(fault, worker=profile.name))
        return self._crew.add(profile)

    def change_worker(self, worker: Worker, profile: WorkerProfile) -> None:
        """Makes a built-in worker declare and behave as a profile says; id and name stay."""
        registry = self.state.registry
        registry.serve_models(worker, profile.models)
        worker.threads = profile.threads
        worker.max_length = profile.max_length
        worker.max_context_length = profile.max_context_length
        worker.features = frozenset(profile.features)
        worker.guarantees = frozenset(profile.guarantees)
        worker.limits = dict(profile.limits)
        worker.trusted = profile.trusted
        worker.slow = profile.slow
        self._crew.change(worker, profile)
        self.set_maintenance(worker, profile.maintenance)

    def set_maintenance(self, worker: Worker, maintenance: bool) -> None:
        """Puts any worker into maintenance, or ends it."""
        if worker.maintenance == maintenance:
            return
        worker.maintenance = maintenance
        if worker.profile is None:
            self._owner_rests(worker.owner, 1 if maintenance else -1)
        self.state.registry.changed()

    def _owner_rests(self, owner: Account, change: int) -> None:
        """Lets the owner's waiting requests know whether workers of its own are in maintenance.

        The one place that looks at every request: an operator's act, never a call of the Horde.
        """
        owner.resting += change
        name = owner.name if owner.resting else None
        for request in self.state.requests.values():
            if request.account is owner and request.waiting and request.demand.owner != name:
                self.state.queue.demand_anew(request, attrs.evolve(request.demand, owner=name))

    def remove_worker(self, worker: Worker) -> None:
        """Takes a worker away; the leases of its jobs run out."""
        if worker.profile is not None:
            self._crew.remove(worker)
        else:
            worker.owner.workers -= 1
            self.set_maintenance(worker, False)
        self.state.registry.set_online(worker, False, self.now)
        self.state.registry.remove(worker)

    def add_fault(self, fault: FaultSpec) -> None:
        """Plans one more fault."""
        self.state.faults.add(fault)

    def reset(self, scenario: Scenario | None = None) -> None:
        """Begins anew at 0.0: the same scenario with the same seed, or another with its own."""
        if scenario is None:
            self._load(self.scenario, self.seed)
        else:
            self._load(scenario, scenario.seed)
