"""The simulator's pages: tables as the code has them, and everything that they show is run."""

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.pages import ROOT, blocks, files, write_files
from examples.backend import running_backend
from horde_adapters.background import SimulatedHordeServer
from horde_simulator.document import parse_scenario
from horde_simulator.faults import FAULTS
from horde_simulator.world import World
from simulator.horde import Caller

DOCS = ROOT / "docs"
REFERENCE = ["native-api.md", "scenario-file.md", "control-api.md", "faults.md", "brains.md"]
# The tutorial's files are run from a wheel: tests/packaging.
TESTED = [
    "docs/how-to/run-a-worker-against-it.md",
    "docs/how-to/test-with-faults.md",
    "docs/how-to/use-the-world-in-process.md",
    "docs/reference/pytest-plugin.md",
]
TYPED_IN = [*TESTED[:2], "docs/reference/control-api.md"]


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(DOCS))
    return runpy.run_path(str(DOCS / "make_simulator_reference.py"))


@pytest.mark.parametrize("name", REFERENCE)
def test_the_tables_are_what_the_code_has(name: str, maker: dict[str, Any]) -> None:
    """If not: python docs/make_simulator_reference.py."""
    page = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert maker["filled"](page) == page


def test_every_table_has_its_place(maker: dict[str, Any]) -> None:
    """Once, on one of the pages."""
    pages = [(DOCS / "reference" / name).read_text(encoding="utf-8") for name in REFERENCE]
    placed = [name for page in pages for name in maker["used"](page)]
    assert sorted(placed) == sorted(maker["TABLES"])
    assert list(maker["PAGES"]) == REFERENCE


def test_every_fault_is_explained() -> None:
    page = (DOCS / "reference" / "faults.md").read_text(encoding="utf-8")
    for where in FAULTS:
        call, _, kind = where.partition(".")
        assert f"| `{call}` |" in page
        assert not kind or f"| `{kind}` |" in page


def test_the_plugins_members_are_all_told() -> None:
    """Every public name of the fixture's value, and both markers."""
    page = (DOCS / "reference" / "pytest-plugin.md").read_text(encoding="utf-8")
    for name in dir(SimulatedHordeServer):
        if not name.startswith("_"):
            assert f"| `{name}" in page, name
    for marker in ("horde_scenario", "horde_verdict"):
        assert f"| `{marker}" in page


@pytest.mark.parametrize("page", TESTED)
def test_the_tests_on_a_page_pass(page: str, tmp_path: Path) -> None:
    """Written to an empty folder as the page has them, and run there."""
    written = write_files(page, tmp_path)
    assert written
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def commands(page: str) -> Iterator[str]:
    """The commands that a page's reader types."""
    for block in blocks(page):
        if block.language == "console":
            for command in re.findall(r"^\$ ((?:.*\\\n)*.*)$", block.text, re.MULTILINE):
                yield command.replace("\\\n", " ")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl to type in")
@pytest.mark.parametrize("page", TYPED_IN)
def test_what_a_page_sends_is_taken(page: str) -> None:
    """Every curl, one after the other, against one Horde: all answered, none refused."""
    typed = [command for command in commands(page) if command.startswith("curl ")]
    assert typed
    with SimulatedHordeServer() as horde:
        for command in typed:
            here = command.replace("http://127.0.0.1:8001/api/v2", horde.url)
            here = here.replace("http://127.0.0.1:8001", horde.url.removesuffix("/api/v2"))
            said = subprocess.run(shlex.split(here), capture_output=True, text=True, check=True)
            answer = json.loads(said.stdout)
            assert "errors" not in answer, answer
            assert "rc" not in answer, answer


def test_the_worker_that_a_page_starts() -> None:
    """With a backend where the page says, and until it has done one job."""
    page = "docs/how-to/run-a-worker-against-it.md"
    typed = list(commands(page))
    (ask,) = [command for command in typed if "/chat/async" in command]
    (work,) = [command for command in typed if command.startswith("python ")]
    with SimulatedHordeServer() as horde, running_backend() as backend:
        for command in (ask, f"{work} --jobs 1".replace("python ", f"{sys.executable} ", 1)):
            here = command.replace("http://127.0.0.1:8001/api/v2", horde.url)
            here = here.replace("http://127.0.0.1:5001/v1", backend.url)
            subprocess.run(shlex.split(here), cwd=ROOT, capture_output=True, check=True, timeout=60)


def test_scenarios_on_the_pages_are_scenarios() -> None:
    """Each loads, and the script's says what it should."""
    shown = {
        **files("docs/reference/scenario-file.md"),
        **files("docs/reference/brains.md"),
    }
    worlds = {name: World(parse_scenario(text, source=name)) for name, text in shown.items()}
    assert set(worlds) == {"my.toml", "scripted.toml"}
    caller = Caller(worlds["scripted.toml"])
    request = caller.submit(
        {
            "messages": [{"role": "user", "content": "What now?"}],
            "models": ["somebody/Tiny-1B"],
        }
    )
    caller.wait(30)
    (generation,) = caller.read(request["id"])["generations"]
    assert generation["message"]["content"] == "I only know the weather."
    assert generation["message"]["reasoning_content"] == "They want something else."


LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of every page, pictures and anchors included."""
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
