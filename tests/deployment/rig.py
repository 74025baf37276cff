"""A deployment on this machine: a simulated Horde, fronts as processes, nginx before them."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import httpx
import orjson

from horde_adapters.background import SimulatedHordeServer
from horde_simulator.call import Answer, Call
from horde_simulator.scenario import ModelSpec, Scenario, UserSpec, WorkerProfile

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "deploy" / "nginx" / "nginx.conf"
LONGEST = 60.0
"""Seconds after which a wait on a busy machine counts as failed."""
SERVICE = "Bearer the-fronts"
"""What the fronts are known by to a Horde."""
MODEL = "koboldcpp/Qwen3-8B"
NGINX = shutil.which("nginx") or ("/usr/sbin/nginx" if Path("/usr/sbin/nginx").exists() else None)


def crowd(*, threads: int, tokens_per_second: float) -> Scenario:
    """A Horde with one strong worker, its clock the real one."""
    worker = WorkerProfile(
        name="Crowd",
        models=(MODEL,),
        threads=threads,
        max_length=2048,
        max_context_length=16384,
        features=("progress",),
        guarantees=("no_prompt_trim",),
        tokens_per_second=tokens_per_second,
        prefill_seconds=0.2,
        brain="prose",
    )
    return Scenario(
        name="crowd",
        limits="off",
        models=(ModelSpec(MODEL, 8.0),),
        users=(UserSpec("rich-key", "rich", 1e9, trusted=True),),
        workers=(worker,),
    )


def free_port() -> int:
    """A port that was free an instant ago: nginx has to be told one, and a front comes back."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def wait_for(happened: Callable[[], bool], what: str = "it") -> None:
    """Waits until something has happened; fails after a bound."""
    give_up = time.monotonic() + LONGEST
    while not happened():
        assert time.monotonic() < give_up, f"{what} didn't happen"
        time.sleep(0.02)


