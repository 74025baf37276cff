"""A text chunk as bytes, beside `json.dumps` and `orjson.dumps` of the same object.

python -m horde_benchmarks.sse_encoding
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import orjson

from horde_benchmarks.figures import Figure, of_samples
from horde_benchmarks.scripted_horde import MODEL, SENTENCE
from horde_benchmarks.timing import take_turns
from horde_core.sse import Chunks

LENGTHS = (6, 120, 4000)


def chunk_object(text: str) -> dict[str, Any]:
    """The chunk that `Chunks.text` writes, as an object."""
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": MODEL,
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789ab",
        "choices": [
            {
                "index": 0,
                "delta": {"content": text},
                "logprobs": None,
                "finish_reason": None,
            }
        ],
    }


def by_json(text: str) -> bytes:
    """The plain way."""
    return b"data: " + json.dumps(chunk_object(text)).encode() + b"\n\n"


def by_orjson(text: str) -> bytes:
    """A fast encoder, the whole object each time."""
    return b"data: " + orjson.dumps(chunk_object(text)) + b"\n\n"


def sse_encoding() -> Iterator[Figure]:
    """Target 7: the same bytes as orjson's, at a tenth of json.dumps' price."""
    chunks = Chunks(
        completion_id="chatcmpl-0",
        created=1_700_000_000,
        model=MODEL,
        fingerprint="fp_0123456789ab",
        usage=False,
    )
    for length in LENGTHS:
        text = (SENTENCE * (length // len(SENTENCE) + 1))[:length]
        ours = partial(chunks.text, 0, "content", text)
        if ours() != by_orjson(text):
            raise RuntimeError("the bytes differ from orjson's")
        ways: dict[str, Callable[[], object]] = {
            "ours": ours,
            "json": partial(by_json, text),
            "orjson": partial(by_orjson, text),
        }
        times = take_turns(ways)
        yield of_samples(f"chunk of {length} characters", times["ours"].samples, "µs")
        yield of_samples(f"json.dumps, {length} characters", times["json"].samples, "µs")
        yield of_samples(f"orjson.dumps, {length} characters", times["orjson"].samples, "µs")
        yield of_samples(
            f"chunk ÷ json.dumps, {length} characters",
            times["ours"].over(times["json"]),
            "×",
            goal=0.10 if length <= 120 else None,
            target=7 if length <= 120 else None,
        )


if __name__ == "__main__":
    for figure in sse_encoding():
        print(figure.line())
