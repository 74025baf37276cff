"""A Horde that costs next to nothing: every request gets text at one speed, for some seconds.

    python -m horde_benchmarks.scripted_horde --seconds 6 --characters 100 --delay 0.1

It stands in for the simulated Horde where the front is what is measured, and knows the five calls
that the front makes.  Prints its port.
"""

import argparse
import asyncio
import re
from collections.abc import Callable
from time import monotonic

import attrs
import orjson

MODEL = "koboldcpp/Bench-8B"
WORKER = "00000000-0000-4000-8000-000000000001"
SENTENCE = "The ferry leaves at seven, when the fog allows it, and not a minute before. "
_TAIL = re.compile(rb"content_from=(\d+)")
_ID = re.compile(rb"/status/([0-9a-f-]{36})")

WORKERS = orjson.dumps(
    [
        {
            "id": WORKER,
            "name": "bench",
            "type": "text",
            "online": True,
            "models": [MODEL],
            "threads": 100,
            "max_length": 16384,
            "max_context_length": 131072,
            "maintenance_mode": False,
            "chat": {"features": ["progress"], "guarantees": ["no_prompt_trim"], "limits": {}},
        }
    ]
)
MODELS = orjson.dumps([{"name": MODEL, "count": 100, "queued": 0, "eta": 0, "performance": 20}])


@attrs.frozen
class Script:
    """What each job does; `seconds` 0 is done at the first read, `characters` 0 shows no text."""

    seconds: float
    characters: float
    """Characters a second."""
    delay: float
    """Seconds that each answer is held back."""

    def text(self, elapsed: float) -> str:
        """What a job's worker has posted by then."""
        length = (
            int(min(elapsed, self.seconds) * self.characters) if self.seconds else len(SENTENCE)
        )
        return (SENTENCE * (length // len(SENTENCE) + 1))[:length]


class Jobs:
    """The jobs there were, by id: only when each began."""

    def __init__(self, script: Script, *, clock: Callable[[], float] = monotonic) -> None:
        self.script = script
        self._clock = clock
        self._began: dict[bytes, float] = {}

    def answer(self, request: bytes) -> tuple[int, bytes]:
        """Status and body for a request's head."""
        if request.startswith(b"POST"):
            request_id = b"00000000-0000-4000-8000-%012x" % len(self._began)
            self._began[request_id] = self._clock()
            return 202, _receipt(request_id.decode())
        found = _ID.search(request)
        if found is None:
            return 200, WORKERS if b"/workers" in request else MODELS
        elapsed = self._clock() - self._began.setdefault(found[1], self._clock())
        if request.startswith(b"GET") and elapsed >= self.script.seconds:
            return 200, self._finished(elapsed)
        tail = _TAIL.search(request)
        return 200, self._running(elapsed, int(tail[1]) if tail else 0)

    def _running(self, elapsed: float, start: int) -> bytes:
        text = self.script.text(elapsed)[start:]
        post = {
            "index": 0,
            "attempt": 1,
            "seq": int(elapsed),
            "worker_id": WORKER,
            "worker_name": "bench",
            "model": MODEL,
            "content_from": start,
            "content": text,
            "reasoning_from": 0,
            "reasoning_content": "",
        }
        return _status(done=False, progress=[post] if text else [], generations=[])

    def _finished(self, elapsed: float) -> bytes:
        text = self.script.text(elapsed)
        generation = {
            "index": 0,
            "worker_id": WORKER,
            "worker_name": "bench",
            "model": MODEL,
            "state": "ok",
            "message": {"role": "assistant", "content": text, "tool_calls": []},
            "finish_reason": "stop",
            "usage": {"prompt_tokens": 40, "completion_tokens": len(text) // 5},
        }
        return _status(done=True, progress=[], generations=[generation])


def _receipt(request_id: str) -> bytes:
    return orjson.dumps(
        {
            "id": request_id,
            "kudos": 20,
            "max_length": 512,
            "max_context_length": 4096,
            "prompt_tokens_estimate": 40,
            "context_adjustments": [],
        }
    )


def _status(*, done: bool, progress: list[object], generations: list[object]) -> bytes:
    pool = {
        "online_workers": 1,
        "missing_features": [],
        "missing_guarantees": [],
        "exceeded_limits": [],
    }
    return orjson.dumps(
        {
            "finished": int(done),
            "processing": int(not done),
            "restarted": 0,
            "waiting": 0,
            "done": done,
            "faulted": False,
            "cancelled": False,
            "wait_time": 3,
            "queue_position": 0,
            "kudos": 12.5,
            "is_possible": True,
            "eligible_workers": 1,
            "eligible_worker_threads": 100,
            "pool": pool,
            "context_adjustments": [],
            "progress": progress,
            "last_refusal": None,
            "generations": generations,
        }
    )


class _Connection(asyncio.Protocol):
    """Requests with a content length, one after the other."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._data = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, separator, rest = self._data.partition(b"\r\n\r\n")
        if not separator:
            return
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        size = int(length[1]) if length else 0
        if len(rest) < size:
            return
        self._data = rest[size:]
        status, body = self._jobs.answer(head)
        answer = b"HTTP/1.1 %d OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
        whole = answer % (status, len(body), body)
        if self._jobs.script.delay:
            loop = asyncio.get_running_loop()
            loop.call_later(self._jobs.script.delay, self._transport.write, whole)
        else:
            self._transport.write(whole)


async def _serve(script: Script) -> None:
    jobs = Jobs(script)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(jobs), "127.0.0.1", 0, backlog=4096)
    print("port", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--characters", type=float, default=100.0)
    parser.add_argument("--delay", type=float, default=0.0)
    options = parser.parse_args()
    asyncio.run(_serve(Script(options.seconds, options.characters, options.delay)))


if __name__ == "__main__":
    main()
