"""Streams end to end: the front on a scripted Horde, beside bare hypercorn that makes its events.

    python -m horde_benchmarks.streams

Server, client and Horde are processes of their own, the server alone on its core where there are
two; what is counted is the server's CPU time. Both sides take turns, round by round.
"""

from collections.abc import Iterator
from statistics import median

import attrs
import orjson

from horde_benchmarks import load, server_process
from horde_benchmarks.figures import Figure, of_samples
from horde_benchmarks.scripted_horde import MODEL
from horde_benchmarks.server_process import CLIENT_CORE, Server

SECONDS = 6
GAP = 0.05
EVENTS = round(SECONDS / GAP)
HORDE_DELAY = 0.1
"""Seconds that a call to a Horde far away takes."""
ROUNDS = 3
CHAT = load.post(
    "/v1/chat/completions",
    orjson.dumps(
        {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "Go on. " * 40}]}
    ),
)


@attrs.frozen
class Run:
    """What so many streams at once came to."""

    events: int
    seconds: float
    """From the first connection to the last end."""
    cpu: float
    """Seconds of the server's."""
    first_events: list[float]
    lateness: list[float]
    """Of each stream's end, in seconds."""

    @property
    def microseconds(self) -> float:
        """CPU an event."""
        return self.cpu / self.events * 1e6


def measure(server: Server, request: bytes, streams: int, *, ends_after: float = 0.0) -> Run:
    """Opens so many streams within a second, and reads them to their ends."""
    before = server.cpu()
    client = load.Load(server.port, request, streams, a_second=max(1, streams))
    done = client.run(120)
    if not all(stream.is_whole and stream.status == 200 for stream in done):
        raise RuntimeError(f"{sum(not s.is_whole for s in done)} of {streams} streams were cut")
    ends = [stream.began + (stream.ended or 0.0) for stream in done]
    return Run(
        events=sum(stream.events for stream in done),
        seconds=max(ends) - min(stream.began for stream in done),
        cpu=server.cpu() - before,
        first_events=[stream.first_event or 0.0 for stream in done],
        lateness=[(stream.ended or 0.0) - ends_after for stream in done],
    )


def horde(seconds: float = SECONDS, delay: float = HORDE_DELAY) -> server_process.Running:
    """The scripted Horde beside the client."""
    options = ("--seconds", str(seconds), "--characters", "110", "--delay", str(delay))
    return server_process.running("horde_benchmarks.scripted_horde", *options, core=CLIENT_CORE)


def front(at: Server, *options: str) -> server_process.Running:
    """The front, for that Horde."""
    url = f"http://127.0.0.1:{at.port}"
    return server_process.running("horde_benchmarks.front", url, *options)


def paced_streams() -> Iterator[Figure]:
    """Target 3: 200 streams of 20 events a second, polled, beside a generator that sleeps."""
    ours, bare = [], []
    with server_process.on_client_core(), horde() as upstream:
        for _ in range(ROUNDS):
            with front(upstream, "--pace", "20") as server:
                measure(server, CHAT, 4)
                ours.append(measure(server, CHAT, 200).microseconds)
            with server_process.running("horde_benchmarks.bare") as server:
                load.Load(server.port, load.get("/burst/500"), 4).run(30)
                request = load.get(f"/paced/{EVENTS}/{round(GAP * 1000)}")
                bare.append(measure(server, request, 200).microseconds)
    yield of_samples("front, 200 streams × 20/s", ours, "µs/event")
    yield of_samples("bare hypercorn, 200 × 20/s", bare, "µs/event")
    ratios = [a / b for a, b in zip(ours, bare, strict=True)]
    yield of_samples("front ÷ bare hypercorn, 200 × 20/s", ratios, "×", goal=1.2, target=3)


def open_streams() -> Iterator[Figure]:
    """Targets 5 and 16: 250 streams at 20 events a second, and at the pace as shipped."""
    fast, shipped, bare, late = [], [], [], []
    with server_process.on_client_core(), horde() as upstream:
        for _ in range(ROUNDS):
            with front(upstream, "--pace", "20") as server:
                measure(server, CHAT, 4)
                run = measure(server, CHAT, 250)
                fast.append(run.cpu / 250 / SECONDS * 1000)
                # The Horde is done after SECONDS; the front hears of it at its next read.
                late.append(load.percentile(run.lateness, 0.95) - _ideal_end())
            with front(upstream) as server:
                measure(server, CHAT, 4)
                shipped.append(measure(server, CHAT, 250).cpu / 250 / SECONDS * 1000)
            with server_process.running("horde_benchmarks.bare") as server:
                load.Load(server.port, load.get("/burst/500"), 4).run(30)
                request = load.get(f"/paced/{EVENTS}/{round(GAP * 1000)}")
                bare.append(measure(server, request, 250).cpu / 250 / SECONDS * 1000)
    yield of_samples("front, 250 streams × 20/s", fast, "ms/stream-s")
    yield of_samples("front, 250 streams, shipped pace (5/s)", shipped, "ms/stream-s")
    yield of_samples("bare hypercorn, 250 × 20/s, no polls", bare, "ms/stream-s")
    ratios = [a / b for a, b in zip(fast, bare, strict=True)]
    yield of_samples("250 × 20/s ÷ bare", ratios, "×", goal=1.35, target=5)
    ratios = [a / b for a, b in zip(shipped, bare, strict=True)]
    yield of_samples("250 at the shipped pace ÷ bare 20/s", ratios, "×", goal=0.75, target=5)
    yield Figure("streams a core at the shipped pace", 1000 / median(shipped), "streams")
    lateness = [seconds * 1000 for seconds in late]
    yield of_samples("250 × 20/s: p95 of the end's lateness", lateness, "ms", goal=200, target=16)


def _ideal_end() -> float:
    """When a stream of SECONDS ends that nothing holds up: at the first read after the job's end.

    Submit and first read take a delay each; then the reads are 1.1 s apart, as the Horde asks.
    """
    read = 2 * HORDE_DELAY
    began = HORDE_DELAY / 2  # the job begins when the Horde has the submit, before its answer
    end = read
    while end - HORDE_DELAY < SECONDS + began:
        end += 1.1
    return end


def throughput() -> Iterator[Figure]:
    """Events a second and CPU an event at 1, 50, 500 and 2,000 streams, as shipped."""
    with server_process.on_client_core(), horde() as upstream, front(upstream) as server:
        measure(server, CHAT, 4)
        for streams in (1, 50, 500, 2000):
            run = measure(server, CHAT, streams)
            yield Figure(f"{streams} streams, shipped pace", run.events / run.seconds, "events/s")
            yield Figure(f"{streams} streams, shipped pace: CPU", run.microseconds, "µs/event")
            busy = run.cpu / run.seconds * 100
            yield Figure(f"{streams} streams, shipped pace: core in use", busy, "%")


if __name__ == "__main__":
    for subject in (paced_streams, open_streams, throughput):
        for figure in subject():
            print(figure.line(), flush=True)
