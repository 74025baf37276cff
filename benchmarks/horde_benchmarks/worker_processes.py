"""How much more two worker processes carry than one: `serve --workers`.

    python -m horde_benchmarks.worker_processes

Plain requests as fast as the front takes them, twenty at a time. Client and Horde need cores too,
so on a machine with two the second worker has to share: the ratio of what one CPU second of the
front carries says what is lost to the sharing itself.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from horde_benchmarks import load, server_process, streams
from horde_benchmarks.figures import Figure, of_samples
from horde_benchmarks.requests import WHOLE
from horde_benchmarks.server_process import Server

ROUNDS = 3
AT_ONCE, BATCHES = 20, 20


@contextmanager
def front_of(workers: int, horde: Server) -> Iterator[Server]:
    """`horde-front serve`, on all cores."""
    url = f"http://127.0.0.1:{horde.port}"
    options = ["--port", "0", "--horde", url, "--workers", str(workers), "--log-level", "error"]
    process = subprocess.Popen(
        [sys.executable, "-m", "horde_adapters", "serve", *options], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        yield Server(process.pid, int(line.partition("front=")[2].split("/")[2].split(":")[1]))
    finally:
        server_process.stop(process)


def carried(server: Server) -> tuple[float, float]:
    """Requests a second, and requests a second of CPU."""
    before, began = server.cpu(), monotonic()
    for _ in range(BATCHES):
        done = load.Load(server.port, WHOLE, AT_ONCE).run(60)
        if not all(stream.status == 200 for stream in done):
            raise RuntimeError("a request was refused")
    requests = AT_ONCE * BATCHES
    return requests / (monotonic() - began), requests / (server.cpu() - before)


def worker_processes() -> Iterator[Figure]:
    """One worker and two, in turns."""
    rates: dict[int, list[float]] = {1: [], 2: []}
    by_cpu: dict[int, list[float]] = {1: [], 2: []}
    with streams.horde(seconds=0, delay=0) as horde:
        for _ in range(ROUNDS):
            for workers in rates:
                with front_of(workers, horde) as server:
                    carried(server)
                    rate, each = carried(server)
                    rates[workers].append(rate)
                    by_cpu[workers].append(each)
    for workers, taken in rates.items():
        yield of_samples(f"{workers} worker(s), plain requests", taken, "requests/s")
    for workers, taken in by_cpu.items():
        yield of_samples(f"{workers} worker(s), by CPU second", taken, "requests")
    gained = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
    yield of_samples("two workers ÷ one, all on this machine", gained, "×")
    kept = [two / one for one, two in zip(by_cpu[1], by_cpu[2], strict=True)]
    yield of_samples("the same by CPU second: what sharing leaves", kept, "×")


if __name__ == "__main__":
    for figure in worker_processes():
        print(figure.line(), flush=True)
