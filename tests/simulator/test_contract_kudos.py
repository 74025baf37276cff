"""The contract's page on the Horde, section 5. Kudos, held against the world.

Each docstring is the sentence, or what it says; figures are worked by hand beside it. Everything
goes through `World.handle`, as a caller of the real thing would see it.
"""

import attrs
import pytest

from horde_simulator.scenario import Scenario
from horde_simulator.world import World
from simulator.contract import kudos_of, ledger, pair
from simulator.horde import ANONYMOUS, API, Caller, Program, empty_world


def test_a_reply_is_paid_for() -> None:
    """120 reasoning + 680 content characters are 200 tokens; 200 x 8 x 1.20289 / 125 = 15.40 to
    the worker, the user pays 1 more, and 1 for the activation; the ledger has it all."""
    caller, program = pair()
    request_id = caller.submit()["id"]
    message = {"content": "c" * 680, "reasoning_content": "r" * 120}
    reward = program.hand_in(program.pop()["id"], message=message)["reward"]
    assert reward == pytest.approx(15.397, abs=0.001)
    (generation,) = caller.read(request_id)["generations"]
    assert generation["kudos"] == pytest.approx(16.397, abs=0.001)
    assert caller.read(request_id)["kudos"] == pytest.approx(17.397, abs=0.001)
    assert kudos_of(caller.world, "owner-key") == pytest.approx(115.397, abs=0.001)
    assert kudos_of(caller.world, "rich-key") == pytest.approx(1_000_000 - 17.397, abs=0.001)
    totals = ledger(caller.world)["totals"]
    assert totals["debited"] == pytest.approx(
        totals["credited"] + totals["burnt"] + totals["forgiven"], abs=1e-6
    )
    assert totals["burnt"] == pytest.approx(2.0)


@pytest.mark.parametrize("state", ["censored", "csam"])
def test_a_withheld_reply(state: str) -> None:
    """`censored`/`csam`: the user pays only the + 1 (beside the activation)."""
    caller, program = pair()
    request_id = caller.submit()["id"]
    answer = program.hand_in(program.pop()["id"], state=state)
    assert answer["reward"] == 0
    status = caller.read(request_id)
    assert (status["generations"][0]["state"], status["kudos"]) == (state, 2.0)


def test_floors() -> None:
    """Anonymous -50, registered 25: debits below are forgiven.

    A worker's own `poor-key` has 30: of 17.397 kudos 5 are paid, the rest is forgiven.
    """
    world = empty_world()
    poor, program = Caller(world, "poor-key"), Program(world)
    poor.submit()
    program.hand_in(program.pop()["id"], "c" * 800)
    assert kudos_of(world, "poor-key") == 25.0
    totals = ledger(world)["totals"]
    assert totals["forgiven"] == pytest.approx(12.397, abs=0.001)
    anonymous = Caller(world, ANONYMOUS)
    for _ in range(60):
        anonymous.submit()
    assert kudos_of(world, ANONYMOUS) == -50.0


def test_upfront() -> None:
    """Above the free allowance the account must reserve `round(max_length x B / 21, 2)`.

    Without an eligible thread 512 are free: 1,024 x 8 / 21 = 390.10, and poor has 30. With an idle
    worker the allowance is 4,096.
    """
    world = empty_world()
    poor = Caller(world, "poor-key")
    assert poor.submit(params={"max_length": 1024})["rc"] == "KudosUpfront"
    assert poor.status == 403
    poor.submit(params={"max_length": 512})
    assert poor.status == 202
    other = empty_world()
    Program(other).pop()
    poor = Caller(other, "poor-key")
    poor.submit(params={"max_length": 1024})
    assert poor.status == 202


def test_an_empty_horde() -> None:
    """A scenario without anything still answers every listing."""
    caller = Caller(World(attrs.evolve(Scenario(), clock="manual")))
    assert caller.send("GET", "/workers") == []
    assert caller.send("GET", "/status/models") == []
    assert caller.send("GET", "/status/heartbeat")["message"] == "OK"
    assert API == "/api/v2"
