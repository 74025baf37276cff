"""`horde-front dev` as a process of its own, and a look at its simulated Horde."""

import json
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import attrs
import httpx

PLAIN = "koboldcpp/Llama-3.2-3B-Instruct"
QWEN = "koboldcpp/Qwen3-8B"
VISION = "aphrodite/Qwen/Qwen2.5-VL-7B-Instruct"
SLOW = "tabbyAPI/Command-R-35B"
OFFLINE = "koboldcpp/Gemma-3-4B-it"
KEY = "rich-key"

COMMAND = Path(sys.executable).with_name("horde-front")
LONGEST = 30.0
"""Seconds after which a wait on a busy machine counts as failed."""


@contextmanager
def running() -> Iterator["DevServer"]:
    """`horde-front dev` (scenario `default`) on free ports, while the block lasts.

    It gets ready with one line on stdout, prints no other, and ends with 0 after SIGTERM.
    """
    # A file, not a pipe: nobody reads along, and a full pipe would stop the server.
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [COMMAND, "dev", "--port", "0", "--horde-port", "0"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            readable, _, _ = select.select([process.stdout], [], [], LONGEST)
            line = process.stdout.readline() if readable else ""
            assert line.startswith("ready "), f"{line!r}, {_written(errors)}"
            urls = dict(word.split("=", 1) for word in line.split()[1:])
            horde = urls["horde"].removesuffix("/api/v2")
            with httpx.Client(base_url=horde, trust_env=False) as control:
                yield DevServer(urls["front"], control)
        finally:
            process.send_signal(signal.SIGTERM)
            status = process.wait(LONGEST)
        assert (status, process.stdout.read()) == (0, ""), _written(errors)
        assert "Traceback" not in _written(errors), _written(errors)


def _written(errors: IO[str]) -> str:
    errors.seek(0)
    return errors.read()


@attrs.frozen
class DevServer:
    """Where the front is (`/v1` included), and the control calls of its simulated Horde."""

    front: str
    control: httpx.Client

    def hurry(self) -> None:
        """Makes every worker but those of the plain and the slow model ten times as fast.

        What a client makes of a reply doesn't depend on how long a model takes to write it.
        """
        for worker in self.look("state")["workers"]:
            if worker["models"][0] not in (PLAIN, SLOW):
                speed = 10 * float(worker["performance"].split()[0])
                change = {"tokens_per_second": speed, "prefill_seconds": 0.05}
                answer = self.control.patch(f"/_sim/workers/{worker['id']}", json=change)
                assert answer.status_code == 200, answer.text

    def look(self, name: str) -> dict[str, Any]:
        """`GET /_sim/<name>`."""
        answer = self.control.get(f"/_sim/{name}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = json.loads(answer.content)
        return found

    def fail(self, where: str, **fault: Any) -> None:
        """Plans a fault of the Horde or its workers: once, unless said otherwise."""
        answer = self.control.post("/_sim/faults", json={"where": where, "times": 1, **fault})
        assert answer.status_code == 201, answer.text

    def calls(self, method: str, part: str) -> int:
        """How many calls of a method, with this in their path, the Horde has had."""
        calls = self.look("journal")["calls"]
        return sum(call["method"] == method and part in call["path"] for call in calls)

    @property
    def submits(self) -> int:
        return self.calls("POST", "/generate/chat/async")

    @property
    def cancels(self) -> int:
        return self.calls("DELETE", "/generate/chat/status/")

    def unfinished(self) -> list[dict[str, Any]]:
        """The requests that the Horde still waits for or works on."""
        requests = self.look("state")["requests"]
        return [one for one in requests if one["state"] in ("waiting", "processing")]


def wait_for(happened: Callable[[], bool]) -> None:
    """Waits until something has happened in another process; fails after a bound."""
    give_up = time.monotonic() + LONGEST
    while not happened():
        assert time.monotonic() < give_up, "it didn't happen"
        time.sleep(0.02)
