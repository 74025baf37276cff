"""Short requests: what each costs, how many a second, and how soon its first byte comes.

python -m horde_benchmarks.requests
"""

from collections.abc import Iterator
from statistics import median
from time import monotonic

import orjson

from horde_benchmarks import load, server_process, streams
from horde_benchmarks.figures import Figure, of_samples
from horde_benchmarks.scripted_horde import MODEL
from horde_benchmarks.server_process import Server

ROUNDS = 3
REQUESTS = 300
TTFB_REQUESTS = 40
WHOLE = load.post(
    "/v1/chat/completions",
    orjson.dumps({"model": MODEL, "messages": [{"role": "user", "content": "Go on. " * 40}]}),
)


def cost(server: Server, request: bytes) -> float:
    """Microseconds of CPU a request, each on a connection of its own."""
    before = server.cpu()
    done = load.Load(server.port, request, REQUESTS, a_second=400).run(60)
    if not all(stream.status == 200 for stream in done):
        raise RuntimeError("a request was refused")
    return (server.cpu() - before) / REQUESTS * 1e6


def first_byte(server: Server, request: bytes) -> float:
    """Milliseconds to the first byte, one request at a time: the median."""
    return (
        median(
            load.Load(server.port, request, 1).run(30)[0].first_byte or 30.0
            for _ in range(TTFB_REQUESTS)
        )
        * 1000
    )


def rate(server: Server, request: bytes) -> float:
    """Requests a second, fifty at a time."""
    began = monotonic()
    for _ in range(REQUESTS // 50):
        load.Load(server.port, request, 50).run(60)
    return REQUESTS / (monotonic() - began)


def short_requests() -> Iterator[Figure]:
    """Targets 11 and 12: submit, one status read, the reply; beside bare hypercorn's one event."""
    ours, whole, bare, soon, bare_soon, rates = [], [], [], [], [], []
    one_event = load.get("/burst/1")
    with (
        server_process.on_client_core(),
        streams.horde(seconds=0, delay=0) as upstream,
        streams.front(upstream) as server,
        server_process.running("horde_benchmarks.bare") as baseline,
    ):
        cost(server, streams.CHAT)
        cost(baseline, one_event)
        for _ in range(ROUNDS):
            ours.append(cost(server, streams.CHAT))
            whole.append(cost(server, WHOLE))
            bare.append(cost(baseline, one_event))
            soon.append(first_byte(server, streams.CHAT))
            bare_soon.append(first_byte(baseline, one_event))
            rates.append(rate(server, WHOLE))
    yield of_samples("a short streamed request", ours, "µs")
    yield of_samples("a plain request", whole, "µs")
    yield of_samples("plain requests a second, 50 at a time", rates, "requests/s")
    yield of_samples("bare hypercorn, one event", bare, "µs")
    ratios = [a / b for a, b in zip(ours, bare, strict=True)]
    yield of_samples("a short streamed request ÷ bare", ratios, "×", goal=2.5, target=11)
    yield of_samples("first byte, Horde at 0 ms", soon, "ms", goal=4.0, target=12)
    yield of_samples("first byte of bare hypercorn", bare_soon, "ms")


if __name__ == "__main__":
    for figure in short_requests():
        print(figure.line(), flush=True)
