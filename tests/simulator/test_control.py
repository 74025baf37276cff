"""The control API under `/_sim/`: its shapes, its refusals, and that it changes all or nothing."""

import json
from typing import Any

import attrs
import pytest

from horde_simulator.call import Answer, Call
from horde_simulator.document import (
    parse_scenario,
    read_scenario,
    scenario_document,
    shipped_scenario,
)
from horde_simulator.scenario import Scenario
from horde_simulator.world import World

WORKER = {"name": "new", "models": ["koboldcpp/Gemma-3-4B-it"], "tokens_per_second": 10}
LLAMA = "koboldcpp/Llama-3.2-3B-Instruct"


def manual(name: str = "default") -> World:
    return World(attrs.evolve(shipped_scenario(name), clock="manual"), seed=7)


def ask(world: World, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    raw = b"" if body is None else json.dumps(body).encode()
    answer = world.handle(Call(method, path, body=raw))
    assert isinstance(answer, Answer)
    assert dict(answer.headers)["content-type"] == "application/json"
    return answer.status, json.loads(answer.body)


def submit(world: World, key: str = "rich-key", **more: Any) -> str:
    body = {
        "messages": [{"role": "user", "content": "Write 200 words"}],
        "params": {"max_length": 512, "max_context_length": 4096},
        "models": [LLAMA],
        "progress": True,
        **more,
    }
    headers = (("apikey", key), ("client-agent", "test:1:none"))
    call = Call(
        "POST", "/api/v2/generate/chat/async", headers=headers, body=json.dumps(body).encode()
    )
    answer = world.handle(call)
    assert isinstance(answer, Answer)
    assert answer.status == 202, answer.body
    return str(json.loads(answer.body)["id"])


def read(world: World, request_id: str, method: str = "GET") -> dict[str, Any]:
    status, body = ask(world, method, f"/api/v2/generate/chat/status/{request_id}")
    assert status == 200
    return dict(body)


def snapshot(world: World) -> Any:
    """All that the control API can show."""
    names = ("state", "scenario", "ledger", "journal", "verdict")
    return [ask(world, "GET", f"/_sim/{name}") for name in names]


def test_state_shows_time_requests_and_workers() -> None:
    """A request from waiting through processing to its end, in the contract's words."""
    world = manual()
    first, second = submit(world), submit(world)
    state = ask(world, "GET", "/_sim/state")[1]
    assert state["time"] == 0.0
    waiting = {
        "state": "waiting",
        "model": LLAMA,
        "user": "Rich#1",
        "worker": None,
        "attempt": 0,
    }
    assert state["requests"] == [
        {"id": second, **waiting, "queue_position": 2},
        {"id": first, **waiting, "queue_position": 1},
    ]
    world.advance(1.5)
    state = ask(world, "GET", "/_sim/state")[1]
    assert state["time"] == 1.5
    by_id = {request["id"]: request for request in state["requests"]}
    running = by_id[first]
    assert (running["state"], running["worker"]) == ("processing", "Attic Llama")
    assert (running["attempt"], running["queue_position"]) == (1, 0)
    worker = next(entry for entry in state["workers"] if entry["name"] == "Attic Llama")
    assert [job["request_id"] for job in worker["jobs"]] == [first]
    assert worker["jobs"][0]["streamed"] > 0
    assert worker["built_in"] is True
    world.advance(60.0)
    state = ask(world, "GET", "/_sim/state")[1]
    assert {request["state"] for request in state["requests"]} == {"finished"}
    assert all(entry["jobs"] == [] for entry in state["workers"])


def test_state_lists_the_newest_requests_and_counts_all() -> None:
    """A look stays cheap with many held."""
    world = World(attrs.evolve(shipped_scenario("empty"), limits="off"))
    ids = [submit(world, key="0000000000") for _ in range(400)]
    state = ask(world, "GET", "/_sim/state")[1]
    assert state["held"] == 400
    assert [request["id"] for request in state["requests"]] == ids[::-1]


@pytest.mark.parametrize("name", ["default", "flaky", "restarts", "storm"])
def test_the_scenario_in_force_is_the_one_loaded(name: str) -> None:
    """Until something changes it; the seed is the world's."""
    world = World(shipped_scenario(name), seed=7)
    status, document = ask(world, "GET", "/_sim/scenario")
    assert status == 200
    assert read_scenario(document) == attrs.evolve(shipped_scenario(name), seed=7)


def test_the_scenario_in_force_follows_what_is_changed() -> None:
    """Workers added, changed and removed, faults planned and spent."""
    world = manual()
    ask(world, "POST", "/_sim/workers", WORKER)
    qwen = "8b000000-0000-4000-8000-000000000001"
    ask(world, "PATCH", f"/_sim/workers/{qwen}", {"maintenance": True, "threads": 5})
    ask(world, "DELETE", "/_sim/workers/8b000000-0000-4000-8000-000000000002")
    ask(world, "POST", "/_sim/faults", {"where": "status.error_500", "times": 2})
    request_id = submit(world)
    assert ask(world, "GET", f"/api/v2/generate/chat/status/{request_id}")[0] == 500
    document = ask(world, "GET", "/_sim/scenario")[1]
    workers = {worker["name"]: worker for worker in document["workers"]}
    assert workers["new"]["tokens_per_second"] == 10
    assert (workers["Garage Qwen"]["maintenance"], workers["Garage Qwen"]["threads"]) == (True, 5)
    assert "Cellar Qwen" not in workers
    assert [(fault["where"], fault["times"]) for fault in document["faults"]] == [
        ("status.error_500", 1)
    ]
    assert ask(world, "PUT", "/_sim/scenario", document)[0] == 200
    assert ask(world, "GET", "/_sim/scenario")[1] == document


def test_a_workers_faults_stay_with_it() -> None:
    """In the scenario in force they stand in the worker, with what is left of their times."""
    world = manual()
    fault = {"where": "faults_job", "times": 50, "reason": "no power"}
    status, _ = ask(
        world, "POST", "/_sim/workers", {**WORKER, "models": [LLAMA], "faults": [fault]}
    )
    assert status == 201
    llama = "3b000000-0000-4000-8000-000000000001"
    ask(world, "DELETE", f"/_sim/workers/{llama}")
    submit_id = submit(world)
    world.advance(0.3)
    assert read(world, submit_id)["last_refusal"]["message"] == "no power"
    document = ask(world, "GET", "/_sim/scenario")[1]
    worker = next(worker for worker in document["workers"] if worker["name"] == "new")
    assert [(own["where"], own["worker"]) for own in worker["faults"]] == [("faults_job", None)]
    assert 0 < worker["faults"][0]["times"] < 50
    assert document["faults"] == []


def test_put_scenario_begins_it_at_once() -> None:
    """With its own seed, at time 0, nothing left of the old one."""
    world = manual()
    submit(world)
    world.advance(5.0)
    document = scenario_document(parse_scenario('seed = 3\n[[models]]\nname = "m"', source="x"))
    status, answered = ask(world, "PUT", "/_sim/scenario", document)
    assert (status, answered) == (200, document)
    state = ask(world, "GET", "/_sim/state")[1]
    assert (state["time"], state["requests"], state["workers"]) == (0.0, [], [])
    assert world.seed == 3


def test_an_added_worker_serves() -> None:
    """A model that had none is answered a moment later."""
    world = manual()
    status, worker = ask(world, "POST", "/_sim/workers", WORKER)
    assert status == 201
    assert (worker["name"], worker["online"], worker["jobs"]) == ("new", True, [])
    request_id = submit(world, models=["koboldcpp/Gemma-3-4B-it"])
    world.advance(60.0)
    body = read(world, request_id)
    assert body["done"]
    assert body["generations"][0]["worker_id"] == worker["id"]


def test_a_patched_worker_changes() -> None:
    """Declarations and speed; what isn't named stays."""
    world = manual()
    worker_id = "3b000000-0000-4000-8000-000000000001"
    change = {"tokens_per_second": 1, "max_length": 64, "features": []}
    status, worker = ask(world, "PATCH", f"/_sim/workers/{worker_id}", change)
    assert status == 200
    assert (worker["max_length"], worker["chat"]["features"]) == (64, [])
    assert worker["max_context_length"] == 8192
    listed = ask(world, "GET", "/api/v2/workers")[1]
    entry = next(entry for entry in listed if entry["id"] == worker_id)
    assert (entry["max_length"], entry["performance"]) == (64, "1.0 tokens per second")


def test_an_external_worker_can_be_put_into_maintenance_only() -> None:
    """What it declares is its own affair."""
    world = manual()
    pop = {"name": "outside", "models": [LLAMA], "max_length": 512, "max_context_length": 4096}
    call = Call(
        "POST",
        "/api/v2/generate/chat/pop",
        headers=(("apikey", "rich-key"),),
        body=json.dumps(pop).encode(),
    )
    assert world.handle(call).status == 200  # type: ignore[union-attr]
    worker = next(w for w in world.state.registry.by_id.values() if w.name == "outside")
    path = f"/_sim/workers/{worker.id}"
    assert ask(world, "PATCH", path, {"maintenance": True})[1]["maintenance_mode"] is True
    assert ask(world, "PATCH", path, {})[1]["maintenance_mode"] is True
    status, body = ask(world, "PATCH", path, {"threads": 3})
    assert (status, body["errors"]) == (400, {"threads": "unknown key"})
    assert "outside" not in str(ask(world, "GET", "/_sim/scenario")[1])
    assert ask(world, "DELETE", path) == (200, {"removed": worker.id})


def test_advance_moves_a_manual_clock() -> None:
    """By seconds, and things happen on the way."""
    world = manual()
    request_id = submit(world)
    assert ask(world, "POST", "/_sim/advance", {"seconds": 30}) == (200, {"time": 30.0})
    assert read(world, request_id)["done"]


def test_a_running_clock_is_not_advanced() -> None:
    """409, and no time has passed."""
    world = World(shipped_scenario("default"))
    assert ask(world, "POST", "/_sim/advance", {"seconds": 30})[0] == 409
    assert world.now == 0.0


def test_the_ledger_balances() -> None:
    """Entries of the contract's shape; debited is credited, burnt and forgiven."""
    world = manual()
    request_id = submit(world)
    world.advance(60.0)
    ledger = ask(world, "GET", "/_sim/ledger")[1]
    assert {entry["request_id"] for entry in ledger["entries"]} == {request_id}
    for entry in ledger["entries"]:
        assert set(entry) >= {"at", "request_id", "kind", "debit", "credit"}
        assert entry["debit"]["account"] == "Rich#1"
    totals = ledger["totals"]
    assert totals["debited"] > 0
    assert totals["debited"] == pytest.approx(
        totals["credited"] + totals["burnt"] + totals["forgiven"]
    )


def test_the_journal_has_the_hordes_calls_and_none_of_its_own() -> None:
    """A dashboard that looks every second doesn't push the calls out."""
    world = manual()
    request_id = submit(world)
    ask(world, "GET", "/_sim/state")
    calls = ask(world, "GET", "/_sim/journal")[1]["calls"]
    assert [(entry["method"], entry["status"], entry["request_id"]) for entry in calls] == [
        ("POST", 202, request_id)
    ]
    assert calls[0]["key"] == "…redacted"


def test_the_verdict_is_the_callers() -> None:
    """Two reads within a second."""
    world = manual()
    request_id = submit(world)
    assert ask(world, "GET", "/_sim/verdict") == (200, {"ok": True, "findings": []})
    read(world, request_id)
    read(world, request_id)
    verdict = ask(world, "GET", "/_sim/verdict")[1]
    assert verdict["ok"] is False
    assert [(f["kind"], f["request_id"]) for f in verdict["findings"]] == [
        ("polled_too_fast", request_id)
    ]


def test_a_request_cancelled_in_time_leaves_a_good_verdict() -> None:
    """And cancelling it again does not."""
    world = manual()
    request_id = submit(world)
    read(world, request_id, "DELETE")
    assert ask(world, "GET", "/_sim/verdict")[1]["ok"] is True
    read(world, request_id, "DELETE")
    kinds = [finding["kind"] for finding in ask(world, "GET", "/_sim/verdict")[1]["findings"]]
    assert kinds == ["cancelled_finished"]


def test_reset_journal_forgets_calls_and_findings() -> None:
    """Requests and time go on."""
    world = manual()
    request_id = submit(world)
    read(world, request_id)
    read(world, request_id)
    world.advance(2.0)
    assert ask(world, "POST", "/_sim/reset", {"what": "journal"}) == (200, {"time": 2.0})
    assert ask(world, "GET", "/_sim/journal")[1] == {"calls": []}
    assert ask(world, "GET", "/_sim/verdict")[1]["ok"] is True
    assert ask(world, "GET", "/_sim/state")[1]["held"] == 1


def test_reset_all_begins_anew() -> None:
    """As a fresh world of the same seed."""
    world = manual()
    submit(world)
    ask(world, "POST", "/_sim/workers", WORKER)
    world.advance(9.0)
    assert ask(world, "POST", "/_sim/reset", {"what": "all"}) == (200, {"time": 0.0})
    assert snapshot(world) == snapshot(manual())


LLAMA_PATH = "/_sim/workers/3b000000-0000-4000-8000-000000000001"
REFUSED: list[tuple[str, str, Any, dict[str, str]]] = [
    (
        "PUT",
        "/_sim/scenario",
        {"sed": 1, "workers": [{"name": "w", "models": ["m"], "threads": 0}]},
        {
            "sed": "unknown key, did you mean seed?",
            "workers[0].threads": "must be at least 1, not 0",
        },
    ),
    (
        "POST",
        "/_sim/workers",
        {**WORKER, "tokens_per_sec": 4},
        {"tokens_per_sec": "unknown key, did you mean tokens_per_second?"},
    ),
    ("POST", "/_sim/workers", {"name": "w"}, {"models": "is missing"}),
    (
        "POST",
        "/_sim/workers",
        {**WORKER, "models": ["tabbyAPI/Command-R"]},
        {
            "models[0]": "unknown model 'tabbyAPI/Command-R', did you mean tabbyAPI/Command-R-35B?",
        },
    ),
    (
        "POST",
        "/_sim/workers",
        {**WORKER, "name": "Attic Llama", "id": "3b000000-0000-4000-8000-000000000001"},
        {
            "name": "there is a worker called 'Attic Llama'",
            "id": "there is a worker with the id '3b000000-0000-4000-8000-000000000001'",
        },
    ),
    (
        "POST",
        "/_sim/workers",
        {**WORKER, "faults": [{"where": "diverges", "follows": "x", "model": "y"}]},
        {"faults[0].model": "unknown model 'y'", "faults[0].follows": "no fault is called 'x'"},
    ),
    ("PATCH", LLAMA_PATH, {"name": "other"}, {"name": "can't be changed"}),
    ("PATCH", LLAMA_PATH, {"faults": []}, {"faults": "can't be changed"}),
    (
        "PATCH",
        LLAMA_PATH,
        {"brain": "prosa"},
        {"brain": "unknown brain 'prosa', did you mean prose?"},
    ),
    ("PATCH", LLAMA_PATH, {"thread": 2}, {"thread": "unknown key, did you mean threads?"}),
    ("PATCH", LLAMA_PATH, {"models": ["zzz"]}, {"models[0]": "unknown model 'zzz'"}),
    ("PATCH", LLAMA_PATH, {"threads": 2, "jitter": -1}, {"jitter": "must be at least 0, not -1"}),
    (
        "POST",
        "/_sim/faults",
        {"where": "status.slwo"},
        {"where": "unknown fault 'status.slwo', did you mean status.slow?"},
    ),
    ("POST", "/_sim/faults", {"where": "expiry", "model": "x"}, {"model": "unknown model 'x'"}),
    (
        "POST",
        "/_sim/faults",
        {"where": "expiry", "name": "a", "follows": "a"},
        {"follows": "a circle, none would ever strike: a -> a"},
    ),
    ("POST", "/_sim/advance", {}, {"seconds": "is missing"}),
    ("POST", "/_sim/advance", {"seconds": -1}, {"seconds": "must be at least 0, not -1"}),
    (
        "POST",
        "/_sim/advance",
        {"seconds": 1, "to": 2},
        {"to": "unknown key"},
    ),
    ("POST", "/_sim/reset", {}, {"what": "is missing"}),
    (
        "POST",
        "/_sim/reset",
        {"what": "everything"},
        {"what": "unknown reset 'everything'; known are all, journal"},
    ),
]


@pytest.mark.parametrize("method, path, body, errors", REFUSED)
def test_a_refusal_names_each_path_and_changes_nothing(
    method: str, path: str, body: Any, errors: dict[str, str]
) -> None:
    """400, all problems at once; whatever was right in the body isn't done either."""
    world = manual()
    submit(world)
    before = snapshot(world)
    status, answered = ask(world, method, path, body)
    assert (status, answered["errors"]) == (400, errors)
    assert answered["message"]
    assert snapshot(world) == before


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'"x"', b'{"what": "all", "what"}', b"\xff"])
@pytest.mark.parametrize(
    "method, path", [("PUT", "/_sim/scenario"), ("POST", "/_sim/reset"), ("PATCH", LLAMA_PATH)]
)
def test_a_body_that_is_no_json_object_is_refused(method: str, path: str, raw: bytes) -> None:
    """In the Horde's own error shape."""
    world = manual()
    before = snapshot(world)
    answer = world.handle(Call(method, path, body=raw))
    assert isinstance(answer, Answer)
    assert answer.status == 400
    assert set(json.loads(answer.body)) == {"message", "errors"}
    assert snapshot(world) == before


