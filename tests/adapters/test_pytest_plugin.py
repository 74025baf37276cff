"""The pytest plugin: fixtures for any kind of test, markers, and nothing heavy until it is used."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import attrs
import httpx
import openai
import pytest
import trio

from horde_adapters.background import FrontServer, SimulatedHordeServer
from horde_adapters.serve import CannotStart
from horde_simulator.document import shipped_scenario
from horde_simulator.scenario import Scenario

LLAMA = "koboldcpp/Llama-3.2-3B-Instruct"
MANUAL = attrs.evolve(shipped_scenario("default"), clock="manual")


def workers_of(horde: SimulatedHordeServer) -> list[str]:
    found = httpx.get(f"{horde.url}/workers", params={"type": "text"}, trust_env=False)
    return [worker["name"] for worker in found.json()]


def test_a_plain_test_reaches_the_horde(simulated_horde: SimulatedHordeServer) -> None:
    """The default scenario, on a port of its own."""
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/api/v2", simulated_horde.url)
    assert "Attic Llama" in workers_of(simulated_horde)


async def test_a_trio_test_reaches_the_horde(simulated_horde: SimulatedHordeServer) -> None:
    """The helpers may be called from a task of another trio loop than the server's."""
    simulated_horde.add_worker(name="Loft", models=[LLAMA])
    async with httpx.AsyncClient(trust_env=False) as client:
        found = await client.get(f"{simulated_horde.url}/workers", params={"type": "text"})
    assert "Loft" in [worker["name"] for worker in found.json()]


def test_an_asyncio_test_reaches_the_horde(simulated_horde: SimulatedHordeServer) -> None:
    """So may they from a coroutine on asyncio."""

    async def main() -> list[str]:
        simulated_horde.add_worker(name="Loft", models=[LLAMA])
        async with httpx.AsyncClient(trust_env=False) as client:
            found = await client.get(f"{simulated_horde.url}/workers", params={"type": "text"})
        return [worker["name"] for worker in found.json()]

    assert "Loft" in asyncio.run(main())


def test_each_has_its_own_world(simulated_horde: SimulatedHordeServer) -> None:
    """What one changes, another doesn't see."""
    with SimulatedHordeServer() as other:
        other.add_worker(name="Loft", models=[LLAMA])
        assert other.url != simulated_horde.url
        assert "Loft" in workers_of(other)
    assert "Loft" not in workers_of(simulated_horde)


def test_a_fault_strikes_once_unless_told_otherwise(simulated_horde: SimulatedHordeServer) -> None:
    statuses = []
    simulated_horde.fail("workers.error_500")
    statuses += [httpx.get(f"{simulated_horde.url}/workers").status_code for _ in range(2)]
    simulated_horde.fail("workers.rate_limited", times=2, seconds=3)
    statuses += [httpx.get(f"{simulated_horde.url}/workers").status_code for _ in range(3)]
    simulated_horde.fail("workers.html_502", chance=1.0)
    statuses += [httpx.get(f"{simulated_horde.url}/workers").status_code for _ in range(3)]
    assert statuses == [500, 200, 429, 429, 200, 502, 502, 502]


