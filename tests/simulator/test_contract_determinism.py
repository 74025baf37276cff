"""Same seed and same calls at the same times: the same bytes, for every shipped scenario.

Everything that a caller can see is compared, byte for byte: each answer of both APIs with its
headers, delay and cut, in this process and in others with other hash seeds.
"""

import json
import os
import subprocess
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from horde_simulator.call import Answer, Call
from horde_simulator.document import SHIPPED, shipped_scenario
from horde_simulator.world import World
from simulator.horde import API, TOOL

ROOT = Path(__file__).parents[2]
CHAT = f"{API}/generate/chat"
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "city",
        "schema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
        },
    },
}
NO_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
LISTINGS = ("/workers", "/status/models", "/find_user", "/status/performance")
LOOKS = ("state", "ledger", "journal", "verdict", "scenario")


class Run:
    """Ten minutes of a scenario with a user, a worker program and somebody who looks on."""

    def __init__(self, name: str) -> None:
        self.world = World(shipped_scenario(name))
        self.digest = sha256()
        self.draw = Random(7)
        self.models = [model.name for model in self.world.scenario.models] or ["somebody/Nothing"]
        self.ids: list[str] = []

    def ask(self, method: str, path: str, body: Any = None, key: str = "rich-key") -> Any:
        data = b"" if body is None else orjson.dumps(body)
        answer = self.world.handle(Call(method, path, "", (("apikey", key),), data))
        assert isinstance(answer, Answer)
        self.digest.update(
            repr((answer.status, answer.headers, answer.delay, answer.cut)).encode() + answer.body
        )
        try:
            return orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            return {}

    def step(self) -> None:
        self.world.advance(self.world.now + self.draw.random() * 6)
        body: dict[str, Any] = {
            "messages": [{"role": "user", "content": "Weather in Bergen, please, and a story."}],
            "models": self.draw.sample(self.models, min(2, len(self.models))),
            "progress": True,
            "params": {"max_length": 128, "n": self.draw.choice([1, 2])},
        }
        kind = self.draw.randrange(4)
        bad = {"messages": [{"role": "user", "content": [NO_PICTURE]}]}
        body |= ({}, {"tools": [TOOL]}, {"response_format": SCHEMA}, bad)[kind]
        answer = self.ask("POST", f"{CHAT}/async", body)
        if isinstance(answer, dict) and "id" in answer:
            self.ids.append(answer["id"])
        for request_id in self.ids[-3:]:
            self.ask("GET", f"{CHAT}/status/{request_id}")
        if self.ids and self.draw.random() < 0.1:
            self.ask("DELETE", f"{CHAT}/status/{self.draw.choice(self.ids)}")
        self._work()

    def _work(self) -> None:
        declared = {
            "name": "outside",
            "models": self.models[:2],
            "chat": {"features": ["tools"], "guarantees": ["no_prompt_trim"], "limits": {}},
        }
        job = self.ask("POST", f"{CHAT}/pop", declared, "poor-key")
        if isinstance(job, dict) and job.get("id"):
            post = {"id": job["id"], "seq": 1, "content": "Once"}
            self.ask("POST", f"{CHAT}/progress", post, "poor-key")
            reply = {"id": job["id"], "message": {"content": "Once upon a time"}}
            self.ask("POST", f"{CHAT}/submit", reply, "poor-key")

    def whole(self) -> str:
        for number in range(100):
            self.step()
            if number % 10 == 0:
                for path in LISTINGS:
                    self.ask("GET", API + path)
        for name in LOOKS:
            self.ask("GET", f"/_sim/{name}")
        return self.digest.hexdigest()


@cache
def digests() -> dict[str, str]:
    return {name: Run(name).whole() for name in SHIPPED}


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_other_processes_and_hash_seeds_say_the_same(hash_seed: str) -> None:
    program = (
        "import json; from simulator.test_contract_determinism import digests; "
        "print(json.dumps(digests()))"
    )
    paths = os.pathsep.join(str(ROOT / name) for name in ("core", "simulator", "tests"))
    said = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": paths},
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(said.stdout) == digests()


def test_the_runs_have_something_to_compare() -> None:
    """No two scenarios are alike, and nearly every submit of the busiest was taken."""
    assert len(set(digests().values())) == len(SHIPPED)
    run = Run("default")
    run.whole()
    assert len(run.ids) > 60
