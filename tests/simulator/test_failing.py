"""Every fault on a worker, seen to do what its row says, and the next request served well."""

from typing import Any

import pytest

from horde_simulator import tokens
from horde_simulator.faults import FAULTS
from horde_simulator.scenario import FaultSpec
from horde_simulator.world import World
from simulator.horde import TOOL, Caller, body_of, profile, scenario

TEN = "one two three four five six seven eight nine ten"


def failing(where: str, *, times: int | None = 1, after: float = 0.0, **options: Any) -> FaultSpec:
    return FaultSpec(where, times=times, after=after, options=options)


def horde(fault: FaultSpec, **fields: Any) -> Caller:
    """One worker that fails once, at 4 tokens a second with a post each second."""
    defaults: dict[str, Any] = {
        "tokens_per_second": 4.0,
        "progress_interval": 1.0,
        "brain": "mixed",
    }
    worker = profile(faults=(fault,), **(defaults | fields))
    caller = Caller(World(scenario(worker)))
    caller.wait(1.0)
    return caller


def story(caller: Caller, body: dict[str, Any] | None = None) -> tuple[list[Any], Any]:
    """Every half second's status of one request, and the last; then a request without fault."""
    request_id = caller.submit(body or body_of("Tell me something.", progress=True))["id"]
    reads = [caller.read(request_id)]
    while not reads[-1]["done"] and caller.world.now < 2000:
        caller.wait(0.5)
        reads.append(caller.read(request_id))
    return reads, reads[-1]


def words(message: Any) -> str:
    """All that a worker has said, reasoning first."""
    return str(message.get("reasoning_content") or "") + str(message["content"] or "")


def plain(caller: Caller) -> Any:
    """A request after the fault is spent."""
    return story(caller, body_of("Say it again.", progress=True))[1]


def served(status: Any) -> Any:
    assert (status["done"], status["faulted"]) == (True, False)
    (generation,) = status["generations"]
    return generation


def test_never_pops() -> None:
    caller = horde(failing("never_pops", times=None))
    request_id = caller.submit()["id"]
    caller.wait(500.0)
    status = caller.read(request_id)
    assert (status["waiting"], status["eligible_workers"], status["is_possible"]) == (1, 1, True)


def test_never_pops_for_a_while_and_after_so_many_seconds() -> None:
    caller = horde(failing("never_pops", times=3, after=10.0))
    assert story(caller)[1]["done"]
    caller.wait(20.0)
    request_id = caller.submit()["id"]
    caller.wait(15.0)
    assert caller.read(request_id)["waiting"] == 1
    assert caller.follow(request_id)["done"] is True


def test_vanishes_after_pop() -> None:
    reads, last = story(horde(failing("vanishes_after_pop")))
    assert served(last)
    assert last["last_refusal"]["rc"] == "ChatWorkerTimeout"
    assert last["restarted"] == 1
    assert sum(1 for status in reads if status["processing"] and not status["progress"]) > 298


def test_vanishes_after_posts() -> None:
    caller = horde(failing("vanishes_after_posts", after=2))
    reads, last = story(caller)
    first = [s["progress"][0]["seq"] for s in reads if s["progress"] and not s["restarted"]]
    assert max(first) == 2
    assert last["last_refusal"]["rc"] == "ChatWorkerTimeout"
    assert served(last)


def test_the_next_attempt_says_the_same_after_a_worker_vanished() -> None:
    reads, last = story(horde(failing("vanishes_after_posts", after=2)))
    before = [words(s["progress"][0]) for s in reads if s["progress"] and not s["restarted"]]
    after = [words(s["progress"][0]) for s in reads if s["progress"] and s["restarted"]]
    assert before[-1]
    assert after[-1].startswith(before[-1])
    assert words(served(last)["message"]).startswith(after[-1])


def test_faults_job() -> None:
    caller = horde(failing("faults_job", reason="No memory."))
    _, last = story(caller)
    assert last["last_refusal"] == {"rc": "ChatWorkerFault", "message": "No memory."}
    assert served(last)
    assert plain(caller)["last_refusal"] is None


def test_faults_job_three_times_faults_the_request() -> None:
    _, last = story(horde(failing("faults_job", times=3)))
    assert (last["done"], last["faulted"]) == (True, True)


@pytest.mark.parametrize(
    "rule, fields, word",
    [
        (None, {}, "max_length"),
        (None, {"tools": [TOOL]}, "not_offered"),
        (None, {"response_format": {"type": "json_object"}}, "json_object"),
        ("unknown_function", {"tools": [TOOL]}, "not_offered"),
        ("bad_arguments", {"tools": [TOOL]}, "arguments"),
        ("repeated_ids", {"tools": [TOOL]}, "id"),
        ("bad_json", {"response_format": {"type": "json_object"}}, "json_object"),
        ("too_many_tokens", {"tools": [TOOL]}, "max_length"),
        ("bad_json", {}, "max_length"),
    ],
)
def test_submits_nonconformant(rule: str | None, fields: dict[str, Any], word: str) -> None:
    options: dict[str, Any] = {} if rule is None else {"rule": rule}
    caller = horde(failing("submits_nonconformant", **options))
    _, last = story(caller, body_of("What is the weather in Rome?", **fields))
    assert last["last_refusal"]["rc"] == "ChatSubmitNonconformant"
    assert word in last["last_refusal"]["message"]
    assert served(last)


def test_diverges() -> None:
    reads, last = story(horde(failing("diverges")))
    posted = next(s["progress"][0]["content"] for s in reversed(reads) if s["progress"])
    assert posted
    assert not served(last)["message"]["content"].startswith(posted)
    assert last["restarted"] == 0


