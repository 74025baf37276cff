"""The contract's page on the Horde, section 1. Conventions, held against the world.

Each docstring is the sentence, or what it says; figures are worked by hand beside it. Everything
goes through `World.handle`, as a caller of the real thing would see it.
"""

from typing import Any

import pytest

from horde_simulator.world import World
from simulator.contract import pair
from simulator.horde import (
    ANONYMOUS,
    LARGE,
    MODEL,
    SMALL,
    UNKNOWN_SIZE,
    Caller,
    body_of,
    empty_world,
    scenario,
)

RATE = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"]


@pytest.mark.parametrize(
    "method,path",
    [
        ("POST", "/generate/chat/async"),
        ("POST", "/generate/chat/pop"),
        ("POST", "/generate/chat/progress"),
        ("POST", "/generate/chat/submit"),
        ("GET", "/generate/chat/status/x"),
        ("DELETE", "/generate/chat/status/x"),
        ("GET", "/workers"),
        ("GET", "/status/models"),
        ("GET", "/find_user"),
        ("GET", "/status/performance"),
    ],
)
def test_limit_headers_on_every_answer(method: str, path: str) -> None:
    """`X-RateLimit-*` and `Retry-After` come on every answer of a limited route."""
    caller = Caller(empty_world(limits="service"))
    caller.send(method, path, {} if method == "POST" else None)
    assert [name for name in RATE if name not in caller.headers] == []


LIMITS = [
    # route, calls of one instant that pass, what the 429 says
    ("public", "submit", "rich-key", 2, "2 per 1 second"),
    ("public", "submit", ANONYMOUS, 60, "60 per 1 second"),
    ("service", "submit", "rich-key", 60, "60 per 1 second"),
    ("service", "submit", ANONYMOUS, 60, "60 per 1 second"),
    ("public", "status", "rich-key", 60, "60 per 1 minute"),
    ("service", "status", "rich-key", 60, "60 per 1 minute"),
    ("service", "cancel", "rich-key", 60, "60 per 1 minute"),
    ("public", "pop", "rich-key", 60, "60 per 1 second"),
    ("service", "pop", "rich-key", 60, "60 per 1 second"),
    ("public", "workers", "rich-key", 90, "90 per 1 minute"),
    ("service", "find_user", "rich-key", 90, "90 per 1 minute"),
]


@pytest.mark.parametrize("limits,call,key,passing,text", LIMITS)
def test_limits(limits: Any, call: str, key: str, passing: int, text: str) -> None:
    """The table of limits; a 429 of the rate limiter has a message and no rc."""
    world = World(scenario(limits=limits))
    caller = Caller(world, key)
    request_id = Caller(world, "fair-key", address="10.9.9.9").submit()["id"]
    sends: dict[str, tuple[str, str, Any]] = {
        "submit": ("POST", "/generate/chat/async", body_of(dry_run=True)),
        "status": ("GET", f"/generate/chat/status/{request_id}", None),
        "cancel": ("DELETE", f"/generate/chat/status/{request_id}", None),
        "pop": ("POST", "/generate/chat/pop", {"name": "w", "models": [MODEL]}),
        "workers": ("GET", "/workers", None),
        "find_user": ("GET", "/find_user", None),
    }
    for _ in range(passing):
        caller.send(*sends[call])
        assert caller.status in (200, 202)
    refused = caller.send(*sends[call])
    assert caller.status == 429
    assert refused == {"message": text}
    assert float(caller.headers["retry-after"]) > 0


def test_submits_of_one_address() -> None:
    """Public callers: submit 90/minute per address; known services 300/minute."""
    for limits, most in (("public", 90), ("service", 300)):
        world = World(scenario(limits=limits))
        passed = 0
        for number in range(most + 1):
            world.advance(number * 0.15)
            keys = ("rich-key", "fair-key", "poor-key", "owner-key")
            caller = Caller(world, keys[number % 4])
            caller.submit(dry_run=True)
            passed += caller.status == 200
        assert passed == most
        other = Caller(world, address="10.0.0.2")
        other.submit(dry_run=True)
        assert other.status == 200


def test_status_needs_no_key() -> None:
    """The id is the secret; no key."""
    caller, _ = pair()
    request_id = caller.submit()["id"]
    for key in ("", "nobody", ANONYMOUS):
        stranger = Caller(caller.world, key)
        stranger.read(request_id)
        assert stranger.status == 200
    stranger.cancel(request_id)
    assert stranger.status == 200


def test_entries_of_the_listings() -> None:
    """Entries of `/workers` and `/status/models` have the keys of the example, and their types."""
    caller, program = pair()
    program.pop()
    (worker,) = caller.send("GET", "/workers", query="type=text")
    expected = {
        "id": str, "name": str, "type": str, "online": bool, "models": list, "threads": int,
        "max_length": int, "max_context_length": int, "performance": str, "trusted": bool,
        "maintenance_mode": bool, "paused": bool, "bridge_agent": str, "uptime": int,
        "requests_fulfilled": int, "uncompleted_jobs": int, "kudos_rewards": float, "chat": dict,
    }  # fmt: skip
    assert {name: type(worker[name]) for name in expected} == expected
    assert worker["performance"].endswith(" tokens per second")
    assert set(worker["chat"]) == {"features", "guarantees", "limits"}
    models = caller.send("GET", "/status/models", query="type=text&model_state=all")
    by_name = {model["name"]: model for model in models}
    assert set(by_name) == {MODEL, SMALL, LARGE, UNKNOWN_SIZE}
    assert by_name[SMALL]["count"] == by_name[SMALL]["workers"] == 0
    assert by_name[MODEL]["count"] == by_name[MODEL]["workers"] == 1
    assert by_name[MODEL]["parameters_billion"] == 8
    assert set(by_name[MODEL]) >= {"performance", "queued", "jobs", "eta", "type"}
    assert caller.send("GET", f"/status/models/{MODEL}") == by_name[MODEL]


def test_count_is_threads_and_queued_is_tokens() -> None:
    """`count` is threads, `queued` tokens, `eta` seconds."""
    caller, program = pair()
    program.pop(threads=3)
    for _ in range(2):
        caller.submit(params={"max_length": 100})
    model = caller.send("GET", f"/status/models/{MODEL}")
    assert (model["count"], model["workers"]) == (3, 1)
    assert (model["queued"], model["jobs"]) == (200.0, 2.0)


def test_an_unknown_key_has_no_user() -> None:
    """`GET /find_user`: 404 `UserNotFound` for an unknown key."""
    caller = Caller(empty_world(), "nobody")
    assert caller.send("GET", "/find_user")["rc"] == "UserNotFound"
    assert caller.status == 404
