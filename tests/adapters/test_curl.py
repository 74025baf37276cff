"""curl over real sockets, as the README and the tutorial use it."""

import json
import shutil
import subprocess
from typing import Any

import pytest

from adapters.stack import PLAIN, QWEN, events, text_of
from horde_adapters.background import FrontServer

ASKED: Any = [{"role": "user", "content": "Say something short."}]


def curl(*arguments: str) -> str:
    """Runs curl and returns what it prints."""
    assert shutil.which("curl"), "curl is needed"
    finished = subprocess.run(
        ["curl", "-sS", "-N", *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return finished.stdout


def test_curl_stream(horde_front: FrontServer) -> None:
    """The README's first request."""
    body = json.dumps({"model": QWEN, "stream": True, "messages": ASKED, "max_tokens": 48})
    out = curl(
        f"{horde_front.base_url}/chat/completions",
        "-H",
        "Content-Type: application/json",
        "-d",
        body,
    )
    found = events(out)
    assert found[0].startswith(": horde queue_position=")
    assert text_of(found, "reasoning_content")
    assert found[-1] == "[DONE]"


def test_curl_whole(horde_front: FrontServer) -> None:
    """The same without a stream."""
    body = json.dumps({"model": PLAIN, "messages": ASKED, "max_tokens": 16})
    reply = json.loads(curl(f"{horde_front.base_url}/chat/completions", "-d", body))
    assert reply["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    "header, status", [("Bearer rich-key", "200"), ("Basic x", "401"), ("Bearer ", "401")]
)
def test_curl_status_of_models(header: str, status: str, horde_front: FrontServer) -> None:
    """The check that the tutorial gives its reader."""
    out = curl(
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "-H",
        f"Authorization: {header}",
        f"{horde_front.base_url}/models",
    )
    assert out == status