class FrontProcess:
    """`horde-front serve` on a port of its own, to be ended and started again."""

    def __init__(self, horde: str, home: Path, *arguments: str) -> None:
        self.port = free_port()
        self._command = [
            *(sys.executable, "-m", "horde_adapters", "serve", "--horde", horde),
            *("--port", str(self.port), "--log-format", "json"),
            *arguments,
        ]
        self._log = home / f"front-{self.port}.log"
        self._process: subprocess.Popen[bytes]

    def start(self) -> None:
        """Starts it and waits until it is ready."""
        secret = {"HORDE_FRONT_SERVICE_AUTHORIZATION": SERVICE}
        folders = [str(ROOT / folder) for folder in ("core", "adapters", "simulator")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **secret, "PYTHONPATH": os.pathsep.join(folders)},
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith(b"ready "), self._log.read_text()

    def send(self, number: signal.Signals) -> None:
        """Sends a signal."""
        self._process.send_signal(number)

    def wait(self) -> int:
        """Waits for its end; its exit status, negative for a signal."""
        status = self._process.wait(LONGEST)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return status

    def kill(self) -> None:
        """Ends it at last, if it hasn't ended."""
        if self._process.poll() is None:
            self._process.kill()
        self.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def metric(self, name: str) -> float:
        """The sum of one metric's samples."""
        text = httpx.get(f"http://127.0.0.1:{self.port}/metrics", timeout=LONGEST).text
        samples = re.findall(rf"^horde_front_{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
        return sum(map(float, samples))

    def sample(self, name: str) -> float:
        """One sample, by its name and labels as they are exposed; 0 when there is none."""
        text = httpx.get(f"http://127.0.0.1:{self.port}/metrics", timeout=LONGEST).text
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def log(self) -> list[dict[str, Any]]:
        """Its log lines."""
        return [orjson.loads(line) for line in self._log.read_bytes().splitlines()]


class Nginx:
    """The shipped configuration, with this machine's ports and folder in place of its own."""

    def __init__(self, ports: Sequence[int], home: Path) -> None:
        self.port = free_port()
        self._ports = ports
        self._home = home
        self._file = home / "nginx.conf"
        self._process: subprocess.Popen[bytes]

    def start(self) -> None:
        """Starts it and waits until it answers."""
        self.configure()
        assert NGINX is not None
        self._process = subprocess.Popen([NGINX, *self._arguments, "-g", "daemon off;"])
        wait_for(lambda: self._process.poll() is not None or self._answers(), "nginx's start")
        assert self._process.poll() is None, (self._home / "error.log").read_text()

    def configure(self, down: int | None = None) -> None:
        """Writes its file; the front at port `down` gets no new requests."""
        text = SHIPPED.read_text()
        for shipped, port in zip(("8000", "8001"), self._ports, strict=True):
            mark = " down" if port == down else ""
            text, count = re.subn(
                rf"server 127\.0\.0\.1:{shipped} ([^;]*);",
                rf"server 127.0.0.1:{port} \1{mark};",
                text,
            )
            assert count == 1
        for old, new in (
            ("listen 8080", f"listen 127.0.0.1:{self.port}"),
            ("/var/log/nginx/horde-front.log", str(self._home / "access.log")),
            ("worker_processes auto", f"pid {self._home}/nginx.pid;\nworker_processes 1"),
            ("http {", "http {\n" + self._folders()),
        ):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        self._file.write_text(text)

    def reload(self) -> None:
        """Takes its file anew; open requests go on with the old worker."""
        before = self.workers()
        self._process.send_signal(signal.SIGHUP)
        wait_for(lambda: bool(self.workers() - before), "nginx's reload")
        # What the old worker has accepted by now is with a front within a moment.
        time.sleep(0.5)

    def stop(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait(LONGEST)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def _arguments(self) -> list[str]:
        return ["-p", str(self._home), "-e", str(self._home / "error.log"), "-c", str(self._file)]

    def _folders(self) -> str:
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        return "".join(f"{kind}_temp_path {self._home}/{kind};\n" for kind in kinds)

    def _answers(self) -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", self.port)) == 0

    def workers(self) -> set[str]:
        """The ids of its worker processes."""
        path = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return set(path.read_text().split())


@attrs.frozen
class Rig:
    """All of it."""

    horde: SimulatedHordeServer
    fronts: tuple[FrontProcess, ...]
    nginx: Nginx

    def requests(self) -> list[dict[str, Any]]:
        """The newest requests that the Horde knows."""
        found: list[dict[str, Any]] = self._look("state")["requests"]
        return found

    def states(self) -> Counter[str]:
        """How many of them are in which state."""
        return Counter(request["state"] for request in self.requests())

    def totals(self) -> dict[str, float]:
        """The ledger's."""
        found: dict[str, float] = self._look("ledger")["totals"]
        return found

    def findings(self) -> list[str]:
        """What the Horde has to complain about, by kind."""
        return [finding["kind"] for finding in self._look("verdict")["findings"]]

    def pass_time(self, seconds: float) -> None:
        """Lets the Horde's own time pass at once."""
        self.horde.call(lambda: self.horde.world.advance(self.horde.world.now + seconds))

    def _look(self, what: str) -> dict[str, Any]:
        answer = self.horde.call(partial(self.horde.world.handle, Call("GET", f"/_sim/{what}")))
        assert isinstance(answer, Answer)
        found: dict[str, Any] = orjson.loads(answer.body)
        return found


@contextmanager
def running(scenario: Scenario, home: Path, *arguments: str) -> Iterator[Rig]:
    """Two fronts with further arguments behind nginx, over the scenario's Horde."""
    with (
        SimulatedHordeServer(scenario) as horde,
        two_fronts(horde.url, home, *arguments) as (fronts, nginx),
    ):
        yield Rig(horde, fronts, nginx)


@contextmanager
def two_fronts(
    horde: str, home: Path, *arguments: str
) -> Iterator[tuple[tuple[FrontProcess, ...], Nginx]]:
    """Two fronts behind nginx, over any Horde."""
    with ExitStack() as stack:
        fronts = tuple(FrontProcess(horde, home, *arguments) for _ in range(2))
        for front in fronts:
            front.start()
            stack.callback(front.kill)
        nginx = Nginx([front.port for front in fronts], home)
        nginx.start()
        stack.callback(nginx.stop)
        yield fronts, nginx
