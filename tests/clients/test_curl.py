"""curl: what the README's first lines do, streamed and not, and what a shell sees of errors."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest

from clients.contract import check_reply, check_stream
from clients.dev_server import KEY, OFFLINE, PLAIN, QWEN, SLOW, DevServer, wait_for
from clients.programs import program, run


@pytest.fixture(scope="module")
def curl() -> str:
    return program("curl", "curl")


def asking(curl: str, dev: DevServer, body: dict[str, Any], *options: str) -> list[str]:
    """A curl command for a chat request."""
    url = f"{dev.front}/chat/completions"
    headers = ["-H", f"Authorization: Bearer {KEY}", "-H", "Content-Type: application/json"]
    return [curl, "-sN", *options, *headers, "-d", json.dumps(body), url]


def chat(model: str, content: str, **keys: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": content}], **keys}


@contextmanager
def output_of(command: list[str]) -> Iterator[IO[str]]:
    """What a curl prints while it runs; ended with the block, as by Ctrl-C in a shell."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.terminate()


def test_whole_reply(curl: str, dev: DevServer) -> None:
    """A JSON body with the answer, and the headers of section 1."""
    command = asking(curl, dev, chat(QWEN, "What is 17 × 4?"), "-i")
    head, body = run(command, dev).split("\n\n", 1)
    reply = json.loads(body)
    assert check_reply(reply, QWEN)["message"]["content"] == "17 × 4 = 68."
    assert f"x-request-id: {reply['x_horde']['request_id']}" in head.lower()
    assert "access-control-allow-origin: *" in head.lower()


def test_stream(curl: str, dev: DevServer) -> None:
    """Comments first, then nothing but `data:` lines, one blank line after each; `[DONE]`."""
    asked = chat(PLAIN, "Write 100 words.", stream=True, stream_options={"include_usage": True})
    text = run(asking(curl, dev, asked), dev)
    assert text.endswith("data: [DONE]\n\n")
    lines = text.removesuffix("\n\n").split("\n\n")
    assert lines[0].startswith(": horde queue_position=")
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    comments = [line for line in lines if line.startswith(": horde ")]
    assert len(data) + len(comments) == len(lines)
    chunks = [json.loads(line) for line in data[:-1]]
    made = check_stream(chunks, PLAIN, usage=True)
    assert len(made["content"].split()) == 100
    assert all(chunk["usage"] is None for chunk in chunks[:-1])


def test_words_come_while_the_model_writes(curl: str, dev: DevServer) -> None:
    """The first words are here while the Horde says that a worker is still at the job."""
    asked = chat(PLAIN, "Write 200 words.", stream=True)
    with output_of(asking(curl, dev, asked)) as lines:
        first = next(line for line in lines if '"content"' in line)
        assert json.loads(first.removeprefix("data: "))["choices"][0]["delta"]["content"]
        assert [one["state"] for one in dev.unfinished()] == ["processing"]
        assert list(lines)[-2] == "data: [DONE]\n"


def test_leaving_the_queue_cancels_once(curl: str, dev: DevServer) -> None:
    """A model with others ahead: comments tell of the place; Ctrl-C is one DELETE."""
    before = dev.cancels
    with output_of(asking(curl, dev, chat(SLOW, "Hi", stream=True))) as lines:
        comment = next(lines)
        words = dict(part.split("=") for part in comment.removeprefix(": horde ").split())
        assert set(words) == {"queue_position", "wait_time"}
        assert int(words["queue_position"]) > 0
        assert int(words["wait_time"]) > 0
    wait_for(lambda: not dev.unfinished())
    assert dev.cancels == before + 1


@pytest.mark.parametrize("stream", [False, True])
def test_no_worker(curl: str, dev: DevServer, stream: bool) -> None:
    """The how-to's verification of a known model without a worker: 503 at once, streamed or not."""
    text = run(asking(curl, dev, chat(OFFLINE, "Hi", stream=stream), "-i"), dev)
    head, body = text.split("\n\n", 1)
    assert head.split("\n")[0].split()[1] == "503"
    assert "x-should-retry: false" in head.lower()
    error = json.loads(body)["error"]
    assert error["code"] == "no_eligible_worker"
    assert "not served by any worker" in error["message"]


def test_refused_key(curl: str, dev: DevServer) -> None:
    """The how-to's verification of a key that the front refuses."""
    asked = chat(PLAIN, "Hi", logit_bias={"50256": -100})
    error = json.loads(run(asking(curl, dev, asked), dev))["error"]
    assert error["code"] == "UnsupportedChatParameter"
    assert error["param"] == "logit_bias"


@pytest.mark.parametrize(
    "header, status", [(f"Bearer {KEY}", "200"), (KEY, "401"), ("Bearer ", "401")]
)
def test_key_header(curl: str, dev: DevServer, header: str, status: str) -> None:
    """The how-to's verification of the key: 200, and 401 for a malformed header."""
    options = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Authorization: {header}"]
    assert run([curl, *options, f"{dev.front}/models"], dev) == status
