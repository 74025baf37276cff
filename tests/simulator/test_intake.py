"""Submits: every refusal and their order, operation keys, dry runs, reserves."""

from typing import Any

import pytest

from horde_simulator.world import World
from simulator.horde import (
    ANONYMOUS,
    LARGE,
    MODEL,
    SMALL,
    UNKNOWN_SIZE,
    Caller,
    Program,
    body_of,
    profile,
    scenario,
)


def horde(key: str = "rich-key", **fields: Any) -> Caller:
    """A Horde with one worker that takes no job, so that requests stay in the queue."""
    return Caller(World(scenario(profile(**({"background_seconds": 1e6} | fields)))), key)


def test_accepted() -> None:
    """200 x 8 x 6.04 / 100 = 96.64, + 2, rounded up; 5 characters are 2 tokens, and 4."""
    caller = horde()
    answer = caller.submit(params={"max_length": 200})
    request_id = answer.pop("id")
    assert caller.status == 202
    assert answer == {
        "kudos": 99,
        "existing": False,
        "expires_in": 1200,
        "message": None,
        "warnings": [],
        "max_length": 200,
        "max_context_length": 4096,
        "prompt_tokens_estimate": 6,
        "context_adjustments": [],
    }
    assert caller.read(request_id)["waiting"] == 1


def test_dry_run_quotes_and_leaves_no_trace() -> None:
    caller = horde()
    before = caller.world.state.accounts.get("rich-key")
    assert before is not None
    kudos = before.balance
    answer = caller.submit(params={"max_length": 4096, "n": 3}, dry_run=True, operation_key="k")
    assert caller.status == 200
    # Lowered to 2048: (2048 x 8 x 6.04 / 100 + 1) x 3 + 1 = 2972.7808
    assert answer == {
        "kudos": 2973,
        "resolved": {
            "max_length": 2048,
            "max_context_length": 4096,
            "prompt_tokens_estimate": 6,
            "context_adjustments": [{"from": 4096, "to": 2048, "reason": "worker_max_length"}],
        },
    }
    assert not caller.world.state.requests
    assert not caller.world.state.operations
    assert before.balance == kudos


# Each refusal with the field that brings it about, in the contract's order.
FAULTY: list[tuple[str, dict[str, Any]]] = [
    ("schema", {"params": {"n": 0}}),
    ("WorkerNotFound", {"workers": ["nobody"]}),
    ("UnknownModel", {"models": [MODEL, "nothing"]}),
    ("BadRequest", {"tool_choice": "required"}),
    ("PromptExceedsContext", {"messages": [{"role": "user", "content": "x" * 99_999}]}),
]


@pytest.mark.parametrize("number", range(len(FAULTY)))
def test_refusals_come_in_order(number: int) -> None:
    """A submit that has this fault and all the later ones is refused for this one."""
    body = body_of()
    for _, fields in reversed(FAULTY[number:]):
        body |= fields
    caller = horde()
    answer = caller.submit(body)
    expected = FAULTY[number][0]
    assert answer.get("rc", "schema") == expected
    assert not caller.world.state.requests
    assert caller.world.state.ledger.totals()["debited"] == 0


def test_the_key_is_looked_at_after_the_schema_and_before_the_names() -> None:
    caller = horde("no-such-key")
    assert caller.submit(params={"n": 0})["message"] == "Input payload validation failed"
    assert caller.submit(models=["nothing"])["rc"] == "InvalidAPIKey"
    assert caller.status == 401


def test_no_key_at_all_is_an_invalid_key() -> None:
    caller = horde("")
    assert caller.submit()["rc"] == "InvalidAPIKey"


def test_the_rate_limit_comes_first_of_all() -> None:
    caller = Caller(World(scenario(profile(), limits="public")), "no-such-key")
    for _ in range(2):
        assert caller.submit(params={"n": 0})["message"] != "2 per 1 second"
    assert caller.submit(params={"n": 0}) == {"message": "2 per 1 second"}
    assert caller.status == 429
    assert caller.headers["retry-after"] == "1"


def test_unknown_model_says_which() -> None:
    caller = horde()
    assert caller.submit(models=[MODEL, "a/b", "nothing"])["index"] == 1
    assert caller.status == 404


def test_a_known_model_without_a_worker_is_accepted_with_a_message() -> None:
    caller = horde()
    answer = caller.submit(models=[SMALL])
    assert caller.status == 202
    assert "worker" in answer["message"]
    status = caller.read(answer["id"])
    assert (status["is_possible"], status["eligible_workers"]) == (False, 0)
    assert status["pool"]["online_workers"] == 0


def test_so_many_jobs_may_wait() -> None:
    """30 of an account: its third request of ten is the last."""
    caller = horde("fair-key")
    for _ in range(3):
        caller.submit(params={"n": 10, "max_length": 16})
        assert caller.status == 202
    answer = caller.submit(params={"max_length": 16})
    assert (caller.status, answer["rc"]) == (429, "TooManyPrompts")
    other = Caller(caller.world, "rich-key")
    other.submit()
    assert other.status == 202


def test_the_anonymous_account_may_have_500_waiting() -> None:
    caller = horde(ANONYMOUS)
    for _ in range(25):
        caller.submit(params={"n": 20, "max_length": 16})
        assert caller.status == 202
    assert caller.submit()["rc"] == "TooManyPrompts"


