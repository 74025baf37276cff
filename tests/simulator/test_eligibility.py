"""What a request demands, and which workers can serve it."""

from typing import Any

import pytest

from horde_simulator.scenario import WorkerProfile
from horde_simulator.world import World
from simulator.horde import (
    ALL_FEATURES,
    ALL_GUARANTEES,
    MODEL,
    SMALL,
    TOOL,
    Caller,
    Program,
    body_of,
    profile,
    scenario,
)

_DOT = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
IMAGE = {
    "role": "user",
    "content": [
        {
            "type": "image_url",
            "image_url": {"url": f"data:image/gif;base64,{_DOT}"},
        }
    ],
}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
STRICT = {"type": "json_schema", "json_schema": {"strict": True, "schema": {"type": "object"}}}
FORCED = {"type": "function", "function": {"name": "weather"}}


def pool(body: dict[str, Any], *workers: WorkerProfile) -> Any:
    caller = Caller(World(scenario(*workers)))
    answer = caller.submit(body)
    assert caller.status == 202, answer
    return caller.read(answer["id"])


FEATURES = [
    ({}, set()),
    ({"tools": [TOOL]}, {"tools"}),
    ({"tools": [TOOL], "tool_choice": "auto"}, {"tools"}),
    ({"tools": [TOOL], "tool_choice": "none"}, set()),
    ({"tools": [TOOL], "parallel_tool_calls": False}, {"tools", "parallel_tool_calls"}),
    ({"tools": [TOOL], "parallel_tool_calls": True}, {"tools", "parallel_tool_calls"}),
    ({"response_format": {"type": "json_object"}}, {"response_format.json_object"}),
    ({"response_format": SCHEMA}, {"response_format.json_schema"}),
    ({"response_format": {"type": "text"}}, set()),
    (
        {"tools": [TOOL], "response_format": SCHEMA},
        {"tools", "response_format.json_schema", "tools_with_response_format"},
    ),
    (
        {"tools": [TOOL], "tool_choice": "none", "response_format": SCHEMA},
        {"response_format.json_schema"},
    ),
    ({"params": {"reasoning_effort": "none"}}, {"reasoning_effort"}),
    ({"params": {"reasoning_effort": "high"}}, {"reasoning_effort"}),
    ({"messages": [IMAGE]}, {"image_input"}),
    ({"progress": True}, set()),
]


@pytest.mark.parametrize("fields, needed", FEATURES, ids=range(len(FEATURES)))
@pytest.mark.parametrize("conformance", ["strict", "best_effort"])
def test_needed_features(fields: dict[str, Any], needed: set[str], conformance: str) -> None:
    """Features are needed in both modes."""
    body = body_of(conformance=conformance, **fields)
    assert set(pool(body, profile(features=()))["pool"]["missing_features"]) == needed


GUARANTEED = [
    ({}, {"no_prompt_trim"}),
    ({"tools": [TOOL], "tool_choice": "auto"}, {"no_prompt_trim"}),
    ({"tools": [TOOL], "tool_choice": "none"}, {"no_prompt_trim"}),
    ({"tools": [TOOL], "tool_choice": "required"}, {"no_prompt_trim", "tool_choice"}),
    ({"tools": [TOOL], "tool_choice": FORCED}, {"no_prompt_trim", "tool_choice"}),
    ({"response_format": SCHEMA}, {"no_prompt_trim"}),
    ({"response_format": STRICT}, {"no_prompt_trim", "json_schema_strict"}),
    ({"response_format": {"type": "json_object"}}, {"no_prompt_trim"}),
]


@pytest.mark.parametrize("fields, needed", GUARANTEED, ids=range(len(GUARANTEED)))
def test_needed_guarantees(fields: dict[str, Any], needed: set[str]) -> None:
    """They are needed under `strict` alone."""
    strict = pool(body_of(**fields), profile(guarantees=()))
    assert set(strict["pool"]["missing_guarantees"]) == needed
    assert strict["is_possible"] is False
    lax = pool(body_of(conformance="best_effort", **fields), profile(guarantees=()))
    assert lax["pool"]["missing_guarantees"] == []
    assert lax["eligible_workers"] == 1


def test_nothing_is_missing_when_each_is_declared_by_somebody() -> None:
    """No single worker has it all, so none is eligible (contract, section 3)."""
    status = pool(
        body_of(tools=[TOOL], params={"reasoning_effort": "low"}),
        profile("a", features=("tools",)),
        profile("b", features=("reasoning_effort",)),
    )
    assert status["pool"] == {
        "online_workers": 2,
        "online_threads": 2,
        "missing_features": [],
        "missing_guarantees": [],
        "exceeded_limits": [],
    }
    assert (status["eligible_workers"], status["is_possible"]) == (0, False)


def test_a_temperature_above_every_worker_s_limit_with_tools() -> None:
    limited = profile(limits={"max_temperature_with_tools": 1.0})
    body = body_of(tools=[TOOL], params={"temperature": 1.5})
    status = pool(body, limited)
    assert status["pool"]["exceeded_limits"] == [
        {"limit": "max_temperature_with_tools", "requested": 1.5, "largest": 1.0}
    ]
    assert status["eligible_workers"] == 0
    for fields in (
        {"params": {"temperature": 1.5}},
        {"tools": [TOOL], "tool_choice": "none", "params": {"temperature": 1.5}},
        {"tools": [TOOL], "params": {"temperature": 1.0}},
    ):
        assert pool(body_of(**fields), limited)["eligible_workers"] == 1
    both = pool(body, limited, profile("free"))
    assert both["pool"]["exceeded_limits"] == []
    assert both["eligible_workers"] == 1


