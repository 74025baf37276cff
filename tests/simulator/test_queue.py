"""Who is served next: the queue against one that is sorted anew at every pop."""

from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from horde_simulator.scenario import ModelSpec, Scenario, UserSpec
from horde_simulator.world import World
from simulator.horde import ANONYMOUS, LARGE, MODEL, SMALL, Caller, Program, body_of, empty_world


def served(worker: Program, count: int) -> list[str]:
    """The texts of the next jobs that a worker is handed."""
    texts = []
    for _ in range(count):
        job = worker.pop()
        if job["id"] is None:
            break
        texts.append(job["payload"]["messages"][0]["content"])
    return texts


def submit(world: World, key: str, text: str, **fields: Any) -> str:
    caller = Caller(world, key)
    answer = caller.submit(body_of(text, **({"params": {"max_length": 64}} | fields)))
    assert caller.status == 202, answer
    return str(answer["id"])


def test_kudos_first_then_age_and_the_anonymous_last() -> None:
    world = empty_world()
    for key, text in (
        (ANONYMOUS, "a1"),
        ("poor-key", "p1"),
        (ANONYMOUS, "a2"),
        ("fair-key", "f1"),
        ("rich-key", "r1"),
        ("poor-key", "p2"),
    ):
        submit(world, key, text)
    # Activation costs one kudos, so a user's second request ranks just below the first.
    assert served(Program(world), 9) == ["r1", "f1", "p1", "p2", "a1", "a2"]


def test_waiting_gains_five_kudos_a_second() -> None:
    """fair-key has 970 kudos more than poor-key: 194 seconds of waiting make up for it."""
    for wait, first in ((193.0, "fair"), (195.0, "poor")):
        world = empty_world()
        submit(world, "poor-key", "poor")
        world.advance(wait)
        submit(world, "fair-key", "fair")
        assert served(Program(world), 1) == [first]


def test_nobody_is_starved() -> None:
    """With a richer request every second and one job a second, the anonymous one has its turn.

    It enters at 0 and gains 5 a second, so even a user who kept all 1,000 kudos would be ahead for
    no more than 200 seconds.
    """
    world = empty_world()
    worker = Program(world)
    submit(world, ANONYMOUS, "anonymous")
    submit(world, "fair-key", "0")
    for second in range(1, 300):
        world.advance(float(second))
        submit(world, "fair-key", str(second))
        job = worker.pop()
        worker.hand_in(job["id"])
        if job["payload"]["messages"][0]["content"] == "anonymous":
            break
    else:
        raise AssertionError("the anonymous request was never served")
    assert 30 < world.now <= 200


def test_the_first_that_the_worker_can_serve() -> None:
    """A request that it can't serve doesn't hold up those behind it, and is counted."""
    world = empty_world()
    Program(world, name="large", declares={"max_length": 4096}).pop()
    submit(world, "rich-key", "long", params={"max_length": 4096})
    submit(world, "rich-key", "tools", params={"max_length": 64, "reasoning_effort": "low"})
    submit(world, "rich-key", "other", models=[SMALL])
    submit(world, "fair-key", "short")
    chat = {"features": [], "guarantees": ["no_prompt_trim"], "limits": {}}
    worker = Program(world, declares={"chat": chat})
    job = worker.pop()
    assert job["payload"]["messages"][0]["content"] == "short"
    assert job["skipped"] == {"max_length": 1, "features": 1, "models": 1}
    nothing = worker.pop()
    assert (nothing["id"], nothing["ids"], nothing["payload"]) == (None, [], {})
    assert nothing["skipped"] == {"max_length": 1, "features": 1, "models": 1}


def test_each_of_n_replies_is_a_job_of_its_own() -> None:
    world = empty_world()
    request_id = submit(world, "rich-key", "three", params={"max_length": 64, "n": 3})
    submit(world, "fair-key", "next")
    worker = Program(world)
    assert served(worker, 5) == ["three", "three", "three", "next"]
    status = Caller(world).read(request_id)
    assert (status["processing"], status["waiting"], status["finished"]) == (3, 0, 0)


