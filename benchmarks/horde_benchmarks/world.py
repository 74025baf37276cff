"""How many calls a second the simulated Horde answers, and whether holding more slows it down.

    python -m horde_benchmarks.world            # 100 to 100,000 requests held, a table and a curve
    python -m horde_benchmarks.world --quick    # up to 10,000

One cycle is the life of a request with an external worker: submit, pop, progress post, status
read, submit of the reply. Limits, journal and verdict are on, as in any other use. Time is that of
the process on one core; the loop around the calls is measured in the same run and taken off.
"""

import argparse
import gc
import tracemalloc
from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter_ns, process_time

import attrs
import orjson

from horde_benchmarks.figures import Figure
from horde_simulator.call import Answer, Call
from horde_simulator.scenario import ModelSpec, Scenario, UserSpec
from horde_simulator.world import World

MODELS = tuple(f"koboldcpp/Model-{number}-8B" for number in range(10))
LENGTHS = (64, 128, 256, 512)
CONTEXTS = (2048, 4096, 8192)
WORKERS = 40
ADDRESSES = 200
CYCLE_SECONDS = 0.01
CALLS = ("submit", "pop", "progress", "status", "worker submit")
_TEXT = "The ferry leaves at seven, when the fog allows it. " * 6


@attrs.frozen
class Figures:
    """What one size of Horde came to."""

    held: int
    calls_per_second: float
    microseconds: dict[str, float]
    """By call, the median."""
    slowest_hundredth: float
    """Microseconds of a cycle that 99 in 100 are faster than."""


