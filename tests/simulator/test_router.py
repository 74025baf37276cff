"""Routes, listings, headers, the journal, and what the verdict is told."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horde_simulator.call import Answer, Call
from horde_simulator.scenario import FaultSpec
from horde_simulator.world import World
from simulator.horde import (
    API,
    LARGE,
    MODEL,
    SMALL,
    TOOL,
    Caller,
    Program,
    body_of,
    empty_world,
    profile,
    scenario,
)


def limited() -> Caller:
    return Caller(World(scenario(profile(), limits="service")))


@pytest.mark.parametrize(
    "method, path, status, allow",
    [
        ("GET", "/nothing", 404, None),
        ("GET", "", 404, None),
        ("GET", "/generate/chat/status/", 404, None),
        ("GET", "/generate/chat/async", 405, "POST"),
        ("PUT", "/generate/chat/status/x", 405, "GET, DELETE"),
        ("DELETE", "/workers", 405, "GET"),
        ("POST", "/status/models/a/b", 405, "GET"),
    ],
)
def test_unknown_paths_and_methods(method: str, path: str, status: int, allow: str | None) -> None:
    caller = limited()
    answer = caller.send(method, path)
    assert caller.status == status
    assert set(answer) == {"message"}
    assert caller.headers.get("allow") == allow


@pytest.mark.parametrize(
    "method, path",
    [
        ("POST", "/generate/chat/async"),
        ("GET", "/generate/chat/status/x"),
        ("DELETE", "/generate/chat/status/x"),
        ("POST", "/generate/chat/pop"),
        ("POST", "/generate/chat/progress"),
        ("POST", "/generate/chat/submit"),
        ("GET", "/generate/chat/image/x"),
        ("GET", "/workers"),
        ("GET", "/status/models"),
        ("GET", f"/status/models/{MODEL}"),
        ("GET", "/find_user"),
        ("GET", "/status/heartbeat"),
        ("GET", "/status/performance"),
    ],
)
def test_every_answer_tells_the_limits_refusals_included(method: str, path: str) -> None:
    caller = limited()
    caller.send(method, path)
    names = {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"}
    assert names < set(caller.headers)


def test_status_is_limited_by_id() -> None:
    caller = limited()
    request_id = caller.submit()["id"]
    for _ in range(60):
        caller.read(request_id)
        assert caller.status == 200
    assert caller.read(request_id) == {"message": "60 per 1 minute"}
    assert caller.status == 429
    caller.cancel(request_id)
    assert caller.status == 200


def test_workers_listing() -> None:
    world = World(scenario(profile("a", id="id-a", threads=2), profile("b", online_from=9.0)))
    caller = Caller(world)
    caller.wait(5.0)
    (entry,) = caller.send("GET", "/workers", query="type=text")
    assert entry == {
        "id": "id-a",
        "name": "a",
        "type": "text",
        "online": True,
        "models": [MODEL],
        "threads": 2,
        "max_length": 2048,
        "max_context_length": 16384,
        "performance": "40.0 tokens per second",
        "trusted": False,
        "maintenance_mode": False,
        "paused": False,
        "bridge_agent": "horde_simulator:1:built-in",
        "uptime": 5,
        "requests_fulfilled": 0,
        "uncompleted_jobs": 0,
        "kudos_rewards": 0.0,
        "chat": {
            "features": sorted(entry["chat"]["features"]),
            "guarantees": ["json_schema_strict", "no_prompt_trim", "tool_choice"],
            "limits": {},
        },
    }
    assert caller.send("GET", "/workers", query="type=image") == []


def test_models_listing() -> None:
    world = World(
        scenario(
            profile("a", threads=2, tokens_per_second=30.0, background_seconds=1e6),
            profile("b", models=(MODEL, SMALL), features=()),
        )
    )
    caller = Caller(world)
    caller.submit(params={"max_length": 100, "n": 3, "reasoning_effort": "low"})
    listed = caller.send("GET", "/status/models", query="type=text&model_state=known")
    assert [entry["name"] for entry in listed][:3] == [MODEL, SMALL, LARGE]
    # 300 tokens before 2 x 30 + 40 a second.
    assert listed[0] == {
        "name": MODEL,
        "count": 3,
        "workers": 2,
        "performance": 70.0,
        "queued": 300.0,
        "jobs": 3.0,
        "eta": 3,
        "type": "text",
        "parameters_billion": 8.0,
    }
    assert (listed[2]["count"], listed[2]["workers"], listed[2]["performance"]) == (0, 0, 0.0)
    assert caller.send("GET", f"/status/models/{MODEL}") == listed[0]
    assert caller.send("GET", "/status/models", query="type=image") == []
    assert caller.send("GET", "/status/models/a/b")["rc"] == "UnknownModel"
    assert caller.status == 404


def test_models_listing_counts_other_users_jobs() -> None:
    """30 s of them at 8 tokens a second, in jobs of 5 s: a model that is never idle says so."""
    world = World(scenario(profile("a", tokens_per_second=8.0, background_seconds=30.0)))
    entry = Caller(world).send("GET", f"/status/models/{MODEL}")
    assert (entry["queued"], entry["jobs"], entry["eta"]) == (240.0, 6.0, 30)


def test_find_user() -> None:
    caller = Caller(empty_world(), "poor-key")
    answer = caller.send("GET", "/find_user")
    assert (answer["username"], answer["kudos"]) == ("poor#3", 30.0)
    caller.key = "0000000000"
    assert caller.send("GET", "/find_user")["kudos"] == 0.0
    caller.key = "nobody"
    assert caller.send("GET", "/find_user")["rc"] == "UserNotFound"
    assert caller.status == 404


def test_health_and_totals() -> None:
    caller = Caller(World(scenario(profile(threads=3, background_seconds=1e6))))
    caller.submit(params={"n": 2, "max_length": 50})
    assert caller.send("GET", "/status/heartbeat")["message"] == "OK"
    totals = caller.send("GET", "/status/performance")
    assert totals["queued_text_requests"] == 2
    assert totals["queued_tokens"] == 100.0
    assert (totals["text_worker_count"], totals["text_thread_count"]) == (1, 3)


def test_the_journal_has_every_call_and_no_key() -> None:
    world = World(scenario(faults=(FaultSpec("models.cut_after"),)))
    caller = Caller(world)
    request_id = caller.submit()["id"]
    caller.read(request_id)
    caller.read("nothing")
    caller.send("GET", "/status/models")
    calls = world.journal.document()["calls"]
    assert [(call["method"], call["status"], call["request_id"]) for call in calls] == [
        ("POST", 202, request_id),
        ("GET", 200, request_id),
        ("GET", 404, None),
        ("GET", 0, None),
    ]
    assert "rich-key" not in str(calls)


def findings(caller: Caller) -> list[str]:
    verdict = caller.world.state.grader.verdict(caller.world.now)
    return [finding.kind for finding in verdict.findings]


def test_a_good_caller_has_a_good_verdict() -> None:
    caller = limited()
    request_id = caller.submit(operation_key="k")["id"]
    while not caller.read(request_id)["done"]:
        caller.wait(1.1)
    other = caller.submit()["id"]
    caller.cancel(other)
    caller.wait(500.0)
    assert findings(caller) == []


def test_reading_too_fast_is_found() -> None:
    caller = limited()
    request_id = caller.submit()["id"]
    caller.read(request_id)
    caller.wait(0.5)
    caller.read(request_id)
    assert findings(caller) == ["polled_too_fast"]


def test_ignoring_retry_after_is_found_whatever_the_call_came_to() -> None:
    faults = (FaultSpec("status.rate_limited", times=1, options={"seconds": 5}),)
    caller = Caller(World(scenario(profile(), faults=faults)))
    request_id = caller.submit(models=[SMALL])["id"]
    caller.read(request_id)
    assert caller.status == 429
    caller.wait(2.0)
    caller.read(request_id)
    assert findings(caller) == ["ignored_retry_after"]


def test_submitting_again_after_a_lost_answer_is_found_without_the_operation_key() -> None:
    faults = (FaultSpec("submit.cut_after", times=1),)
    for second, expected in (("k1", []), ("k2", ["submitted_twice"])):
        caller = Caller(World(scenario(profile(background_seconds=1e6), faults=faults)))
        caller.submit_raw(operation_key="k1")
        caller.submit_raw(operation_key=second)
        assert findings(caller) == expected


def test_leaving_a_request_and_cancelling_a_finished_one_are_found() -> None:
    caller = limited()
    caller.submit(models=[SMALL])
    done = caller.submit()["id"]
    while not caller.read(done)["done"]:
        caller.wait(1.1)
    caller.cancel(done)
    caller.wait(100.0)
    assert sorted(findings(caller)) == ["cancelled_finished", "left_without_cancel"]


def test_a_request_that_ended_while_nobody_looked_was_left_too() -> None:
    """Nobody was told, and nobody cancelled: that it ended by itself is luck (contract, 4)."""
    caller = limited()
    request_id = caller.submit()["id"]
    caller.wait(200.0)
    assert findings(caller) == ["left_without_cancel"]
    assert caller.read(request_id)["done"]
    assert findings(caller) == []


def test_what_breaks_the_schema_is_found() -> None:
    caller = limited()
    caller.submit(params={"n": 0})
    assert findings(caller) == ["forbidden"]


def test_a_worker_s_mistakes_are_not_the_caller_s() -> None:
    worker = Program(empty_world())
    worker.pop(models=[])
    assert findings(worker) == []


def test_the_simulator_s_own_calls_go_to_the_control_api() -> None:
    caller = limited()
    answer = caller.world.handle(Call("GET", "/_sim/state"))
    assert isinstance(answer, Answer)
    assert answer.status == 200
    assert caller.world.journal.document()["calls"] == []


def test_reset_begins_anew() -> None:
    caller = limited()
    first = caller.submit()["id"]
    caller.wait(50.0)
    caller.world.reset()
    assert caller.world.now == 0.0
    caller.read(first)
    assert caller.status == 404
    assert caller.submit()["id"] == first
    caller.world.reset(scenario(limits="off"))
    assert caller.send("GET", "/workers") == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
SPOILT: list[tuple[str, dict[str, Any]]] = [
    (
        "/generate/chat/async",
        body_of(tools=[TOOL], params={"n": 1}, response_format={}, workers=[]),
    ),
    ("/generate/chat/pop", {"name": "w", "models": [MODEL], "chat": {"features": []}}),
    ("/generate/chat/progress", {"id": "x", "seq": 1, "content": ""}),
    (
        "/generate/chat/submit",
        {"id": "x", "message": {"content": "", "tool_calls": []}, "usage": {}},
    ),
]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SPOILT), st.data())
def test_any_value_in_any_place_is_answered(
    spoilt: tuple[str, dict[str, Any]], data: st.DataObject
) -> None:
    """One place of a good body, at any depth, holds any JSON: an answer, never an exception."""
    path, good = spoilt
    world = World(scenario(profile()))
    program = Program(world)
    program.pop()
    Caller(world).submit(tools=[TOOL])
    job = program.pop()
    body = json.loads(json.dumps(good).replace('"x"', json.dumps(job["id"])))
    place: Any = body
    key: Any = data.draw(st.sampled_from(sorted(body)))
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
        place = place[key]
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
    place[key] = data.draw(JSON)
    program.send("POST", path, json.dumps(body).encode())
    assert program.status in (200, 202, 400, 403, 404)
    world.advance(world.now + 400.0)


def test_calls_may_come_in_any_bytes() -> None:
    """Whatever path, query and headers: an answer, never an exception."""
    caller = limited()
    for path in (f"{API}/workers/../x", "/", "", f"{API}/status/models/", f"{API}/workers/\x00é"):
        for query in ("", "&&&=", "type=%ff", "type", "from=1:2"):
            answer = caller.world.handle(Call("GET", path, query, (("apikey", "é\x00"),), b"\xff"))
            assert isinstance(answer, Answer)
            assert answer.status in (200, 404)
