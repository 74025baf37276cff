"""What every answer has, whatever was asked: CORS, an id, the envelope, no key."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import trio

from adapters.stack import OFFLINE, PLAIN, QWEN, chat_body, running
from horde_adapters import log
from horde_adapters.asgi import send_answer
from horde_adapters.settings import Settings
from horde_simulator.call import Call

CHAT = "/v1/chat/completions"
VISION = "aphrodite/Qwen/Qwen2.5-VL-7B-Instruct"
KEY = "sk-a-secret-of-the-user"
PATHS = (
    "/",
    "/v1",
    "/v1/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/models",
    "/models/",
    "/v1/models",
    "/v1/models/",
    f"/v1/models/{QWEN}",
    f"/v1/models/{OFFLINE}",
    "/v1/models/a:b",
    "/chat/completions",
    "/v1/chat/completions",
    "/v1/chat/completions/",
    "/v1/completions",
    "/nonsense/%F0%9F%90%8B",
    "/%2e%2e/etc/passwd",
    "//v1/models",
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """Every line that the front logs in the test."""
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.extend(log.form_of(form).format(record) for form in ("console", "json"))

    handler, level = Keep(), log.LOGGER.level
    log.LOGGER.addHandler(handler)
    log.LOGGER.setLevel(logging.INFO)
    yield lines
    log.LOGGER.removeHandler(handler)
    log.LOGGER.setLevel(level)


def check(answer: httpx.Response, method: str) -> None:
    """What section 1 says of every answer."""
    headers = answer.headers
    assert headers["access-control-allow-origin"] == "*"
    assert headers.get_list("access-control-allow-origin") == ["*"]
    exposed = {name.strip().lower() for name in headers["access-control-expose-headers"].split(",")}
    assert {"retry-after", "x-should-retry", "x-request-id"} <= exposed
    assert {name for name in headers if name.startswith("x-ratelimit-")} <= exposed
    assert headers["x-request-id"]
    assert len(headers.get_list("x-request-id")) == 1
    if method == "HEAD":
        assert answer.content == b""
    elif answer.status_code >= 400 and "json" in headers["content-type"] and "error" in answer.text:
        error = answer.json()["error"]
        assert list(error) == ["message", "type", "param", "code", "metadata"]
        assert error["message"]
        assert isinstance(error["metadata"], dict)
    if answer.status_code == 405:
        allowed = headers["allow"].split(", ")
        assert "OPTIONS" in allowed
        assert method not in allowed


@pytest.mark.parametrize("playground", [False, True])
async def test_any_method_at_any_path(
    playground: bool, autojump_clock: trio.testing.MockClock, logged: list[str]
) -> None:
    """No status, path or method is without the headers, none shows the key, none is a 500."""
    ids: set[str] = set()
    async with running(settings=Settings(playground=playground)) as stack:
        for path in PATHS:
            for method in METHODS:
                answer = await stack.client.request(
                    method, f"http://front{path}", headers={"Authorization": f"Bearer {KEY}"}
                )
                check(answer, method)
                assert KEY not in str(answer.headers.raw) + answer.text
                assert answer.status_code < 500, (method, path)
                ids.add(answer.headers["x-request-id"])
                if method == "OPTIONS":
                    assert answer.status_code == 200
    assert len(ids) == len(PATHS) * len(METHODS)
    assert KEY not in "\n".join(logged)


@pytest.mark.parametrize("path", PATHS)
async def test_head_is_get_without_a_body(
    path: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Status and type are GET's; chat has neither."""
    async with running() as stack:
        got, head = [
            await stack.client.request(method, f"http://front{path}") for method in ("GET", "HEAD")
        ]
    assert head.status_code == got.status_code
    assert head.headers["content-type"] == got.headers["content-type"]
    if "metrics" not in path and got.status_code < 400:
        assert head.headers["content-length"] == got.headers["content-length"]


@pytest.mark.parametrize(
    "fault, body, status",
    [
        (None, b"{", 400),
        (None, b"x" * 70000, 413),
        ("submit.rate_limited", None, 429),
        ("submit.rate_limited_with_rc", None, 429),
        ("submit.maintenance", None, 400),
        ("submit.key_revoked", None, 401),
        ("submit.html_502", None, 502),
    ],
)
async def test_errors_of_every_origin(
    fault: str | None,
    body: bytes | None,
    status: int,
    autojump_clock: trio.testing.MockClock,
    logged: list[str],
) -> None:
    """The front's own refusals and the Horde's; the log's id is the answer's."""
    content = json.dumps(chat_body()).encode() if body is None else body
    async with running(settings=Settings(body_cap=65536)) as stack:
        if fault is not None:
            stack.fail(fault, times=2)
        answer = await stack.client.post(
            CHAT, content=content, headers={"Authorization": f"Bearer {KEY}"}
        )
    check(answer, "POST")
    assert answer.status_code == status
    assert any(answer.headers["x-request-id"] in line for line in logged)
    assert KEY not in "\n".join(logged) + answer.text
    if status == 429:
        assert int(answer.headers["retry-after"]) >= 1


async def test_a_fault_of_the_front_is_an_answer_like_any_other(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    """500 `internal_error` in the envelope; what went wrong isn't shown."""

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"with {KEY} in it")

    monkeypatch.setattr("horde_adapters.app.read_request", broken)
    monkeypatch.setattr("horde_adapters.app.model_list", broken)
    async with running() as stack:
        answers = [await stack.chat(), await stack.client.get("/v1/models")]
    for answer in answers:
        check(answer, "GET")
        assert answer.status_code == 500
        assert answer.json()["error"]["code"] == "internal_error"
        assert "x-should-retry" not in answer.headers, "nothing was submitted"
        assert KEY not in answer.text
    assert KEY not in "\n".join(logged)


