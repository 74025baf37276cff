"""A Horde worker in the manner of the one inside koboldcpp: simple, and careless about failures.

It pops a job, has an OpenAI-compatible backend answer it, and submits the reply once. When the
backend fails, or the submit does, it goes on to the next job and says nothing: the Horde notices
when the job's lease has run out, and gives it to another worker.

    python koboldcpp_style.py --horde http://127.0.0.1:8001/api/v2 --key rich-key \\
        --backend http://127.0.0.1:5001/v1 --model koboldcpp/Gemma-3-4B-it
"""

import argparse
import logging
import time
from typing import Any

import httpx

LOG = logging.getLogger("worker")
IDLE = 2.0  # seconds between pops that brought nothing
BACKEND_TIME = 120.0  # seconds: below the lease of 150, within which a reply has to come

# What a job asks for, and what the backend calls it.
PARAMETERS = {
    "messages": "messages",
    "tools": "tools",
    "tool_choice": "tool_choice",
    "max_length": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "stop_sequence": "stop",
    "seed": "seed",
}


class Worker:
    """One worker. `turn` does one job at most, so that a test can count turns."""

    def __init__(self, horde: httpx.Client, backend: httpx.Client, name: str, model: str) -> None:
        self._horde = horde
        self._backend = backend
        self._model = model
        self._declares = {
            "name": name,
            "models": [model],
            "max_length": 512,
            "max_context_length": 4096,
            "threads": 1,
            "bridge_agent": "koboldcpp_style:1:https://example.org",
            "chat": {"features": ["tools"], "guarantees": ["no_prompt_trim"], "limits": {}},
        }

    def turn(self) -> bool:
        """Does a job, if there is one; tells whether a reply was submitted and taken."""
        try:
            popped = self._horde.post("/generate/chat/pop", json=self._declares)
            popped.raise_for_status()
            job = popped.json()
            if job["id"] is None:
                return False
            LOG.info("job %s", job["id"])
            reply = self._answer(job["payload"])
            submitted = self._horde.post("/generate/chat/submit", json={"id": job["id"], **reply})
            submitted.raise_for_status()
        except (httpx.HTTPError, ValueError, LookupError) as error:
            LOG.info("failed: %s", error)
            return False
        LOG.info("earned %s kudos", submitted.json()["reward"])
        return True

    def _answer(self, payload: dict[str, Any]) -> dict[str, Any]:
        body = {PARAMETERS[name]: value for name, value in payload.items() if name in PARAMETERS}
        answer = self._backend.post("/chat/completions", json={"model": self._model, **body})
        answer.raise_for_status()
        whole = answer.json()
        choice = whole["choices"][0]
        message = choice["message"]
        return {
            "state": "ok",
            "message": {
                "content": message.get("content"),
                "reasoning_content": message.get("reasoning_content"),
                "tool_calls": message.get("tool_calls") or [],
            },
            "finish_reason": choice["finish_reason"],
            "usage": {
                "prompt_tokens": whole["usage"]["prompt_tokens"],
                "completion_tokens": whole["usage"]["completion_tokens"],
            },
            "seed": payload["seed"],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description="A Horde worker that submits once.")
    parser.add_argument("--horde", required=True, metavar="URL", help="with /api/v2")
    parser.add_argument("--key", required=True, help="the account that earns the kudos")
    parser.add_argument("--backend", required=True, metavar="URL", help="with /v1")
    parser.add_argument("--model", required=True, help="the Horde's name of the model")
    parser.add_argument("--name", default="Tiny kobold", help="the worker's name")
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
