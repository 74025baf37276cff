"""The client's address on its way through nginx and a front to the Horde."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from deployment.rig import MODEL, NGINX, SERVICE, two_fronts

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx isn't installed")

WORKER = {
    "id": "w",
    "name": "w",
    "type": "text",
    "online": True,
    "models": [MODEL],
    "threads": 1,
    "max_length": 512,
    "max_context_length": 4096,
    "chat": {"features": [], "guarantees": [], "limits": {}},
}
LISTS: dict[str, Any] = {
    "/api/v2/workers": [WORKER],
    "/api/v2/status/models": [{"name": MODEL, "count": 1, "workers": 1, "type": "text"}],
}
REFUSAL = {"message": "not today", "rc": "MaintenanceMode"}


@contextmanager
def horde() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A Horde that refuses every job, and the headers of each submit."""
    submits: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, LISTS[self.path.partition("?")[0]])

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            submits.append({name.lower(): value for name, value in self.headers.items()})
            self._answer(400, REFUSAL)

        def _answer(self, status: int, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", submits
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("trusted, seen", [("127.0.0.1", "127.0.0.77"), ("", "127.0.0.1")])
def test_nginx_tells_the_address_and_a_client_can_not(
    trusted: str, seen: str, tmp_path: Path
) -> None:
    """What a client says in either header is passed over; an untrusted nginx counts as a client."""
    forged = {"X-Forwarded-For": "6.6.6.6", "Forwarded": "for=6.6.6.6", "Proxied-For": "6.6.6.6"}
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
    here = httpx.HTTPTransport(local_address="127.0.0.77")
    arguments = ("--trusted-proxies", trusted)
    with (
        horde() as (url, submits),
        two_fronts(url, tmp_path, *arguments) as (_, nginx),
        httpx.Client(transport=here) as client,
    ):
        answer = client.post(f"{nginx.url}/v1/chat/completions", json=body, headers=forged)
        assert answer.json()["error"]["code"] == "MaintenanceMode"
        metrics = client.get(f"{nginx.url}/metrics")
    assert [submit["proxied-for"] for submit in submits] == [seen]
    assert submits[0]["proxy-authorization"] == SERVICE
    assert metrics.status_code == 404, "the fronts' figures are not for the world"
