"""A server under measurement: its own process, on a core of its own, and what it takes.

Linux only: CPU time is read from `schedstat` in nanoseconds, memory from `status`.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import attrs

SERVER_CORE, CLIENT_CORE = 0, 1
START_SECONDS = 60


class CannotMeasure(Exception):  # noqa: N818 - what the operator is told
    """This machine lacks something that a measurement needs."""


@attrs.frozen
class Server:
    """A running server and the port it listens on."""

    pid: int
    port: int

    def cpu(self) -> float:
        """CPU seconds of all its threads and child processes so far."""
        return sum(_cpu(pid) for pid in _tree(self.pid))

    def memory(self) -> int:
        """Resident bytes, of child processes too."""
        return sum(_memory(pid) for pid in _tree(self.pid))


Running = AbstractContextManager[Server]


@contextmanager
def running(
    *command: str, core: int | None = SERVER_CORE, environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Runs `python -m …` that prints its port in its first line, which is waited for."""
    if not Path("/proc/self/schedstat").exists():
        raise CannotMeasure("end-to-end figures need Linux, with scheduler statistics in /proc")
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        preexec_fn=pin(core),
    )
    try:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        if not words:
            raise CannotMeasure(f"{' '.join(command)} didn't start")
        yield Server(process.pid, int(words[-1]))
    finally:
        stop(process)


def pin(core: int | None) -> "Pin | None":
    """What to call in a child so that it stays on one core, where there is more than one."""
    cores = sorted(os.sched_getaffinity(0))
    return (
        Pin(cores[core]) if core is not None and len(cores) > core > -1 < len(cores) - 1 else None
    )


@attrs.frozen
class Pin:
    """Keeps the process that calls it on a core."""

    core: int

    def __call__(self) -> None:
        os.sched_setaffinity(0, {self.core})


@contextmanager
def on_client_core() -> Iterator[None]:
    """Keeps this process off the servers' core for as long as the block runs."""
    before = os.sched_getaffinity(0)
    if len(before) > 1:
        os.sched_setaffinity(0, {sorted(before)[CLIENT_CORE]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Ends a process of ours, with its children when it doesn't end them itself."""
    children = _tree(process.pid)
    if process.stdout is not None:
        process.stdout.close()
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        for pid in reversed(children):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def _tree(pid: int) -> Sequence[int]:
    found = [pid]
    for parent in found:
        with suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def _cpu(pid: int) -> float:
    spent = 0
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                spent += int((task / "schedstat").read_text().split()[0])
    return spent / 1e9


def _memory(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
    return 0
