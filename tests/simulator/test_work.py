"""External workers: pop payloads, progress posts, replies, strikes and leases."""

from typing import Any

import pytest

from horde_simulator.world import World
from simulator.horde import (
    ALL_GUARANTEES,
    MODEL,
    TOOL,
    Caller,
    Program,
    body_of,
    empty_world,
)


def at_work(body: dict[str, Any] | None = None, **fields: Any) -> tuple[Caller, Program, str, Any]:
    """A user with one request, and a worker that has just popped it."""
    world = empty_world()
    caller, worker = Caller(world), Program(world)
    worker.pop()
    request_id = caller.submit(body or body_of(**fields))["id"]
    return caller, worker, request_id, worker.pop()


def test_pop_answer() -> None:
    _, _, _, job = at_work(
        params={"max_length": 64, "temperature": 0.5, "stop_sequence": ["\n"], "seed": 7},
        progress=True,
    )
    job_id = job.pop("id")
    assert job == {
        "ids": [job_id],
        "ttl": 150,
        "model": MODEL,
        "messages": [],
        "skipped": {},
        "payload": {
            "messages": [{"role": "user", "content": "Hello"}],
            "max_length": 64,
            "max_context_length": 4096,
            "temperature": 0.5,
            "top_p": 1.0,
            "frequency_penalty": 0.0,
            "presence_penalty": 0.0,
            "rep_pen": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "stop_sequence": ["\n"],
            "images": [],
            "seed": 7,
            "progress": True,
            "progress_interval_ms": 1000,
            "reasoning_effort": "medium",
        },
    }


def test_tools_reach_the_worker_unless_none_may_be_called() -> None:
    _, _, _, job = at_work(tools=[TOOL], tool_choice="required", parallel_tool_calls=False)
    assert job["payload"]["tools"] == [TOOL]
    assert job["payload"]["tool_choice"] == "required"
    assert job["payload"]["parallel_tool_calls"] is False
    _, _, _, job = at_work(tools=[TOOL], tool_choice="none")
    assert not {"tools", "tool_choice"} & set(job["payload"])


@pytest.mark.parametrize(
    "features, asked, told",
    [
        (["reasoning_effort"], None, "medium"),
        (["reasoning_effort"], "none", "none"),
        (["reasoning_effort"], "high", "high"),
        ([], None, None),
    ],
)
def test_reasoning_effort(features: list[str], asked: str | None, told: str | None) -> None:
    world = empty_world()
    chat = {"features": features, "guarantees": ["no_prompt_trim"], "limits": {}}
    worker = Program(world, declares={"chat": chat})
    Caller(world).submit(params={} if asked is None else {"reasoning_effort": asked})
    assert worker.pop()["payload"].get("reasoning_effort") == told


@pytest.mark.parametrize(
    "path, changes",
    [
        ("name", {"name": 5}),
        ("name", {"name": " "}),
        ("name", {"name": "x" * 101}),
        ("models", {"models": []}),
        ("threads", {"threads": 0}),
        ("max_length", {"max_length": 5}),
        ("max_context_length", {"max_context_length": "4096"}),
        ("bridge_agent", {"bridge_agent": 5}),
        ("chat", {"chat": []}),
        ("chat.features", {"chat": {"features": ["flying"]}}),
        ("chat.guarantees", {"chat": {"guarantees": "all"}}),
        ("chat.limits.max_speed", {"chat": {"limits": {"max_speed": 1}}}),
        (
            "chat.limits.max_temperature_with_tools",
            {"chat": {"limits": {"max_temperature_with_tools": "hot"}}},
        ),
    ],
)
def test_a_pop_that_breaks_the_schema(path: str, changes: dict[str, Any]) -> None:
    worker = Program(empty_world())
    answer = worker.pop(**changes)
    assert worker.status == 400
    assert path in answer["errors"]
    assert not worker.world.state.registry.by_id


def test_a_worker_belongs_to_the_key_that_came_first() -> None:
    world = empty_world()
    Program(world).pop()
    thief = Program(world, key="poor-key")
    assert thief.pop()["rc"] == "WrongCredentials"
    assert thief.pop(threads=3)["rc"] == "WrongCredentials"
    assert thief.status == 403
    nobody = Program(world, key="nobody")
    assert nobody.pop()["rc"] == "InvalidAPIKey"
    assert nobody.pop(name="w2")["rc"] == "InvalidAPIKey"


