"""A front with its page on a simulated Horde, and other places for a browser to visit."""

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import attrs

from horde_adapters.background import FrontServer, SimulatedHordeServer
from horde_adapters.settings import Settings
from horde_simulator.document import shipped_scenario

PLAIN = "koboldcpp/Llama-3.2-3B-Instruct"
QWEN = "koboldcpp/Qwen3-8B"
VISION = "aphrodite/Qwen/Qwen2.5-VL-7B-Instruct"
QUEUED = "tabbyAPI/Command-R-35B"
OFFLINE = "koboldcpp/Gemma-3-4B-it"
"""A model that the default scenario knows and no worker serves: a test may bring its own."""


@attrs.frozen
class Site:
    """What runs: the Horde, the front, and where its page is."""

    horde: SimulatedHordeServer
    front: FrontServer

    @property
    def base_url(self) -> str:
        return self.front.base_url

    @property
    def page_url(self) -> str:
        return f"{self.front.base_url.removesuffix('/v1')}/"

    def calls(self, method: str, part: str) -> list[Mapping[str, Any]]:
        """The Horde's journal: calls by method and a part of the path."""
        calls = self.horde.journal()
        return [call for call in calls if call["method"] == method and part in call["path"]]


@contextmanager
def running_site(
    scenario: str = "default", workers: Sequence[Mapping[str, Any]] = (), *, pace: float = 1.0
) -> Iterator[Site]:
    """A site of one's own; `workers` are there before the front first looks.

    With a `pace` the Horde's clock runs so many times faster: for replies whose coming isn't looked
    at.
    """
    with SimulatedHordeServer(attrs.evolve(shipped_scenario(scenario), clock_factor=pace)) as horde:
        for worker in workers:
            horde.add_worker(**worker)
        with FrontServer(horde.url, settings=Settings(playground=True)) as front:
            yield Site(horde, front)


def scripted(*rules: Mapping[str, object], **profile: Any) -> dict[str, Any]:
    """A worker for the model `OFFLINE` that says what a test wants it to say."""
    return {
        "name": "Scribe",
        "models": [OFFLINE],
        "brain": "script",
        "script": list(rules),
        "tokens_per_second": 200,
        "prefill_seconds": 0.05,
        "max_length": 1024,
        **profile,
    }


@contextmanager
def static_site(folder: Path) -> Iterator[str]:
    """Any static server, of another origin than the front's: its base address."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def mcp_server() -> Iterator[str]:
    """The URL of an MCP server: a process, as its own warnings are none of ours."""
    program = Path(__file__).with_name("mcp_server.py")
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        url = run.stdout.readline().strip()
        assert url, "the MCP server didn't start"
        try:
            yield url
        finally:
            run.terminate()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base's name
        """Says nothing."""
