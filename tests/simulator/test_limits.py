"""Rate limits: who is counted by what, and the headers that every answer carries."""

from typing import Any

import pytest

from horde_simulator.limits import Limiter, Rule, Window
from horde_simulator.refusals import HordeError


def hits(limiter: Limiter, call: str, count: int, **fields: Any) -> int:
    """How many of so many calls at one instant are let through."""
    who: dict[str, Any] = {"address": "a", "key": "k", "subject": "s", "now": 0.0} | fields
    passed = 0
    for _ in range(count):
        try:
            limiter.check(call, **who)
        except HordeError:
            continue
        passed += 1
    return passed


@pytest.mark.parametrize(
    "mode, call, fields, allowed",
    [
        ("service", "submit", {}, 60),  # a key, a second
        ("public", "submit", {}, 2),
        ("public", "submit", {"key": "0000000000"}, 60),
        ("service", "status", {}, 60),  # a request id, a minute
        ("public", "cancel", {}, 60),
        ("service", "pop", {}, 60),
        ("service", "progress", {}, 60),
        ("service", "worker_submit", {}, 60),
        ("service", "workers", {}, 90),
        ("public", "find_user", {}, 90),
    ],
)
def test_so_many_pass_at_one_instant(
    mode: Any, call: str, fields: dict[str, Any], allowed: int
) -> None:
    assert hits(Limiter(mode), call, 200, **fields) == allowed


@pytest.mark.parametrize("mode, allowed", [("service", 300), ("public", 90)])
def test_submits_are_counted_by_address_too(mode: Any, allowed: int) -> None:
    limiter = Limiter(mode)
    passed = sum(hits(limiter, "submit", 1, key=f"key-{number}") for number in range(400))
    assert passed == allowed


def test_off_counts_nothing() -> None:
    limiter = Limiter("off")
    assert hits(limiter, "submit", 1000) == 1000
    assert limiter.check("submit", address="a", key="k", subject="", now=0.0) == ()


def test_status_and_cancel_and_each_id_are_counted_apart() -> None:
    limiter = Limiter("service")
    assert hits(limiter, "status", 61) == 60
    assert hits(limiter, "cancel", 61) == 60
    assert hits(limiter, "status", 61, subject="other") == 60


def test_a_new_window_counts_afresh() -> None:
    limiter = Limiter("service")
    assert hits(limiter, "status", 61, now=59.0) == 60
    assert hits(limiter, "status", 61, now=60.0) == 60


def test_a_read_every_1_1_seconds_is_never_refused() -> None:
    """The pace that the contract gives a front."""
    limiter = Limiter("service")
    times = [number * 1.1 for number in range(500)]
    assert sum(hits(limiter, "status", 1, now=time) for time in times) == 500


def test_headers_of_answers_and_refusals() -> None:
    limiter = Limiter("public")
    first = dict(limiter.check("submit", address="a", key="k", subject="", now=10.25))
    assert first == {
        "x-ratelimit-limit": "2",
        "x-ratelimit-remaining": "1",
        "x-ratelimit-reset": "11",
        "retry-after": "1",
    }
    limiter.check("submit", address="a", key="k", subject="", now=10.25)
    with pytest.raises(HordeError) as refused:
        limiter.check("submit", address="a", key="k", subject="", now=10.5)
    assert refused.value.status == 429
    assert refused.value.body == {"message": "2 per 1 second"}
    assert dict(refused.value.headers)["x-ratelimit-remaining"] == "0"


def test_the_tightest_rule_is_the_one_that_is_told() -> None:
    """60 a second for the key, but only 90 a minute for the address."""
    limiter = Limiter("public")
    for number in range(60):
        limiter.check("submit", address="a", key=f"k{number}", subject="", now=0.0)
    told = dict(limiter.check("submit", address="a", key="0000000000", subject="", now=0.0))
    assert (told["x-ratelimit-limit"], told["x-ratelimit-remaining"]) == ("90", "29")


def test_rule_texts() -> None:
    assert Rule(60, 60).text == "60 per 1 minute"
    assert Rule(2, 1).text == "2 per 1 second"


def test_a_refused_call_uses_up_nothing() -> None:
    window = Window(Rule(1, 60))
    assert [window.hit("a", 0.0) for _ in range(3)] == [0, -1, -1]
    assert window.resets_in(59.5) == 1
    assert window.resets_in(0.0) == 60
