"""Kudos are conserved, whatever is called in whatever order, with whatever fault."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horde_simulator.document import SHIPPED, shipped_scenario
from horde_simulator.faults import FAULTS
from horde_simulator.scenario import FaultSpec
from horde_simulator.world import World
from simulator.horde import (
    ANONYMOUS,
    LARGE,
    MODEL,
    SMALL,
    TOOL,
    Caller,
    Program,
    body_of,
    profile,
    scenario,
)

KEYS = ("rich-key", "fair-key", "poor-key", ANONYMOUS)
# All faults but those on calls, which the storm over the front has: at a world's door they only
# change what the caller learns.
FAULTY = sorted(where for where in FAULTS if "." not in where)


class Chaos:
    """Random calls of users and worker programs upon one Horde."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        draw = self.random
        faults = tuple(
            FaultSpec(where, chance=draw.choice([0.02, 0.2]))
            for where in draw.sample(FAULTY, draw.randrange(5))
        )
        self.world = World(
            scenario(
                profile("a", threads=2, jitter=0.2, load_factor=0.3, tokens_per_second=30.0),
                profile("b", models=(SMALL, MODEL), brain="mixed", online_until=400.0),
                profile("c", models=(LARGE,), background_seconds=20.0, progress_interval=None),
                faults=faults,
                seed=seed,
            )
        )
        self.start = self.balances()
        self.requests: list[str] = []
        self.jobs: list[tuple[Program, str, str]] = []
        self.programs = [
            Program(self.world, key=key, name=f"{key}-{model}", declares={"models": [model]})
            for key in ("owner-key", "poor-key", ANONYMOUS)
            for model in (MODEL, SMALL)
        ]

    def balances(self) -> int:
        return sum(account.balance for account in self.world.state.accounts.all())

    def step(self) -> None:
        draw = self.random
        self.world.advance(
            self.world.now + draw.choice([0.0, 0.1, 1.0, 5.0, 160.0]) * draw.random()
        )
        often = [self.submit, self.submit, self.pop, self.pop]
        draw.choice([*often, self.post, self.hand_in, self.cancel, self.read])()

    def submit(self) -> None:
        draw = self.random
        fields: dict[str, Any] = {
            "models": draw.sample([MODEL, SMALL, LARGE], draw.randrange(1, 3)),
            "params": {
                "max_length": draw.choice([16, 64, 512, 1024]),
                "n": draw.choice([1, 1, 1, 3]),
                "max_context_length": draw.choice([1024, 4096]),
            },
            "conformance": draw.choice(["strict", "best_effort"]),
            "progress": draw.random() < 0.7,
        }
        if draw.random() < 0.2:
            fields["tools"] = [TOOL]
        if draw.random() < 0.2:
            fields["operation_key"] = str(draw.randrange(5))
        text = "word " * draw.choice([1, 30, 900])
        answer = Caller(self.world, draw.choice(KEYS)).submit(body_of(text, **fields))
        if "id" in answer:
            self.requests.append(answer["id"])

    def pop(self) -> None:
        program = self.random.choice(self.programs)
        job = program.pop()
        if job["id"] is not None:
            self.jobs.append((program, job["id"], ""))

    def post(self) -> None:
        if self.jobs:
            at = self.random.randrange(len(self.jobs))
            program, job_id, text = self.jobs[at]
            text += "some more " * self.random.randrange(9)
            program.post(job_id, self.random.randrange(1, 9), text)
            self.jobs[at] = (program, job_id, text)

    def hand_in(self) -> None:
        if self.jobs:
            draw = self.random
            program, job_id, text = draw.choice(self.jobs)
            state = draw.choice(["ok"] * 5 + ["faulted", "censored", "csam"])
            usage = {"completion_tokens": draw.choice([5, 5, 5, 2000])}
            program.hand_in(job_id, text + "the end", state=state, usage=usage)

    def cancel(self) -> None:
        if self.requests:
            Caller(self.world).cancel(self.random.choice(self.requests))

    def read(self) -> None:
        if self.requests:
            status = Caller(self.world).read(self.random.choice(self.requests))
            for generation in status.get("generations", ()):
                assert generation["kudos"] <= status["kudos"]

    def check(self) -> None:
        """The ledger is in balance with itself, with the accounts, and with the requests."""
        state = self.world.state
        ledger = state.ledger
        assert ledger.debited == ledger.credited + ledger.burnt + ledger.forgiven
        assert self.start - self.balances() == ledger.burnt
        for name in ("debited", "credited", "burnt", "forgiven"):
            assert sum(getattr(entry, name) for entry in ledger.entries) == getattr(ledger, name)
        charged: dict[str, int] = {}
        for entry in ledger.entries:
            charged[entry.request_id] = charged.get(entry.request_id, 0) + entry.debited
        for request in state.requests.values():
            assert charged[request.id] == request.charged <= request.quote * 1_000_000
        self.check_books()

    def check_books(self) -> None:
        """What accounts and the queue count is what the requests say."""
        state = self.world.state
        for account in state.accounts.all():
            own = [one for one in state.requests.values() if one.account is account]
            assert account.unpopped == sum(one.waiting for one in own)
            assert account.reserved == sum(one.reserved for one in own)
            assert account.balance >= min(account.floor, 0)
        waiting = [one for one in state.requests.values() if one.waiting]
        assert state.queue.requests == len(waiting)
        assert state.queue.jobs == sum(one.waiting for one in waiting)
        assert not any(one.over for one in waiting)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32))
