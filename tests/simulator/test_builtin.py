"""Built-in workers: when they speak, how fast, how many at once, and when they are there."""

from typing import Any

import pytest

from horde_simulator.world import World
from simulator.horde import LARGE, SMALL, TOOL, Caller, body_of, profile, scenario

TEN = "one two three four five six seven eight nine ten"


def horde(*profiles: Any, seed: int = 1) -> Caller:
    """A Horde whose workers have settled down for a second."""
    caller = Caller(World(scenario(*profiles, seed=seed)))
    caller.wait(1.0)
    return caller


def timed(
    caller: Caller, body: dict[str, Any], until: float, step: float
) -> list[tuple[float, Any]]:
    """Status reads of one request at equal steps."""
    request_id = caller.submit(body)["id"]
    began, reads = caller.world.now, []
    while caller.world.now < began + until:
        caller.wait(step)
        reads.append((round(caller.world.now - began, 3), caller.read(request_id)))
    return reads


def test_words_come_at_the_profile_s_pace() -> None:
    """Noticed after 0.1 s; 20 prompt tokens take 0.3 + 10 x 20 / 1000 = 0.5 s of prefill.

    Then 10 tokens come at 4 a second: one by the first post after 0.25 s, at 0.85; four and eight
    by the posts of each second; the reply at 3.1.
    """
    worker = profile(
        tokens_per_second=4.0,
        prefill_seconds=0.3,
        prefill_per_1000_tokens=10.0,
        progress_interval=1.0,
    )
    reads = timed(horde(worker), body_of(TEN, progress=True), 3.5, 0.1)
    shown: dict[str | None, float] = {}
    for at, status in reads:
        text = status["progress"][0]["content"] if status["progress"] else None
        shown.setdefault(text, at)
    assert shown == {
        None: 0.1,
        "one": 0.9,
        "one two three four": 1.6,
        "one two three four five six seven eight": 2.6,
    }
    done = next(at for at, status in reads if status["done"])
    assert done == 3.1


def test_first_words_within_a_second_of_a_request_to_an_idle_worker() -> None:
    reads = timed(horde(profile()), body_of(TEN, progress=True), 1.0, 0.05)
    assert any(status["progress"] or status["done"] for _, status in reads)


@pytest.mark.parametrize(
    "changes, fields",
    [
        ({"progress_interval": None}, {"progress": True}),
        ({"features": ()}, {"progress": True}),
        ({}, {"progress": False}),
        ({}, {"progress": True, "tools": [TOOL]}),
        ({}, {"progress": True, "response_format": {"type": "json_object"}}),
    ],
    ids=range(5),
)
def test_no_progress(changes: dict[str, Any], fields: dict[str, Any]) -> None:
    """No interval, not declared, not asked for, or nothing to show before it is whole."""
    defaults: dict[str, Any] = {"tokens_per_second": 3.0, "brain": "mixed"}
    worker = profile(**(defaults | changes))
    body = body_of(TEN, params={"max_length": 40}, **fields)
    reads = timed(horde(worker), body, 30.0, 1.0)
    assert not any(status["progress"] for _, status in reads)
    assert reads[-1][1]["done"]


def test_a_slow_reply_without_progress_outlives_its_lease() -> None:
    """400 tokens at 1 a second are four leases: signs of life renew it."""
    caller = horde(profile(tokens_per_second=1.0, progress_interval=None))
    status = caller.follow(caller.submit(body_of("word " * 400))["id"], most=500.0)
    assert (status["done"], status["faulted"], status["restarted"]) == (True, False, 0)


def test_as_many_at_once_as_there_are_threads() -> None:
    caller = horde(profile(threads=2, tokens_per_second=1.0))
    ids = [caller.submit(body_of(TEN))["id"] for _ in range(3)]
    caller.wait(1.0)
    assert [caller.read(one)["processing"] for one in ids] == [1, 1, 0]
    assert caller.read(ids[2])["queue_position"] == 1
    caller.wait(10.0)
    assert [caller.read(one)["done"] for one in ids] == [True, True, False]
    assert caller.read(ids[2])["processing"] == 1


def test_busy_threads_slow_one_another_down() -> None:
    """Half as slow again with a second busy thread: 10 tokens at 1 a second take 15."""
    caller = horde(profile(threads=2, tokens_per_second=1.0, load_factor=0.5))
    first, second = (caller.submit(body_of(TEN))["id"] for _ in range(2))
    caller.wait(10.3)
    assert caller.read(first)["done"] is True
    caller.wait(4.5)
    assert caller.read(second)["done"] is False
    caller.wait(0.5)
    assert caller.read(second)["done"] is True


def test_jitter_is_clamped_and_seeded() -> None:
    def took(seed: int) -> float:
        caller = horde(profile(tokens_per_second=1.0, jitter=0.1), seed=seed)
        reads = timed(caller, body_of(TEN), 20.0, 0.05)
        return next(at for at, status in reads if status["done"])

    times = [took(seed) for seed in range(12)]
    assert times == [took(seed) for seed in range(12)]
    assert len(set(times)) > 6
    # 10 s at 1 token a second, at most 3 deviations of a tenth away.
    assert all(10 / 1.3 <= time - 0.2 <= 10 / 0.7 + 0.1 for time in times)


