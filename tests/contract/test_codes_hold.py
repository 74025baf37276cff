"""Every code of the contract's table, met over HTTP: status, type and what is said of a retry."""

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import httpx
import pytest
import trio

from adapters.stack import OFFLINE, PLAIN, QWEN, SLOW, Stack, chat_body, events, running
from contract.test_verifications import ASKED, WEATHER
from horde_adapters.settings import Settings
from horde_core.errors import FRONT_CODES
from horde_core.timing import Timing

CHAT = "/v1/chat/completions"
BAD, API = "invalid_request_error", "api_error"
Meet = Callable[[Stack], Awaitable[httpx.Response]]


def chat(fault: str | None = None, faults: Any = None, **keys: Any) -> Meet:
    """Asks, after planning a fault."""

    async def meet(stack: Stack) -> httpx.Response:
        if fault is not None:
            stack.fail(fault, **(faults or {}))
        return await stack.chat(**keys)

    return meet


def call(method: str, path: str, **arguments: Any) -> Meet:
    """Asks for something else."""
    return lambda stack: stack.client.request(method, path, **arguments)


async def unreachable(stack: Stack) -> httpx.Response:
    stack.network.close("horde")
    return await stack.chat()


async def overloaded(stack: Stack) -> httpx.Response:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(stack.chat, model=SLOW))
        nursery.start_soon(partial(stack.chat, model=SLOW))
        await trio.sleep(1)
        answer = await stack.chat()
        assert (await stack.client.get("/v1/models")).status_code == 200, "chats alone are bounded"
        nursery.cancel_scope.cancel()
    return answer


async def draining(stack: Stack) -> httpx.Response:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(stack.chat, max_tokens=300))
        await trio.sleep(1)
        stack.stop_front.set()
        await trio.sleep(0.1)
        return await stack.chat()


async def drained(stack: Stack) -> httpx.Response:
    answers: list[httpx.Response] = []

    async def ask() -> None:
        answers.append(await stack.chat(model=SLOW))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await trio.sleep(1)
        stack.stop_front.set()
    return answers[0]


LOWERED = {"max_length": 64}
AWAY = {"Authorization": "Basic x"}
TOO_HOT = {"model": QWEN, "tools": [WEATHER], "messages": [ASKED], "response_format": None}

# code, and a word for how: what to do, status, type, x-should-retry false?, Retry-After?
MET: dict[tuple[str, str], tuple[Meet, int, str, bool, bool]] = {
    ("InvalidAuthorizationHeader", "chat"): (
        call("POST", CHAT, json=chat_body(), headers=AWAY),
        401,
        "authentication_error",
        False,
        False,
    ),
    ("InvalidAuthorizationHeader", "models"): (
        call("GET", "/v1/models", headers=AWAY),
        401,
        "authentication_error",
        False,
        False,
    ),
    ("BadRequest", ""): (chat(messages=[]), 400, BAD, False, False),
    ("UnsupportedChatParameter", ""): (chat(top_k=1), 400, BAD, False, False),
    ("ChatRequestConflict", ""): (chat(models=[PLAIN]), 400, BAD, False, False),
    ("request_too_large", ""): (
        call("POST", CHAT, content=b" " * 70_000),
        413,
        BAD,
        False,
        False,
    ),
    ("unsupported_encoding", ""): (
        call("POST", CHAT, content=b"x", headers={"Content-Encoding": "zstd"}),
        415,
        BAD,
        False,
        False,
    ),
    ("not_found", ""): (call("POST", "/v1/completions"), 404, BAD, False, False),
    ("method_not_allowed", ""): (call("DELETE", "/v1/models"), 405, BAD, False, False),
    ("model_not_found", "chat"): (chat(model="no/such"), 404, BAD, False, False),
    ("model_not_found", "card"): (call("GET", "/v1/models/no/such"), 404, BAD, False, False),
    ("max_kudos_exceeded", ""): (chat(horde={"max_kudos": 1}), 400, BAD, False, False),
    ("no_eligible_worker", "offline"): (chat(model=OFFLINE), 503, API, True, False),
    ("no_eligible_worker", "restricted"): (
        chat(horde={"trusted_workers": True}),
        503,
        API,
        True,
        False,
    ),
    ("no_worker_supports_features", ""): (
        chat(tools=[WEATHER], messages=[ASKED]),
        404,
        BAD,
        True,
        False,
    ),
    ("no_worker_supports_limit", ""): (
        chat("declarations_change", {"options": LOWERED}, max_tokens=200),
        400,
        BAD,
        True,
        False,
    ),
    ("ChatRequestFaulted", ""): (chat("faults_job", {"times": 3}), 502, API, True, False),
    ("horde_unreachable", ""): (unreachable, 503, API, False, True),
    ("horde_submit_unknown", ""): (chat("submit.cut_after", {"times": 2}), 502, API, True, False),
    ("horde_status_lost", ""): (chat("status.html_502", {"times": None}), 502, API, True, False),
    ("horde_timeout", ""): (chat("never_pops", {"times": None}), 504, API, True, False),
    ("overloaded", ""): (overloaded, 503, API, False, True),
    ("draining", "before the submit"): (draining, 503, API, False, True),
    ("draining", "after it"): (drained, 503, API, True, True),
    ("RequestNotFound", ""): (chat("expiry"), 404, BAD, True, False),
    ("horde_error", "500"): (chat("submit.html_502", {"times": 2}), 502, API, True, False),
    ("rate_limit_exceeded", ""): (
        chat("submit.rate_limited"),
        429,
        "rate_limit_error",
        False,
        True,
    ),
    ("TooManyPrompts", "the Horde's"): (
        chat("submit.rate_limited_with_rc"),
        429,
        "rate_limit_error",
        False,
        True,
    ),
    ("InvalidAPIKey", "the Horde's"): (
        chat("submit.key_revoked"),
        401,
        "authentication_error",
        False,
        False,
    ),
    ("MaintenanceMode", "the Horde's"): (chat("submit.maintenance"), 400, BAD, False, False),
}
# What only another test can reach: a full queue, a stream, a fault of ours.
ELSEWHERE = {"queue_unavailable", "ChatStreamDiverged", "internal_error"}


