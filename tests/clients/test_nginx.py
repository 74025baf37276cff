"""nginx in front, its buffering at the default: a stream arrives as it is written all the same."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from clients.contract import check_reply, check_stream
from clients.dev_server import KEY, PLAIN, QWEN, SLOW, DevServer, wait_for
from clients.nginx import proxying
from clients.programs import program


@pytest.fixture(scope="module")
def client(dev: DevServer, tmp_path_factory: Any) -> Iterator[httpx.Client]:
    """A client of the nginx before the front."""
    nginx = program("nginx", "nginx-light")
    home = tmp_path_factory.mktemp("nginx")
    with (
        proxying(nginx, dev.front.removesuffix("/v1"), home) as url,
        httpx.Client(
            base_url=f"{url}/v1",
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=60.0,
            trust_env=False,
        ) as client,
    ):
        yield client


def chat(model: str, content: str, **keys: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": content}], **keys}


def test_the_first_bytes_arrive_while_the_job_waits(client: httpx.Client, dev: DevServer) -> None:
    """A stream's first comment, 40 bytes, is not kept until a buffer is full or the job's end."""
    asked = chat(SLOW, "Hi", stream=True)
    with client.stream("POST", "/chat/completions", json=asked) as response:
        assert response.headers["server"].startswith("nginx")
        lines = response.iter_lines()
        assert next(lines).startswith(": horde queue_position=")
        assert [one["state"] for one in dev.unfinished()] == ["waiting"]
    wait_for(lambda: not dev.unfinished())


def test_words_arrive_while_the_model_writes(client: httpx.Client, dev: DevServer) -> None:
    """The first words are here while a worker is still at the job; in the end all of them are."""
    asked = chat(PLAIN, "Write 200 words.", stream=True)
    chunks: list[Any] = []
    states: list[Any] = []
    with client.stream("POST", "/chat/completions", json=asked) as response:
        for line in response.iter_lines():
            if not line.startswith("data: {"):
                continue
            chunks.append(json.loads(line.removeprefix("data: ")))
            if "content" in chunks[-1]["choices"][0]["delta"] and not states:
                states = [one["state"] for one in dev.unfinished()]
    assert states == ["processing"]
    assert len(check_stream(chunks, PLAIN, usage=False)["content"].split()) == 200


def test_leaving_through_nginx_cancels_once(client: httpx.Client, dev: DevServer) -> None:
    """nginx closes its own connection when the client leaves: one DELETE."""
    before = dev.cancels
    asked = chat(PLAIN, "Write 200 words.", stream=True)
    with client.stream("POST", "/chat/completions", json=asked) as response:
        next(line for line in response.iter_lines() if '"content"' in line)
    wait_for(lambda: not dev.unfinished())
    assert dev.cancels == before + 1


def test_whole_replies_over_kept_connections(client: httpx.Client) -> None:
    """A whole reply, and an error whose headers nginx passes on."""
    response = client.post("/chat/completions", json=chat(QWEN, "What is 17 × 4?"))
    assert check_reply(response.json(), QWEN)["message"]["content"] == "17 × 4 = 68."
    refused = client.post("/chat/completions", json=chat(QWEN, "Hi", min_p=0.1))
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "min_p"
    assert refused.headers["access-control-allow-origin"] == "*"