def test_a_worker_comes_and_goes() -> None:
    caller = horde(profile(online_from=10.0, online_until=20.0, tokens_per_second=1.0))
    request_id = caller.submit(body_of(TEN))["id"]
    assert caller.read(request_id)["is_possible"] is False
    caller.wait(11.0)
    status = caller.read(request_id)
    assert (status["processing"], status["eligible_workers"]) == (1, 1)
    other = caller.submit(body_of("word " * 50))["id"]
    caller.wait(9.5)
    # It left at 20, before the end at 20.1: its lease runs out at 160.
    assert caller.read(request_id)["eligible_workers"] == 0
    assert caller.read(other)["waiting"] == 1
    assert caller.send("GET", "/workers") == []
    caller.wait(145.0)
    status = caller.read(request_id)
    assert status["last_refusal"]["rc"] == "ChatWorkerTimeout"
    assert (status["waiting"], status["restarted"]) == (1, 1)


def test_a_removed_worker_s_job_moves_on() -> None:
    world = World(scenario(profile("a", tokens_per_second=1.0), profile("b", online_from=5.0)))
    caller = Caller(world)
    request_id = caller.submit(body_of(TEN, progress=True))["id"]
    caller.wait(2.0)
    removed = world.state.registry.named("a")
    assert removed is not None
    world.remove_worker(removed)
    assert world.state.registry.named("a") is None
    status = caller.follow(request_id)
    assert status["generations"][0]["worker_name"] == "b"
    assert status["restarted"] == 1


def test_maintenance_ends_and_the_worker_looks_for_work() -> None:
    world = World(scenario(profile(maintenance=True)))
    caller = Caller(world)
    request_id = caller.submit()["id"]
    caller.wait(5.0)
    assert caller.read(request_id)["waiting"] == 1
    worker = world.state.registry.named("Attic")
    assert worker is not None
    world.set_maintenance(worker, False)
    assert caller.follow(request_id, most=5.0)["done"] is True


def test_a_changed_worker_declares_and_behaves_anew() -> None:
    world = World(scenario(profile(tokens_per_second=1.0)))
    caller = Caller(world)
    worker = world.state.registry.named("Attic")
    assert worker is not None
    world.change_worker(worker, profile(models=(SMALL,), tokens_per_second=1000.0, features=()))
    (entry,) = caller.send("GET", "/workers")
    assert entry["models"] == [SMALL]
    assert entry["performance"] == "1000.0 tokens per second"
    assert entry["chat"]["features"] == []
    status = caller.follow(caller.submit(body_of(TEN, models=[SMALL]))["id"], most=1.0)
    assert status["done"] is True
    waiting = caller.submit()["id"]
    assert caller.read(waiting)["eligible_workers"] == 0


def test_other_users_jobs_are_always_ahead_of_a_busy_worker() -> None:
    """30 seconds of them, in jobs of 5: the position falls and the wait is about right."""
    worker = profile(
        models=(LARGE,), tokens_per_second=10.0, background_seconds=30.0, prefill_seconds=0.0
    )
    caller = horde(worker)
    body = body_of(TEN, models=[LARGE], params={"max_length": 20})
    reads = timed(caller, body, 40.0, 1.0)
    positions = [status["queue_position"] for _, status in reads]
    assert positions[0] == 7
    assert positions == sorted(positions, reverse=True)
    # Never 1: with nobody ahead any more the request is popped at once.
    assert set(positions) == {7, 6, 5, 4, 3, 2, 0}
    popped = next(at for at, status in reads if status["processing"])
    assert popped == 30.0
    done = next(at for at, status in reads if status["done"])
    for at, status in reads:
        if not status["done"]:
            # Twenty tokens were asked for and ten came: the estimate is a second above.
            assert abs(at + status["wait_time"] - done) <= 2.0


def test_every_request_to_a_busy_worker_waits_for_those_ahead_of_it() -> None:
    worker = profile(models=(LARGE,), tokens_per_second=10.0, background_seconds=30.0)
    caller = horde(worker)
    body = body_of(TEN, models=[LARGE])
    first = caller.submit(body)["id"]
    caller.wait(20.0)
    second = caller.submit(body)["id"]
    caller.wait(11.5)
    assert caller.read(first)["done"] is True
    assert caller.read(second)["waiting"] == 1
    caller.wait(20.0)
    assert caller.read(second)["done"] is True


def test_the_wait_is_told_right_in_a_queue() -> None:
    """Five replies of 20 tokens at 10 a second on one thread: each is told when it will be done."""
    caller = horde(profile(tokens_per_second=10.0, prefill_seconds=0.0))
    body = body_of(TEN + " " + TEN, params={"max_length": 20})
    ids = [caller.submit(body)["id"] for _ in range(5)]
    caller.wait(0.2)
    told = [caller.read(one)["wait_time"] for one in ids]
    assert told == [2, 4, 6, 8, 10]


def test_the_same_request_is_told_the_same_with_a_seed() -> None:
    caller = horde(profile(brain="prose", threads=3))
    texts = []
    for seed in (5, 5, 6, 7, 8, 9):
        answer = caller.submit(params={"seed": seed, "max_length": 64})
        texts.append(caller.follow(answer["id"])["generations"][0]["message"]["content"])
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


def test_usage_counts_what_was_said() -> None:
    caller = horde(profile())
    (generation,) = caller.follow(caller.submit(body_of(TEN))["id"])["generations"]
    assert generation["usage"] == {
        "prompt_tokens": 20,
        "completion_tokens": 10,
        "reasoning_tokens": 0,
    }


def test_out_of_tokens() -> None:
    caller = horde(profile())
    body = body_of(TEN + " " + TEN, params={"max_length": 16})
    (generation,) = caller.follow(caller.submit(body)["id"])["generations"]
    assert generation["finish_reason"] == "length"
    assert generation["usage"]["completion_tokens"] == 16
