"""A small OpenAI-compatible backend on a real socket, which does what a test tells it to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORDS = ("The", " sea", " is", " wide.")
USAGE = {"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11}


class Backend(ThreadingHTTPServer):
    """Answers every chat with `WORDS`; `requests` has what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.failures = 0
        """How many of the next requests get a 500."""
        self.cuts = 0
        """How many of the next streams end in the middle."""
        self.calls: list[dict[str, Any]] = []
        """Tool calls to answer with, in place of words."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Backend

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        backend = self.server
        backend.requests.append(body)
        if backend.failures:
            backend.failures -= 1
            self._send(500, "application/json", b'{"error": {"message": "out of memory"}}')
        elif body.get("stream"):
            self._send(200, "text/event-stream", "".join(self._events()).encode())
        else:
            self._send(200, "application/json", json.dumps(self._whole()).encode())

    def _message(self) -> dict[str, Any]:
        if self.server.calls:
            return {"role": "assistant", "content": None, "tool_calls": self.server.calls}
        return {"role": "assistant", "content": "".join(WORDS)}

    def _whole(self) -> dict[str, Any]:
        finish = "tool_calls" if self.server.calls else "stop"
        choice = {"index": 0, "message": self._message(), "finish_reason": finish}
        return {"choices": [choice], "usage": USAGE}

    def _events(self) -> Iterator[str]:
        for word in WORDS:
            yield _event({"choices": [{"index": 0, "delta": {"content": word}}]})
        if self.server.cuts:
            self.server.cuts -= 1
            return
        yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        yield _event({"choices": [], "usage": USAGE})
        yield "data: [DONE]\n\n"

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Nothing on stderr."""


def _event(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


@contextmanager
def running_backend() -> Iterator[Backend]:
    with Backend() as backend:
        thread = threading.Thread(target=backend.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield backend
        finally:
            backend.shutdown()
            thread.join()