def test_progress_is_shown_and_renews_the_lease() -> None:
    caller, worker, request_id, job = at_work(progress=True)
    assert caller.read(request_id)["progress"] == []
    for seq, text in enumerate(["Hel", "Hello", "Hello you"], start=1):
        caller.wait(149.0)
        assert worker.post(job["id"], seq, text, "hm") == {"cancelled": False, "ttl": 150}
    status = caller.read(request_id)
    (shown,) = status["progress"]
    assert (status["processing"], status["restarted"]) == (1, 0)
    assert shown.pop("worker_id")
    assert shown == {
        "index": 0,
        "attempt": 1,
        "seq": 3,
        "worker_name": "w1",
        "model": MODEL,
        "content_from": 0,
        "content": "Hello you",
        "reasoning_from": 0,
        "reasoning_content": "hm",
    }


def test_progress_renews_the_request_s_life_too() -> None:
    caller, worker, request_id, job = at_work()
    for seq in range(1, 20):
        caller.wait(100.0)
        worker.post(job["id"], seq, "")
    assert caller.read(request_id)["processing"] == 1


def test_an_old_post_is_ignored_and_one_that_doesn_t_continue_is_refused() -> None:
    caller, worker, request_id, job = at_work()
    worker.post(job["id"], 5, "Hello", "why")
    for seq in (5, 4, 0):
        assert worker.post(job["id"], seq, "Something else")["cancelled"] is False
    for content, reasoning in (("Hell", "why"), ("Help!", "why"), ("Hello", "who")):
        assert worker.post(job["id"], 6, content, reasoning)["rc"] == "ChatProgressInvalid"
        assert worker.status == 400
    assert worker.post(job["id"], 6, "Hello!", "why not")["cancelled"] is False
    assert caller.read(request_id)["progress"][0]["content"] == "Hello!"
    worker.hand_in(job["id"], "Hello!")
    assert worker.status == 200


@pytest.mark.parametrize(
    "fields", [{"tools": [TOOL]}, {"response_format": {"type": "json_object"}}]
)
def test_for_tools_and_structured_output_a_post_only_renews_the_lease(fields: Any) -> None:
    caller, worker, request_id, job = at_work(**fields)
    caller.wait(149.0)
    assert worker.post(job["id"], 1, "{")["cancelled"] is False
    assert worker.post(job["id"], 2, "[")["cancelled"] is False
    caller.wait(149.0)
    status = caller.read(request_id)
    assert (status["processing"], status["progress"]) == (1, [])


@pytest.mark.parametrize(
    "query, content_from, content, reasoning_from, reasoning",
    [
        ("", 0, "née 👍🏽 ok", 0, "ünd so"),
        ("content_from=4&reasoning_from=3", 4, "👍🏽 ok", 3, " so"),
        ("from=0:5:6", 5, "🏽 ok", 6, ""),
        ("from=1:5:6", 0, "née 👍🏽 ok", 0, "ünd so"),
        ("content_from=99", 9, "", 0, "ünd so"),
        ("content_from=-1&reasoning_from=x", 0, "née 👍🏽 ok", 0, "ünd so"),
        ("from=0:1&from=:::&content_from=²", 0, "née 👍🏽 ok", 0, "ünd so"),
    ],
)
def test_tails_are_counted_in_code_points(
    query: str, content_from: int, content: str, reasoning_from: int, reasoning: str
) -> None:
    caller, worker, request_id, job = at_work()
    worker.post(job["id"], 1, "née 👍🏽 ok", "ünd so")
    (shown,) = caller.read(request_id, query)["progress"]
    assert (shown["content_from"], shown["content"]) == (content_from, content)
    assert (shown["reasoning_from"], shown["reasoning_content"]) == (reasoning_from, reasoning)


@pytest.mark.parametrize("length", [10, 100_000])
def test_an_answer_is_as_long_as_the_tail_that_was_asked_for(length: int) -> None:
    caller, worker, request_id, job = at_work()
    worker.post(job["id"], 1, "x" * length + "new")
    before = caller.read(request_id, f"content_from={length}")
    assert before["progress"][0]["content"] == "new"
    assert len(str(before)) < 1500


