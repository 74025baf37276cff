"""Routes, methods and CORS, over HTTP."""

import re

import httpx
import pytest
import trio

from adapters.stack import OFFLINE, QWEN, chat_body, running
from horde_adapters.asgi import Receive, Scope, Send, send_answer
from horde_adapters.routes import Route, find_route
from horde_core.errors import Refusal

VISION = "aphrodite/Qwen/Qwen2.5-VL-7B-Instruct"


@pytest.mark.parametrize(
    "method, path, route, model",
    [
        ("GET", "/", Route.ROOT, None),
        ("HEAD", "/", Route.ROOT, None),
        ("GET", "/healthz", Route.HEALTH, None),
        ("GET", "/healthz/", Route.HEALTH, None),
        ("GET", "/readyz", Route.READY, None),
        ("POST", "/v1/chat/completions", Route.CHAT, None),
        ("POST", "/v1/chat/completions/", Route.CHAT, None),
        ("POST", "/chat/completions", Route.CHAT, None),
        ("POST", "http://front/v1/chat/completions", Route.CHAT, None),
        ("GET", "/v1/models", Route.MODELS, None),
        ("GET", "/v1/models/", Route.MODELS, None),
        ("GET", "/models", Route.MODELS, None),
        ("HEAD", "/models/", Route.MODELS, None),
        ("GET", "/v1/models/a", Route.MODEL, "a"),
        ("GET", "/v1/models/a/b/c", Route.MODEL, "a/b/c"),
        ("GET", "/v1/models/a/b/", Route.MODEL, "a/b"),
        ("GET", "/models/a:free", Route.MODEL, "a:free"),
    ],
)
def test_found(method: str, path: str, route: Route, model: str | None) -> None:
    """With and without `/v1`, with and without one slash at the end."""
    assert find_route(method, path) == (route, model)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/v1",
        "/v1/",
        "/v1/healthz",
        "/v2/models",
        "/v1/v1/models",
        "/v1/completions",
        "//models",
        "/v1/chat/completions//",
        "/models//",
        "/v1/embeddings",
        "/nonsense",
        "/" + "x" * 5000,
    ],
)
def test_not_found(path: str) -> None:
    """Any other path is 404, and names the one that was meant."""
    with pytest.raises(Refusal) as refusal:
        find_route("GET", path)
    assert (refusal.value.status, refusal.value.code) == (404, "not_found")
    assert len(refusal.value.message) < 300


@pytest.mark.parametrize(
    "method, path, allowed",
    [
        ("GET", "/v1/chat/completions", b"POST, OPTIONS"),
        ("POST", "/v1/models", b"GET, HEAD, OPTIONS"),
        ("DELETE", "/v1/models/a", b"GET, HEAD, OPTIONS"),
        ("PUT", "/", b"GET, HEAD, OPTIONS"),
    ],
)
def test_method_not_allowed(method: str, path: str, allowed: bytes) -> None:
    """A known path with another method is 405 with `Allow`."""
    with pytest.raises(Refusal) as refusal:
        find_route(method, path)
    assert (refusal.value.status, refusal.value.code) == (405, "method_not_allowed")
    assert (b"allow", allowed) in refusal.value.headers


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", "/nonsense", 404),
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
        ("GET", "/v1/models/no/such", 404),
        ("GET", "/v1/models", 200),
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/", 200),
    ],
)
async def test_every_answer_is_readable_for_a_page(
    method: str, path: str, status: int, autojump_clock: trio.testing.MockClock
) -> None:
    """CORS headers and an id on all of them; errors in the envelope."""
    async with running() as stack:
        answer = await stack.client.request(method, path)
    assert answer.status_code == status
    assert answer.headers["access-control-allow-origin"] == "*"
    exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
    assert {"retry-after", "x-should-retry", "x-request-id"} <= set(exposed)
    assert answer.headers["x-request-id"]
    if status >= 400:
        assert set(answer.json()["error"]) == {"message", "type", "param", "code", "metadata"}


@pytest.mark.parametrize("path", ["/v1/models", "/healthz", "/", f"/v1/models/{QWEN}"])
async def test_head(path: str, autojump_clock: trio.testing.MockClock) -> None:
    """HEAD is GET without the body."""
    async with running() as stack:
        got = await stack.client.get(path)
        head = await stack.client.head(path)
    assert head.status_code == got.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == got.headers["content-length"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/models", "/nonsense"])
async def test_preflight(path: str, autojump_clock: trio.testing.MockClock) -> None:
    """On any path; the requested headers come back by name, as `*` leaves Authorization out."""
    asked = "authorization,content-type,x-stainless-os"
    async with running() as stack:
        answer = await stack.client.options(
            path,
            headers={
                "Origin": "https://page.example",
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": asked,
                "Access-Control-Request-Private-Network": "true",
            },
        )
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-headers"] == asked
    assert answer.headers["access-control-allow-methods"] == "GET, POST, OPTIONS"
    assert answer.headers["access-control-allow-private-network"] == "true"
    assert int(answer.headers["access-control-max-age"]) > 0


async def test_rate_limit_headers_are_exposed(autojump_clock: trio.testing.MockClock) -> None:
    """Those of the Horde that an error keeps are readable for a page as well."""
    limits = ((b"retry-after", b"7"), (b"x-ratelimit-limit", b"90"), (b"x-ratelimit-reset", b"1"))

    async def limiting(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/chat/async"):
            await send_answer(send, 429, limits, b'{"message": "90 per 1 minute"}')
        else:
            await stack.simulated(scope, receive, send)

    async with running(horde=limiting) as stack:
        answer = await stack.chat()
    exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
    assert answer.status_code == 429
    for name, value in limits:
        assert answer.headers[name.decode()] == value.decode()
        assert name.decode() in exposed


async def test_models(autojump_clock: trio.testing.MockClock) -> None:
    """Only what an online worker serves, most workers first; the key is checked in form."""
    async with running() as stack:
        answer = await stack.client.get("/models")
        bad = await stack.client.get("/v1/models", headers={"Authorization": "Basic x"})
    listed = [card["id"] for card in answer.json()["data"]]
    assert listed[0] == QWEN
    assert OFFLINE not in listed
    assert len(listed) == 5
    assert bad.status_code == 401


@pytest.mark.parametrize("written", [VISION, VISION.replace("/", "%2F"), f"{VISION}/"])
async def test_one_model(written: str, autojump_clock: trio.testing.MockClock) -> None:
    """Its id with raw or encoded slashes."""
    async with running() as stack:
        answer = await stack.client.get(httpx.URL(f"http://front/v1/models/{written}"))
    assert answer.json()["id"] == VISION
    assert answer.json()["architecture"]["input_modalities"] == ["text", "image"]


async def test_client_agent_and_key_reach_the_horde(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The Horde learns who asks: application, version, user agent; and only it learns the key."""
    seen: list[dict[bytes, bytes]] = []

    async def recording(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/chat/async"):
            seen.append(dict(scope["headers"]))
        await stack.simulated(scope, receive, send)

    async with running(horde=recording) as stack:
        await stack.client.post(
            "/v1/chat/completions",
            json=chat_body(),
            headers={
                "X-Title": "My: App",
                "User-Agent": "test/1",
                "Authorization": "bearer rich-key",
            },
        )
    assert seen[0][b"apikey"] == b"rich-key"
    agent = seen[0][b"client-agent"].decode()
    assert re.match(r"My +App:[^:]+:test/1 via", agent)
    assert agent.endswith(":test/1 via horde-oai-front")
