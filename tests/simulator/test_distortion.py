"""Every fault on the Horde's own calls, seen to do what its row says."""

from typing import Any

import orjson
import pytest

from horde_simulator.call import Answer, Call
from horde_simulator.faults import CALL_FAULTS, CALLS
from horde_simulator.scenario import FaultSpec
from horde_simulator.world import World
from simulator.horde import API, MODEL, SMALL, Caller, body_of, profile, scenario


def horde(*faults: FaultSpec, **fields: Any) -> Caller:
    """A Horde whose requests wait in the queue."""
    return Caller(World(scenario(profile(background_seconds=1e6, **fields), faults=faults)))


def fault(where: str, times: int | None = 1, after: float = 0.0, **options: Any) -> FaultSpec:
    return FaultSpec(where, times=times, after=after, options=options)


def raw(caller: Caller, name: str, request_id: str) -> Answer:
    """One call by its name in the faults' table."""
    method, path, body = {
        "submit": ("POST", "/generate/chat/async", orjson.dumps(body_of())),
        "status": ("GET", f"/generate/chat/status/{request_id}", b""),
        "cancel": ("DELETE", f"/generate/chat/status/{request_id}", b""),
        "workers": ("GET", "/workers", b""),
        "models": ("GET", "/status/models", b""),
    }[name]
    answer = caller.world.handle(Call(method, API + path, "", (("apikey", caller.key),), body))
    assert isinstance(answer, Answer)
    return answer


def done(caller: Caller, name: str, request_id: str) -> bool:
    """Whether a call with an effect has had it."""
    held = caller.world.state.requests
    if name == "submit":
        return len(held) == 2
    return held[request_id].over


# What each kind answers, and whether the call does its work all the same.
KINDS: dict[str, tuple[int, bool]] = {
    "error_500": (500, False),
    "html_502": (502, False),
    "truncated_json": (200, True),
    "wrong_json": (200, True),
    "slow": (200, True),
    "cut_before": (200, False),
    "cut_after": (200, True),
    "rate_limited": (429, False),
    "rate_limited_with_rc": (429, False),
    "maintenance": (400, False),
    "key_revoked": (401, False),
}


def check_shape(kind: str, answer: Answer) -> None:
    """That the answer is distorted as the kind says."""
    if kind == "html_502":
        assert answer.body.startswith(b"<html>")
        return
    if kind == "slow":
        assert answer.delay == 5.0
    elif kind in ("cut_before", "cut_after"):
        assert answer.cut == 0
        return
    elif kind == "truncated_json":
        with pytest.raises(orjson.JSONDecodeError):
            orjson.loads(answer.body)
        return
    body = orjson.loads(answer.body)
    if kind == "wrong_json":
        assert not isinstance(body, dict)
    headers = dict(answer.headers)
    if kind.startswith("rate_limited"):
        assert headers["retry-after"] == "2"
    rc = {
        "rate_limited_with_rc": "TooManyPrompts",
        "maintenance": "MaintenanceMode",
        "key_revoked": "InvalidAPIKey",
    }
    if answer.status >= 400:
        assert body.get("rc") == rc.get(kind)


@pytest.mark.parametrize("prefix", ["own", "any"])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", CALL_FAULTS)
def test_a_fault_of_a_call_strikes_it_once(kind: str, name: str, prefix: str) -> None:
    caller = horde()
    request_id = caller.submit()["id"]
    where = f"{name if prefix == 'own' else 'any'}.{kind}"
    caller.world.add_fault(fault(where))
    answer = raw(caller, name, request_id)
    status, works = KINDS[kind]
    expected = 202 if (status, name, works) == (200, "submit", True) else status
    assert answer.status == expected
    check_shape(kind, answer)
    if name in ("submit", "cancel"):
        assert done(caller, name, request_id) == works
    again = raw(caller, name, request_id)
    assert again.status in (200, 202)
    assert (again.cut, again.delay) == (None, 0.0)


@pytest.mark.parametrize("kind", ["error_500", "html_502"])
def test_an_error_may_have_had_its_effect(kind: str) -> None:
    caller = horde(fault(f"submit.{kind}", effect=True))
    answer = raw(caller, "submit", "")
    assert answer.status >= 500
    assert len(caller.world.state.requests) == 1