def test_tails_of_several_replies() -> None:
    caller, worker, request_id, first = at_work(params={"n": 2, "max_length": 64})
    second = worker.pop()
    worker.post(first["id"], 1, "abc")
    worker.post(second["id"], 1, "xyz")
    shown = caller.read(request_id, "from=0:1:0&from=1:2:0")["progress"]
    assert [(one["index"], one["content"]) for one in shown] == [(0, "bc"), (1, "z")]


def test_a_reply_is_paid_and_shown() -> None:
    """Two characters are 20 tokens: 20 x 8 x (1.2 + 2.2^log2(6 / 1024)) / 125 = 1.5584."""
    caller, worker, request_id, job = at_work()
    reward = worker.hand_in(
        job["id"],
        "Hi",
        message={"content": "Hi"},
        native_finish_reason="eos",
        seed=3,
        gen_metadata=[{"type": "x"}],
    )["reward"]
    # log2(6 / 1024) = -7.415037; 2.2^that = exp(-7.415037 x 0.788457) = 0.002890
    assert reward == pytest.approx(20 * 8 * 1.202890 / 125, abs=1e-5)
    status = caller.read(request_id)
    assert (status["done"], status["finished"], status["processing"]) == (True, 1, 0)
    assert status["kudos"] == pytest.approx(reward + 2, abs=1e-6)
    (generation,) = status["generations"]
    assert generation.pop("worker_id")
    assert generation.pop("kudos") == pytest.approx(reward + 1, abs=1e-6)
    assert generation == {
        "index": 0,
        "worker_name": "w1",
        "model": MODEL,
        "state": "ok",
        "seed": 3,
        "gen_metadata": [{"type": "x"}],
        "message": {"role": "assistant", "content": "Hi"},
        "finish_reason": "stop",
        "native_finish_reason": "eos",
        "usage": {"prompt_tokens": 5, "completion_tokens": 1},
    }
    assert worker.send("GET", "/find_user")["kudos"] == pytest.approx(100 + reward, abs=1e-6)


def test_reasoning_and_calls_count_as_the_reply_s_length() -> None:
    """200 of reasoning, 111 of content and 78 of calls' JSON: ceil(389 / 4) = 98 tokens."""
    caller, worker, _, job = at_work(tools=[TOOL])
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    # [{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}]
    assert (
        len('[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}]') == 78
    )
    message = {"content": "x" * 111, "reasoning_content": "y" * 200, "tool_calls": [call]}
    reward = worker.hand_in(job["id"], message=message)["reward"]
    assert reward == pytest.approx(98 * 8 * 1.202890 / 125, abs=1e-4)
    assert caller.world.state.tokens_settled == 98


@pytest.mark.parametrize("state", ["censored", "csam"])
def test_a_withheld_reply_costs_the_flat_part_only(state: str) -> None:
    caller, worker, request_id, job = at_work()
    assert worker.hand_in(job["id"], state=state, message={"content": "secret"}) == {"reward": 0.0}
    status = caller.read(request_id)
    assert status["kudos"] == 2.0
    (generation,) = status["generations"]
    assert (generation["state"], generation["message"]["content"]) == (state, "")
    assert generation["kudos"] == 1.0


def test_a_larger_model_than_quoted_never_costs_more_than_the_quote() -> None:
    """Quoted for 3 billion: 16 x 3 x 2.2 / 100 + 2 = 3.056, rounded up to 4; 35 would be 12.3."""
    world = empty_world()
    large, small = "tabbyAPI/Command-R-35B", "koboldcpp/Llama-3.2-3B-Instruct"
    worker = Program(world, declares={"models": [large]})
    worker.pop()
    caller = Caller(world)
    body = body_of(
        "x" * 9000,
        models=[small, large],
        params={"max_length": 16, "max_context_length": 4096},
        context_fit="reject",
    )
    answer = caller.submit(body)
    # 16 x 3 x 6.04 / 100 = 2.8992, + 2
    assert answer["kudos"] == 5
    reward = worker.hand_in(worker.pop()["id"], "x" * 64)["reward"]
    assert reward == 3.0
    assert caller.read(answer["id"])["kudos"] == 5.0