def test_restarts_with_other_text() -> None:
    reads, last = story(horde(failing("restarts_with_other_text", after=3)))
    before = [s["progress"][0] for s in reads if s["progress"] and not s["restarted"]]
    assert (before[-1]["attempt"], before[-1]["seq"]) in ((1, 2), (1, 3))
    after = [s["progress"][0] for s in reads if s["progress"] and s["restarted"]]
    assert after[0]["attempt"] == 2
    assert words(before[-1])
    assert not words(served(last)["message"]).startswith(words(before[-1]))


def test_duplicate_submit_is_paid_once() -> None:
    caller = horde(failing("duplicate_submit"))
    _, last = story(caller)
    assert last["kudos"] == pytest.approx(1 + served(last)["kudos"])
    assert caller.world.state.settled == 1


def test_late_submit_comes_to_nothing() -> None:
    caller = horde(failing("late_submit", seconds=2.0))
    reads, last = story(caller)
    assert last["last_refusal"]["rc"] == "ChatWorkerTimeout"
    assert served(last)
    assert not any(s["progress"] for s in reads if not s["restarted"])
    assert caller.world.state.settled == 1


def test_empty_reply() -> None:
    generation = served(story(horde(failing("empty_reply")))[1])
    assert generation["message"] == {"role": "assistant", "content": ""}
    assert generation["state"] == "ok"
    assert generation["usage"]["completion_tokens"] == 0


@pytest.mark.parametrize("options, state", [({}, "censored"), ({"state": "csam"}, "csam")])
def test_censored(options: dict[str, Any], state: str) -> None:
    reads, last = story(horde(failing("censored", **options)))
    generation = served(last)
    assert (generation["state"], generation["message"]["content"]) == (state, "")
    assert last["kudos"] == 2.0
    assert not any(s["progress"] for s in reads)


def test_no_worker_id() -> None:
    caller = horde(failing("no_worker_id"))
    assert not {"worker_id", "worker_name"} & set(served(story(caller)[1]))
    assert served(plain(caller))["worker_name"] == "Attic"


def test_no_usage() -> None:
    caller = horde(failing("no_usage"))
    assert served(story(caller)[1])["usage"] is None
    assert served(plain(caller))["usage"]["completion_tokens"] > 0


def test_overlong_reply() -> None:
    caller = horde(failing("overlong_reply"))
    generation = served(story(caller, body_of(TEN, params={"max_length": 16}))[1])
    message = generation["message"]
    said = tokens.count(message["content"]) + tokens.count(message.get("reasoning_content", ""))
    assert said > 16
    assert generation["usage"]["completion_tokens"] == 16


def test_an_overlong_reply_that_owns_up_to_it_is_refused() -> None:
    caller = horde(failing("overlong_reply", counted=True))
    _, last = story(caller, body_of(TEN, params={"max_length": 16}))
    assert last["last_refusal"]["rc"] == "ChatSubmitNonconformant"
    assert served(last)["usage"]["completion_tokens"] <= 16


def test_goes_into_maintenance() -> None:
    caller = horde(failing("goes_into_maintenance", seconds=60.0))
    assert served(story(caller)[1])
    request_id = caller.submit()["id"]
    caller.wait(30.0)
    assert caller.read(request_id)["is_possible"] is False
    (entry,) = caller.send("GET", "/workers")
    assert entry["maintenance_mode"] is True
    caller.wait(32.0)
    assert caller.read(request_id)["processing"] == 1


def test_goes_into_maintenance_for_good() -> None:
    caller = horde(failing("goes_into_maintenance"))
    assert served(story(caller)[1])
    caller.wait(3000.0)
    assert caller.read(caller.submit()["id"])["is_possible"] is False


@pytest.mark.parametrize(
    "options, missing",
    [
        (
            {"max_length": 64},
            {"exceeded_limits": [{"limit": "max_length", "requested": 512, "largest": 64}]},
        ),
        ({"guarantees": ()}, {"missing_guarantees": ["no_prompt_trim"]}),
        ({"features": ()}, {"missing_features": ["tools"]}),
        (
            {"limits": {"max_temperature_with_tools": 0.5}},
            {
                "exceeded_limits": [
                    {"limit": "max_temperature_with_tools", "requested": 1.0, "largest": 0.5}
                ]
            },
        ),
        (
            {"max_context_length": 1024},
            {
                "exceeded_limits": [
                    {"limit": "max_context_length", "requested": 4096, "largest": 1024}
                ]
            },
        ),
    ],
    ids=range(5),
)
def test_declarations_change(options: dict[str, Any], missing: dict[str, Any]) -> None:
    """After the submit, before any worker looks: the status tells what is wanting now."""
    caller = horde(failing("declarations_change", **options))
    answer = caller.submit(tools=[TOOL])
    assert caller.status == 202
    caller.wait(1.0)
    status = caller.read(answer["id"])
    assert (status["waiting"], status["eligible_workers"]) == (1, 0)
    assert {name: status["pool"][name] for name in missing} == missing


def test_a_fault_of_one_model_spares_the_others() -> None:
    models = ("koboldcpp/Qwen3-8B", "koboldcpp/Llama-3.2-3B-Instruct")
    fault = FaultSpec("empty_reply", model=models[1])
    worker = profile(models=models, faults=(fault,))
    caller = Caller(World(scenario(worker)))
    for model, empty in ((models[0], False), (models[1], True), (models[0], False)):
        last = story(caller, body_of("Say something.", models=[model]))[1]
        assert (served(last)["message"]["content"] == "") == empty


def test_every_fault_on_a_worker_is_tested_here() -> None:
    tests = [name for name in globals() if name.startswith("test_")]
    wanted = {row.where for row in FAULTS.values() if row.side == "worker"}
    untested = {w for w in wanted if not any(name.startswith(f"test_{w}") for name in tests)}
    assert untested == set()
