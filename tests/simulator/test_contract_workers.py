"""The contract's page on the Horde, section 4. Workers, held against the world.

Each docstring is the sentence, or what it says; figures are worked by hand beside it. Everything
goes through `World.handle`, as a caller of the real thing would see it.
"""

from typing import Any

import pytest

from horde_simulator.world import World
from simulator.contract import kudos_of, pair
from simulator.horde import (
    ALL_FEATURES,
    ALL_GUARANTEES,
    ANONYMOUS,
    MODEL,
    TOOL,
    Caller,
    Program,
    empty_world,
)


def test_a_pop() -> None:
    """The answer's keys, and those of the payload; absent what is said to be absent."""
    caller, program = pair()
    nothing = program.pop()
    assert (nothing["id"], nothing["skipped"]) == (None, {})
    caller.submit(tools=[TOOL], tool_choice="auto", parallel_tool_calls=True)
    job = program.pop()
    assert set(job) == {"id", "ids", "ttl", "model", "messages", "skipped", "payload"}
    assert (job["ids"], job["ttl"], job["model"]) == ([job["id"]], 150, MODEL)
    assert set(job["payload"]) >= {
        "messages", "tools", "tool_choice", "parallel_tool_calls", "max_length",
        "max_context_length", "temperature", "top_p", "frequency_penalty", "presence_penalty",
        "rep_pen", "top_k", "min_p", "stop_sequence", "seed", "reasoning_effort", "progress",
        "progress_interval_ms",
    }  # fmt: skip
    assert job["payload"]["reasoning_effort"] == "medium"
    caller.submit(tools=[TOOL], tool_choice="none")
    assert "tools" not in program.pop()["payload"]
    caller.submit()
    chat = {"features": [], "guarantees": list(ALL_GUARANTEES), "limits": {}}
    assert "reasoning_effort" not in program.pop(chat=chat)["payload"]


def test_skipped_says_why() -> None:
    """`skipped`: reasons with counts, for what this worker can't serve."""
    caller, program = pair()
    for _ in range(2):
        caller.submit(tools=[TOOL])
    caller.submit(reasoning_effort="low")  # an unknown key of the body changes nothing
    chat = {"features": [], "guarantees": list(ALL_GUARANTEES), "limits": {}}
    first = program.pop(chat=chat)
    assert first["id"] is not None
    again = program.pop(chat=chat)
    assert again["id"] is None
    assert sum(again["skipped"].values()) == 2


def served_order(world: World, program: Program, names: dict[str, str]) -> list[str]:
    order = []
    while (job := program.pop())["id"] is not None:
        order.append(names[job["payload"]["messages"][0]["content"]])
    return order


def test_anonymous_after_users_with_kudos() -> None:
    """By priority, kudos at activation, then age; the anonymous last of all."""
    world = empty_world()
    names = {}
    for number, key in enumerate((ANONYMOUS, "poor-key", "fair-key", ANONYMOUS, "rich-key")):
        Caller(world, key).submit(text=f"{number}")
        names[str(number)] = f"{key}{number}"
    program = Program(world)
    assert served_order(world, program, names) == [
        "rich-key4", "fair-key2", "poor-key1", f"{ANONYMOUS}0", f"{ANONYMOUS}3",
    ]  # fmt: skip


def test_nobody_is_starved() -> None:
    """+50 for every 10 s of waiting: an anonymous request passes one of a user with 1,000 kudos
    that comes 200 s later (1,000 / 5), however many of those there are."""
    world = empty_world()
    Caller(world, ANONYMOUS).submit(text="old")
    program, fair = Program(world), Caller(world, "fair-key")
    turns = 0
    while turns < 100:
        fair.submit(text=f"new {turns}")
        job = program.pop()
        text = job["payload"]["messages"][0]["content"]
        program.hand_in(job["id"])
        if text == "old":
            break
        turns += 1
        fair.wait(10.0)
    # fair's kudos fall as it is charged, so a little earlier than after 20 turns of 10 s.
    assert 15 <= turns <= 20


NEEDS = [
    ({"tools": [TOOL]}, "tools", None),
    ({"tools": [TOOL], "parallel_tool_calls": False}, "parallel_tool_calls", None),
    ({"response_format": {"type": "json_object"}}, "response_format.json_object", None),
    ({"params": {"reasoning_effort": "none"}}, "reasoning_effort", None),
    ({"tools": [TOOL], "tool_choice": "required"}, None, "tool_choice"),
    ({}, None, "no_prompt_trim"),
    (
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "x", "strict": True, "schema": {"type": "object"}},
            }
        },
        None,
        "json_schema_strict",
    ),
]