ALLOWED = {
    "/_sim/state": "GET",
    "/_sim/scenario": "GET, PUT",
    "/_sim/workers": "POST",
    "/_sim/workers/some-id": "PATCH, DELETE",
    "/_sim/faults": "POST",
    "/_sim/advance": "POST",
    "/_sim/ledger": "GET",
    "/_sim/journal": "GET",
    "/_sim/verdict": "GET",
    "/_sim/reset": "POST",
}


@pytest.mark.parametrize("path", ALLOWED)
def test_another_method_is_405_with_those_allowed(path: str) -> None:
    """The contract's list of calls, and no other."""
    for method in ("GET", "PUT", "POST", "PATCH", "DELETE", "BREW"):
        if method not in ALLOWED[path].split(", "):
            answer = manual().handle(Call(method, path, body=b"{}"))
            assert isinstance(answer, Answer)
            assert (answer.status, dict(answer.headers)["allow"]) == (405, ALLOWED[path])


@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/_sim"),
        ("GET", "/_sim/"),
        ("GET", "/_simulator/state"),
        ("GET", "/_sim/states"),
        ("GET", "/_sim/state/x"),
        ("PATCH", "/_sim/workers/unknown"),
        ("DELETE", "/_sim/workers/unknown"),
    ],
)
def test_an_unknown_path_or_worker_is_404(method: str, path: str) -> None:
    """With a message."""
    status, body = ask(manual(), method, path, {})
    assert status == 404
    assert body["message"]