def test_exactly_one_submit_wins() -> None:
    caller, worker, request_id, job = at_work()
    worker.hand_in(job["id"], "first")
    kudos = caller.read(request_id)["kudos"]
    assert worker.hand_in(job["id"], "second")["rc"] == "DuplicateGen"
    assert worker.post(job["id"], 1, "x")["rc"] == "DuplicateGen"
    assert worker.status == 400
    status = caller.read(request_id)
    assert status["generations"][0]["message"]["content"] == "first"
    assert status["kudos"] == kudos


def test_ids_and_credentials_of_jobs() -> None:
    caller, worker, _, job = at_work()
    assert worker.hand_in("nothing")["rc"] == "InvalidJobID"
    assert worker.status == 404
    assert worker.post("nothing", 1, "")["rc"] == "InvalidJobID"
    thief = Program(caller.world, key="poor-key")
    assert thief.hand_in(job["id"])["rc"] == "WrongCredentials"
    assert thief.post(job["id"], 1, "")["rc"] == "WrongCredentials"
    nobody = Program(caller.world, key="nobody")
    assert nobody.hand_in(job["id"])["rc"] == "InvalidAPIKey"


@pytest.mark.parametrize(
    "path, changes",
    [
        ("id", {"id": 5}),
        ("state", {"state": "fine"}),
        ("message", {"message": None}),
        ("message", {"message": "hi"}),
        ("message.content", {"message": {"content": 5}}),
        ("message.tool_calls.0", {"message": {"content": "", "tool_calls": ["x"]}}),
        ("message.tool_calls.0.function.name", {"message": {"tool_calls": [{}]}}),
        ("usage", {"usage": 5}),
        ("usage.completion_tokens", {"usage": {"completion_tokens": -1}}),
        ("seed", {"seed": "x"}),
        ("gen_metadata", {"gen_metadata": {}}),
        ("finish_reason", {"finish_reason": 5}),
        ("fault_reason", {"fault_reason": "x" * 1001}),
    ],
)
def test_a_reply_that_breaks_the_schema_is_no_strike(path: str, changes: dict[str, Any]) -> None:
    caller, worker, request_id, job = at_work()
    changes = changes if "gen_metadata" not in changes else {"gen_metadata": {"a": 1}}
    answer = worker.send(
        "POST",
        "/generate/chat/submit",
        {"id": job["id"], "state": "ok", "message": {"content": "x"}} | changes,
    )
    assert worker.status == 400
    assert path in answer["errors"]
    assert caller.read(request_id)["processing"] == 1


@pytest.mark.parametrize("body", [{}, {"id": "x"}, {"id": "x", "seq": "1"}, {"id": "x", "seq": -1}])
def test_a_post_that_breaks_the_schema(body: dict[str, Any]) -> None:
    worker = Program(empty_world())
    assert "errors" in worker.send("POST", "/generate/chat/progress", body)
    assert worker.status == 400


def test_three_strikes_fault_a_request_and_cost_nothing_more() -> None:
    caller, worker, request_id, job = at_work()
    for number in range(3):
        status = caller.read(request_id)
        assert (status["restarted"], status["faulted"]) == (number, False)
        worker.hand_in(job["id"], state="faulted", fault_reason=f"no {number}")
        assert worker.status == 200
        job = worker.pop()
    assert job["id"] is None
    status = caller.read(request_id)
    assert (status["done"], status["faulted"], status["restarted"]) == (True, True, 2)
    assert status["last_refusal"] == {"rc": "ChatWorkerFault", "message": "no 2"}
    assert status["kudos"] == 1.0
    assert (status["waiting"], status["processing"]) == (0, 0)


def test_a_lease_that_runs_out_is_a_strike_and_the_late_reply_comes_to_nothing() -> None:
    caller, worker, request_id, job = at_work()
    worker.post(job["id"], 1, "some")
    caller.wait(150.0)
    status = caller.read(request_id)
    assert (status["waiting"], status["processing"], status["restarted"]) == (1, 0, 1)
    assert status["last_refusal"]["rc"] == "ChatWorkerTimeout"
    assert status["progress"] == []
    assert worker.hand_in(job["id"])["rc"] == "AbortedGen"
    assert worker.status == 400
    again = worker.pop()
    worker.post(again["id"], 1, "anew")
    (shown,) = caller.read(request_id)["progress"]
    assert (shown["attempt"], shown["content"]) == (2, "anew")


