"""Bad input over HTTP: each the contract's envelope and code, and nothing queued."""

import gzip
import json
from typing import Any

import httpx
import pytest
import trio

from adapters.stack import OFFLINE, PLAIN, Stack, chat_body, running
from horde_adapters.settings import Settings

CHAT = "/v1/chat/completions"


def request(content: bytes | None = None, headers: Any = None, **keys: Any) -> dict[str, Any]:
    """The arguments of one POST: a usual body changed by keys, or other bytes."""
    body = json.dumps(chat_body(**keys)).encode() if content is None else content
    return {"content": body, "headers": headers or {}}


# name: the request, then status, code and param of its refusal
CASES: dict[str, tuple[dict[str, Any], int, str, str | None]] = {
    "no JSON": (request(b"{nonsense"), 400, "BadRequest", None),
    "empty body": (request(b""), 400, "BadRequest", None),
    "not an object": (request(b"[1]"), 400, "BadRequest", None),
    "invalid UTF-8": (request(b'{"model": "\xff"}'), 400, "BadRequest", None),
    "key twice": (request(b'{"model": "a", "model": "b"}'), 400, "BadRequest", None),
    "NaN": (request(b'{"model": NaN}'), 400, "BadRequest", None),
    "nested": (request(b"[" * 4000), 400, "BadRequest", None),
    "model missing": (request(b'{"messages": []}'), 400, "BadRequest", "model"),
    "wrong type": (request(max_tokens="17"), 400, "BadRequest", "max_tokens"),
    "boolean": (request(temperature=True), 400, "BadRequest", "temperature"),
    "unknown key": (request(rep_pen=1.1), 400, "UnsupportedChatParameter", "rep_pen"),
    "unserved key": (
        request(logit_bias={"50256": -100}),
        400,
        "UnsupportedChatParameter",
        "logit_bias",
    ),
    "out of range": (request(temperature=2.5), 400, "UnsupportedChatParameter", "temperature"),
    "conflict": (
        request(max_completion_tokens=20, max_tokens=30),
        400,
        "ChatRequestConflict",
        "max_tokens",
    ),
    "unknown model": (request(model="no/such"), 404, "model_not_found", "model"),
    "variant": (request(model=f"{PLAIN}:free"), 404, "model_not_found", "model"),
    "offline model": (request(model=OFFLINE), 503, "no_eligible_worker", None),
    "basic": (
        request(headers={"Authorization": "Basic abc"}),
        401,
        "InvalidAuthorizationHeader",
        None,
    ),
    "no key": (
        request(headers={"Authorization": "Bearer"}),
        401,
        "InvalidAuthorizationHeader",
        None,
    ),
    "header twice": (
        request(headers=[("Authorization", "Bearer a"), ("Authorization", "Bearer b")]),
        401,
        "InvalidAuthorizationHeader",
        None,
    ),
    "unknown encoding": (
        request(headers={"Content-Encoding": "br"}),
        415,
        "unsupported_encoding",
        None,
    ),
    "no gzip": (
        request(headers={"Content-Encoding": "gzip"}),
        415,
        "unsupported_encoding",
        None,
    ),
    "too large": (request(b" " * 5000), 413, "request_too_large", None),
    "bomb": (
        request(gzip.compress(b" " * 1_000_000), {"Content-Encoding": "gzip"}),
        413,
        "request_too_large",
        None,
    ),
}


async def post(stack: Stack, arguments: dict[str, Any]) -> httpx.Response:
    """Posts a chat request."""
    return await stack.client.post(CHAT, **arguments)


@pytest.mark.parametrize("name", CASES)
async def test_refusal(name: str, autojump_clock: trio.testing.MockClock) -> None:
    """The envelope, its code and param, the headers of every answer; no submit, and it's over."""
    arguments, status, code, param = CASES[name]
    async with running(settings=Settings(body_cap=4096)) as stack:
        answer = await post(stack, arguments)
        again = await post(stack, request())
        submits = stack.submits
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    if param is not None:
        assert error["param"] == param
    assert set(error) == {"message", "type", "param", "code", "metadata"}
    assert isinstance(error["metadata"], dict)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["x-request-id"]
    assert again.status_code == 200, "one client's bad request changes nothing for the next"
    assert submits == 1


async def test_gzip_body_is_read(autojump_clock: trio.testing.MockClock) -> None:
    """A compressed body is a body."""
    body = gzip.compress(json.dumps(chat_body()).encode())
    async with running() as stack:
        answer = await stack.client.post(CHAT, content=body, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 200


async def test_horde_that_is_down(autojump_clock: trio.testing.MockClock) -> None:
    """503 with Retry-After and no word against a retry: nothing was queued."""
    async with running() as stack:
        stack.network.close("horde")
        answer = await stack.chat()
        models = await stack.client.get("/v1/models")
        ready = await stack.client.get("/readyz")
        health = await stack.client.get("/healthz")
    for refused in (answer, models):
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "horde_unreachable"
        assert int(refused.headers["retry-after"]) >= 1
        assert "x-should-retry" not in refused.headers
    assert ready.status_code == 503
    assert health.status_code == 200


async def test_slow_body(autojump_clock: trio.testing.MockClock) -> None:
    """A body that stops arriving is given up, and the client is told."""
    async with running(settings=Settings(body_pause=20.0)) as stack:
        began = trio.current_time()
        link = await stack.network.connect("front")
        await link.send_all(
            b"POST %s HTTP/1.1\r\nHost: front\r\nContent-Length: 50\r\n\r\n{" % CHAT.encode()
        )
        answer = await link.receive_some()
        took = trio.current_time() - began
        await link.aclose()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert took == 20


async def test_slow_headers(autojump_clock: trio.testing.MockClock) -> None:
    """A connection whose headers don't end is closed after the limit, with nothing said."""
    async with running() as stack:
        link = await stack.network.connect("front")
        began = trio.current_time()
        await link.send_all(b"GET /healthz HTTP/1.1\r\nHos")
        assert await link.receive_some() == b""
        took = trio.current_time() - began
        await link.aclose()
    assert took == 20


async def test_idle_connection(autojump_clock: trio.testing.MockClock) -> None:
    """A connection without a request is closed after the limit."""
    async with running() as stack:
        link = await stack.network.connect("front")
        began = trio.current_time()
        assert await link.receive_some() == b""
        took = trio.current_time() - began
        await link.aclose()
    assert took == 65