@pytest.mark.parametrize("code, how", MET, ids=" ".join)
async def test_every_code(code: str, how: str, autojump_clock: trio.testing.MockClock) -> None:
    """In the envelope, nothing left with the Horde, and the next request is served."""
    meet, status, type_, stays, waits = MET[code, how]
    settings = Settings(body_cap=65536, most_requests=2)
    async with running(settings=settings) as stack:
        answer = await meet(stack)
        await trio.sleep(20)
        held = set(stack.states()) - {"finished", "cancelled", "faulted", "expired"}
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (status, code, type_)
    assert list(error) == ["message", "type", "param", "code", "metadata"]
    assert isinstance(error["metadata"], dict)
    assert ("x-should-retry" in answer.headers) == stays
    assert ("retry-after" in answer.headers) == waits
    if stays:
        assert answer.headers["x-should-retry"] == "false"
    if waits:
        assert 1 <= int(answer.headers["retry-after"]) <= 60
    if "request_id" in error["metadata"]:
        assert answer.headers["x-request-id"] == error["metadata"]["request_id"]
    if code != "horde_submit_unknown":
        assert held == set()


def test_no_code_is_left_out() -> None:
    """The table above has them all."""
    assert set(FRONT_CODES) - ELSEWHERE <= {code for code, _ in MET}
    assert set(FRONT_CODES) >= ELSEWHERE


@pytest.mark.parametrize(
    "fault, faults, code",
    [
        ("faults_job", {"times": 3}, "ChatRequestFaulted"),
        ("diverges", {"times": 1}, "ChatStreamDiverged"),
        ("restarts_with_other_text", {"times": 1, "after": 5}, "ChatStreamDiverged"),
        ("expiry", {"times": 1, "after": 2}, "RequestNotFound"),
        ("never_pops", {"times": None}, "horde_timeout"),
    ],
)
async def test_a_stream_that_fails_after_its_headers(
    fault: str, faults: dict[str, Any], code: str, autojump_clock: trio.testing.MockClock
) -> None:
    """200, one event without choices, then `[DONE]`; the connection serves the next request."""
    async with running() as stack:
        stack.fail(fault, **faults)
        long = [{"role": "user", "content": "Write 200 words."}]
        answer = await stack.chat(stream=True, messages=long, max_tokens=300)
        assert stack.submits == 1, "never tried again on the same stream"
    *before, last, done = events(answer.text)
    assert answer.status_code == 200
    assert answer.headers["x-should-retry"] == "false"
    assert set(last) == {"error"}
    assert last["error"]["code"] == code
    assert last["error"]["metadata"]["request_id"] == answer.headers["x-request-id"]
    assert done == "[DONE]"
    assert all("error" not in event for event in before if isinstance(event, dict))
    finished = [e for e in before if isinstance(e, dict) and e["choices"][0]["finish_reason"]]
    assert finished == []


