"""The same seed and the same calls at the same times give the same bytes, in every process."""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest

from horde_simulator.document import shipped_scenario
from horde_simulator.world import World
from simulator.horde import TOOL, Caller, Program

ROOT = Path(__file__).parents[2]


def run(name: str, seed: int) -> str:
    """A digest of every answer of a scripted hour with a shipped scenario."""
    world = World(shipped_scenario(name), seed=seed)
    script, digest = Random(99), sha256()
    models = [spec.name for spec in world.scenario.models]
    key = world.scenario.users[0].key
    program = Program(world, key=key, declares={"models": models[:3]})
    ids: list[str] = []

    def note(answer: Any) -> Any:
        digest.update(repr(answer).encode())
        return answer

    for number in range(150):
        world.advance(world.now + script.random() * 4)
        caller = Caller(world, key, address=f"10.0.0.{number % 7}")
        fields: dict[str, Any] = {
            "models": script.sample(models, 2),
            "progress": True,
            "params": {"max_length": script.choice([32, 256]), "n": script.choice([1, 2])},
        }
        if script.random() < 0.3:
            fields["tools"] = [TOOL]
        answer = note(caller.submit(**fields))
        if isinstance(answer, dict) and "id" in answer:
            ids.append(answer["id"])
        for request_id in script.sample(ids, min(3, len(ids))):
            note(caller.read(request_id))
        if script.random() < 0.1 and ids:
            note(caller.cancel(script.choice(ids)))
        job = note(program.pop())
        if isinstance(job, dict) and job.get("id") and script.random() < 0.8:
            note(program.hand_in(job["id"], "text " * 5))
        note(caller.send("GET", "/workers"))
    note(world.state.ledger.totals())
    return digest.hexdigest()


@pytest.mark.parametrize("name", ["default", "flaky"])
def test_two_runs_are_the_same(name: str) -> None:
    assert run(name, 5) == run(name, 5)
    assert run(name, 5) != run(name, 6)


def test_other_processes_and_hash_seeds_say_the_same() -> None:
    program = "from simulator.test_determinism import run;print(run('default', 5), run('flaky', 5))"
    paths = [str(ROOT / name) for name in ("core", "simulator", "tests")]
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(paths)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for hash_seed in ("0", "1", "4242")
    }
    assert said == {f"{run('default', 5)} {run('flaky', 5)}"}
