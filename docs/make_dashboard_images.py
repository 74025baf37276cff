"""Makes the pictures of the dashboard, with Chromium, from a Horde that is busy in a set way.

    python docs/make_dashboard_images.py

The Horde's clock moves a second each time the page looks, and Chromium's own clock runs ahead as
fast as the page is done: minutes of watching take seconds, and look the same every time.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import attrs
import orjson
from PIL import Image

from horde_adapters.background import Background
from horde_adapters.serve import Address
from horde_adapters.settings import Limits
from horde_adapters.simulate import run_simulator
from horde_simulator.call import Answer, Call, ImageFetch
from horde_simulator.document import shipped_scenario
from horde_simulator.scenario import Scenario
from horde_simulator.world import World

IMAGES = Path(__file__).parent / "images" / "dashboard"
API = "/api/v2/generate/chat"
LLAMA = "koboldcpp/Llama-3.2-3B-Instruct"
QWEN = "koboldcpp/Qwen3-8B"
NEMO = "koboldcpp/Mistral-Nemo-12B"
COMMAND = "tabbyAPI/Command-R-35B"
MODELS = (QWEN, LLAMA, QWEN, COMMAND, LLAMA, NEMO, QWEN)
KEYS = ("rich-key", "0000000000", "rich-key", "poor-key")
BROWSER = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
SIZES: Mapping[str, tuple[int, int]] = {"desktop": (1280, 860), "phone": (500, 1500)}


def busy_scenario() -> Scenario:
    """The default scenario, in a manual clock."""
    return attrs.evolve(shipped_scenario("default"), clock="manual")


class BusyWorld(World):
    """A Horde whose callers do something each time the dashboard looks at it."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self._looks = 0
        self._open: list[str] = []

    def handle(self, call: Call) -> Answer | ImageFetch:
        """As a world does; a look at the state comes a second after the last one."""
        if call.path == "/_sim/state":
            self._go_on()
        return super().handle(call)

    def _go_on(self) -> None:
        self.advance(self.now + 1.0)
        for request_id in self._open[:]:
            status = self._ask("GET", f"{API}/status/{request_id}")
            if status["done"]:
                self._open.remove(request_id)
        for _ in range(2 if self._looks % 5 == 0 else 1):
            turn = self._looks + len(self._open)
            body = {
                "messages": [{"role": "user", "content": "Tell me of the sea, please."}],
                "models": [MODELS[turn % len(MODELS)]],
                "params": {"max_length": 300},
                "conformance": "best_effort",
                "progress": True,
            }
            answer = self._ask("POST", f"{API}/async", body, key=KEYS[turn % len(KEYS)])
            if "id" in answer:
                self._open.append(answer["id"])
        self._looks += 1

    def _ask(self, method: str, path: str, body: object = None, key: str = "rich-key") -> dict:
        data = b"" if body is None else orjson.dumps(body)
        answer = super().handle(Call(method, path, "", (("apikey", key),), data))
        return orjson.loads(answer.body)


def browse(*arguments: str, url: str, seconds: int) -> bytes:
    """Runs Chromium on a page for so many seconds of the page's own time."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise FileNotFoundError("chromium")
    with tempfile.TemporaryDirectory() as profile:
        command = [chromium, *BROWSER, f"--user-data-dir={profile}", *arguments]
        command += [f"--virtual-time-budget={seconds * 1000}", url]
        done = subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603 - our own page
    return done.stdout


class BusyServer(Background):
    """The busy Horde over HTTP."""

    def __init__(self) -> None:
        world = BusyWorld(busy_scenario())
        super().__init__(
            lambda until, ready: run_simulator(Address(), world, Limits(), until=until, ready=ready)
        )

    @property
    def page(self) -> str:
        """Where the dashboard is."""
        return str(self.running.horde).removesuffix("api/v2")


def main() -> int:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            path = IMAGES / f"{size}-{theme}.png"
            dark = ["--blink-settings=preferredColorScheme=0"] if theme == "dark" else []
            with BusyServer() as server:
                browse(
                    f"--screenshot={path}",
                    f"--window-size={width},{height}",
                    *dark,
                    url=server.page,
                    seconds=60,
                )
            # 128 colours are enough for a page of text, at a third of the size.
            Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
