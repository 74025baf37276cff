"""A Horde worker in the manner of the scribe: it streams, retries, and reports what it can't do.

It pops a job, streams the reply from an OpenAI-compatible backend and posts what it has so far
once a second, so that whoever waits sees the text grow and the job's lease is renewed. It stops
when the Horde says that the job was cancelled. A job that the backend fails is submitted as
faulted with the reason, so that another worker gets it at once. Calls that fail on the way to the
Horde are tried again.

    python scribe_style.py --horde http://127.0.0.1:8001/api/v2 --key rich-key \\
        --backend http://127.0.0.1:5001/v1 --model koboldcpp/Gemma-3-4B-it
"""

import argparse
import json
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx

LOG = logging.getLogger("worker")
IDLE = 2.0  # seconds between pops that brought nothing
POST_EVERY = 1.0  # seconds between progress posts, unless the job says otherwise
BACKEND_TIME = 120.0  # seconds of silence from the backend
PAUSES = (1.0, 2.0, 4.0)  # seconds before each further try of a call to the Horde
# An earlier try was taken and only its answer was lost, or the Horde no longer wants the reply.
SETTLED = ("DuplicateGen", "AbortedGen", "InvalidJobID")

PARAMETERS = {
    "messages": "messages",
    "tools": "tools",
    "tool_choice": "tool_choice",
    "parallel_tool_calls": "parallel_tool_calls",
    "response_format": "response_format",
    "max_length": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "stop_sequence": "stop",
    "seed": "seed",
}


class Cancelled(Exception):  # noqa: N818 - what happened
    """Nobody wants the job any more."""


class Refused(Exception):  # noqa: N818 - what happened
    """The Horde gave a definite no. Trying again would bring the same."""

    def __init__(self, rc: str | None, message: str) -> None:
        super().__init__(message)
        self.rc = rc


class Lost(Exception):  # noqa: N818 - what happened
    """The Horde gave no answer that can be used: trying again may help."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after  # seconds, when the Horde said how many


class Reply:
    """A reply put together from the backend's chunks."""

    def __init__(self) -> None:
        self.content = ""
        self.reasoning = ""
        self.calls: list[dict[str, Any]] = []
        self.finish_reason = "stop"
        self.usage: dict[str, int] | None = None

    def take(self, chunk: dict[str, Any]) -> None:
        """Adds one chunk of the stream."""
        if usage := chunk.get("usage"):
            details = usage.get("completion_tokens_details") or {}
            self.usage = {
                "prompt_tokens": usage["prompt_tokens"],
                "completion_tokens": usage["completion_tokens"],
                "reasoning_tokens": details.get("reasoning_tokens") or 0,
            }
        for choice in chunk["choices"]:
            delta = choice["delta"]
            self.content += delta.get("content") or ""
            self.reasoning += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls") or ():
                self._take_call(call)
            self.finish_reason = choice.get("finish_reason") or self.finish_reason

    def _take_call(self, piece: dict[str, Any]) -> None:
        if piece["index"] == len(self.calls):
            function = {"name": "", "arguments": ""}
            self.calls.append({"id": piece.get("id"), "type": "function", "function": function})
        call = self.calls[piece["index"]]
        for key, text in (piece.get("function") or {}).items():
            call["function"][key] += text or ""


