"""What the tests of the contract's sentences share. All of it goes through `World.handle`."""

from typing import Any

import orjson

from horde_simulator.call import Answer, Call
from horde_simulator.world import World
from simulator.horde import Caller, Program, empty_world


def pair(**fields: Any) -> tuple[Caller, Program]:
    """A caller and an external worker program at one Horde without built-in workers."""
    world = empty_world(**fields)
    return Caller(world), Program(world)


def ledger(world: World) -> Any:
    answer = world.handle(Call("GET", "/_sim/ledger"))
    assert isinstance(answer, Answer)
    return orjson.loads(answer.body)


def kudos_of(world: World, key: str) -> float:
    return float(Caller(world, key).send("GET", "/find_user")["kudos"])
