"""A soak: many streams through nginx and two fronts for minutes, clients leaving at random.

    cd tests && python -m deployment.soak --streams 1000 --seconds 300

Every process runs on this machine: the simulated Horde, two fronts, nginx, and this load.  At the
end it says what became of every request and ends with status 1 when anything was lost: a stream
that is neither whole nor left, a job that nobody ended, kudos that went nowhere, memory that grew.
"""

import argparse
import math
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import httpx
import orjson
import trio

from deployment.rig import LONGEST, MODEL, ROOT, FrontProcess, Nginx, two_fronts, wait_for
from deployment.streams import Chat

LEAVING = 0.3
"""The share of clients that go away before their reply is whole."""
FRONT = (
    # 1,000 streams read at the Horde's own rate are more than the simulated one, a single Python
    # process, answers beside all else on two cores.
    *("--poll-interval", "3", "--slowest-poll", "6"),
    *("--most-requests", "2000", "--stream-budget", "600"),
)
SCENARIO = """\
name = "soak"
limits = "off"

[[models]]
name = "{model}"
parameters_billion = 8

{users}
[[workers]]
name = "Crowd"
models = ["{model}"]
threads = {threads}
max_length = 2048
max_context_length = 16384
features = ["progress"]
guarantees = ["no_prompt_trim"]
tokens_per_second = 15
prefill_seconds = 0.5
progress_interval = 3
brain = "prose"
"""


USER = """\
[[users]]
key = "key-{number}"
username = "User {number}"
kudos = 1e9
trusted = true
"""
CROSSED = "cancelled_finished"
"""A client that left while the status that says `done` was on its way: the front can't know."""
TOO_FAST = "polled_too_fast"
"""A read that was given up after 20 s may still come in late, just before the one that follows."""
STREAMS_EACH = 10
"""For each user: an account may have 30 jobs that nobody has begun."""


@attrs.define
class Watch:
    """A process's memory and processor time, as /proc has them."""

    name: str
    pid: int
    memory: list[float] = attrs.field(factory=list)
    """MiB, one sample each few seconds."""
    busy: float = 0.0
    """Seconds of processor time at the last sample."""

    def sample(self) -> None:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        self.memory.append(pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20))
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        self.busy = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def growth(self) -> float:
        """How much larger its last third is than its second, as a share."""
        third = len(self.memory) // 3
        middle, last = self.memory[third : 2 * third], self.memory[2 * third :]
        return max(last) / max(middle) - 1.0 if middle else 0.0