def test_a_context_above_what_is_declared() -> None:
    status = pool(body_of(params={"max_context_length": 65536}), profile())
    assert status["pool"]["exceeded_limits"] == [
        {"limit": "max_context_length", "requested": 65536, "largest": 16384}
    ]


def test_a_length_is_exceeded_when_the_declarations_change_after_the_submit() -> None:
    world = World(scenario())
    worker = Program(world, declares={"max_length": 1024, "models": [SMALL]})
    worker.pop()
    caller = Caller(world)
    answer = caller.submit(models=[SMALL], params={"max_length": 2048})
    assert answer["max_length"] == 1024
    worker.declares["max_length"] = 512
    worker.pop()
    status = caller.read(answer["id"])
    assert status["pool"]["exceeded_limits"] == [
        {"limit": "max_length", "requested": 1024, "largest": 512}
    ]


RESTRICTED = [
    ({"workers": ["id-a"]}, 1),
    ({"workers": ["id-a", "id-b"]}, 2),
    ({"workers": ["id-a"], "worker_blacklist": True}, 2),
    ({"trusted_workers": True}, 1),
    ({"slow_workers": False}, 2),
    ({"slow_workers": False, "trusted_workers": True}, 0),
    ({"workers": ["id-c"], "models": [MODEL]}, 1),
    ({"models": [SMALL]}, 0),
    ({"models": [SMALL, MODEL]}, 3),
]


@pytest.mark.parametrize("fields, count", RESTRICTED, ids=range(len(RESTRICTED)))
def test_the_pool_is_of_workers_that_pass_the_restrictions(
    fields: dict[str, Any], count: int
) -> None:
    status = pool(
        body_of(**fields),
        profile("a", id="id-a"),
        profile("b", id="id-b", trusted=True, slow=True, threads=2),
        profile("c", id="id-c"),
        profile("resting", id="id-d", maintenance=True),
        profile("later", id="id-e", online_from=100.0),
    )
    assert status["pool"]["online_workers"] == status["eligible_workers"] == count


def test_threads_are_told_beside_workers() -> None:
    status = pool(body_of(), profile("a", threads=2), profile("b", threads=3, features=()))
    assert (status["eligible_workers"], status["eligible_worker_threads"]) == (2, 5)
    assert status["pool"]["online_threads"] == 5


def test_everything_that_can_be_demanded_is_declared_by_a_full_worker() -> None:
    body = body_of(
        messages=[IMAGE],
        tools=[TOOL],
        tool_choice="required",
        parallel_tool_calls=False,
        response_format=STRICT,
        params={"reasoning_effort": "low"},
    )
    assert pool(body, profile(features=ALL_FEATURES, guarantees=ALL_GUARANTEES))["is_possible"]


def test_a_worker_in_maintenance_serves_its_owner_only() -> None:
    """Also a request that its owner had submitted before."""
    world = World(scenario())
    worker = Program(world)
    worker.pop()
    owner, other = Caller(world, "owner-key"), Caller(world, "fair-key")
    before = owner.submit()["id"]
    registered = world.state.registry.named("w1")
    assert registered is not None
    world.set_maintenance(registered, True)
    ids = {"other": other.submit()["id"], "owner": owner.submit()["id"]}
    assert other.read(ids["other"])["eligible_workers"] == 0
    assert owner.read(before)["eligible_workers"] == 1
    assert owner.read(ids["owner"])["eligible_workers"] == 1
    listed = other.send("GET", "/workers", query="type=text")
    assert [entry["maintenance_mode"] for entry in listed] == [True]
    jobs = [worker.pop() for _ in range(3)]
    assert [job["id"] is not None for job in jobs] == [True, True, False]
    assert jobs[2]["skipped"] == {"maintenance": 1}
    world.set_maintenance(registered, False)
    assert other.read(ids["other"])["eligible_workers"] == 1
    assert worker.pop()["id"] is not None


def test_a_worker_in_maintenance_counts_neither_for_a_model_nor_for_its_largest_length() -> None:
    world = World(scenario(profile("a"), profile("b", max_length=4096, maintenance=True)))
    caller = Caller(world)
    assert caller.submit(params={"max_length": 4096})["max_length"] == 2048
    entry = caller.send("GET", f"/status/models/{MODEL}")
    assert (entry["workers"], entry["count"]) == (1, 1)
    alone = Caller(World(scenario(profile(maintenance=True))))
    assert "worker" in alone.submit()["message"]


def test_a_worker_is_online_for_300_seconds_after_its_last_call() -> None:
    world = World(scenario())
    worker, caller = Program(world), Caller(world)
    worker.pop()
    request_id = caller.submit(models=[SMALL])["id"]
    listed = []
    for _ in range(4):
        listed.append(len(caller.send("GET", "/workers")))
        caller.wait(100.0)
    assert listed == [1, 1, 1, 0]
    worker.pop()
    assert len(caller.send("GET", "/workers")) == 1
    assert caller.read(request_id)["pool"]["online_workers"] == 0
