"""The command: its ready line, its exit statuses, the demo."""

import re
import signal
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from adapters.process import run, serving
from adapters.stack import SLOW
from horde_adapters.version import VERSION

FREE = ("--port", "0")


def test_dev_says_when_it_is_ready_and_where() -> None:
    """One exact line on stdout; both servers answer at what it says; SIGTERM ends it with 0."""
    with serving("dev", *FREE, "--horde-port", "0") as server:
        assert re.fullmatch(
            r"ready front=http://127\.0\.0\.1:\d+/v1 horde=http://127\.0\.0\.1:\d+/api/v2",
            server.line,
        )
        for url in (f"{server.front}/models", f"{server.horde}/status/heartbeat"):
            with urllib.request.urlopen(url) as answer:
                assert answer.status == 200
        server.send(signal.SIGTERM)
        ended = server.wait()
    assert (ended.status, ended.out) == (0, "")


def test_simulate_and_serve_name_only_what_runs() -> None:
    """The Horde alone, and a front alone for it, its URL given without `/api/v2`."""
    with serving("simulate", *FREE) as horde:
        assert re.fullmatch(r"ready horde=http://127\.0\.0\.1:\d+/api/v2", horde.line)
        url = horde.horde.removesuffix("/api/v2")
        with serving("serve", *FREE, "--horde", url) as front:
            assert re.fullmatch(r"ready front=http://127\.0\.0\.1:\d+/v1", front.line)
            front.send(signal.SIGINT)
            assert front.wait().status == 0
        horde.send(signal.SIGINT)
        assert horde.wait().status == 0


def test_seed_and_scenario_file(tmp_path: Path) -> None:
    """A scenario of one's own, by its file."""
    path = tmp_path / "own.toml"
    path.write_text('name = "own"\n[[models]]\nname = "a/b"\n')
    with serving("simulate", *FREE, "--scenario", str(path), "--seed", "3") as server:
        with urllib.request.urlopen(f"{server.horde}/status/models?model_state=all") as answer:
            assert b'"a/b"' in answer.read()
        server.send(signal.SIGTERM)
        assert server.wait().status == 0


