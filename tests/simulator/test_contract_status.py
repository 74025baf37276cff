"""The contract's page on the Horde, section 3. Status and cancel, held against the world.

Each docstring is the sentence, or what it says; figures are worked by hand beside it. Everything
goes through `World.handle`, as a caller of the real thing would see it.
"""

import pytest

from simulator.contract import kudos_of, pair
from simulator.horde import ALL_GUARANTEES, MODEL, TOOL, Caller, Program, empty_world


def test_the_status_of_a_request() -> None:
    """Every key of the example, while it waits, while it runs, and when it is done."""
    caller, program = pair()
    program.pop()
    request_id = caller.submit(progress=True)["id"]
    keys = {
        "finished", "processing", "restarted", "waiting", "done", "faulted", "cancelled",
        "wait_time", "queue_position", "kudos", "is_possible", "eligible_workers",
        "eligible_worker_threads", "pool", "context_adjustments", "progress", "last_refusal",
        "generations",
    }  # fmt: skip
    waiting = caller.read(request_id)
    assert set(waiting) >= keys
    assert (waiting["waiting"], waiting["queue_position"], waiting["kudos"]) == (1, 1, 1.0)
    assert set(waiting["pool"]) == {
        "online_workers", "online_threads", "missing_features", "missing_guarantees",
        "exceeded_limits",
    }  # fmt: skip
    job = program.pop()["id"]
    program.post(job, 7, "Hello", "Hm")
    running = caller.read(request_id)
    (progress,) = running["progress"]
    assert (running["processing"], running["waiting"], running["queue_position"]) == (1, 0, 0)
    assert progress == {
        "index": 0, "attempt": 1, "seq": 7, "worker_id": progress["worker_id"],
        "worker_name": "w1", "model": MODEL, "content_from": 0, "content": "Hello",
        "reasoning_from": 0, "reasoning_content": "Hm",
    }  # fmt: skip
    message = {"content": "Hello!", "reasoning_content": "Hm", "tool_calls": []}
    program.hand_in(job, message=message, native_finish_reason="eos")
    done = caller.read(request_id)
    (generation,) = done["generations"]
    assert (done["done"], done["finished"], done["processing"]) == (True, 1, 0)
    assert set(generation) >= {
        "index", "worker_id", "worker_name", "model", "state", "seed", "gen_metadata", "message",
        "finish_reason", "native_finish_reason", "usage", "kudos",
    }  # fmt: skip
    assert generation["message"]["role"] == "assistant"
    assert (generation["state"], generation["native_finish_reason"]) == ("ok", "eos")


def test_expiry() -> None:
    """20 minutes, renewed by every pop, progress post and charge: then 404 `RequestNotFound`."""
    caller, program = pair()
    request_id = caller.submit()["id"]
    caller.wait(1199)
    job = program.pop()["id"]
    caller.wait(100)
    program.post(job, 1, "Hi")
    caller.wait(100)
    program.hand_in(job)
    caller.wait(1199)
    assert caller.read(request_id)["done"]
    caller.wait(2)
    assert caller.read(request_id)["rc"] == "RequestNotFound"
    assert caller.status == 404
    caller.cancel(request_id)
    assert caller.status == 404


def test_the_tail_alone() -> None:
    """`content_from` counts code points: an emoji and a combining mark are one each."""
    caller, program = pair()
    request_id = caller.submit(progress=True)["id"]
    program.post(program.pop()["id"], 1, "a😀e\u0301z", "xyz")
    (progress,) = caller.read(request_id, "content_from=2&reasoning_from=1")["progress"]
    assert (progress["content_from"], progress["content"]) == (2, "e\u0301z")
    assert (progress["reasoning_from"], progress["reasoning_content"]) == (1, "yz")
    (other,) = caller.read(request_id, "from=0:3:3")["progress"]
    assert (other["content"], other["reasoning_content"]) == ("\u0301z", "")


def test_missing_features_and_no_single_worker() -> None:
    """A feature is missing when none declares it; declared apart, the lists are empty."""
    caller = Caller(empty_world())
    for name, features in (("t", ["tools"]), ("f", ["response_format.json_object"])):
        chat = {"features": features, "guarantees": list(ALL_GUARANTEES), "limits": {}}
        Program(caller.world, name=name).pop(chat=chat)
    kind = {"type": "json_object"}
    alone = caller.read(caller.submit(tools=[TOOL])["id"])
    assert (alone["eligible_workers"], alone["is_possible"]) == (1, True)
    status = caller.read(
        caller.submit(
            response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}
        )["id"]
    )
    assert status["pool"]["missing_features"] == ["response_format.json_schema"]
    both = caller.read(caller.submit(tools=[TOOL], response_format=kind)["id"])
    assert both["pool"]["missing_features"] == ["tools_with_response_format"]
    chat = {"features": ["tools_with_response_format"], "guarantees": [], "limits": {}}
    Program(caller.world, name="x").pop(chat=chat)
    apart = caller.read(caller.submit(tools=[TOOL], response_format=kind)["id"])
    assert apart["pool"]["missing_features"] == []
    assert apart["pool"]["missing_guarantees"] == []
    assert (apart["eligible_workers"], apart["is_possible"]) == (0, False)


def test_a_cancel_of_each_kind() -> None:
    """Nothing popped, popped, streamed, finished; a second DELETE is 200."""
    caller, program = pair()
    paid = []
    for stage in range(4):
        before = kudos_of(caller.world, "rich-key")
        request_id = caller.submit(progress=True)["id"]
        if stage >= 1:
            job = program.pop()["id"]
        if stage >= 2:
            program.post(job, 1, "x" * 400)
        if stage >= 3:
            program.hand_in(job, "x" * 400)
        finished = kudos_of(caller.world, "rich-key")
        assert caller.cancel(request_id)["done"]
        assert caller.status == 200
        caller.cancel(request_id)
        assert caller.status == 200
        paid.append(round(before - kudos_of(caller.world, "rich-key"), 2))
        if stage == 3:
            assert kudos_of(caller.world, "rich-key") == finished
    # Activation 1; streamed 400 characters are 100 tokens: 100 x 8 x ctx(6) / 125 = 7.70, + 1,
    # with ctx(6) = 1.2 + 2.2^log2(6/1024) = 1.20289.
    assert paid == [1.0, 1.0, 9.7, 9.7]


def test_a_submit_after_a_cancel() -> None:
    """200 with the reward that the cancel paid: 7.70 for what was streamed, else nothing."""
    caller, program = pair()
    for streamed, reward in (("x" * 400, 7.7), ("", 0.0)):
        request_id = caller.submit(progress=True)["id"]
        job = program.pop()["id"]
        if streamed:
            program.post(job, 1, streamed)
        caller.cancel(request_id)
        assert program.post(job, 2, streamed + "more")["cancelled"] is True
        answer = program.hand_in(job, "whatever")
        assert program.status == 200
        assert answer["reward"] == pytest.approx(reward, abs=0.01)