def test_options_of_distortions() -> None:
    caller = horde(
        fault("models.truncated_json", bytes=7),
        fault("models.slow", seconds=0.5),
        fault("models.cut_after", bytes=12),
        fault("models.rate_limited", seconds=7),
        fault("models.rate_limited_with_rc", rc="TooManySomethings", seconds=1.5),
    )
    answers = [raw(caller, "models", "") for _ in range(5)]
    assert answers[0].body == b'[{"name'
    assert answers[1].delay == 0.5
    assert answers[2].cut == 12
    assert dict(answers[3].headers)["retry-after"] == "7"
    assert orjson.loads(answers[4].body)["rc"] == "TooManySomethings"
    assert dict(answers[4].headers)["retry-after"] == "1.5"


def test_a_lost_submit_can_be_sent_again_without_a_second_request() -> None:
    caller = horde(fault("submit.cut_after"))
    lost = caller.submit_raw(operation_key="once")
    assert lost.cut == 0
    again = caller.submit(operation_key="once")
    assert again["existing"] is True
    assert len(caller.world.state.requests) == 1


def test_a_fault_after_so_many_polls() -> None:
    caller = horde(fault("status.error_500", after=2))
    request_id = caller.submit()["id"]
    statuses = []
    for _ in range(4):
        caller.read(request_id)
        statuses.append(caller.status)
    assert statuses == [200, 200, 500, 200]


def test_a_fault_of_one_model() -> None:
    spec = FaultSpec("status.error_500", model=SMALL)
    caller = horde(spec)
    ids = [caller.submit(models=[model])["id"] for model in (MODEL, SMALL)]
    caller.read(ids[0])
    assert caller.status == 200
    caller.read(ids[1])
    assert caller.status == 500
    submit = FaultSpec("submit.maintenance", model=SMALL)
    caller.world.add_fault(submit)
    assert caller.submit(models=[SMALL])["rc"] == "MaintenanceMode"
    caller.submit()
    assert caller.status == 202


def test_stale_eligibility() -> None:
    """For a minute after the worker has gone the status may still speak of it."""
    caller = horde(fault("stale_eligibility", times=None, seconds=60.0), online_until=10.0)
    request_id = caller.submit()["id"]
    assert caller.read(request_id)["eligible_workers"] == 1
    caller.wait(15.0)
    assert caller.read(request_id)["eligible_workers"] == 1
    caller.wait(50.0)
    assert caller.read(request_id)["eligible_workers"] == 1
    caller.wait(20.0)
    assert caller.read(request_id)["eligible_workers"] == 0


def test_stale_check_in() -> None:
    """A worker that left is counted for 30 seconds more, and takes no job."""
    caller = Caller(World(scenario(profile(online_until=10.0), faults=(fault("stale_check_in"),))))
    caller.wait(20.0)
    request_id = caller.submit()["id"]
    caller.wait(5.0)
    status = caller.read(request_id)
    assert (status["pool"]["online_workers"], status["waiting"]) == (1, 1)
    assert len(caller.send("GET", "/workers")) == 1
    caller.wait(16.0)
    assert caller.send("GET", "/workers") == []
    assert caller.read(request_id)["pool"]["online_workers"] == 0


def test_fields_missing() -> None:
    caller = horde(fault("fields_missing", fields=["pool", "done"]), fault("fields_missing"))
    request_id = caller.submit()["id"]
    first, second, third = (caller.read(request_id) for _ in range(3))
    assert set(third) - set(first) == {"pool", "done"}
    assert set(third) - set(second) == {
        "wait_time",
        "queue_position",
        "is_possible",
        "eligible_workers",
        "pool",
    }


def test_expiry() -> None:
    caller = horde(fault("expiry", after=1))
    request_id = caller.submit()["id"]
    caller.read(request_id)
    assert caller.status == 200
    assert caller.read(request_id)["rc"] == "RequestNotFound"
    caller.cancel(request_id)
    assert caller.status == 404
    assert caller.world.state.queue.jobs == 0