@pytest.mark.parametrize("scenario, is_warned", [("storm", True), ("default", False)])
def test_a_clock_that_stands_still_is_told(scenario: str, is_warned: bool) -> None:
    """Else its Horde seems dead: it answers nothing that takes time."""
    with serving("simulate", *FREE, "--scenario", scenario) as server:
        server.send(signal.SIGTERM)
        ended = server.wait()
    assert ended.status == 0
    assert ("clock is manual" in ended.err) == is_warned
    assert ("POST /_sim/advance" in ended.err) == is_warned


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port on which something listens already."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        yield holder.getsockname()[1]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("dev", "--port", "{taken}", "--horde-port", "0"), "can't listen on 127.0.0.1 port"),
        (("simulate", "--port", "{taken}"), "can't listen on 127.0.0.1 port"),
        (("simulate", *FREE, "--scenario", "defualt"), "no scenario is called 'defualt'"),
        (("simulate", *FREE, "--scenario", "/nowhere/a.toml"), "can't read the scenario"),
        (("serve", *FREE, "--horde", "http://127.0.0.1:9"), "can't be reached"),
        (("serve", *FREE, "--horde", "horde"), "must be the URL of a Horde alone"),
        (("serve", "--host", "no.such.host.invalid", *FREE, "--horde", "x"), "must be the URL"),
    ],
)
def test_what_cannot_start(arguments: tuple[str, ...], said: str, taken_port: int) -> None:
    """One clear line on stderr, nothing on stdout, status 2."""
    ended = run(*(argument.format(taken=taken_port) for argument in arguments))
    assert ended.status == 2
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert line.startswith("horde-front: ")
    assert said in line


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("--prot", "1"), "invalid choice"),
        (("nonsense",), "invalid choice: 'nonsense'"),
        (("dev", "--port", "70000"), "--port: '70000' is no port: must be 0 to 65535"),
        (("dev", "--port", "http"), "--port: 'http' is no port: must be 0 to 65535"),
        (("dev", "--horde-port", "-1"), "--horde-port: '-1' is no port"),
        (("dev", "--scen", "busy"), "unrecognized arguments: --scen busy"),
        (("serve", "--grac", "5"), "unrecognized arguments: --grac 5"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    """argparse's usage and words, status 2; a flag that is cut short is none."""
    ended = run(*arguments)
    assert ended.status == 2
    assert "usage: horde-front" in ended.err
    assert said in ended.err


def test_version() -> None:
    """What a report of a fault begins with."""
    ended = run("--version")
    assert (ended.status, ended.out, ended.err) == (0, f"horde-front {VERSION}\n", "")


def test_each_fault_of_a_scenario_has_a_line(tmp_path: Path) -> None:
    """All of them at once, none of them hidden in the midst of a long line."""
    path = tmp_path / "own.toml"
    path.write_text('seeed = 1\nclock = "fast"\n')
    ended = run("simulate", *FREE, "--scenario", str(path))
    assert (ended.status, ended.out) == (2, "")
    first, second = ended.err.splitlines()
    assert first == f"horde-front: {path}: seeed: unknown key, did you mean seed?"
    assert second.startswith(f"horde-front: {path}: clock: unknown clock 'fast'")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("--only", "calls, nothing"), "there is no subject 'nothing': "),
        (("--compare", "{tmp}/own.json"), "own.json isn't a result of `horde-front bench`"),
        (("--compare", "{tmp}/nowhere.json"), "No such file or directory: '{tmp}/nowhere.json'"),
        (("--json", "{tmp}/nowhere/a.json"), "No such file or directory: '{tmp}/nowhere/a.json'"),
        (("--svg", "{tmp}/nowhere/a.svg"), "No such file or directory: '{tmp}/nowhere/a.svg'"),
    ],
)
def test_what_a_measurement_can_not_begin_with(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    """It is found out before anything is measured."""
    (tmp_path / "own.json").write_text("figures")
    ended = run("bench", *(argument.format(tmp=tmp_path) for argument in arguments))
    assert (ended.status, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("horde-front: ")
    assert said.format(tmp=tmp_path) in line


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_hang_up_drains(workers: str) -> None:
    """The terminal is closed: as at SIGTERM, a stream is told, and its job is no more."""
    with serving("simulate", *FREE) as horde:
        arguments = (*FREE, "--horde", horde.horde, "--grace", "0", "--workers", workers)
        with serving("serve", *arguments) as front:
            body = {"model": SLOW, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
            with httpx.stream("POST", f"{front.front}/chat/completions", json=body) as answer:
                lines = answer.iter_lines()
                assert next(lines).startswith(": horde queue_position=")
                front.send(signal.SIGHUP)
                rest = [line for line in lines if line.startswith("data:")]
            assert front.wait().status == 0
        assert '"code":"draining"' in rest[0]
        assert rest[1:] == ["data: [DONE]"]
        state = httpx.get(horde.horde.removesuffix("/api/v2") + "/_sim/state").json()
        assert [request["state"] for request in state["requests"]] == ["cancelled"]


def test_help_for_a_newcomer() -> None:
    """It names every command and shows a first request."""
    ended = run("--help")
    assert ended.status == 0
    for word in ("demo", "dev", "simulate", "serve", "curl -N"):
        assert word in ended.out


def test_demo() -> None:
    """It shows a stream, a tool round and a good verdict, and ends by itself."""
    ended = run("demo")
    assert ended.status == 0, ended.err
    assert re.search(r"queue position \d+, estimated wait \d+ s", ended.out)
    assert re.search(r"thinking +\w", ended.out)
    assert re.search(r"answer +\w", ended.out)
    assert re.search(r"served by worker .+ for [\d.]+ kudos", ended.out)
    assert "calls get_weather(" in ended.out
    assert re.search(r"verdict +ok", ended.out)
    (first,) = re.findall(r"first words after ([\d.]+) s", ended.out)
    assert float(first) <= 1.5
    assert ended.err == ""