@pytest.mark.parametrize(
    "fault, says",
    [
        ("faults_job", "after its worker reported a fault (ChatWorkerFault): "),
        ("submits_nonconformant", "after refusing a worker's reply (ChatSubmitNonconformant): "),
    ],
)
async def test_a_faulted_request_tells_the_last_reason(
    fault: str, says: str, autojump_clock: trio.testing.MockClock
) -> None:
    """The how-to's two examples."""
    async with running() as stack:
        stack.fail(fault, times=3)
        answer = await stack.chat(model=QWEN, response_format={"type": "json_object"})
    error = answer.json()["error"]
    identity = error["metadata"]["request_id"]
    assert error["message"].startswith(f"The AI Horde reports request {identity} as faulted {says}")
    rc = says.partition("(")[2].partition(")")[0]
    assert error == {
        "message": error["message"],
        "type": "api_error",
        "param": None,
        "code": "ChatRequestFaulted",
        "metadata": {"request_id": identity, "rc": rc},
    }


async def test_readyz_follows_the_horde_and_healthz_does_not(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Ready by a young read; not by an old one; alive throughout, without a call."""
    async with running(settings=Settings(ready_age=60.0)) as stack:
        assert (await stack.client.get("/healthz")).status_code == 200
        assert stack.calls("GET", "/") == [], "health asks the Horde nothing"
        assert (await stack.client.get("/readyz")).status_code == 200
        stack.network.close("horde")
        stack.fail("any.html_502", times=None)
        await trio.sleep(30)
        assert (await stack.client.get("/readyz")).status_code == 200
        await trio.sleep(40)
        late = await stack.client.get("/readyz")
        assert (await stack.client.get("/healthz")).status_code == 200
    assert late.status_code == 503
    assert late.json()["reason"]


@pytest.mark.parametrize(
    "sent, seconds",
    [(b"", 20.0), (b'{"model"', 20.0)],
)
async def test_a_body_that_stops(
    sent: bytes, seconds: float, autojump_clock: trio.testing.MockClock
) -> None:
    """400 in the envelope after the longest silence; nothing was asked of the Horde."""
    async with running() as stack:
        link = await stack.network.connect("front")
        began = trio.current_time()
        head = f"POST {CHAT} HTTP/1.1\r\nHost: front\r\nContent-Length: 500\r\n\r\n"
        await link.send_all(head.encode() + sent)
        answer = bytes(await link.receive_some())
        took = trio.current_time() - began
        submits = stack.submits
        await link.aclose()
    first, _, body = answer.partition(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 400 ")
    assert b"access-control-allow-origin: *" in first.lower()
    assert json.loads(body)["error"]["code"] == "BadRequest"
    assert took == seconds
    assert submits == 0


async def test_a_body_that_trickles(autojump_clock: trio.testing.MockClock) -> None:
    """Never silent for long, and given up all the same when its whole time is over."""
    async with running(settings=Settings(body_time=120.0)) as stack:
        link = await stack.network.connect("front")
        began = trio.current_time()
        head = f"POST {CHAT} HTTP/1.1\r\nHost: front\r\nContent-Length: 500\r\n\r\n"
        await link.send_all(head.encode())
        answers: list[bytes] = []

        async def listen() -> None:
            answers.append(bytes(await link.receive_some()))
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            while True:
                await link.send_all(b" ")
                await trio.sleep(10)
        took = trio.current_time() - began
        await link.aclose()
    assert answers[0].startswith(b"HTTP/1.1 400 ")
    assert took == 120


@pytest.mark.parametrize("stream, budget", [(True, 600.0), (False, 280.0)])
async def test_the_grace_and_the_budgets(
    stream: bool, budget: float, autojump_clock: trio.testing.MockClock
) -> None:
    """15 s for a worker that may come back; then the budget from the arrival."""
    async with running(settings=Settings(timing=Timing())) as stack:
        stack.fail("never_pops", times=None)
        began = trio.current_time()
        await stack.chat(stream=stream)
        assert trio.current_time() - began == pytest.approx(budget, abs=1)
        await trio.sleep(1)  # a stream is told at once, beside the cancel
        assert (stack.submits, stack.cancels) == (1, 1)
        assert stack.verdict()["ok"]
