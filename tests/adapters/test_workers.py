"""`horde-front serve --workers 2`: one address, one ready line, one end, sums of metrics."""

import os
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from adapters.process import Server, run, serving
from adapters.raw import connect, post, read_to_end, read_until, wait_for
from adapters.stack import PLAIN
from horde_adapters.background import SimulatedHordeServer


@pytest.fixture(scope="module")
def horde() -> Iterator[SimulatedHordeServer]:
    """A Horde for all of them."""
    with SimulatedHordeServer() as horde:
        yield horde


def start(horde: SimulatedHordeServer, *more: str) -> tuple[str, ...]:
    """The command."""
    return ("serve", "--port", "0", "--horde", horde.url, "--workers", "2", *more)


def get(url: str) -> str:
    """A body, over a connection of its own."""
    with urllib.request.urlopen(url, timeout=15) as answer:
        text: str = answer.read().decode()
    return text


def children(parent: int) -> list[int]:
    """The processes that run workers; multiprocessing's resource tracker isn't one."""
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [pid for pid in map(int, found) if b"spawn_main" in command(pid)]


def command(pid: int) -> bytes:
    """A process's command line; nothing once it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def root(server: Server) -> str:
    """Its address."""
    parts = urlsplit(server.front)
    return f"http://{parts.netloc}"


def test_serves_in_as_many_processes_and_sums_what_they_count(
    horde: SimulatedHordeServer,
) -> None:
    """One ready line; whichever worker is asked for the metrics knows of all requests."""
    with serving(*start(horde)) as server:
        assert server.line.split()[0] == "ready"
        assert len(children(server.pid)) == 2
        for _ in range(20):
            get(f"{root(server)}/healthz")
        for _ in range(4):
            assert 'requests_total{code="ok",route="health"} 20.0' in get(f"{root(server)}/metrics")
        server.send(signal.SIGTERM)
        ended = server.wait()
    assert (ended.status, ended.out) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stream_that_is_open_comes_to_its_end(
    horde: SimulatedHordeServer, number: signal.Signals
) -> None:
    """The first signal drains all workers, however they hear of it."""
    with serving(*start(horde)) as server, connect(server.front) as client:
        client.sendall(post("Connection: close", model=PLAIN, stream=True))
        begun = read_until(client, b'"role":"assistant"')
        server.send(number)
        whole = begun + read_to_end(client)
        assert b"data: [DONE]" in whole
        assert b'"finish_reason":"stop"' in whole or b'"finish_reason":"length"' in whole
        assert server.wait().status == 0


def test_a_worker_that_dies_is_replaced(horde: SimulatedHordeServer) -> None:
    """The address is served all the while, and by two again."""
    with serving(*start(horde)) as server:
        before = children(server.pid)
        os.kill(before[0], signal.SIGKILL)
        wait_for(lambda: len(set(children(server.pid)) - {before[0]}) == 2)
        assert get(f"{root(server)}/healthz") == '{"status":"ok"}'
        server.send(signal.SIGTERM)
        ended = server.wait()
    assert ended.status == 0
    assert "worker died status=-9" in ended.err


def test_workers_end_with_a_parent_that_is_killed(horde: SimulatedHordeServer) -> None:
    """Nothing keeps the port."""
    with serving(*start(horde)) as server:
        before = children(server.pid)
        server.send(signal.SIGKILL)
        assert server.wait().status == -signal.SIGKILL
        wait_for(lambda: not any(command(pid) for pid in before))


def test_a_horde_that_is_not_there_ends_the_start() -> None:
    """One line says so, once."""
    ended = run("serve", "--port", "0", "--horde", "http://127.0.0.1:1", "--workers", "2")
    assert ended.status == 2
    assert len(ended.err.splitlines()) == 1
