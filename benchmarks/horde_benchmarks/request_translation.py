"""What it costs to read, check and translate a chat request, next to parsing the same bytes.

    python -m horde_benchmarks.request_translation     # exits 1 when a limit is missed
    python -m horde_benchmarks.request_translation --rounds 40

Three requests: a common one of 10 messages, a long one of 200, and one with 128 tools whose
schemas nest. Each is measured as SDKs send it (compact JSON) and as plain `json.dumps` writes it.
Both sides of a ratio alternate in one run and are compared by their fastest rounds, so that
another load on the machine weighs on both.
"""

import argparse
import gc
import json
import sys
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import attrs
import orjson

from horde_benchmarks.figures import Figure
from horde_core.body import read_body
from horde_core.job import submit_body
from horde_core.request import read_request

CAP = 20 * 1024 * 1024
PROSE = "The ferry leaves at seven, when the fog allows it, and not a minute before. "


@attrs.frozen
class Load:
    """A request and its limits: microseconds of checking and translating, and two ratios."""

    name: str
    document: dict[str, Any]
    microseconds: float
    """Of `read_request` and `submit_body` together."""
    ratio: float
    """Of the whole way, bytes to bytes, to `orjson.loads` and `orjson.dumps` of the body."""


@attrs.frozen
class Costs:
    """Microseconds, the fastest of all rounds."""

    json_loads: float
    floor: float
    body: float
    translation: float
    whole: float


def conversation(messages: int) -> dict[str, Any]:
    """A chat with every common parameter; one message in five is an array of parts."""
    turns: list[dict[str, Any]] = [{"role": "system", "content": "You are helpful."}]
    for number in range(messages - 1):
        role = ("user", "assistant")[number % 2]
        text = PROSE * (4 + number % 4)
        parts = [{"type": "text", "text": text}]
        turns.append({"role": role, "content": parts if number % 5 == 4 else text})
    return {
        "model": "koboldcpp/Qwen3-8B",
        "messages": turns,
        "max_tokens": 512,
        "temperature": 0.7,
        "top_p": 0.95,
        "stop": ["\n\n", "###"],
        "stream": True,
        "stream_options": {"include_usage": True},
        "horde": {"include_reasoning": False},
    }


def toolbox(tools: int) -> dict[str, Any]:
    """A chat with as many tools, each with an array of objects in its parameters."""
    place = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where to look"},
            "days": {"type": "integer", "minimum": 1},
        },
        "required": ["city"],
    }
    parameters = {
        "type": "object",
        "properties": {
            "places": {"type": "array", "items": place},
            "units": {"type": "string", "enum": ["metric", "imperial"]},
        },
        "required": ["places"],
    }
    offered = [
        {
            "type": "function",
            "function": {
                "name": f"weather_{number}",
                "description": PROSE,
                "parameters": parameters,
            },
        }
        for number in range(tools)
    ]
    return {**conversation(10), "tools": offered, "tool_choice": "auto"}


LOADS = (
    Load("10 messages", conversation(10), 60, 8),
    Load("200 messages", conversation(200), 600, 7),
    Load("128 tools", toolbox(128), 2000, 3),
)


def fastest(ways: dict[str, Callable[[], object]], rounds: int, calls: int) -> dict[str, float]:
    """Microseconds of each way; rounds of the ways alternate, and the fastest of each counts."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            began = process_time()
            for _ in range(calls):
                way()
            best[name] = min(best[name], (process_time() - began) / calls * 1e6)
    return best


def measure(raw: bytes, rounds: int) -> Costs:
    document = read_body(raw, None, cap=CAP)

    def translate(body: dict[str, Any]) -> bytes:
        return submit_body(read_request(body), operation_key="0" * 32, context_length=4096)

    ways: dict[str, Callable[[], object]] = {
        "json_loads": lambda: json.loads(raw),
        "floor": lambda: orjson.dumps(orjson.loads(raw)),
        "body": lambda: read_body(raw, None, cap=CAP),
        "translation": lambda: translate(document),
        "whole": lambda: translate(read_body(raw, None, cap=CAP)),
    }
    calls = max(1, 2_000_000 // len(raw))
    gc.collect()
    gc.freeze()
    figures = fastest(ways, rounds, calls)
    gc.unfreeze()
    return Costs(**figures)


def request_translation() -> Iterator[Figure]:
    """Target 10: read, checked and translated, beside orjson's reading and writing of the bytes."""
    for load in LOADS:
        raw = json.dumps(load.document, separators=(",", ":"), ensure_ascii=False).encode()
        costs = measure(raw, 20)
        yield Figure(f"{load.name}: bytes to bytes", costs.whole, "µs")
        yield Figure(f"{load.name}: orjson both ways", costs.floor, "µs")
        ratio = costs.whole / costs.floor
        yield Figure(f"{load.name} ÷ orjson both ways", ratio, "×", goal=load.ratio, target=10)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds: int = parser.parse_args().rounds
    missed = []
    print("µs                      KB  json.loads  floor   body  translate  whole  ÷ json  ÷ floor")
    for load in LOADS:
        for writing, separators in (("compact", (",", ":")), ("spaced", (", ", ": "))):
            raw = json.dumps(load.document, separators=separators, ensure_ascii=False).encode()
            f = measure(raw, rounds)
            print(
                f"{load.name + ', ' + writing:22}{len(raw) / 1024:5.0f} {f.json_loads:10.1f} "
                f"{f.floor:7.1f} {f.body:6.1f} {f.translation:9.1f} {f.whole:7.1f} "
                f"{f.translation / f.json_loads:7.2f} {f.whole / f.floor:8.2f}"
            )
            if f.translation > load.microseconds:
                missed.append(f"{load.name}, {writing}: over {load.microseconds} µs")
            if writing == "compact" and f.whole / f.floor > load.ratio:
                missed.append(f"{load.name}, {writing}: over {load.ratio} times the floor")
    print(*missed or ["Every limit is kept."], sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