def test_conservation_under_random_calls(seed: int) -> None:
    """50 x 200 = 10,000 calls a run, checked after each fiftieth of them."""
    chaos = Chaos(seed)
    for number in range(200):
        chaos.step()
        if number % 50 == 49:
            chaos.check()
    chaos.world.advance(chaos.world.now + 5000.0)
    chaos.check()
    assert not chaos.world.state.requests


@pytest.mark.parametrize("where", FAULTY)
def test_conservation_under_every_fault(where: str) -> None:
    """Each fault at half of its occasions, over twenty requests to built-in workers."""
    spec = FaultSpec(where, chance=0.5)
    workers = (profile("a", brain="mixed"), profile("b", tokens_per_second=400.0))
    world = World(scenario(*workers, faults=(spec,)))
    start = sum(account.balance for account in world.state.accounts.all())
    for number in range(20):
        caller = Caller(world, KEYS[number % len(KEYS)])
        answer = caller.submit(body_of("Tell me.", progress=True, params={"max_length": 200}))
        if caller.status == 202:
            caller.follow(answer["id"], most=100.0)
            if number % 3 == 0:
                caller.cancel(answer["id"])
    ledger = world.state.ledger
    assert ledger.debited == ledger.credited + ledger.burnt + ledger.forgiven
    left = sum(account.balance for account in world.state.accounts.all())
    assert start - left == ledger.burnt > 0


@pytest.mark.parametrize("name", SHIPPED)
def test_conservation_in_every_shipped_scenario(name: str) -> None:
    """Sixty requests by its users over some minutes, a third of them cancelled."""
    world = World(shipped_scenario(name))
    start = sum(account.balance for account in world.state.accounts.all())
    keys = [ANONYMOUS, *(user.key for user in world.scenario.users)]
    models = [model.name for model in world.scenario.models] or ["none"]
    ids = []
    for number in range(60):
        world.advance(world.now + 3.0)
        caller = Caller(world, keys[number % len(keys)])
        model = models[number % len(models)]
        answer = caller.submit(models=[model], progress=True, params={"max_length": 64})
        if isinstance(answer, dict) and "id" in answer:
            ids.append(answer["id"])
        if number % 3 == 0 and ids:
            Caller(world).cancel(ids[number % len(ids)])
    world.advance(world.now + 5000.0)
    ledger = world.state.ledger
    assert ledger.debited == ledger.credited + ledger.burnt + ledger.forgiven
    left = sum(account.balance for account in world.state.accounts.all())
    assert start - left == ledger.burnt
    assert not world.state.requests
    assert all(account.unpopped == account.reserved == 0 for account in world.state.accounts.all())


def test_a_refusal_costs_nothing() -> None:
    world = World(scenario(profile()))
    for key in (*KEYS, "nobody"):
        caller = Caller(world, key)
        caller.submit(params={"n": 0})
        caller.submit(models=["nothing"])
        caller.submit(body_of("x" * 99_999))
    assert world.state.ledger.totals()["debited"] == 0


def test_the_anonymous_account_stops_at_minus_fifty() -> None:
    world = World(scenario(profile(tokens_per_second=1000.0)))
    caller = Caller(world, ANONYMOUS)
    for _ in range(60):
        caller.follow(caller.submit()["id"])
    assert caller.send("GET", "/find_user")["kudos"] == -50.0
    assert world.state.ledger.totals()["forgiven"] > 0