def test_a_planned_fault_can_follow_one_that_is_spent() -> None:
    """Its name is known though it strikes no more."""
    world = manual()
    ask(world, "POST", "/_sim/faults", {"where": "workers.error_500", "times": 1, "name": "first"})
    assert ask(world, "GET", "/api/v2/workers")[0] == 500
    follower = {"where": "workers.html_502", "times": 1, "follows": "first"}
    assert ask(world, "POST", "/_sim/faults", follower)[0] == 201
    assert ask(world, "GET", "/_sim/scenario")[1]["faults"][0]["follows"] is None
    answer = world.handle(Call("GET", "/api/v2/workers"))
    assert isinstance(answer, Answer)
    assert answer.status == 502


def test_the_same_calls_give_the_same_bytes() -> None:
    """Two worlds of one seed can't be told apart."""
    worlds = [manual("storm"), manual("storm")]
    for world in worlds:
        for _ in range(20):
            submit_any(world)
            world.advance(world.now + 1.3)
    assert snapshot(worlds[0]) == snapshot(worlds[1])


def submit_any(world: World) -> None:
    """A submit whatever the storm makes of it."""
    body = {"messages": [{"role": "user", "content": "Hi"}], "models": [LLAMA]}
    headers = (("apikey", "rich-key"),)
    raw = json.dumps(body).encode()
    world.handle(Call("POST", "/api/v2/generate/chat/async", headers=headers, body=raw))


def test_an_empty_scenario_is_a_scenario() -> None:
    """PUT of `{}` is a Horde without models, users or workers."""
    world = manual()
    assert ask(world, "PUT", "/_sim/scenario", {})[0] == 200
    assert world.scenario == Scenario()