def test_after_a_strike_another_worker_is_preferred_as_long_as_there_is_one() -> None:
    caller, worker, request_id, job = at_work()
    other = Program(caller.world, name="w2")
    other.pop()
    worker.hand_in(job["id"], state="faulted")
    nothing = worker.pop()
    assert (nothing["id"], nothing["skipped"]) == (None, {"struck": 1})
    job = other.pop()
    other.hand_in(job["id"], state="faulted")
    # Now both have had a strike: neither is preferred.
    assert worker.pop()["id"] is not None
    assert caller.read(request_id)["processing"] == 1


def test_the_struck_worker_serves_again_when_the_others_have_left() -> None:
    caller, worker, _, job = at_work()
    Program(caller.world, name="w2").pop()
    worker.hand_in(job["id"], state="faulted")
    assert worker.pop()["id"] is None
    caller.wait(301.0)
    assert worker.pop()["id"] is not None


def test_one_struck_reply_of_several_waits_alone() -> None:
    caller, worker, request_id, first = at_work(params={"n": 3, "max_length": 64})
    second = worker.pop()
    worker.hand_in(second["id"], state="faulted")
    status = caller.read(request_id)
    assert (status["waiting"], status["processing"], status["finished"]) == (2, 1, 0)
    worker.hand_in(first["id"], "a")
    for _ in range(2):
        worker.hand_in(worker.pop()["id"], "b")
    status = caller.read(request_id)
    assert status["done"]
    assert [one["index"] for one in status["generations"]] == [0, 1, 2]
    assert status["kudos"] == pytest.approx(1 + sum(one["kudos"] for one in status["generations"]))


def test_the_third_strike_ends_the_other_replies_too() -> None:
    caller, worker, request_id, first = at_work(params={"n": 4, "max_length": 64})
    worker.post(first["id"], 1, "text")
    for _ in range(3):
        worker.hand_in(worker.pop()["id"], state="faulted")
    status = caller.read(request_id)
    assert (status["faulted"], status["processing"], status["waiting"]) == (True, 0, 0)
    assert worker.hand_in(first["id"])["rc"] == "AbortedGen"
    assert caller.world.state.queue.jobs == 0


def test_a_refused_reply_is_a_strike_with_the_rule() -> None:
    caller, worker, request_id, job = at_work(response_format={"type": "json_object"})
    answer = worker.hand_in(job["id"], "not json")
    assert (worker.status, answer["rc"]) == (400, "ChatSubmitNonconformant")
    assert "response_format" in answer["message"]
    status = caller.read(request_id)
    assert status["last_refusal"] == {"rc": answer["rc"], "message": answer["message"]}
    assert status["waiting"] == 1


def test_a_worker_s_speed_is_measured() -> None:
    world: World = empty_world()
    caller, worker = Caller(world), Program(world)
    worker.pop()
    for _ in range(12):
        caller.submit()
        job = worker.pop()
        caller.wait(10.0)
        worker.hand_in(job["id"], usage={"prompt_tokens": 5, "completion_tokens": 500})
    (entry,) = caller.send("GET", "/workers")
    # From 20 towards 50, three tenths of what is missing each time: 50 - 30 x 0.7^12 = 49.6
    assert entry["performance"] == "49.6 tokens per second"
    assert entry["requests_fulfilled"] == 12
    assert entry["kudos_rewards"] > 0


def test_declarations_may_change_from_call_to_call() -> None:
    world = empty_world()
    worker, caller = Program(world), Caller(world)
    worker.pop()
    chat = {"features": ["tools"], "guarantees": list(ALL_GUARANTEES[:1]), "limits": {}}
    worker.pop(threads=5, models=["a", "b", "a"], chat=chat, bridge_agent="x:2:y")
    (entry,) = caller.send("GET", "/workers")
    assert (entry["threads"], entry["models"]) == (5, ["a", "b"])
    assert entry["chat"] == chat
    assert entry["bridge_agent"] == "x:2:y"
