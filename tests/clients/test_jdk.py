"""The JDK's `java.net.http`, which offers `Upgrade: h2c` with each request."""

import json
import subprocess
from typing import Any

import pytest

from clients.contract import check_reply, check_stream
from clients.dev_server import PLAIN, QWEN, DevServer, wait_for
from clients.programs import SCRIPTS, environment, program, run


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """How to run the program, which is compiled once."""
    package = "default-jdk-headless"
    java, javac = program("java", package), program("javac", package)
    classes = tmp_path_factory.mktemp("classes")
    compiling = [javac, "-encoding", "UTF-8", "-d", str(classes), str(SCRIPTS / "Chat.java")]
    subprocess.run(compiling, check=True)
    return [java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(classes), "Chat"]


def command(java: list[str], way: str, model: str, content: str, **keys: Any) -> list[str]:
    """A run of the program for a chat request."""
    body = {"model": model, "messages": [{"role": "user", "content": content}], **keys}
    return [*java, way, json.dumps(body)]


def test_whole_reply(java: list[str], dev: DevServer) -> None:
    """Answered under the protocol that was agreed on, with the reply."""
    first, body = run(command(java, "whole", QWEN, "What is 17 x 4?"), dev).split("\n", 1)
    assert first.split()[1] == "200"
    choice = check_reply(json.loads(body), QWEN)
    assert choice["finish_reason"] == "stop"
    assert "68" in choice["message"]["content"]


def test_stream(java: list[str], dev: DevServer) -> None:
    """The chunks in order, live text, and `[DONE]`."""
    asked = command(java, "lines", PLAIN, "Write 100 words.", stream=True)
    first, *lines = run(asked, dev).splitlines()
    assert first.split()[1] == "200"
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert data[-1] == "[DONE]"
    made = check_stream([json.loads(line) for line in data[:-1]], PLAIN, usage=False)
    assert len(made["content"].split()) == 100
    assert len(data) > 7


def test_leaving_mid_stream_cancels_once(java: list[str], dev: DevServer) -> None:
    """Closing the body is noticed although the request had offered an upgrade: one DELETE."""
    before = dev.cancels
    asked = command(java, "leave", PLAIN, "Write 200 words.", stream=True)
    with subprocess.Popen(
        asked,
        env=environment(dev),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "left\n"
            wait_for(lambda: not dev.unfinished())
            assert dev.cancels == before + 1
        finally:
            process.terminate()