@pytest.mark.parametrize(
    "where,options,said",
    [
        ("status.eror_500", {}, "did you mean status.error_500"),
        ("status.error_500", {"sekonds": 3}, "sekonds: unknown key"),
        ("status.error_500", {"chance": 0.5, "times": 3}, "not both"),
        ("status.error_500", {"times": 0}, "times"),
    ],
)
def test_a_fault_that_there_is_not_is_refused(
    simulated_horde: SimulatedHordeServer, where: str, options: dict[str, float], said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        simulated_horde.fail(where, **options)  # type: ignore[arg-type]


def test_a_worker_that_can_not_be_is_refused(simulated_horde: SimulatedHordeServer) -> None:
    with pytest.raises(ValueError, match="tokens_per_second"):
        simulated_horde.add_worker(name="Loft", models=[LLAMA], tokens_per_second=-1)


@pytest.mark.horde_scenario(MANUAL, seed=9)
def test_the_world_is_at_hand(simulated_horde: SimulatedHordeServer) -> None:
    """In a manual clock the test moves the time, in the server's thread."""
    world = simulated_horde.world
    simulated_horde.call(lambda: world.advance(12.5))
    state = httpx.get(simulated_horde.url.replace("/api/v2", "/_sim/state")).json()
    assert state["time"] == 12.5
    assert world.seed == 9


@pytest.mark.horde_scenario("busy", seed=3)
def test_the_marker_names_a_scenario(simulated_horde: SimulatedHordeServer) -> None:
    assert "Counter One" in workers_of(simulated_horde)
    assert simulated_horde.world.seed == 3


@pytest.mark.horde_scenario(Path("scenario_of_a_test.toml"))
def test_the_marker_names_a_file_beside_the_test(simulated_horde: SimulatedHordeServer) -> None:
    assert workers_of(simulated_horde) == ["Only One"]


def test_an_error_of_the_callers_comes_back(simulated_horde: SimulatedHordeServer) -> None:
    """And the server goes on."""
    world = simulated_horde.world
    with pytest.raises(ValueError):
        simulated_horde.call(lambda: world.advance(-1.0))
    assert simulated_horde.verdict() == {"ok": True, "findings": []}


def test_after_the_end_there_is_nobody_to_ask() -> None:
    with SimulatedHordeServer(Scenario()) as horde:
        url = horde.url
    with pytest.raises(trio.RunFinishedError):
        horde.verdict()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/status/heartbeat")


def test_what_can_not_start_says_why() -> None:
    """The error of the server's thread comes out where it was started."""
    with SimulatedHordeServer(Scenario()) as horde:
        url = horde.url
    with pytest.raises(CannotStart, match="can't be reached"), FrontServer(url):
        pass


@pytest.mark.horde_verdict
def test_the_front_is_at_hand(
    simulated_horde: SimulatedHordeServer, horde_front: FrontServer
) -> None:
    """A chat through the front, on the same Horde, which has nothing to complain about."""
    with openai.OpenAI(
        base_url=horde_front.base_url, api_key=simulated_horde.api_key, max_retries=0
    ) as client:
        reply = client.chat.completions.create(
            model=LLAMA, messages=[{"role": "user", "content": "Hi"}], max_tokens=16
        )
    assert reply.choices[0].message.content
    submits = [call for call in simulated_horde.journal() if call["path"].endswith("/chat/async")]
    assert len(submits) == 1


BAD_CLIENT = """
import httpx, pytest

BODY = {"messages": [], "models": []}

def misbehave(horde):
    assert httpx.post(f"{horde.url}/generate/chat/async", json=BODY).status_code == 400

def test_unasked(simulated_horde):
    misbehave(simulated_horde)

@pytest.mark.horde_verdict
def test_asked(simulated_horde):
    misbehave(simulated_horde)

@pytest.mark.horde_verdict
def test_without_a_horde():
    pass

@pytest.mark.horde_verdict
def test_fails_by_itself(simulated_horde):
    misbehave(simulated_horde)
    raise KeyError("its own")

@pytest.mark.horde_scenario("bussy")
def test_wrong_name(simulated_horde):
    pass
"""


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A pytest run of its own, as in a project that has nothing to do with this one."""
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_bad_verdict_fails_a_test_that_asks(tmp_path: Path) -> None:
    """Only that one; a test that fails by itself is told its own reason."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    (tmp_path / "test_bad.py").write_text(BAD_CLIENT)
    said = run_pytest(tmp_path).stdout
    assert "PASSED test_bad.py::test_unasked" in said
    assert "FAILED test_bad.py::test_asked - Failed: The simulated Horde complains:" in said
    assert "forbidden (None): submit: " in said
    assert "FAILED test_bad.py::test_without_a_horde - Failed: horde_verdict: the test" in said
    assert "FAILED test_bad.py::test_fails_by_itself - KeyError: 'its own'" in said
    assert "ERROR test_bad.py::test_wrong_name" in said
    assert "did you mean busy" in said


BAD_MARKERS = """
import pytest
from pathlib import Path

@pytest.mark.horde_scenario
def test_names_none(simulated_horde): ...

@pytest.mark.horde_scenario("busy", sed=3)
def test_misspelt(simulated_horde): ...

@pytest.mark.horde_scenario(Path("nowhere.toml"))
def test_no_file(simulated_horde): ...

@pytest.mark.horde_scenario(Path("wrong.toml"))
def test_wrong_file(simulated_horde): ...

def test_shows_its_address(simulated_horde, horde_front):
    assert simulated_horde is horde_front
"""


def test_a_wrong_marker_is_told_in_a_line(tmp_path: Path) -> None:
    """Without our own code in the way of the reason; and a fixture prints its address."""
    (tmp_path / "test_markers.py").write_text(BAD_MARKERS)
    (tmp_path / "wrong.toml").write_text("seeed = 1\n")
    said = run_pytest(tmp_path).stdout
    for reason in (
        r"horde_scenario\(\) missing 1 required positional argument: 'scenario'",
        r"horde_scenario\(\) got an unexpected keyword argument 'sed'",
        r"No such file or directory: '.*/nowhere.toml'",
        r".*/wrong.toml: seeed: unknown key, did you mean seed\?",
    ):
        assert re.search(rf"^horde_scenario: .*{reason}$", said, re.MULTILINE), reason
    assert "pytest_plugin.py" not in said
    address = r"http://127\.0\.0\.1:\d+"
    horde, front = rf"<SimulatedHordeServer {address}/api/v2>", rf"<FrontServer {address}/v1>"
    assert re.search(f"assert {horde} is {front}", said)


LOADED = """
import json, sys

def test_what_is_loaded():
    print("LOADED", json.dumps(sorted(sys.modules)))
"""


def test_nothing_heavy_is_loaded_until_a_test_asks(tmp_path: Path) -> None:
    """A run without our fixtures has only the plugin's own file of ours."""
    (tmp_path / "test_plain.py").write_text(LOADED)
    said = run_pytest(tmp_path, "-s", "-p", "no:trio", "-p", "no:cov", "-p", "no:anyio").stdout
    (line,) = [line for line in said.splitlines() if "LOADED" in line]
    loaded = set(json.loads(line.partition("LOADED ")[2]))
    ours = {name for name in loaded if name.startswith("horde_")}
    assert ours == {"horde_adapters", "horde_adapters.pytest_plugin"}
    assert not loaded & {"trio", "httpx", "hypercorn", "attrs", "orjson", "jsonschema", "PIL"}