class Worker:
    """One worker. `turn` does one job at most; a test gives it a clock and a sleep of its own."""

    def __init__(
        self,
        horde: httpx.Client,
        backend: httpx.Client,
        name: str,
        model: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._horde = horde
        self._backend = backend
        self._model = model
        self._clock = clock
        self._sleep = sleep
        features = ["tools", "parallel_tool_calls", "response_format.json_object", "progress"]
        self._declares = {
            "name": name,
            "models": [model],
            "max_length": 1024,
            "max_context_length": 8192,
            "threads": 1,
            "bridge_agent": "scribe_style:1:https://example.org",
            "chat": {"features": features, "guarantees": ["no_prompt_trim"], "limits": {}},
        }

    def turn(self) -> bool:
        """Does a job, if there is one; tells whether its reply is with the Horde."""
        try:
            job = self._call("pop", self._declares)
        except (Lost, Refused) as error:
            LOG.info("no pop: %s", error)
            return False
        if job["id"] is None:
            return False
        LOG.info("job %s", job["id"])
        try:
            return self._submit(self._answer(job["id"], job["payload"]))
        except Cancelled:
            LOG.info("cancelled")
        except (httpx.HTTPError, ValueError, LookupError) as error:
            fault = {"id": job["id"], "state": "faulted", "fault_reason": f"Backend: {error}"[:500]}
            self._submit(fault)
        return False

    def _answer(self, job_id: str, payload: dict[str, Any]) -> dict[str, Any]:
        reply, seq, posted_at = Reply(), 0, self._clock()
        every = payload.get("progress_interval_ms", POST_EVERY * 1000) / 1000
        for chunk in self._stream(payload):
            reply.take(chunk)
            if self._clock() - posted_at >= every:
                seq, posted_at = seq + 1, self._clock()
                self._post(job_id, seq, reply)
        message = {"content": reply.content, "reasoning_content": reply.reasoning or None}
        return {
            "id": job_id,
            "state": "ok",
            "message": {**message, "tool_calls": reply.calls},
            "finish_reason": reply.finish_reason,
            "usage": reply.usage,
            "seed": payload["seed"],
        }

    def _stream(self, payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The backend's chunks. Raises httpx.HTTPError, ValueError when the stream is cut."""
        body = {PARAMETERS[name]: value for name, value in payload.items() if name in PARAMETERS}
        body |= {"model": self._model, "stream": True, "stream_options": {"include_usage": True}}
        with self._backend.stream("POST", "/chat/completions", json=body) as answer:
            answer.raise_for_status()
            for line in answer.iter_lines():
                if line == "data: [DONE]":
                    return
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))
        raise ValueError("the stream ended in the middle")

    def _post(self, job_id: str, seq: int, reply: Reply) -> None:
        """Posts progress. What goes wrong with it, the submit will put right."""
        texts = {"content": reply.content, "reasoning_content": reply.reasoning}
        try:
            answer = self._call("progress", {"id": job_id, "seq": seq, **texts}, pauses=())
        except (Lost, Refused):
            return
        if answer["cancelled"]:
            raise Cancelled

    def _submit(self, handed: dict[str, Any]) -> bool:
        try:
            reward = self._call("submit", handed)["reward"]
        except Lost as lost:
            LOG.info("not submitted: %s", lost)
            return False
        except Refused as refused:
            LOG.info("refused: %s", refused)
            return refused.rc in SETTLED and handed["state"] == "ok"
        LOG.info("submitted as %s, earned %s kudos", handed["state"], reward)
        return bool(handed["state"] == "ok")

    def _call(
        self, name: str, body: dict[str, Any], *, pauses: tuple[float, ...] = PAUSES
    ) -> dict[str, Any]:
        """Calls the Horde, again if need be. Raises Refused, and Lost after the last try."""
        for pause in pauses:
            try:
                return self._call_once(name, body)
            except Lost as lost:
                self._sleep(pause if lost.after is None else lost.after)
        return self._call_once(name, body)

    def _call_once(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._horde.post(f"/generate/chat/{name}", json=body)
            read = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise Lost(f"{name}: {error}") from error
        if answer.status_code == 429 or answer.status_code >= 500:
            after = answer.headers.get("retry-after")
            reason = f"{name}: {answer.status_code}"
            raise Lost(reason, None if after is None else float(after))
        if answer.status_code >= 400:
            raise Refused(read.get("rc"), read["message"])
        if not isinstance(read, dict):
            raise Lost(f"{name}: an answer that is no object")
        return read


def main() -> None:
    parser = argparse.ArgumentParser(description="A Horde worker that streams and retries.")
    parser.add_argument("--horde", required=True, metavar="URL", help="with /api/v2")
    parser.add_argument("--key", required=True, help="the account that earns the kudos")
    parser.add_argument("--backend", required=True, metavar="URL", help="with /v1")
    parser.add_argument("--model", required=True, help="the Horde's name of the model")
    parser.add_argument("--name", default="Careful scribe", help="the worker's name")
    parser.add_argument("--jobs", type=int, metavar="N", help="end after so many replies")
    options = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    LOG.setLevel(logging.INFO)
    headers = {"apikey": options.key}
    with (
        httpx.Client(base_url=options.horde, headers=headers, timeout=30.0) as horde,
        httpx.Client(base_url=options.backend, timeout=BACKEND_TIME) as backend,
    ):
        worker = Worker(horde, backend, options.name, options.model)
        done = 0
        while options.jobs is None or done < options.jobs:
            if worker.turn():
                done += 1
            else:
                time.sleep(IDLE)


if __name__ == "__main__":
    main()
