"""Cancelling and expiring: what is charged, once, whatever races it."""

import pytest

from horde_simulator.world import World
from simulator.horde import SMALL, Caller, Program, body_of, empty_world, profile, scenario
from simulator.test_work import at_work


def test_nothing_popped_costs_the_activation() -> None:
    caller = Caller(empty_world())
    request_id = caller.submit()["id"]
    status = caller.cancel(request_id)
    assert caller.status == 200
    assert (status["done"], status["cancelled"], status["faulted"]) == (True, True, False)
    assert (status["waiting"], status["kudos"]) == (0, 1.0)
    assert caller.world.state.queue.requests == 0


def test_popped_and_nothing_streamed_costs_the_activation() -> None:
    caller, worker, request_id, job = at_work()
    assert caller.cancel(request_id)["kudos"] == 1.0
    assert worker.post(job["id"], 1, "too late") == {"cancelled": True, "ttl": 150}
    assert worker.hand_in(job["id"]) == {"reward": 0.0}
    assert worker.status == 200
    assert caller.read(request_id)["kudos"] == 1.0


def test_streamed_text_is_settled_once_as_a_reply_of_that_length() -> None:
    """100 characters of content, 60 of reasoning: 40 tokens; the prompt's 6 tokens as ever."""
    caller, worker, request_id, job = at_work(params={"max_length": 64})
    worker.post(job["id"], 1, "x" * 100, "y" * 60)
    expected = 40 * 8 * 1.202890 / 125
    kudos = caller.cancel(request_id)["kudos"]
    assert kudos == pytest.approx(2 + expected, abs=1e-4)
    assert worker.hand_in(job["id"], "x" * 200)["reward"] == pytest.approx(expected, abs=1e-4)
    again = caller.cancel(request_id)
    assert (caller.status, again["kudos"], again["cancelled"]) == (200, kudos, True)
    assert caller.read(request_id)["generations"] == []


def test_streamed_text_is_never_settled_above_max_length() -> None:
    caller, worker, request_id, job = at_work(params={"max_length": 16})
    worker.post(job["id"], 1, "x" * 4000)
    kudos = caller.cancel(request_id)["kudos"]
    assert kudos == pytest.approx(2 + 16 * 8 * 1.202890 / 125, abs=1e-4)


def test_cancelling_what_is_finished_changes_nothing() -> None:
    caller, worker, request_id, job = at_work()
    worker.hand_in(job["id"], "Hi")
    before = caller.read(request_id)
    assert caller.cancel(request_id) == before
    assert before["cancelled"] is False


def test_cancelling_what_is_faulted_changes_nothing() -> None:
    caller, worker, request_id, job = at_work()
    for _ in range(3):
        worker.hand_in(job["id"], state="faulted")
        job = worker.pop()
    status = caller.cancel(request_id)
    assert (status["faulted"], status["cancelled"]) == (True, False)


def test_some_replies_finished_one_streamed_one_waiting() -> None:
    caller, worker, request_id, first = at_work(params={"n": 3, "max_length": 64})
    second = worker.pop()
    worker.hand_in(first["id"], "x" * 80)
    worker.post(second["id"], 1, "y" * 80)
    status = caller.cancel(request_id)
    assert (status["finished"], status["processing"], status["waiting"]) == (1, 0, 0)
    assert status["kudos"] == pytest.approx(1 + 2 * (1 + 20 * 8 * 1.202890 / 125), abs=1e-4)


def test_unknown_ids() -> None:
    caller = Caller(empty_world())
    for answer in (caller.read("nothing"), caller.cancel("nothing")):
        assert (caller.status, answer["rc"]) == (404, "RequestNotFound")


def test_expiry_after_twenty_minutes_without_a_sign() -> None:
    caller = Caller(empty_world())
    request_id = caller.submit()["id"]
    caller.wait(1199.0)
    caller.read(request_id)
    assert caller.status == 200
    caller.wait(1.0)
    assert caller.read(request_id)["rc"] == "RequestNotFound"
    assert caller.cancel(request_id)["rc"] == "RequestNotFound"
    assert caller.world.state.queue.jobs == 0
    account = caller.world.state.accounts.get("rich-key")
    assert account is not None
    assert account.unpopped == 0


def test_a_charge_renews_a_request_s_life() -> None:
    caller, worker, request_id, job = at_work()
    caller.wait(100.0)
    worker.hand_in(job["id"])
    caller.wait(1199.0)
    assert caller.read(request_id)["done"] is True
    caller.wait(1.0)
    caller.read(request_id)
    assert caller.status == 404
    assert worker.hand_in(job["id"])["rc"] == "InvalidJobID"
    assert not caller.world.state.jobs


def test_a_built_in_worker_stops_and_is_free_again_after_a_cancel() -> None:
    world = World(scenario(profile(tokens_per_second=1.0)))
    caller = Caller(world)
    body = body_of("one two three four five six seven", progress=True)
    request_id = caller.submit(body)["id"]
    caller.wait(3.0)
    assert caller.read(request_id)["processing"] == 1
    caller.cancel(request_id)
    other = caller.submit(body)["id"]
    caller.wait(2.0)
    assert caller.read(other)["processing"] == 1


def test_many_ended_requests_leave_nothing_behind() -> None:
    world = World(scenario(profile()))
    caller = Caller(world)
    for number in range(30):
        request_id = caller.submit(operation_key=str(number), models=[SMALL])["id"]
        caller.cancel(request_id)
        caller.submit(operation_key=f"b{number}")
        caller.wait(3.0)
    caller.wait(1300.0)
    state = world.state
    assert not state.requests
    assert not state.jobs
    assert not state.operations
    assert state.queue.requests == state.queue.jobs == state.queue.tokens == 0
    assert world.next_event_at is None
    assert world.state.settled == 30


def test_an_external_worker_s_job_of_an_expired_request_is_gone() -> None:
    world = empty_world()
    caller, worker = Caller(world), Program(world)
    worker.pop()
    request_id = caller.submit()["id"]
    job = worker.pop()
    world.state.requests[request_id].expires_at = world.now
    caller.wait(1250.0)
    assert worker.hand_in(job["id"])["rc"] == "InvalidJobID"
