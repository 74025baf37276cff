"""The two example worker programs against a simulated Horde and a backend, on real sockets."""

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import attrs
import httpx
import pytest

from docs.pages import ROOT
from examples.backend import WORDS, Backend, running_backend
from horde_adapters.background import SimulatedHordeServer
from horde_simulator.document import shipped_scenario

FOLDER = ROOT / "examples" / "workers"
KOBOLDCPP = runpy.run_path(str(FOLDER / "koboldcpp_style.py"))
SCRIBE = runpy.run_path(str(FOLDER / "scribe_style.py"))
PROGRAMS = {"koboldcpp_style": KOBOLDCPP, "scribe_style": SCRIBE}
MODEL = "koboldcpp/Gemma-3-4B-it"  # known to the default scenario, without a worker
MANUAL = attrs.evolve(shipped_scenario("default"), clock="manual")
TOOL = {"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "tide", "arguments": "{}"}}


@attrs.define
class Bench:
    """A Horde in a manual clock, a backend, and somebody who asks."""

    horde: SimulatedHordeServer
    backend: Backend
    asker: httpx.Client
    earner: httpx.Client
    backend_client: httpx.Client
    slept: list[float] = attrs.field(factory=list)
    time: float = 0.0

    def ask(self, **keys: Any) -> str:
        body = {
            "messages": [{"role": "user", "content": "Tell me of the sea."}],
            "models": [MODEL],
            **keys,
        }
        return str(self.asker.post("/generate/chat/async", json=body).json()["id"])

    def read(self, request_id: str) -> dict[str, Any]:
        status: dict[str, Any] = self.asker.get(f"/generate/chat/status/{request_id}").json()
        return status

    def koboldcpp(self) -> Any:
        return KOBOLDCPP["Worker"](self.earner, self.backend_client, "kobold", MODEL)

    def scribe(self, name: str = "scribe") -> Any:
        """Its clock is a second further each time that it looks, its sleep is written down."""

        def clock() -> float:
            self.time += 1.0
            return self.time

        return SCRIBE["Worker"](
            self.earner, self.backend_client, name, MODEL, clock=clock, sleep=self.slept.append
        )

    def calls(self, part: str) -> list[int]:
        """The statuses of the calls to one of the Horde's paths."""
        return [call["status"] for call in self.horde.journal() if call["path"].endswith(part)]


@pytest.fixture
def bench() -> Iterator[Bench]:
    with (
        SimulatedHordeServer(MANUAL) as horde,
        running_backend() as backend,
        httpx.Client(base_url=horde.url, headers={"apikey": "rich-key"}) as asker,
        httpx.Client(base_url=horde.url, headers={"apikey": "poor-key"}) as earner,
        httpx.Client(base_url=backend.url) as backend_client,
    ):
        yield Bench(horde, backend, asker, earner, backend_client)


def worker_of(bench: Bench, program: str) -> Any:
    return bench.koboldcpp() if program == "koboldcpp_style" else bench.scribe()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_job_gets_done(bench: Bench, program: str) -> None:
    """Asked for by one, popped, answered by the backend and submitted by the other, and paid."""
    worker = worker_of(bench, program)
    assert not worker.turn()
    request_id = bench.ask(params={"max_length": 64, "temperature": 0.5, "stop_sequence": ["x"]})
    assert worker.turn()
    status = bench.read(request_id)
    (generation,) = status["generations"]
    assert status["done"]
    assert not status["faulted"]
    assert generation["message"]["content"] == "".join(WORDS)
    assert generation["usage"]["completion_tokens"] == 4
    (asked,) = bench.backend.requests
    assert (asked["max_tokens"], asked["temperature"], asked["stop"]) == (64, 0.5, ["x"])
    assert asked["messages"] == [{"role": "user", "content": "Tell me of the sea."}]
    assert bench.earner.get("/find_user").json()["kudos"] > 30


def test_tools_go_both_ways(bench: Bench) -> None:
    worker = bench.koboldcpp()
    request_id = bench.ask(tools=[TOOL])
    bench.backend.calls = [CALL]
    assert worker.turn()
    (generation,) = bench.read(request_id)["generations"]
    assert generation["message"]["tool_calls"] == [CALL]
    assert bench.backend.requests[0]["tools"] == [TOOL]


def test_the_scribe_posts_progress(bench: Bench) -> None:
    """Four words, and a post after each, as its clock says a second has passed."""
    worker = bench.scribe()
    bench.ask(progress=True)
    assert worker.turn()
    assert bench.calls("/chat/progress") == [200, 200, 200, 200, 200, 200]


def test_a_failing_backend_is_reported_by_the_scribe(bench: Bench) -> None:
    """The Horde knows at once, and hands the job out again."""
    worker = bench.scribe()
    request_id = bench.ask()
    bench.backend.failures = 1
    assert not worker.turn()
    status = bench.read(request_id)
    assert (status["waiting"], status["restarted"]) == (1, 1)
    assert status["last_refusal"]["rc"] == "ChatWorkerFault"
    assert "500" in status["last_refusal"]["message"]
    assert bench.scribe("another").turn()
    assert bench.read(request_id)["done"]


def test_a_stream_cut_in_the_middle_is_reported_by_the_scribe(bench: Bench) -> None:
    worker = bench.scribe()
    request_id = bench.ask()
    bench.backend.cuts = 1
    assert not worker.turn()
    assert "ended in the middle" in bench.read(request_id)["last_refusal"]["message"]


def test_a_failing_backend_is_hushed_up_by_koboldcpp(bench: Bench) -> None:
    """The Horde finds out when the lease of 150 s is over."""
    worker = bench.koboldcpp()
    request_id = bench.ask()
    bench.backend.failures = 1
    assert not worker.turn()
    assert bench.calls("/chat/submit") == []
    assert bench.read(request_id)["processing"] == 1
    world = bench.horde.world
    bench.horde.call(lambda: world.advance(151.0))
    status = bench.read(request_id)
    assert status["restarted"] == 1
    assert status["last_refusal"]["rc"] == "ChatWorkerTimeout"


def test_a_lost_submit_is_tried_again_by_the_scribe(bench: Bench) -> None:
    """Until the Horde takes it, each pause as long as said, or else twice the last."""
    worker = bench.scribe()
    request_id = bench.ask()
    bench.horde.fail("worker_submit.error_500")
    bench.horde.fail("worker_submit.html_502")
    bench.horde.fail("worker_submit.rate_limited", seconds=7)
    assert worker.turn()
    assert bench.calls("/chat/submit") == [500, 502, 429, 200]
    assert bench.slept == [1.0, 2.0, 7.0]
    assert bench.read(request_id)["done"]


def test_a_submit_whose_answer_was_lost_counts(bench: Bench) -> None:
    """The second try is told `DuplicateGen`: the first was taken, and paid once."""
    worker = bench.scribe()
    request_id = bench.ask()
    bench.horde.fail("worker_submit.cut_after")
    assert worker.turn()
    assert bench.calls("/chat/submit") == [0, 400]
    assert len(bench.read(request_id)["generations"]) == 1


def test_the_scribe_gives_up_in_the_end(bench: Bench) -> None:
    worker = bench.scribe()
    bench.ask()
    bench.horde.fail("worker_submit.error_500", times=4)
    assert not worker.turn()
    assert bench.calls("/chat/submit") == [500, 500, 500, 500]


def test_a_lost_submit_is_lost_with_koboldcpp(bench: Bench) -> None:
    """One try, whatever becomes of it."""
    worker = bench.koboldcpp()
    request_id = bench.ask()
    bench.horde.fail("worker_submit.error_500")
    assert not worker.turn()
    assert bench.calls("/chat/submit") == [500]
    assert bench.read(request_id)["processing"] == 1


def test_a_cancelled_job_is_dropped_by_the_scribe(bench: Bench) -> None:
    """It learns so from its next progress post, and submits nothing."""
    world = bench.horde.world
    worker = bench.scribe()
    request_id = bench.ask(progress=True)
    bench.horde.fail("progress.error_500")  # is no reason to stop

    def cancel_after_two(answer: httpx.Response) -> None:
        if answer.url.path.endswith("/progress") and len(bench.calls("/chat/progress")) == 2:
            bench.asker.delete(f"/generate/chat/status/{request_id}")

    bench.earner.event_hooks["response"] = [cancel_after_two]
    assert not worker.turn()
    assert bench.calls("/chat/progress") == [500, 200, 200]
    assert bench.calls("/chat/submit") == []
    assert bench.horde.call(lambda: world.state.requests[request_id].state.value) == "cancelled"


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_a_program(bench: Bench, program: str) -> None:
    """The command line of the page, until one job is done."""
    request_id = bench.ask()
    command = [sys.executable, str(FOLDER / f"{program}.py"), "--horde", bench.horde.url]
    command += ["--key", "poor-key", "--backend", bench.backend.url, "--model", MODEL]
    done = subprocess.run([*command, "--jobs", "1"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"job \S+\n.*earned \d+\.\d+ kudos\n", done.stderr)
    assert bench.read(request_id)["done"]
