"""The control API under `/_sim/`: looks at a simulated Horde and changes it while it runs.

Every change is read and checked as a whole before any of it happens. A refusal is
`{"message", "errors": {path: reason}}`, in the manner of the Horde's own (contract: simulator
section 4).
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import attrs
import orjson

from horde_simulator import readers as r
from horde_simulator.call import Answer, Call
from horde_simulator.document import (
    check_fault_model,
    check_models,
    check_order,
    fault_document,
    read_fault,
    read_scenario,
    read_worker,
    scenario_document,
    worker_document,
)
from horde_simulator.faults import FAULTS
from horde_simulator.job import JobState
from horde_simulator.payload import read_object
from horde_simulator.pricing import kudos
from horde_simulator.readers import REFUSED, DocumentError, Problems
from horde_simulator.refusals import HordeError
from horde_simulator.scenario import FaultSpec, Scenario, WorkerProfile

if TYPE_CHECKING:
    from horde_simulator.job import Job
    from horde_simulator.request import Request
    from horde_simulator.workers import Worker
    from horde_simulator.world import World

PREFIX: Final = "/_sim/"
MOST_REQUESTS: Final = 1000
"""Requests that the state lists, the newest: it is read again and again by people who watch."""
_LONGEST_ADVANCE: Final = 10_000_000.0
_FIXED: Final = ("id", "name", "faults", "online_from", "online_until")
"""What a worker keeps for life: its faults are planned at their own place."""

Found = tuple[int, Any]
Handler = Callable[["World", str, Mapping[str, Any]], Found]


def handle(world: "World", call: Call) -> Answer:
    """Answers a call under `/_sim/`; every failure is an answer too."""
    name, _, subject = call.path.removeprefix(PREFIX).partition("/")
    routes = _ONE_WORKER if name == "workers" and subject else _ROUTES.get(name)
    if not call.path.startswith(PREFIX) or routes is None or (subject and name != "workers"):
        return _answer(404, {"message": f"The simulator has no {call.path[:200]}.", "errors": {}})
    handler = routes.get(call.method)
    if handler is None:
        message = f"{call.method[:20]} is not a method of {call.path[:200]}."
        answer = _answer(405, {"message": message, "errors": {}})
        return attrs.evolve(answer, headers=(*answer.headers, ("allow", ", ".join(routes))))
    try:
        body = read_object(call.body) if call.method in ("POST", "PUT", "PATCH") else {}
        return _answer(*handler(world, subject, body))
    except DocumentError as error:
        return _answer(400, {"message": str(error), "errors": dict(error.problems)})
    except HordeError as error:
        return _answer(error.status, error.body)


def _answer(status: int, body: Any) -> Answer:
    return Answer(status, (("content-type", "application/json"),), orjson.dumps(body))


def _refuse(path: str, reason: str) -> DocumentError:
    return DocumentError([(path, reason)])


def _state(world: "World", _subject: str, _body: Mapping[str, Any]) -> Found:
    state = world.state
    newest = islice(reversed(state.requests.values()), MOST_REQUESTS)
    return 200, {
        "time": world.now,
        "held": len(state.requests),
        "requests": [_request(world, request) for request in newest],
        "workers": [_worker(worker, world.now) for worker in state.registry.by_id.values()],
        "accounts": [
            {"name": account.name, "kudos": kudos(account.balance)}
            for account in state.accounts.all()
        ],
    }


def _request(world: "World", request: "Request") -> dict[str, Any]:
    last = request.jobs[-1] if request.jobs else None
    state = request.state.value
    if not request.over:
        state = "processing" if request.processing else "waiting"
    ahead = world.state.queue.ahead(request.demand, request.place) if request.waiting else None
    return {
        "id": request.id,
        "state": state,
        "model": request.demand.models[0] if last is None else last.model,
        "user": request.account.name,
        "worker": None if last is None else last.worker.name,
        "attempt": 0 if last is None else last.attempt,
        "queue_position": 0 if ahead is None else ahead[0] + 1,
    }


def _worker(worker: "Worker", now: float) -> dict[str, Any]:
    """A worker as the Horde lists it, and what it is at."""
    return {
        **worker.as_json(now),
        "built_in": worker.profile is not None,
        "jobs": [_job(job) for job in worker.running.values() if job.state is JobState.PROCESSING],
    }


def _job(job: "Job") -> dict[str, Any]:
    return {
        "id": job.id,
        "request_id": job.request.id,
        "model": job.model,
        "attempt": job.attempt,
        "since": job.popped_at,
        "streamed": job.streamed,
    }


def scenario_in_force(world: "World") -> Scenario:
    """The scenario that would start this Horde as it is set up now.

    Built-in workers with what they declare at present, and the faults that may still strike: those
    limited to one of these workers stand in it, the others with the Horde.
    """
    workers: dict[str, WorkerProfile] = {
        worker.name: _profile_in_force(worker)
        for worker in world.state.registry.by_id.values()
        if worker.profile is not None
    }
    own: dict[str, list[FaultSpec]] = {name: [] for name in workers}
    others: list[FaultSpec] = []
    for fault in world.state.faults.in_force():
        if fault.worker in own and FAULTS[fault.where].side == "worker":
            own[fault.worker].append(attrs.evolve(fault, worker=None))
        else:
            others.append(fault)
    return attrs.evolve(
        world.scenario,
        seed=world.seed,
        workers=tuple(attrs.evolve(p, faults=tuple(own[name])) for name, p in workers.items()),
        faults=tuple(others),
    )


def _profile_in_force(worker: "Worker") -> WorkerProfile:
    profile = worker.profile
    assert profile is not None
    return attrs.evolve(
        profile,
        features=_as_before(profile.features, worker.features),
        guarantees=_as_before(profile.guarantees, worker.guarantees),
        limits=dict(worker.limits),
        max_length=worker.max_length,
        max_context_length=worker.max_context_length,
        maintenance=worker.maintenance,
    )


def _as_before(told: tuple[str, ...], declared: frozenset[str]) -> tuple[str, ...]:
    return told if frozenset(told) == declared else tuple(sorted(declared))


def _get_scenario(world: "World", _subject: str, _body: Mapping[str, Any]) -> Found:
    return 200, scenario_document(scenario_in_force(world))


def _put_scenario(world: "World", _subject: str, body: Mapping[str, Any]) -> Found:
    world.reset(read_scenario(body))
    return _get_scenario(world, "", {})


def _add_worker(world: "World", _subject: str, body: Mapping[str, Any]) -> Found:
    problems = Problems()
    profile = read_worker(body, "", problems)
    if profile is not REFUSED:
        registry = world.state.registry
        if registry.named(profile.name) is not None:
            problems.add("name", f"there is a worker called {profile.name!r}")
        if profile.id in registry.by_id:
            problems.add("id", f"there is a worker with the id {profile.id!r}")
        _check_profile(world, profile, problems)
        faults = [(f"faults[{at}]", fault) for at, fault in enumerate(profile.faults)]
        check_order(faults, problems, world.state.faults.names())
    _raise_if_any(problems)
    worker = world.add_worker(profile)
    return 201, _worker(worker, world.now)


def _check_profile(world: "World", profile: WorkerProfile, problems: Problems) -> None:
    models = [model.name for model in world.scenario.models]
    check_models(profile.models, models, "models", problems)
    for at, fault in enumerate(profile.faults):
        check_fault_model(fault, models, f"faults[{at}]", problems)


def _raise_if_any(problems: Problems) -> None:
    if problems.found:
        raise DocumentError(problems.found)


def _patch_worker(world: "World", subject: str, body: Mapping[str, Any]) -> Found:
    worker = world.state.registry.by_id.get(subject)
    if worker is None:
        return _no_such_worker(subject)
    if worker.profile is None:
        read = _read(r.table({"maintenance": r.flag}), body)
        world.set_maintenance(worker, read.get("maintenance", worker.maintenance))
        return 200, _worker(worker, world.now)
    for key in _FIXED:
        if key in body:
            raise _refuse(key, "can't be changed")
    # An unknown key is refused as such, the same way as when a worker is added.
    now = worker_document(_profile_in_force(worker))
    problems = Problems()
    profile = read_worker({**now, **body}, "", problems)
    if profile is not REFUSED:
        _check_profile(world, profile, problems)
    _raise_if_any(problems)
    world.change_worker(worker, profile)
    return 200, _worker(worker, world.now)


def _no_such_worker(subject: str) -> Found:
    return 404, {"message": f"There is no worker with the id {subject[:100]!r}.", "errors": {}}


def _delete_worker(world: "World", subject: str, _body: Mapping[str, Any]) -> Found:
    worker = world.state.registry.by_id.get(subject)
    if worker is None:
        return _no_such_worker(subject)
    world.remove_worker(worker)
    return 200, {"removed": worker.id}


def _add_fault(world: "World", _subject: str, body: Mapping[str, Any]) -> Found:
    problems = Problems()
    fault = read_fault(body, "", problems)
    if fault is not REFUSED:
        models = [model.name for model in world.scenario.models]
        check_fault_model(fault, models, "", problems)
        check_order([("", fault)], problems, world.state.faults.names())
    _raise_if_any(problems)
    world.add_fault(fault)
    return 201, fault_document(fault)


def _read(reader: r.Reader, body: Mapping[str, Any]) -> Any:
    problems = Problems()
    read = reader(body, "", problems)
    _raise_if_any(problems)
    return read


def _advance(world: "World", _subject: str, body: Mapping[str, Any]) -> Found:
    seconds = r.number(minimum=0, maximum=_LONGEST_ADVANCE)
    read = _read(r.table({"seconds": seconds}, ("seconds",)), body)
    if world.scenario.clock != "manual":
        return 409, {"message": "The clock runs by itself: it isn't a manual one.", "errors": {}}
    world.advance(world.now + read["seconds"])
    return 200, {"time": world.now}


def _ledger(world: "World", _subject: str, _body: Mapping[str, Any]) -> Found:
    ledger = world.state.ledger
    entries = [entry.as_json() for entry in ledger.entries]
    return 200, {"entries": entries, "totals": ledger.totals()}


def _journal(world: "World", _subject: str, _body: Mapping[str, Any]) -> Found:
    return 200, world.journal.document()


def _verdict(world: "World", _subject: str, _body: Mapping[str, Any]) -> Found:
    return 200, world.state.grader.verdict(world.now).document()


def _reset(world: "World", _subject: str, body: Mapping[str, Any]) -> Found:
    """`journal` forgets calls and findings; `all` begins the scenario anew, at 0.0."""
    what = r.table({"what": r.word(("journal", "all"), "reset")}, ("what",))
    if _read(what, body)["what"] == "all":
        world.reset()
    else:
        world.journal.clear()
        world.state.grader.clear()
    return 200, {"time": world.now}


_ROUTES: Final[Mapping[str, Mapping[str, Handler]]] = {
    "state": {"GET": _state},
    "scenario": {"GET": _get_scenario, "PUT": _put_scenario},
    "workers": {"POST": _add_worker},
    "faults": {"POST": _add_fault},
    "advance": {"POST": _advance},
    "ledger": {"GET": _ledger},
    "journal": {"GET": _journal},
    "verdict": {"GET": _verdict},
    "reset": {"POST": _reset},
}
_ONE_WORKER: Final[Mapping[str, Handler]] = {"PATCH": _patch_worker, "DELETE": _delete_worker}
