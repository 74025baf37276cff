"""The dashboard: what is served, that it needs nothing else, and what a browser makes of it."""

import re
import runpy
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest

from adapters.stack import HORDE, running
from horde_adapters.background import SimulatedHordeServer
from horde_adapters.dashboard import dashboard_file
from horde_adapters.transport import LifoTransport
from horde_simulator.document import shipped_scenario
from horde_simulator.scenario import WorkerProfile

IMAGES = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make_dashboard_images.py"))
FOLDER = Path(__file__).parents[2] / "adapters" / "horde_adapters" / "dashboard"
needs_chromium = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="there is no chromium to look at the page with"
)


@pytest.mark.parametrize("path", ["/", "/_sim/", "/_sim/dashboard.css", "/_sim/dashboard.js"])
async def test_the_simulator_serves_it(path: str) -> None:
    """On its own port, beside the control API, allowed nothing but its own files."""
    async with running() as stack:
        transport = LifoTransport(HORDE, connect=stack.network.connect)
        async with httpx.AsyncClient(transport=transport, base_url=HORDE) as client:
            answer = await client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].endswith("; charset=utf-8")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 's")


@pytest.mark.parametrize("method,path", [("POST", "/"), ("GET", "/_sim/state"), ("GET", "/x")])
def test_all_else_is_the_worlds(method: str, path: str) -> None:
    assert dashboard_file(method, path) is None


def test_it_is_small_and_needs_no_network() -> None:
    """Under 30 KB, and no address but its own."""
    files = [path for path in FOLDER.iterdir() if path.suffix in (".html", ".css", ".js")]
    assert len(files) == 3
    text = "".join(path.read_text() for path in files)
    assert len(text) < 30_000
    addresses = re.findall(r"https?://[^\s\"')]+", text)
    assert addresses == ["http://www.w3.org/2000/svg"]
    assert "innerHTML" not in text


class Shown(HTMLParser):
    """The text of each element that has an id, and of all badges."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self._inside: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link"):
            self._inside.append((tag, dict(attributes).get("id")))

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for _, name in self._inside:
            if name is not None and data.strip():
                self.texts.setdefault(name, []).append(data.strip())


def look(url: str, *, seconds: int) -> dict[str, list[str]]:
    """What a browser shows of the page after so many seconds of its own time."""
    shown = Shown()
    shown.feed(IMAGES["browse"]("--dump-dom", url=url, seconds=seconds).decode())
    return shown.texts


@needs_chromium
def test_a_browser_shows_a_busy_horde() -> None:
    """Queue, workers and what they do, kudos and calls, ten looks into a busy Horde."""
    with IMAGES["BusyServer"]() as server:
        shown = look(server.page, seconds=10)
    assert shown["scenario"] == ["default, seed 1, manual clock"]
    assert shown["clock"][0] >= "0:00:08"
    assert shown["verdict"] == ["no complaints"]
    assert shown["link"] == ["live"]
    figures: dict[str, Any] = dict(zip(shown["figures"][::2], shown["figures"][1::2], strict=True))
    assert figures["workers online"] == "6 of 6"
    assert int(figures["processing"]) == int(figures["threads busy"].split()[0]) >= 1
    assert {"processing", "waiting", "Rich#1"} <= set(shown["queue"])
    assert {"Garage Qwen", "2 of 2 busy", "idle"} <= set(shown["workers"])
    assert any(re.fullmatch(r"\d+ characters", text) for text in shown["workers"])
    assert any(re.fullmatch(r"Rich#1 -\d+\.\d", text) for text in shown["kudos"])
    assert {"POST /generate/chat/async", "GET /generate/chat/status"} <= set(shown["calls"])


@needs_chromium
def test_names_are_text_whatever_they_are() -> None:
    """A worker may be called anything; so may a model."""
    hostile = "<img src=x onerror=\"document.title='taken'\">"
    scenario = attrs.evolve(
        shipped_scenario("default"),
        workers=(WorkerProfile(hostile, ("koboldcpp/Qwen3-8B",)),),
    )
    with SimulatedHordeServer(scenario) as horde:
        page = IMAGES["browse"]("--dump-dom", url=horde.url.removesuffix("api/v2"), seconds=2)
    assert b"&lt;img src=x" in page
    assert b"<img" not in page
    assert b"<title>Simulated Horde</title>" in page


@needs_chromium
def test_complaints_are_shown() -> None:
    """A caller that broke the schema is named on the page."""
    with SimulatedHordeServer() as horde:
        httpx.post(f"{horde.url}/generate/chat/async", json={"messages": []})
        shown = look(horde.url.removesuffix("api/v2"), seconds=2)
    assert shown["verdict"] == ["1 complaints"]
    assert any(text.startswith("forbidden: submit:") for text in shown["complaints"])