def test_a_request_for_several_models_waits_in_every_line_and_is_served_once() -> None:
    world = empty_world()
    submit(world, "rich-key", "any", models=[LARGE, SMALL, MODEL])
    worker = Program(world, declares={"models": [MODEL, SMALL]})
    job = worker.pop()
    # The first listed model that the worker runs.
    assert job["model"] == SMALL
    assert worker.pop()["id"] is None
    assert world.state.queue.jobs == world.state.queue.tokens == 0


def test_position_and_tokens_ahead_fall_as_others_are_served() -> None:
    world = empty_world()
    worker = Program(world)
    worker.pop()
    for text in "abc":
        submit(world, "rich-key", text)
    last = submit(world, "fair-key", "d")
    caller = Caller(world)
    positions = []
    for _ in range(5):
        positions.append(caller.read(last)["queue_position"])
        worker.pop()
    assert positions == [4, 3, 2, 1, 0]


@attrs.frozen
class Waiting:
    """A request as the plain model knows it."""

    text: str
    rank: float
    number: int
    models: tuple[str, ...]
    length: int


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("submit"),
            st.sampled_from(["rich-key", "fair-key", ANONYMOUS]),
            st.sampled_from([(MODEL,), (SMALL,), (SMALL, MODEL), (LARGE, SMALL)]),
            st.sampled_from([64, 128, 512]),
        ),
        st.tuples(
            st.just("pop"),
            st.sampled_from([(MODEL,), (SMALL,), (MODEL, SMALL)]),
            st.sampled_from([64, 256, 512]),
        ),
        st.tuples(st.just("cancel"), st.integers(0, 50)),
        st.tuples(st.just("wait"), st.integers(0, 60)),
    ),
    max_size=60,
)


@settings(max_examples=80, deadline=None)
@given(STEPS)
def test_the_queue_does_what_sorting_would(steps: list[Any]) -> None:
    """Submits, pops by different workers, cancels and waits, against a list that is sorted."""
    users = tuple(
        UserSpec(f"{name}-key", name, kudos)
        for name, kudos in (("rich", 1e6), ("fair", 1000.0), ("owner", 100.0))
    )
    models = (ModelSpec(MODEL, 8.0), ModelSpec(SMALL, 3.0), ModelSpec(LARGE, 35.0))
    world = World(Scenario(limits="off", models=models, users=users))
    Program(world, name="all", declares={"models": [MODEL, SMALL, LARGE]}).pop()
    waiting: list[tuple[Waiting, str]] = []
    for number, step in enumerate(steps):
        if step[0] == "wait":
            world.advance(world.now + step[1])
        elif step[0] == "cancel" and waiting:
            _, request_id = waiting.pop(step[1] % len(waiting))
            Caller(world).cancel(request_id)
        elif step[0] == "submit":
            _, key, asked, length = step
            account = world.state.accounts.get(key)
            assert account is not None
            if account.unpopped >= 30:
                continue
            rank = account.balance / 1e6 - 5 * world.now
            fields = {"models": list(asked), "params": {"max_length": length}}
            request_id = submit(world, key, str(number), conformance="best_effort", **fields)
            waiting.append((Waiting(str(number), -rank, number, asked, length), request_id))
        elif step[0] == "pop":
            _, serves, longest = step
            name = f"{serves}{longest}"[:90]
            worker = Program(world, name=name, declares={"models": serves, "max_length": longest})
            fitting = [
                one
                for one in waiting
                if set(one[0].models) & set(serves) and one[0].length <= longest
            ]
            first = min(fitting, key=lambda one: (one[0].rank, one[0].number), default=None)
            job = worker.pop()
            if first is None:
                assert job["id"] is None
            else:
                assert job["payload"]["messages"][0]["content"] == first[0].text
                waiting.remove(first)
    assert world.state.queue.requests == len(waiting)
    assert world.state.queue.tokens == sum(one.length for one, _ in waiting)
