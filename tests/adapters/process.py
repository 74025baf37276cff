"""The command `horde-front` as a process, with bounded waits."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
LONGEST = 30.0


@attrs.frozen
class Ended:
    """How a process ended, and what it wrote."""

    status: int
    out: str
    err: str


def _start(*arguments: str) -> subprocess.Popen[str]:
    folders = [str(ROOT / folder) for folder in ("core", "adapters", "simulator")]
    return subprocess.Popen(
        [sys.executable, "-m", "horde_adapters", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )


def run(*arguments: str) -> Ended:
    """Runs the command to its end."""
    process = _start(*arguments)
    out, err = process.communicate(timeout=LONGEST)
    return Ended(process.returncode, out, err)


class Server:
    """A running `horde-front dev`, `simulate` or `serve`."""

    def __init__(self, process: subprocess.Popen[str], line: str) -> None:
        self._process = process
        self.pid = process.pid
        self.line = line
        parts = dict(part.split("=", 1) for part in line.split()[1:])
        self.front = parts.get("front", "")
        self.horde = parts.get("horde", "")

    def send(self, number: signal.Signals) -> None:
        """Sends a signal."""
        self._process.send_signal(number)

    def wait(self) -> Ended:
        """Waits for the end; `out` is what came after the ready line."""
        out, err = self._process.communicate(timeout=LONGEST)
        return Ended(self._process.returncode, out, err)


@contextmanager
def serving(*arguments: str) -> Iterator[Server]:
    """Starts the command and waits until it is ready; ends it at last, whatever happens."""
    process = _start(*arguments)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise AssertionError(f"it didn't start: {process.communicate()[1]}")
        yield Server(process, line.rstrip("\n"))
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