def scenario(held: int) -> Scenario:
    """Ten models, and users enough for the requests held: 30 jobs each are the most."""
    users = tuple(UserSpec(f"key-{i}", f"user{i}", 1000.0 + i % 97) for i in range(held // 20 + 50))
    models = tuple(ModelSpec(name, 8.0) for name in MODELS)
    return Scenario(name="benchmark", seed=1, clock="manual", models=models, users=users)


def call(method: str, path: str, body: object, key: str, address: str) -> Call:
    data = orjson.dumps(body) if body is not None else b""
    return Call(method, f"/api/v2/{path}", "", (("apikey", key),), data, address)


def submit(number: int, users: int) -> Call:
    """A submit as the front sends them, of a size and kind that differ from one to the next."""
    body = {
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": f"Question {number}: {_TEXT}"},
        ],
        "params": {
            "n": 1,
            "max_length": LENGTHS[number % len(LENGTHS)],
            "max_context_length": CONTEXTS[number // 7 % len(CONTEXTS)],
            "temperature": 1.0,
            "top_p": 1.0,
            "frequency_penalty": 0.0,
            "presence_penalty": 0.0,
            "rep_pen": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "stop_sequence": [],
        },
        "models": [MODELS[number % len(MODELS)]],
        "conformance": "strict" if number % 3 else "best_effort",
        "context_fit": "truncate_oldest",
        "progress": True,
        "operation_key": f"operation-{number}",
    }
    key = f"key-{number % users}"
    return call("POST", "generate/chat/async", body, key, f"10.0.0.{number % ADDRESSES}")


def pop(number: int) -> Call:
    body = {
        "name": f"worker-{number}",
        "models": [MODELS[number % len(MODELS)], MODELS[(number + 3) % len(MODELS)]],
        "max_length": 512,
        "max_context_length": 8192,
        "threads": 4,
        "bridge_agent": "bench:1:none",
        "chat": {"features": ["progress"], "guarantees": ["no_prompt_trim"], "limits": {}},
    }
    return call("POST", "generate/chat/pop", body, f"key-{number}", f"10.1.0.{number}")


class Load:
    """A world with so many requests held, and cycles of calls upon it."""

    def __init__(self, held: int) -> None:
        self.users = held // 20 + 50
        self.world = World(scenario(held))
        self.number = 0
        for number in range(WORKERS):
            self.send(pop(number))
        for _ in range(held):
            self.pass_time()
            self.send(submit(self.next_number(), self.users))

    def next_number(self) -> int:
        self.number += 1
        return self.number

    def pass_time(self) -> None:
        self.world.advance(self.world.now + CYCLE_SECONDS)

    def send(self, request: Call) -> Answer:
        answer = self.world.handle(request)
        if not isinstance(answer, Answer) or answer.status >= 300:
            raise RuntimeError(f"{request.path} was answered {answer}")
        return answer

    def cycle(self) -> Iterator[tuple[str, Call, Callable[[Answer], None]]]:
        """The five calls of one life; each is made from what the one before was answered."""
        answered: dict[str, object] = {}

        def keep(answer: Answer) -> None:
            answered.clear()
            answered.update(orjson.loads(answer.body))

        number = self.next_number()
        worker = number % WORKERS
        key, address = f"key-{worker}", f"10.1.0.{worker}"
        yield "submit", submit(number, self.users), keep
        request_id = answered["id"]
        yield "pop", pop(worker), keep
        job = answered["id"]
        post = {"id": job, "seq": 1, "content": _TEXT, "reasoning_content": ""}
        yield "progress", call("POST", "generate/chat/progress", post, key, address), keep
        path = f"generate/chat/status/{request_id}"
        yield "status", Call("GET", f"/api/v2/{path}", "content_from=0", address=address), keep
        reply = {
            "id": job,
            "state": "ok",
            "message": {"content": _TEXT + _TEXT},
            "finish_reason": "stop",
            "usage": {"prompt_tokens": 90, "completion_tokens": 60},
        }
        yield "worker submit", call("POST", "generate/chat/submit", reply, key, address), keep


Send = Callable[[str, Call], Answer]


def run(load: Load, cycles: int, send: Send) -> float:
    """Seconds of processor time that so many cycles take, all included."""
    began = process_time()
    for _ in range(cycles):
        load.pass_time()
        for name, request, keep in load.cycle():
            keep(send(name, request))
    return process_time() - began


def measure(held: int, cycles: int) -> Figures:
    """Runs cycles on a Horde that holds so many requests.

    The calls a second are those of whole cycles, timed events and garbage collection included,
    less what the same loop costs with canned answers: making the calls and reading the answers.
    """
    load = Load(held)
    canned: dict[str, Answer] = {}
    times: dict[str, list[int]] = {name: [] for name in CALLS}

    def world_only(_: str, request: Call) -> Answer:
        return load.send(request)

    def remembering(name: str, request: Call) -> Answer:
        began = perf_counter_ns()
        answer = canned[name] = load.send(request)
        times[name].append(perf_counter_ns() - began)
        return answer

    def driver_only(name: str, _: Call) -> Answer:
        return canned[name]

    gc.collect()
    run(load, cycles // 5, world_only)
    spent = run(load, cycles, world_only)
    run(load, cycles // 2, remembering)
    spent -= run(load, cycles, driver_only)
    cycle_times = sorted(map(sum, zip(*times.values(), strict=True)))
    return Figures(
        held=held,
        calls_per_second=len(CALLS) * cycles / spent,
        microseconds={name: median(each) / 1000 for name, each in times.items()},
        slowest_hundredth=cycle_times[int(len(cycle_times) * 0.99)] / 1000,
    )


def empty_loop() -> float:
    """Seconds of one turn: by it, figures of different machines and moments can be compared."""
    turns, total = 1_000_000, 0
    began = process_time()
    for turn in range(turns):
        total += turn
    return (process_time() - began) / turns


def memory(held: int) -> float:
    """Bytes that one more held request takes, in a Horde of this size."""
    tracemalloc.start()
    try:
        small = Load(100)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        users = len(small.world.state.accounts.all())
        large = Load(held)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        more_users = len(large.world.state.accounts.all()) - users
        return (grown - more_users * _USER_BYTES) / held
    finally:
        tracemalloc.stop()


_USER_BYTES = 400
"""About what a user takes, who is no part of a request (its spec, its account, its key)."""


def world() -> Iterator[Figure]:
    """The simulated Horde: calls a second, nearly empty and with ten thousand requests held."""
    for held in (100, 10_000):
        figures = measure(held, 2000)
        yield Figure(f"{held:,} requests held", figures.calls_per_second, "calls/s")
        yield Figure(f"{held:,} requests held, a cycle's p99", figures.slowest_hundredth, "µs")


def curve(figures: list[Figures]) -> str:
    """The calls a second as bars, one for each size."""
    most = max(figure.calls_per_second for figure in figures)
    return "\n".join(
        f"{figure.held:>9,} held  {'█' * round(figure.calls_per_second / most * 50)} "
        f"{figure.calls_per_second:,.0f} calls/s"
        for figure in figures
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="stop at 10,000 requests held")
    parser.add_argument("--cycles", type=int, default=5000)
    options = parser.parse_args()
    sizes = (100, 1000, 10_000) if options.quick else (100, 1000, 10_000, 100_000)
    figures = []
    print(f"One turn of an empty loop takes {empty_loop() * 1e9:.0f} ns on this core now.\n")
    print(
        f"{'held':>9} {'calls/s':>9}  " + "  ".join(f"{name:>13}" for name in CALLS) + "  p99 cycle"
    )
    for held in sizes:
        figure = measure(held, options.cycles)
        figures.append(figure)
        each = "  ".join(f"{figure.microseconds[name]:>10.1f} µs" for name in CALLS)
        print(
            f"{held:>9,} {figure.calls_per_second:>9,.0f}  {each}  "
            f"{figure.slowest_hundredth:>6.0f} µs",
            flush=True,
        )
    print(f"\n{curve(figures)}\n")
    print(f"{memory(sizes[-1]):,.0f} bytes a held request (of {sizes[-1]:,})")


if __name__ == "__main__":
    main()
