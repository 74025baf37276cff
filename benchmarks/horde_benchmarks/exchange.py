"""One request's whole life in the core: from its body to `[DONE]`, no socket, no clock.

    python -m horde_benchmarks.exchange

Arrived, pool, submit, ten status reads with text in between, the reply. The baseline is what no
front can do without: parsing the Horde's answers and dumping a chunk for each piece of text.
"""

import json
from collections.abc import Iterator

import orjson

from horde_benchmarks.figures import Figure, of_samples
from horde_benchmarks.relaying import relaying_exchange, status_with
from horde_benchmarks.scripted_horde import SENTENCE, WORKER, Jobs, Script
from horde_benchmarks.sse_encoding import by_json
from horde_benchmarks.timing import take_turns
from horde_core import events
from horde_core.native import HordeAnswer

POSTS = 10
PIECES = 20


def _statuses() -> list[events.StatusAnswered]:
    return [status_with(4 + number * 100, (SENTENCE * 2)[:100]) for number in range(POSTS)]


def exchange_of_a_stream(statuses: list[events.StatusAnswered], last: events.Event) -> int:
    """Runs one to its end; how many bytes it sends."""
    exchange = relaying_exchange()
    now, sent = 0.0, 0
    for number, status in enumerate(statuses):
        while exchange.wake_at < number + 1:
            now = exchange.wake_at
            for effect in exchange.handle(events.TimePassed(), now):
                if isinstance(effect, events.SendBytes):
                    sent += len(effect.data)
                elif isinstance(effect, events.ReadStatus):
                    exchange.handle(status, now)
    if exchange.state.value == "waiting":
        exchange.handle(events.TimePassed(), exchange.wake_at + 1.1)
    exchange.handle(last, now + 1.1)
    return sent


def json_of_a_stream(bodies: list[bytes]) -> int:
    """Only the JSON of it: each answer parsed, each piece dumped."""
    sent = 0
    for body in bodies:
        json.loads(body)
        for _ in range(PIECES):
            sent += len(by_json("seven "))
    return sent


def exchange() -> Iterator[Figure]:
    """A stream's whole life in the core, and the same for each of its events."""
    statuses = _statuses()
    horde = Jobs(Script(0.0, 0.0, 0.0), clock=lambda: 0.0)
    horde.answer(b"POST /generate/chat/async")
    _, done = horde.answer(b"GET /status/00000000-0000-4000-8000-000000000000")
    document = orjson.loads(done)
    text = "The " + (SENTENCE * 2)[:100] * POSTS
    document["generations"][0]["message"]["content"] = text
    document["generations"][0]["worker_id"] = WORKER
    last = events.StatusAnswered(HordeAnswer(200, {}, orjson.dumps(document)))
    bodies = [status.answer.body for status in statuses]
    times = take_turns(
        {
            "exchange": lambda: exchange_of_a_stream(statuses, last),
            "json": lambda: json_of_a_stream(bodies),
        },
        rounds=9,
    )
    yield of_samples("a stream of 200 pieces in the core", times["exchange"].samples, "µs")
    yield of_samples("the JSON of it by the standard library", times["json"].samples, "µs")
    yield of_samples("core ÷ that JSON", times["exchange"].over(times["json"]), "×")


if __name__ == "__main__":
    for figure in exchange():
        print(figure.line())