def test_a_popped_or_cancelled_job_waits_no_more() -> None:
    caller = horde("fair-key")
    first = caller.submit(params={"n": 20, "max_length": 16})["id"]
    second = caller.submit(params={"n": 10, "max_length": 16})["id"]
    assert caller.submit()["rc"] == "TooManyPrompts"
    worker = Program(caller.world)
    worker.pop()
    caller.submit()
    assert caller.status == 202
    assert caller.submit()["rc"] == "TooManyPrompts"
    caller.cancel(second)
    caller.submit(params={"n": 10, "max_length": 16})
    assert caller.status == 202
    caller.cancel(first)


@pytest.mark.parametrize(
    "key, length, models, status",
    [
        # Idle worker: load 0, 4,096 tokens are free for everyone.
        (ANONYMOUS, 2048, [MODEL], 202),
        ("poor-key", 2048, [MODEL], 202),
        # Nobody serves these: 512 are free, and above 1024 x 3 / 21 = 146.29 is needed upfront,
        # of the largest model listed 1024 x 35 / 21 = 1706.67.
        (ANONYMOUS, 512, [SMALL], 202),
        (ANONYMOUS, 513, [SMALL], 403),
        ("poor-key", 1024, [SMALL], 403),
        ("fair-key", 1024, [SMALL], 202),
        ("fair-key", 1024, [SMALL, LARGE], 403),
        ("rich-key", 1024, [SMALL, LARGE], 202),
    ],
)
def test_upfront_kudos(key: str, length: int, models: list[str], status: int) -> None:
    caller = horde(key)
    answer = caller.submit(models=models, params={"max_length": length})
    assert caller.status == status
    assert (answer.get("rc") == "KudosUpfront") == (status == 403)


def test_the_free_allowance_shrinks_with_the_queue() -> None:
    """1,200 tokens ahead of one thread at 40 a second are half a minute: 2,304 are free."""
    caller = horde(ANONYMOUS)
    caller.submit(params={"n": 3, "max_length": 400})
    answer = caller.submit(params={"max_length": 2048})
    assert caller.status == 202
    caller.cancel(answer["id"])
    caller.submit(params={"n": 3, "max_length": 400})
    assert caller.submit(params={"max_length": 2048})["rc"] == "KudosUpfront"


def test_a_reserve_is_held_until_the_request_ends() -> None:
    """146.29 are held for each: fair-key's 1,000 bear six of them."""
    caller = horde("fair-key")
    account = caller.world.state.accounts.get("fair-key")
    assert account is not None
    ids = []
    for _ in range(6):
        ids.append(caller.submit(models=[SMALL], params={"max_length": 1024})["id"])
        assert caller.status == 202
    assert account.reserved == 6 * 146_290_000
    assert caller.submit(models=[SMALL], params={"max_length": 1024})["rc"] == "KudosUpfront"
    caller.cancel(ids[0])
    assert account.reserved == 5 * 146_290_000
    caller.submit(models=[SMALL], params={"max_length": 1024})
    assert caller.status == 202
    caller.wait(1300.0)
    assert account.reserved == 0


def test_an_operation_key_names_one_request() -> None:
    caller = horde()
    first = caller.submit(operation_key="once")
    caller.wait(10.0)
    again = caller.submit(operation_key="once")
    assert caller.status == 202
    assert (again["id"], again["existing"], first["existing"]) == (first["id"], True, False)
    assert again["expires_in"] == 1190
    assert len(caller.world.state.requests) == 1
    assert caller.world.state.ledger.totals()["debited"] == 1.0


def test_an_operation_key_is_bound_to_the_body_and_to_the_account() -> None:
    caller = horde()
    first = caller.submit(operation_key="once")
    assert caller.submit(body_of("other", operation_key="once"))["rc"] == "OperationKeyConflict"
    assert caller.status == 409
    other = Caller(caller.world, "fair-key")
    assert other.submit(operation_key="once")["id"] != first["id"]


def test_an_operation_key_doesn_t_mind_the_order_of_keys() -> None:
    caller = horde()
    first = caller.submit(body_of(operation_key="once"))
    turned = dict(reversed(body_of(operation_key="once").items()))
    assert caller.submit(turned)["id"] == first["id"]


def test_an_operation_key_lives_until_its_request_expires() -> None:
    caller = horde()
    first = caller.submit(operation_key="once")["id"]
    caller.cancel(first)
    assert caller.submit(operation_key="once")["id"] == first
    caller.wait(1201.0)
    assert caller.submit(operation_key="once")["id"] != first


def test_equal_submits_without_a_key_are_two_requests() -> None:
    caller = horde()
    assert caller.submit()["id"] != caller.submit()["id"]


def test_an_existing_operation_is_answered_even_when_the_account_may_submit_no_more() -> None:
    caller = horde("fair-key")
    first = caller.submit(params={"n": 10, "max_length": 16}, operation_key="once")
    caller.submit(params={"n": 20, "max_length": 16})
    assert caller.submit()["rc"] == "TooManyPrompts"
    again = caller.submit(params={"n": 10, "max_length": 16}, operation_key="once")
    assert again["id"] == first["id"]


def test_a_model_of_unknown_size_is_priced() -> None:
    """100 x 13 x 2.2 / 100 = 28.6, + 2, rounded up."""
    caller = horde()
    answer = caller.submit(
        models=[UNKNOWN_SIZE], params={"max_length": 100, "max_context_length": 1024}
    )
    assert answer["kudos"] == 31


def test_the_quote_is_of_the_first_listed_model() -> None:
    caller = horde()
    params = {"max_length": 100, "max_context_length": 1024}
    # 100 x 3 x 2.2 / 100 = 6.6, and 100 x 1.219063 x 35 x 2.2 / 100 = 93.8679
    assert caller.submit(models=[SMALL, LARGE], params=params)["kudos"] == 9
    assert caller.submit(models=[LARGE, SMALL], params=params)["kudos"] == 96
