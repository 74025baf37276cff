"""Measures the front beside its peers: see README.md.

Of each: milliseconds to the first event, CPU of a short streamed request, CPU of an event at 100
streams of 20 events a second and how late their ends are, resident memory idle and of an open
stream. CPU and memory are the server's own, its child processes included.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from time import sleep

from horde_benchmarks import load, server_process, streams
from horde_benchmarks.figures import machine
from horde_benchmarks.server_process import CLIENT_CORE, Server
from peers.installed import UPSTREAM, Peer, installed
from peers.plot import draw

HERE = Path(__file__).parent
STREAMS, SECONDS, GAP = 100, 6, 0.05
EVENTS = round(SECONDS / GAP)
SHORT = 150
FIRST = 25

Start = AbstractContextManager[Server]


@contextmanager
def upstream(events: int, gap: float) -> Iterator[None]:
    """The fake OpenAI server."""
    script = str(HERE / "openai_upstream.py")
    options = ["--port", str(UPSTREAM), "--events", str(events), "--gap", str(gap)]
    process = subprocess.Popen(
        [sys.executable, script, *options],
        stdout=subprocess.PIPE,
        preexec_fn=server_process.pin(CLIENT_CORE),
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        server_process.stop(process)


def first_event(server: Server, request: bytes) -> float:
    """Milliseconds, one stream at a time."""
    taken = [load.Load(server.port, request, 1).run(30)[0] for _ in range(FIRST)]
    return median([(stream.first_event or 30.0) * 1000 for stream in taken])


def short(server: Server, request: bytes) -> float:
    """Milliseconds of CPU a short streamed request."""
    before = server.cpu()
    done = load.Load(server.port, request, SHORT, a_second=50).run(60)
    well = sum(stream.status == 200 and stream.events > 0 for stream in done)
    if well < SHORT:
        raise server_process.CannotMeasure(f"{SHORT - well} of {SHORT} short requests failed")
    return (server.cpu() - before) / SHORT * 1000


def paced(server: Server, request: bytes) -> tuple[float, float]:
    """Microseconds of CPU an event, and how many seconds late 95 in 100 streams end at most."""
    before = server.cpu()
    done = load.Load(server.port, request, STREAMS, a_second=STREAMS).run(90)
    events = sum(stream.events for stream in done)
    if not events:
        raise server_process.CannotMeasure("no event of the paced streams came")
    ends = [(stream.ended or 90.0) - SECONDS for stream in done]
    return (server.cpu() - before) / events * 1e6, load.percentile(ends, 0.95)


def held(server: Server, request: bytes) -> float:
    """KB of a stream that is open, in a process that has served some before."""
    warm = load.Load(server.port, request, 20, a_second=100)
    warm.open_for(3)
    warm.close()
    sleep(2)
    before = server.memory()
    client = load.Load(server.port, request, 200, a_second=100)
    client.open_for(6)
    grown = server.memory() - before
    client.close()
    return grown / 200 / 1024


def measure(peer: Peer, start: Callable[[], Start]) -> dict[str, float]:
    """All figures of a peer."""

    def behind(events: int, gap: float) -> AbstractContextManager[None]:
        return upstream(events, gap) if peer.relays else nullcontext()

    figures: dict[str, float] = {}
    with behind(1, 0), start() as server:
        for _ in range(3):
            load.Load(server.port, peer.short, 4).run(30)
        figures["first event, ms"] = first_event(server, peer.short)
        figures["short request, CPU ms"] = short(server, peer.short)
        figures["idle, MB"] = server.memory() / 1024 / 1024
    with behind(EVENTS, GAP), start() as server:
        load.Load(server.port, peer.paced, 4).run(30)
        event, late = paced(server, peer.paced)
        figures["event paced, CPU µs"], figures["ends late p95, s"] = event, late
    with behind(1000, 1.0), start() as server:
        figures["open stream, KB"] = held(server, peer.held)
    return figures


def measure_front() -> dict[str, float]:
    """The front's own, each on a scripted Horde for its purpose."""
    figures: dict[str, float] = {}
    with streams.horde(seconds=0, delay=0) as horde, streams.front(horde) as server:
        for _ in range(3):
            load.Load(server.port, streams.CHAT, 4).run(30)
        figures["first event, ms"] = first_event(server, streams.CHAT)
        figures["short request, CPU ms"] = short(server, streams.CHAT)
        figures["idle, MB"] = server.memory() / 1024 / 1024
    with streams.horde(seconds=SECONDS) as horde, streams.front(horde, "--pace", "20") as server:
        load.Load(server.port, streams.CHAT, 4).run(30)
        event, late = paced(server, streams.CHAT)
        figures["event paced, CPU µs"], figures["ends late p95, s"] = event, late
    with streams.horde(seconds=1e6, delay=0) as horde, streams.front(horde) as server:
        figures["open stream, KB"] = held(server, streams.CHAT)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, required=True, help="the folder they are in")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    burst, pace = load.get("/burst/1"), load.get(f"/paced/{EVENTS}/{round(GAP * 1000)}")
    bare = Peer("bare hypercorn generator", burst, pace, load.get("/hold"), (), 0, relays=False)
    starts: list[tuple[Peer, Callable[[], Start]]] = [
        (bare, partial(server_process.running, "horde_benchmarks.bare"))
    ]
    starts += [(peer, peer.start) for peer in installed(options.peers, EVENTS, GAP)]
    rounds: dict[str, list[dict[str, float]]] = {}
    with server_process.on_client_core():
        for _ in range(options.rounds):
            rounds.setdefault("horde-front", []).append(measure_front())
            for peer, start in starts:
                rounds.setdefault(peer.name, []).append(measure(peer, start))
            print({name: taken[-1] for name, taken in rounds.items()}, file=sys.stderr, flush=True)
    names = list(rounds["horde-front"][0])
    medians = {
        peer: {name: median(figures[name] for figures in taken) for name in names}
        for peer, taken in rounds.items()
    }
    print("| front | " + " | ".join(names) + " |\n" + "| --- " * (len(names) + 1) + "|")
    for front, figures in medians.items():
        print(f"| {front} | " + " | ".join(f"{figures[name]:.3g}" for name in names) + " |")
    if options.svg:
        options.svg.write_text(draw(medians, "Beside the peers"), encoding="utf-8")
    if options.json:
        document = {"machine": machine(), "medians": medians, "rounds": rounds}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