@attrs.frozen
class Result:
    """What a soak came to."""

    seconds: float
    endings: Counter[str]
    first_bytes: Sequence[float]
    """Seconds to the first byte of each stream that was served, sorted."""
    most_open: int
    polls: int
    reads_lost: int
    cancels: int
    open_jobs: int
    totals: dict[str, float]
    findings: Counter[str]
    watches: Sequence[Watch]

    def losses(self) -> list[str]:
        """Everything that was lost, in words."""
        found = [
            f"{number} streams were {how}"
            for how, number in self.endings.items()
            if how not in ("served", "left")
        ]
        if self.open_jobs:
            found.append(f"{self.open_jobs} jobs are still open")
        spent = sum(self.totals[kind] for kind in ("credited", "burnt", "forgiven"))
        if not math.isclose(self.totals["debited"], spent, rel_tol=1e-9):
            found.append(f"the ledger is out of balance: {self.totals}")
        excused = {CROSSED: self.cancels, TOO_FAST: self.reads_lost}
        found += [
            f"{number} × {kind}"
            for kind, number in self.findings.items()
            if number > excused.get(kind, 0)
        ]
        for watch in self.watches:
            if watch.name.startswith("front") and watch.growth() > 0.1:
                found.append(f"{watch.name} grew by {watch.growth():.0%}")
        return found

    def table(self) -> str:
        """The figures as a Markdown table."""
        rows = [
            ("most streams open at once", f"{self.most_open:,}"),
            ("length", f"{self.seconds:.0f} s"),
            ("streams served whole", f"{self.endings['served']:,}"),
            ("clients that left", f"{self.endings['left']:,}"),
            (
                "anything else",
                f"{self.endings.total() - self.endings['served'] - self.endings['left']:,}",
            ),
            ("time to first byte, median", f"{self._first_byte(0.5):.2f} s"),
            ("time to first byte, 99 %", f"{self._first_byte(0.99):.2f} s"),
            ("status reads", f"{self.polls:,}"),
            ("of them, given up after 20 s and repeated", f"{self.reads_lost:,}"),
            ("reads that came in within a second", f"{self.findings[TOO_FAST]:,}"),
            ("jobs cancelled", f"{self.cancels:,}"),
            ("of them, crossed by the word that they were done", f"{self.findings[CROSSED]:,}"),
            ("jobs left open", f"{self.open_jobs:,}"),
            ("kudos debited", f"{self.totals['debited']:,.0f}"),
            (
                "kudos credited, burnt and forgiven",
                f"{sum(self.totals[kind] for kind in ('credited', 'burnt', 'forgiven')):,.0f}",
            ),
        ]
        for watch in self.watches:
            third = len(watch.memory) // 3
            rows.append(
                (
                    f"memory of {watch.name}, most in each third",
                    ", ".join(
                        f"{max(part):.0f}"
                        for part in (
                            watch.memory[:third],
                            watch.memory[third : 2 * third],
                            watch.memory[2 * third :],
                        )
                        if part
                    )
                    + " MiB",
                )
            )
            rows.append(
                (f"processor of {watch.name}", f"{watch.busy / self.seconds:.0%} of a core")
            )
        return "\n".join(["| | |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in rows)])

    def _first_byte(self, share: float) -> float:
        return self.first_bytes[int(share * (len(self.first_bytes) - 1))]


def soak(streams: int, seconds: float, home: Path, *, longest: int = 500, seed: int = 1) -> Result:
    """Keeps so many streams open for so long, and lets all that are open then end.

    Their replies have 50 to `longest` tokens, of which 15 come a second.
    """
    with (
        simulated(streams, home) as (horde, process),
        two_fronts(horde, home, *FRONT) as (fronts, nginx),
    ):
        watches = [
            Watch("the simulated Horde", process.pid),
            *(Watch(f"front {number}", front.pid) for number, front in enumerate(fronts, 1)),
            *(Watch("nginx", int(pid)) for pid in nginx.workers()),
        ]
        chance = random.Random(seed)
        load = _Load(nginx, fronts, watches, chance, streams, seconds, longest)
        trio.run(load.run)
        base = horde.removesuffix("/api/v2")
        wait_for(lambda: not _open_jobs(base), "the jobs' end")
        findings = _look(base, "verdict")["findings"]
        return Result(
            load.took,
            load.endings,
            sorted(load.first_bytes),
            load.most_open,
            int(_metric(fronts, 'horde_calls_total{call="status",outcome="2xx"}')),
            int(_metric(fronts, 'horde_calls_total{call="status",outcome="lost"}')),
            int(_metric(fronts, 'horde_calls_total{call="cancel",outcome="2xx"}')),
            _open_jobs(base),
            _look(base, "ledger")["totals"],
            Counter(finding["kind"] for finding in findings),
            watches,
        )


class _Load:
    """The clients."""

    def __init__(
        self,
        nginx: Nginx,
        fronts: Sequence[FrontProcess],
        watches: Sequence[Watch],
        chance: random.Random,
        streams: int,
        seconds: float,
        longest: int,
    ) -> None:
        self.endings: Counter[str] = Counter()
        self.first_bytes: list[float] = []
        self.most_open = 0
        self.took = 0.0
        self._nginx = nginx
        self._fronts = fronts
        self._watches = watches
        self._chance = chance
        self._streams = streams
        self._seconds = seconds
        self._longest = longest

    async def run(self) -> None:
        began = trio.current_time()
        until = began + self._seconds
        async with trio.open_nursery() as watching:
            watching.start_soon(self._watch)
            async with trio.open_nursery() as clients:
                for number in range(self._streams):
                    clients.start_soon(self._client, f"key-{number // STREAMS_EACH}", until)
                    await trio.sleep(5.0 / self._streams)
            watching.cancel_scope.cancel()
        self.took = trio.current_time() - began

    async def _client(self, key: str, until: float) -> None:
        while trio.current_time() < until:
            leaves = self._chance.random() < LEAVING
            chat = Chat(
                key=key,
                max_tokens=self._chance.randint(50, self._longest),
                leave_after=self._chance.uniform(0.2, 20.0) if leaves else math.inf,
            )
            await chat.run(self._nginx.port)
            if chat.is_served:
                self.endings["served"] += 1
                self.first_bytes.append(chat.first_byte)
            elif chat.ending == "left":
                self.endings["left"] += 1
            else:
                error = chat.error if chat.head else None
                self.endings[f"{chat.ending} {chat.status} {error and error['code']}"] += 1

    async def _watch(self) -> None:
        while True:
            for watch in self._watches:
                watch.sample()
            text = [
                await trio.to_thread.run_sync(front.metric, "streams_in_flight")
                for front in self._fronts
            ]
            self.most_open = max(self.most_open, int(sum(text)))
            await trio.sleep(2.0)


@contextmanager
def simulated(threads: int, home: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A simulated Horde as a process of its own, with so many threads of one worker."""
    scenario = home / "soak.toml"
    users = "".join(USER.format(number=number) for number in range(threads // STREAMS_EACH + 1))
    scenario.write_text(SCENARIO.format(model=MODEL, threads=threads, users=users))
    folders = [str(ROOT / folder) for folder in ("core", "adapters", "simulator")]
    command = [sys.executable, "-m", "horde_adapters", "simulate", "--port", "0"]
    with (
        (home / "horde.log").open("wb") as log,
        subprocess.Popen(
            [*command, "--scenario", str(scenario)],
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            assert line.startswith("ready "), (home / "horde.log").read_text()
            yield line.strip().removeprefix("ready horde="), process
        finally:
            process.terminate()


def _look(base: str, what: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(httpx.get(f"{base}/_sim/{what}", timeout=LONGEST).content)
    return found


def _open_jobs(base: str) -> int:
    """Jobs that a worker has, and requests that wait or are worked on among the newest."""
    state = _look(base, "state")
    waiting = [r for r in state["requests"] if r["state"] in ("waiting", "processing")]
    return max(len(waiting), sum(len(worker["jobs"]) for worker in state["workers"]))


def _metric(fronts: Sequence[FrontProcess], sample: str) -> float:
    return sum(front.sample(f"horde_front_{sample}") for front in fronts)


def main() -> int:
    """Runs one soak and prints its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=300.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        result = soak(options.streams, options.seconds, Path(home))
    print(result.table())
    for loss in result.losses():
        print(f"lost: {loss}", file=sys.stderr)
    return 1 if result.losses() else 0


if __name__ == "__main__":
    sys.exit(main())
