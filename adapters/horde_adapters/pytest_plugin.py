"""pytest fixtures: a simulated Horde of one's own for each test, and a front on it.

Every pytest run loads this file where the package is installed, so nothing else of the package is
imported until a test asks for a fixture (contract: simulator section 5).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from horde_adapters.background import FrontServer, SimulatedHordeServer
    from horde_simulator.scenario import Scenario

_MARKERS = {
    "horde_scenario(scenario, *, seed=None)": "what `simulated_horde` starts from: the name of a "
    "shipped scenario, a pathlib.Path to a TOML file (relative to the test's own), or a Scenario; "
    "and the seed in place of the scenario's own.",
    "horde_verdict": "fail the test when the simulated Horde has something to complain about.",
}


def pytest_configure(config: pytest.Config) -> None:
    for marker, meaning in _MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {meaning}")


@pytest.fixture
def simulated_horde(request: pytest.FixtureRequest) -> Iterator[SimulatedHordeServer]:
    """A simulated Horde (scenario `default`) on a free port, in a thread of its own."""
    from horde_adapters.background import SimulatedHordeServer

    marker = request.node.get_closest_marker("horde_scenario")
    try:
        scenario, seed = horde_scenario(*marker.args, **marker.kwargs) if marker else _DEFAULT
        server = SimulatedHordeServer(_read(request.path.parent, scenario), seed=seed)
    except (TypeError, ValueError, OSError) as error:  # what is wrong is in the marker
        pytest.fail(f"horde_scenario: {error}", pytrace=False)
    with server as horde:
        yield horde


@pytest.fixture
def horde_front(simulated_horde: SimulatedHordeServer) -> Iterator[FrontServer]:
    """A front on `simulated_horde`; `base_url` is what an OpenAI client takes."""
    from horde_adapters.background import FrontServer

    with FrontServer(simulated_horde.url) as front:
        yield front


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """The verdict belongs to the test itself: a bad one is a failure, no error of the teardown."""
    result = yield
    if item.get_closest_marker("horde_verdict") is not None:
        _require_good_verdict(item)
    return result


def _require_good_verdict(item: pytest.Item) -> None:
    horde: SimulatedHordeServer | None = getattr(item, "funcargs", {}).get("simulated_horde")
    if horde is None:
        pytest.fail("horde_verdict: the test doesn't use simulated_horde", pytrace=False)
    verdict = horde.verdict()
    if not verdict["ok"]:
        findings = [
            f"  {finding['kind']} ({finding['request_id']}): {finding['detail']}"
            for finding in verdict["findings"]
        ]
        pytest.fail("\n".join(["The simulated Horde complains:", *findings]), pytrace=False)


def horde_scenario(
    scenario: str | Path | Scenario, *, seed: int | None = None
) -> tuple[str | Path | Scenario, int | None]:
    """The marker of that name; Python's own word on wrong arguments names it."""
    return scenario, seed


_DEFAULT = ("default", None)


def _read(folder: Path, scenario: str | Path | Scenario) -> str | Scenario:
    if not isinstance(scenario, Path):
        return scenario
    from horde_simulator.document import parse_scenario

    path = folder / scenario
    return parse_scenario(path.read_text(encoding="utf-8"), source=str(path))
