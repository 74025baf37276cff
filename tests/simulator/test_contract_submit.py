"""The contract's page on the Horde, section 2. Submit, held against the world.

Each docstring is the sentence, or what it says; figures are worked by hand beside it. Everything
goes through `World.handle`, as a caller of the real thing would see it.
"""

from typing import Any

import pytest

from simulator.contract import kudos_of, ledger, pair
from simulator.horde import MODEL, Caller, empty_world


def test_the_answer_to_a_submit() -> None:
    """The 202 has these keys, and the quote: (512 x 8 x 6.04 / 100 + 1) + 1 = 249.3984 -> 250."""
    caller, program = pair()
    program.pop()
    answer = caller.submit()
    assert caller.status == 202
    request_id = answer.pop("id")
    assert len(request_id) == 36
    assert answer == {
        "kudos": 250,
        "existing": False,
        "expires_in": 1200,
        "message": None,
        "warnings": [],
        "max_length": 512,
        "max_context_length": 4096,
        "prompt_tokens_estimate": 6,  # ceil(5 / 3) + 4
        "context_adjustments": [],
    }


def test_the_adjustments_of_one_submit() -> None:
    """Lowered, grown and truncated, in this order: the example of the page, in small.

    Three turns of 3,000 characters (1,004 tokens each) and a last one of 300 (104), a worker with
    max_length 64 and context 2048: 3,116 + 64 > 2048, so two turns go: 1,004 + 104 + 64 = 1,172.
    """
    caller, program = pair()
    program.pop(max_length=64, max_context_length=2048)
    messages = [{"role": "user", "content": "x" * 3000} for _ in range(3)]
    messages.append({"role": "user", "content": "y" * 300})
    answer = caller.submit(messages=messages, params={"max_length": 512, "max_context_length": 512})
    assert answer["context_adjustments"] == [
        {"from": 512, "to": 64, "reason": "worker_max_length"},
        {"from": 512, "to": 2048, "reason": "grow"},
        {"reason": "truncate_oldest", "dropped_messages": 2},
    ]
    assert (answer["max_length"], answer["max_context_length"]) == (64, 2048)
    assert answer["prompt_tokens_estimate"] == 1108
    assert caller.read(answer["id"])["context_adjustments"] == answer["context_adjustments"]
    job = program.pop(max_length=64, max_context_length=2048)
    assert [len(m["content"]) for m in job["payload"]["messages"]] == [3000, 300]
    assert job["payload"]["max_length"] == 64


@pytest.mark.parametrize("fit", ["reject", "grow", "truncate_oldest"])
def test_what_fits_nowhere(fit: str) -> None:
    """400 `PromptExceedsContext` with the three figures: one turn alone is too long."""
    caller, program = pair()
    program.pop(max_context_length=1024)
    answer = caller.submit(text="z" * 6000, context_fit=fit, params={"max_context_length": 256})
    assert (caller.status, answer["rc"]) == (400, "PromptExceedsContext")
    figures = [value for value in answer.values() if type(value) is int]
    assert len(figures) == 3
    assert 2004 in figures  # ceil(6000 / 3) + 4


def test_a_dry_run() -> None:
    """200 with kudos and what was resolved; nothing queued, nothing charged."""
    caller, program = pair()
    program.pop()
    before = kudos_of(caller.world, "rich-key")
    answer = caller.submit(dry_run=True)
    assert caller.status == 200
    resolved = {"max_length": 512, "max_context_length": 4096, "prompt_tokens_estimate": 6}
    assert answer == {"kudos": 250, "resolved": resolved | {"context_adjustments": []}}
    assert program.pop()["id"] is None
    assert kudos_of(caller.world, "rich-key") == before
    assert ledger(caller.world)["entries"] == []


def test_an_operation_key() -> None:
    """Same key and body: the same id and `existing`; another body: 409 `OperationKeyConflict`."""
    caller, _ = pair()
    first = caller.submit(operation_key="o")
    again = caller.submit(operation_key="o")
    assert (caller.status, again["existing"], again["id"]) == (202, True, first["id"])
    conflict = caller.submit(text="other", operation_key="o")
    assert (caller.status, conflict["rc"]) == (409, "OperationKeyConflict")
    stranger = Caller(caller.world, "fair-key")
    assert stranger.submit(operation_key="o")["existing"] is False
    long = caller.submit(operation_key="k" * 129)
    assert caller.status == 400
    assert "operation_key" in long["errors"]


RANGES: dict[str, tuple[list[Any], list[Any]]] = {
    "max_length": ([16, 16384], [15, 16385, 16.5, "16", True]),
    "max_context_length": ([80, 1048576], [79, 1048577]),
    "temperature": ([0, 2, 0.5], [-0.1, 2.1, "1"]),
    "top_p": ([0, 1], [-0.1, 1.1]),
    "frequency_penalty": ([-2, 2], [-2.1, 2.1]),
    "presence_penalty": ([-2, 2], [-2.1, 2.1]),
    "n": ([1, 20], [0, 21]),
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges(name: str) -> None:
    """Each parameter's range; the refusal has no rc and names `params.<name>`."""
    taken, refused = RANGES[name]
    for value in taken:
        caller = Caller(empty_world())
        caller.submit(params={"max_length": 16} | {name: value}, dry_run=True)
        assert caller.status == 200, value
    for value in refused:
        answer = caller.submit(params={name: value})
        assert caller.status == 400
        assert answer["message"] == "Input payload validation failed"
        assert list(answer["errors"]) == [f"params.{name}"]
        assert "rc" not in answer


def test_at_most_ten_workers() -> None:
    """`workers` at most 10; an unknown id is 404 `WorkerNotFound`."""
    caller, program = pair()
    program.pop()
    (worker,) = caller.send("GET", "/workers")
    caller.submit(workers=[worker["id"]] * 10)
    assert caller.status == 202
    assert "workers" in caller.submit(workers=[worker["id"]] * 11)["errors"]
    assert caller.submit(workers=["nobody"])["rc"] == "WorkerNotFound"
    assert caller.status == 404


def test_a_known_model_without_a_worker() -> None:
    """Not refused: 202 with `message`, and the status explains."""
    caller, _ = pair()
    answer = caller.submit()
    assert caller.status == 202
    assert isinstance(answer["message"], str)
    status = caller.read(answer["id"])
    assert (status["pool"]["online_workers"], status["is_possible"]) == (0, False)


def test_an_unknown_model() -> None:
    """404 `UnknownModel` with `index`."""
    caller, _ = pair()
    answer = caller.submit(models=[MODEL, "nobody/Nothing"])
    assert (caller.status, answer["rc"], answer["index"]) == (404, "UnknownModel", 1)