async def test_a_horde_that_repeats_the_key_is_not_quoted(
    autojump_clock: trio.testing.MockClock, logged: list[str]
) -> None:
    """The key is never in an error, whoever wrote it; what else the Horde says is kept."""

    async def repeating(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/chat/async"):
            key = dict(scope["headers"])[b"apikey"].decode()
            told = {"message": f"No user has the key {key}.", "rc": "InvalidAPIKey"}
            await send_answer(send, 401, (), json.dumps(told).encode())
        else:
            await stack.simulated(scope, receive, send)

    async with running(horde=repeating) as stack:
        answer = await stack.client.post(
            CHAT, json=chat_body(), headers={"Authorization": f"Bearer {KEY}"}
        )
        anonymous = await stack.chat()
    assert answer.json()["error"]["message"] == "No user has the key ...."
    assert anonymous.json()["error"]["message"] == "No user has the key 0000000000."
    assert KEY not in "\n".join(logged)


async def test_a_preflight_on_any_path(autojump_clock: trio.testing.MockClock) -> None:
    """200; the requested headers by name, the methods, private networks, an age."""
    asked = "authorization, content-type, x-title, x-stainless-retry-count"
    headers = {
        "Origin": "null",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": asked,
        "Access-Control-Request-Private-Network": "true",
    }
    async with running() as stack:
        for path in PATHS:
            answer = await stack.client.options(f"http://front{path}", headers=headers)
            plain = await stack.client.options(f"http://front{path}")
            assert answer.status_code == plain.status_code == 200
            assert answer.headers["access-control-allow-headers"] == asked
            assert answer.headers["access-control-allow-methods"] == "GET, POST, OPTIONS"
            assert answer.headers["access-control-allow-private-network"] == "true"
            assert int(answer.headers["access-control-max-age"]) >= 60
            assert "authorization" in plain.headers["access-control-allow-headers"].lower()
            assert "access-control-allow-private-network" not in plain.headers


@pytest.mark.parametrize(
    "sent, status",
    [
        (b"NONSENSE\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", 431),
        (b"POST /v1/models HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
    ],
    ids=["no request", "no host", "long headers", "no length"],
)
async def test_what_is_no_http_is_told_so(
    sent: bytes, status: int, autojump_clock: trio.testing.MockClock
) -> None:
    """Even this answer can be read by a page; the connection is over with it."""
    async with running() as stack:
        link = await stack.network.connect("front")
        await link.send_all(sent)
        received = b""
        while piece := await link.receive_some():
            received += piece
        await link.aclose()
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    assert first.split()[1] == str(status)
    headers = [(name, text) for name, _, text in (line.lower().partition(": ") for line in lines)]
    check(httpx.Response(status, headers=headers, content=body), "GET")
    assert ("connection", "close") in headers
    assert json.loads(body)["error"]["code"] == "BadRequest"


@pytest.mark.parametrize(
    "path, model",
    [
        (f"/v1/models/{VISION}", VISION),
        (f"/models/{VISION}", VISION),
        (f"/v1/models/{VISION}/", VISION),
        (f"/models/{VISION.replace('/', '%2F')}", VISION),
        (f"/v1/models/{VISION.replace('/', '%2f')}", VISION),
        (f"/v1/models/{VISION.replace('/', '%2F')}/", VISION),
        (f"/v1/models/{VISION.replace('/', '%2F', 1)}?x=1", VISION),
        ("/v1/models/koboldcpp%2FLlama%2D3.2-3B-Instruct", PLAIN),
    ],
)
async def test_a_model_with_slashes_is_found_however_it_is_written(
    path: str, model: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Raw, encoded, mixed; with and without `/v1`; one slash at the end."""
    async with running() as stack:
        answer = await stack.client.get(f"http://front{path}")
    assert answer.status_code == 200
    assert answer.json()["id"] == model


@pytest.mark.parametrize("model", [f"{QWEN}:free", OFFLINE, "no/such", "a:b", QWEN.upper()])
async def test_a_model_that_is_not_served_has_no_card(
    model: str, autojump_clock: trio.testing.MockClock
) -> None:
    """404 `model_not_found`, for variants as well."""
    async with running() as stack:
        answer = await stack.client.get(f"http://front/v1/models/{model}")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "model_not_found"


@pytest.mark.parametrize("path", [CHAT, f"{CHAT}/", "/chat/completions", "/chat/completions/"])
async def test_chat_with_and_without_v1_and_a_slash(
    path: str, autojump_clock: trio.testing.MockClock
) -> None:
    """The most common mistake in a base URL is none."""
    async with running() as stack:
        answer = await stack.client.post(f"http://front{path}", json=chat_body())
    assert answer.status_code == 200


async def test_a_worker_that_has_just_come_has_a_card(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A cached "no" is never final, for a card as for a chat."""
    async with running() as stack:
        before = await stack.client.get(f"/v1/models/{OFFLINE}")
        profile = json.dumps({"name": "Newcomer", "models": [OFFLINE]}).encode()
        stack.world.handle(Call("POST", "/_sim/workers", body=profile))
        await trio.sleep(1)
        card = await stack.client.get(f"/v1/models/{OFFLINE}")
        chat = await stack.chat(model=OFFLINE)
    assert before.status_code == 404
    assert chat.status_code == 200
    assert card.status_code == 200
