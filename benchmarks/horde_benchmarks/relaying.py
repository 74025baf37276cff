"""The core's own work for a streamed event: time passed, what is due, its bytes.

    python -m horde_benchmarks.relaying

The baseline is one send of bare hypercorn, 50 streams at once, as fast as it goes.
"""

from collections.abc import Iterator
from time import process_time

import orjson

from horde_benchmarks import load, server_process
from horde_benchmarks.figures import Figure, of_samples
from horde_benchmarks.scripted_horde import MODEL, SENTENCE, WORKER, WORKERS, Jobs, Script
from horde_core import events
from horde_core.exchange import Exchange
from horde_core.job import submit_body
from horde_core.native import HordeAnswer
from horde_core.request import read_request
from horde_core.timing import Timing
from horde_core.workers import read_pool

PIECES = 200
"""A post ten seconds after the last one, at twenty pieces a second."""
ROUNDS = 9
STREAMS, EVENTS = 50, 600


def relaying_exchange() -> Exchange:
    """An exchange whose job has just shown its first words."""
    request = read_request(
        {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "Go on."}]}
    )
    exchange = Exchange(
        request,
        submit=submit_body(request, operation_key="0" * 32, context_length=4096),
        quote=b"",
        created=1_700_000_000,
        trace_id="0" * 32,
        timing=Timing(),
    )
    horde = Jobs(Script(60.0, 100.0, 0.0), clock=lambda: 0.0)
    exchange.handle(events.Arrived(), 0.0)
    exchange.handle(events.PoolRead(read_pool(WORKERS, b"[]"), fresh=True), 0.0)
    status, receipt = horde.answer(b"POST /generate/chat/async")
    exchange.handle(events.SubmitAnswered(HordeAnswer(status, {}, receipt)), 0.0)
    exchange.handle(status_with(0, "The "), 0.0)
    return exchange


def status_with(start: int, text: str) -> events.StatusAnswered:
    """A status whose post has so much new text."""
    post = {
        "index": 0,
        "attempt": 1,
        "worker_id": WORKER,
        "worker_name": "bench",
        "model": MODEL,
        "content_from": start,
        "content": text,
    }
    body = {"done": False, "processing": 1, "is_possible": True, "progress": [post]}
    return events.StatusAnswered(HordeAnswer(200, {}, orjson.dumps(body)))


def exchange_time_passed() -> float:
    """Microseconds from TimePassed to the bytes of one piece."""
    exchange = relaying_exchange()
    text = SENTENCE * 14
    now = 0.0
    while exchange.wake_at < 1.0:
        now = exchange.wake_at
        exchange.handle(events.TimePassed(), now)
    exchange.handle(events.TimePassed(), 10.0)
    exchange.handle(status_with(4, text), 10.0)
    effects: list[events.Effect] = []
    began = process_time()
    for _ in range(PIECES):
        effects += exchange.handle(events.TimePassed(), exchange.wake_at)
    took = process_time() - began
    bodies = [effect.data for effect in effects if isinstance(effect, events.SendBytes)]
    sent = b"".join(bodies).count(b'"delta":{"content"')
    if sent < PIECES * 0.9:
        raise RuntimeError(f"{sent} pieces went out of {PIECES}")
    return took / sent * 1e6


def event_sent(server: server_process.Server) -> float:
    """Microseconds of a server's CPU for each event it sends."""
    before = server.cpu()
    streams = load.Load(server.port, load.get(f"/burst/{EVENTS}"), STREAMS).run(60)
    return (server.cpu() - before) / sum(stream.events for stream in streams) * 1e6


def relaying() -> Iterator[Figure]:
    """Targets 1 and 6: the core's step, and the front's own send, beside hypercorn's send."""
    steps, sends, own_sends = [], [], []
    bare = "horde_benchmarks.bare"
    with (
        server_process.on_client_core(),
        server_process.running(bare) as server,
        server_process.running(bare, "--fronts-server") as own,
    ):
        for _ in range(ROUNDS):
            sends.append(event_sent(server))
            own_sends.append(event_sent(own))
            steps.append(min(exchange_time_passed() for _ in range(5)))
    yield of_samples("exchange: time passed to bytes", steps, "µs")
    yield of_samples("bare hypercorn: one send", sends, "µs")
    yield of_samples("the front's server: one send", own_sends, "µs")
    whole = [(a + b) / send for a, b, send in zip(steps, own_sends, sends, strict=True)]
    yield of_samples("time passed, bytes and send ÷ a bare send", whole, "×", goal=1.1, target=1)
    ratios = [step / send for step, send in zip(steps, sends, strict=True)]
    yield of_samples("time passed to bytes ÷ a send", ratios, "×", goal=0.08, target=6)


if __name__ == "__main__":
    for figure in relaying():
        print(figure.line())
