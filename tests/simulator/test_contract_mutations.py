"""Good calls with something wrong deep inside get the Horde's own answers; nothing is raised."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from horde_simulator.call import Answer, Call, FetchedImage, ImageFetch
from horde_simulator.document import SHIPPED, scenario_document, shipped_scenario
from horde_simulator.world import World
from simulator.horde import ALL_FEATURES, ALL_GUARANTEES, API, MODEL, empty_world
from simulator.test_contract_calls import check

CHAT = f"{API}/generate/chat"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "in a city",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Bergen"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/a"}},
    "required": ["a"],
    "additionalProperties": False,
    "$defs": {"a": {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "string"}]}},
}
CALL = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
SUBMIT: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "s"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "weather in Bergen"},
                {"type": "image_url", "image_url": {"url": "http://a.org/a.png", "detail": "low"}},
            ],
        },
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": "rain"},
        {"role": "user", "content": "And now?", "name": "me"},
    ],
    "models": [MODEL],
    "tools": [WEATHER],
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "parallel_tool_calls": False,
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "x", "strict": True, "schema": SCHEMA},
    },
    "params": {
        "n": 2,
        "max_length": 32,
        "max_context_length": 1024,
        "temperature": 1.0,
        "top_p": 1.0,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
        "rep_pen": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "stop_sequence": ["x"],
        "seed": 1,
        "reasoning_effort": "low",
    },
    "workers": [],
    "worker_blacklist": False,
    "trusted_workers": False,
    "slow_workers": True,
    "conformance": "strict",
    "context_fit": "grow",
    "progress": True,
    "operation_key": "k",
    "dry_run": False,
}
PLAIN = {name: SUBMIT[name] for name in ("models", "params", "progress")} | {
    "messages": [{"role": "user", "content": "Hi"}]
}
POP = {
    "name": "w1",
    "models": [MODEL],
    "max_length": 2048,
    "max_context_length": 16384,
    "threads": 2,
    "bridge_agent": "a:1:b",
    "chat": {
        "features": list(ALL_FEATURES),
        "guarantees": list(ALL_GUARANTEES),
        "limits": {"max_temperature_with_tools": 1.0},
    },
}
POST = {"seq": 1, "content": "a", "reasoning_content": "b"}
REPLY = {
    "state": "ok",
    "message": {"content": "{}", "reasoning_content": "b", "tool_calls": [CALL]},
    "finish_reason": "stop",
    "native_finish_reason": "eos",
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "reasoning_tokens": 1},
    "seed": 1,
    "gen_metadata": [{"a": 1}],
    "fault_reason": "x",
}
WRONG: list[Any] = [
    None, True, False, 0, 1, -1, 2**63, -(2**63) - 1, 10**400, 1.5, 1e308, "", "x", "\x00",
    "\ud800", "none", "required", "json_object", [], [1], [[]], ["user"], {}, {"a": 1},
    {"$ref": "#/x"}, {"$ref": "http://e.org/x"}, "data:image/png;base64,AAAA", "http://[::1]/",
    "http://x:99999/",
]  # fmt: skip


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all that is inside a JSON value."""
    if path:
        yield path
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield from places(node[key], (*path, key))


def mutated(value: Any, draw: Random) -> Any:
    """A copy with one to three things replaced, left out or added."""
    value = copy.deepcopy(value)
    for _ in range(draw.choice([1, 1, 2, 3])):
        found = list(places(value))
        if not found:
            break
        *way, last = draw.choice(found)
        node = value
        for key in way:
            node = node[key]
        if draw.random() < 0.7 or isinstance(node, list):
            node[last] = copy.deepcopy(draw.choice(WRONG))
        elif draw.random() < 0.5:
            del node[last]
        else:
            node[draw.choice(["zz", "id", "models", "n"])] = copy.deepcopy(draw.choice(WRONG))
    return value


def ask(world: World, method: str, path: str, body: Any, draw: Random) -> Any:
    data = b"" if body is None else json.dumps(body).encode()
    answer = world.handle(Call(method, path, "", (("apikey", "rich-key"),), data))
    if isinstance(answer, ImageFetch):
        brought = [FetchedImage(None, "too_large"), FetchedImage(None, "x"), FetchedImage(b"junk")]
        answer = world.resume(answer.ticket, [draw.choice(brought) for _ in answer.urls])
    assert isinstance(answer, Answer)
    return check(answer)


@pytest.mark.parametrize("seed", range(300))
def test_a_mutated_life_of_a_request(seed: int) -> None:
    """Submit, pop, post, reply, read and cancel, each with something wrong; then time goes on."""
    draw, world = Random(seed), empty_world()
    base = draw.choice([SUBMIT, PLAIN])
    request = ask(world, "POST", f"{CHAT}/async", mutated(base, draw), draw)
    ask(world, "POST", f"{CHAT}/async", PLAIN, draw)
    ask(world, "POST", f"{CHAT}/pop", mutated(POP, draw), draw)
    job = ask(world, "POST", f"{CHAT}/pop", POP, draw)["id"] or "x"
    ask(world, "POST", f"{CHAT}/progress", mutated({"id": job, **POST}, draw), draw)
    ask(world, "POST", f"{CHAT}/submit", mutated({"id": job, **REPLY}, draw), draw)
    world.advance(draw.choice([1.0, 30.0, 400.0]))
    if "id" in request:
        ask(world, "GET", f"{CHAT}/status/{request['id']}", None, draw)
        ask(world, "DELETE", f"{CHAT}/status/{request['id']}", None, draw)
    world.advance(world.now + 2000.0)
    totals = ask(world, "GET", "/_sim/ledger", None, draw)["totals"]
    assert totals["debited"] == pytest.approx(
        totals["credited"] + totals["burnt"] + totals["forgiven"], abs=1e-6
    )


@pytest.mark.parametrize("seed", range(60))
def test_a_mutated_scenario(seed: int) -> None:
    """Is refused with paths, or runs."""
    draw, world = Random(seed), empty_world()
    document = mutated(scenario_document(shipped_scenario(draw.choice(SHIPPED))), draw)
    ask(world, "PUT", "/_sim/scenario", document, draw)
    ask(world, "POST", f"{CHAT}/async", PLAIN, draw)
    world.advance(world.now + 20.0)
    ask(world, "GET", "/_sim/scenario", None, draw)