@pytest.mark.parametrize("fields,feature,guarantee", NEEDS)
def test_what_a_request_needs(
    fields: dict[str, Any], feature: str | None, guarantee: str | None
) -> None:
    """A worker without this one declaration doesn't get it, and the status says what is missing;
    a guarantee isn't needed under `best_effort`."""
    caller, program = pair()
    chat = {
        "features": [name for name in ALL_FEATURES if name != feature],
        "guarantees": [name for name in ALL_GUARANTEES if name != guarantee],
        "limits": {},
    }
    program.pop(chat=chat)
    request_id = caller.submit(**fields)["id"]
    assert caller.status == 202
    pool = caller.read(request_id)["pool"]
    assert pool["missing_features"] == ([feature] if feature else [])
    assert pool["missing_guarantees"] == ([guarantee] if guarantee else [])
    assert program.pop(chat=chat)["id"] is None
    caller.cancel(request_id)
    caller.submit(conformance="best_effort", **fields)
    assert (program.pop(chat=chat)["id"] is None) == (feature is not None)


def test_progress_posts() -> None:
    """Cumulative; `seq` not above the last is ignored; what doesn't continue is refused."""
    caller, program = pair()
    request_id = caller.submit(progress=True)["id"]
    job = program.pop()["id"]
    assert program.post(job, 5, "One") == {"cancelled": False, "ttl": 150}
    program.post(job, 5, "Two")
    assert program.status == 200
    assert caller.read(request_id)["progress"][0]["content"] == "One"
    assert program.post(job, 6, "Two")["rc"] == "ChatProgressInvalid"
    assert program.status == 400
    program.post(job, 7, "One two")
    program.hand_in(job, "One two three")
    assert caller.read(request_id)["done"]


def test_errors_of_a_submit() -> None:
    """`DuplicateGen`, `AbortedGen` (400), `InvalidJobID` (404), `WrongCredentials` (403)."""
    caller, program = pair()
    caller.submit()
    job = program.pop()["id"]
    other = Program(caller.world, key="fair-key")
    assert (other.hand_in(job)["rc"], other.status) == ("WrongCredentials", 403)
    assert (program.hand_in("nothing")["rc"], program.status) == ("InvalidJobID", 404)
    program.hand_in(job)
    assert (program.hand_in(job)["rc"], program.status) == ("DuplicateGen", 400)
    caller.submit()
    late = program.pop()["id"]
    caller.wait(151)
    assert (program.hand_in(late)["rc"], program.status) == ("AbortedGen", 400)


STRIKES = [
    ({"message": {"tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{}"}}]}}, {}),
    (
        {"message": {"tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{}"}}]}},
        {"tools": [TOOL]},
    ),
    (
        {
            "message": {
                "tool_calls": [{"id": "a", "function": {"name": "weather", "arguments": "[]"}}]
            }
        },
        {"tools": [TOOL]},
    ),
    (
        {
            "message": {
                "tool_calls": [{"id": "", "function": {"name": "weather", "arguments": "{}"}}]
            }
        },
        {"tools": [TOOL]},
    ),
    ({"message": {"content": "[1]"}}, {"response_format": {"type": "json_object"}}),
    ({"usage": {"prompt_tokens": 1, "completion_tokens": 513}}, {}),
    ({"message": {"content": "no"}}, {"tools": [TOOL], "tool_choice": "required"}),
]


@pytest.mark.parametrize("reply,asked", STRIKES)
def test_what_is_refused_of_a_reply(reply: dict[str, Any], asked: dict[str, Any]) -> None:
    """400 `ChatSubmitNonconformant`; a strike: no reward, another worker, `last_refusal`."""
    caller, program = pair()
    program.pop()
    request_id = caller.submit(**asked)["id"]
    job = program.pop()["id"]
    answer = program.hand_in(job, **reply)
    assert (program.status, answer["rc"]) == (400, "ChatSubmitNonconformant")
    status = caller.read(request_id)
    assert status["last_refusal"] == {"rc": answer["rc"], "message": answer["message"]}
    assert (status["waiting"], status["restarted"]) == (1, 1)
    assert kudos_of(caller.world, "owner-key") == 100.0
    again = program.pop()["id"]
    assert again not in (None, job)


def test_length_waives_the_json_rules() -> None:
    """`finish_reason: length`: a cut reply can't parse."""
    caller, program = pair()
    request_id = caller.submit(response_format={"type": "json_object"})["id"]
    program.hand_in(program.pop()["id"], '{"a": [1, ', finish_reason="length")
    assert program.status == 200
    assert caller.read(request_id)["done"]


def test_three_strikes() -> None:
    """A fault, a refusal and a lease that ran out fault the request; the last one's rc is kept."""
    caller, program = pair()
    request_id = caller.submit()["id"]
    program.hand_in(program.pop()["id"], state="faulted", fault_reason="No memory.")
    assert caller.read(request_id)["last_refusal"] == {
        "rc": "ChatWorkerFault",
        "message": "No memory.",
    }
    usage = {"prompt_tokens": 1, "completion_tokens": 9999}
    program.hand_in(program.pop()["id"], usage=usage)
    assert caller.read(request_id)["last_refusal"]["rc"] == "ChatSubmitNonconformant"
    program.pop()
    caller.wait(151)
    status = caller.read(request_id)
    assert (status["done"], status["faulted"]) == (True, True)
    assert status["last_refusal"]["rc"] == "ChatWorkerTimeout"
    assert status["kudos"] == 1.0
