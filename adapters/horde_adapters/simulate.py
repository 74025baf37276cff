"""Starting a simulated Horde, alone or with a front on it.

Apart from `horde_adapters.serve`, so that a front in production loads nothing of the simulator.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import attrs

from horde_adapters.serve import Address, CannotStart, Running, serving, serving_front
from horde_adapters.settings import Limits, Settings
from horde_adapters.simulated import SimulatedHorde
from horde_core.native import BASE
from horde_simulator.document import SHIPPED, parse_scenario, shipped_scenario
from horde_simulator.readers import DocumentError
from horde_simulator.scenario import Scenario
from horde_simulator.world import World


def new_world(scenario: str, seed: int | None) -> World:
    """A world from a shipped scenario's name, or a TOML file's path. Raises CannotStart."""
    try:
        return World(_scenario(scenario), seed=seed)
    except DocumentError as error:
        raise CannotStart(str(error)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"can't read the scenario {scenario}: {error}") from error


def _scenario(name: str) -> Scenario:
    path = Path(name)
    if name in SHIPPED or not (path.suffix or path.exists()):
        return shipped_scenario(name)
    return parse_scenario(path.read_text(encoding="utf-8"), source=name)


async def run_simulator(
    address: Address,
    world: World,
    limits: Limits,
    *,
    until: Callable[[], Awaitable[None]],
    ready: Callable[[Running], None],
) -> None:
    """Runs a simulated Horde alone. Raises PortTaken."""
    async with _serving_world(address, world, limits) as url:
        ready(Running(None, url))
        await until()


async def run_both(
    front: Address,
    horde: Address,
    world: World,
    settings: Settings,
    limits: Limits,
    *,
    until: Callable[[], Awaitable[None]],
    ready: Callable[[Running], None],
) -> None:
    """Runs a simulated Horde with a front on it. Raises PortTaken."""
    async with _serving_world(horde, world, limits) as horde_url:
        settings = attrs.evolve(settings, horde_url=horde_url)
        async with serving_front(front, settings, limits) as front_url:
            ready(Running(front_url, horde_url))
            await until()


@asynccontextmanager
async def _serving_world(address: Address, world: World, limits: Limits) -> AsyncIterator[str]:
    horde = SimulatedHorde(world)
    async with serving(horde, address, limits, horde.drain) as url:
        yield f"{url}{BASE}"
