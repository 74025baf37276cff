"""Resident memory: idle, a stream that is polled, a request that waits; and after they are gone.

python -m horde_benchmarks.memory
"""

from collections.abc import Iterator
from time import sleep

from horde_benchmarks import load, server_process, streams
from horde_benchmarks.figures import Figure
from horde_benchmarks.requests import WHOLE
from horde_benchmarks.server_process import Server

STREAMS = 400
CYCLES = 3
MEBIBYTE = 1024 * 1024


def _held(server: Server, request: bytes) -> tuple[float, int]:
    """KB that each of so many open requests takes, and the server's bytes once they are gone."""
    before = server.memory()
    client = load.Load(server.port, request, STREAMS, a_second=200)
    client.open_for(STREAMS / 200 + 6)
    grown = server.memory() - before
    client.close()
    sleep(3)
    return grown / STREAMS / 1024, server.memory()


def memory() -> Iterator[Figure]:
    """Targets 14 and 15."""
    with (
        server_process.on_client_core(),
        streams.horde(seconds=1e6, delay=0.0) as upstream,
        streams.front(upstream) as server,
        server_process.running("horde_benchmarks.bare") as baseline,
    ):
        idle, bare_idle = server.memory(), baseline.memory()
        yield Figure("front, idle", idle / MEBIBYTE, "MB")
        yield Figure("bare hypercorn, idle", bare_idle / MEBIBYTE, "MB")
        yield Figure("idle ÷ bare hypercorn", idle / bare_idle, "×", goal=1.6, target=14)
        load.Load(baseline.port, load.get("/burst/10"), 20).run(20)
        bare, _ = _held(baseline, load.get("/hold"))
        held, after = [], []
        for _ in range(CYCLES):
            kilobytes, left = _held(server, streams.CHAT)
            held.append(kilobytes)
            after.append(left)
        yield Figure("a stream that is polled", held[0], "KB")
        yield Figure("bare hypercorn's silent stream", bare, "KB")
        yield Figure("a polled stream ÷ bare", held[0] / bare, "×", goal=2.5, target=15)
        drift = abs(after[-1] / after[0] - 1) * 100
        yield Figure("drift over three fillings", drift, "%", goal=5.0, target=15)
    with (
        server_process.on_client_core(),
        streams.horde(seconds=1e6, delay=0.0) as upstream,
        streams.front(upstream) as server,
    ):
        load.Load(server.port, load.get("/healthz"), 20).run(20)
        yield Figure("a plain request that waits", _held(server, WHOLE)[0], "KB")


if __name__ == "__main__":
    for figure in memory():
        print(figure.line(), flush=True)
