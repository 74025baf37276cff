"""pytest fixtures: a simulated Horde of one's own for each test, and a front on it.

Nothing heavy is imported until a test asks for one of them, as every pytest run loads this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from horde_adapters.background import FrontServer, SimulatedHordeServer


@pytest.fixture
def simulated_horde() -> Iterator[SimulatedHordeServer]:
    """A simulated Horde (scenario `default`) on a free port, in a thread of its own."""
    from horde_adapters.background import SimulatedHordeServer

    with SimulatedHordeServer() as horde:
        yield horde


@pytest.fixture
def horde_front(simulated_horde: SimulatedHordeServer) -> Iterator[FrontServer]:
    """A front on `simulated_horde`; `base_url` is what an OpenAI client takes."""
    from horde_adapters.background import FrontServer

    with FrontServer(simulated_horde.url) as front:
        yield front
