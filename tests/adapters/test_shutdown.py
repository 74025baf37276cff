"""The end of the process with clients in every state: all are told, and every job is cancelled."""

import time
from functools import partial
from typing import Any

import httpx
import pytest
import trio

from adapters.raw import connect, post, read_until, submits, wait_for
from adapters.stack import PLAIN, SLOW, Stack, chat_body, events, running
from horde_adapters.background import FrontServer, SimulatedHordeServer
from horde_adapters.settings import Limits, Settings


async def ask(stack: Stack, into: list[httpx.Response], **keys: Any) -> None:
    """Keeps the answer to a chat request."""
    into.append(await stack.chat(**keys))


async def test_open_requests_get_the_grace(autojump_clock: trio.testing.MockClock) -> None:
    """A stream that ends within the grace ends well; late comers are told to come back."""
    answers: list[httpx.Response] = []
    async with running() as stack:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(ask, stack, answers, stream=True, max_tokens=300))
            await trio.sleep(2)
            began = trio.current_time()
            stack.stop_front.set()
            await trio.sleep(0.1)
            late = await stack.chat()
            ready = await stack.client.get("/readyz")
            health = await stack.client.get("/healthz")
        took = trio.current_time() - began
    assert late.status_code == 503
    assert late.json()["error"]["code"] == "draining"
    assert int(late.headers["retry-after"]) >= 1
    assert "x-should-retry" not in late.headers
    assert (ready.status_code, ready.json()["reason"]) == (503, "draining")
    assert health.status_code == 200
    found = events(answers[0].text)
    assert found[-1] == "[DONE]"
    assert found[-2]["choices"][0]["finish_reason"]
    assert took < 20
    assert stack.cancels == 0


@pytest.mark.parametrize("stream", [True, False])
async def test_after_the_grace_each_is_told_and_cancelled(
    stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """A job that needs longer is deleted, and its client gets `draining` with no retry."""
    answers: list[httpx.Response] = []
    async with running() as stack, trio.open_nursery() as nursery:
        nursery.start_soon(partial(ask, stack, answers, model=SLOW, stream=stream))
        nursery.start_soon(partial(ask, stack, answers, model=SLOW, stream=stream))
        await trio.sleep(3)
        began = trio.current_time()
        stack.stop_front.set()
    took = trio.current_time() - began
    assert 20 <= took <= 21
    assert stack.cancels == 2
    assert stack.verdict() == {"ok": True, "findings": []}
    for answer in answers:
        if stream:
            found = events(answer.text)
            assert found[-2]["error"]["code"] == "draining"
            assert found[-1] == "[DONE]"
        else:
            assert answer.status_code == 503
            assert answer.json()["error"]["code"] == "draining"
            assert answer.headers["x-should-retry"] == "false"


async def test_nothing_open_ends_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """An idle kept connection doesn't hold the process up."""
    async with running() as stack:
        await stack.client.get("/healthz")
        began = trio.current_time()
    assert trio.current_time() - began < 1


def test_stalled_reader_does_not_hold_the_process(simulated_horde: SimulatedHordeServer) -> None:
    """Over real sockets: a client that reads nothing, an idle one, a queued and a live one."""
    settings, limits = Settings(grace=0.5), Limits(stall_time=600.0, send_buffer=4096)
    with FrontServer(simulated_horde.url, settings=settings, limits=limits) as front:
        stalled, idle, queued, live = (connect(front.base_url) for _ in range(4))
        stalled.sendall(post(model=PLAIN, max_tokens=1024, n=20, stream=True))
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: front\r\n\r\n")
        read_until(idle, b'"ok"')
        queued.sendall(post(model=SLOW, stream=True))
        live.sendall(post(model="koboldcpp/Qwen3-8B", max_tokens=1024, stream=True))
        read_until(live, b'"reasoning_content"')
        wait_for(lambda: submits(simulated_horde) == 3)
        began = time.monotonic()
    took = time.monotonic() - began
    endings = [read_until(connection, b"data: [DONE]\n\n") for connection in (queued, live)]
    assert all(b'"code":"draining"' in ending for ending in endings)
    assert idle.recv(10) == b""
    assert simulated_horde.verdict()["ok"]
    assert took < 5, "the grace, a second, and what a busy machine adds"
    for connection in (stalled, idle, queued, live):
        connection.close()


async def test_server_that_cancels_its_requests(autojump_clock: trio.testing.MockClock) -> None:
    """When the server cancels the request's own task, the job is deleted all the same."""
    async with running() as stack:
        with trio.move_on_after(2) as scope:
            await stack.front(
                {
                    "type": "http",
                    "http_version": "1.1",
                    "method": "POST",
                    "path": "/v1/chat/completions",
                    "query_string": b"",
                    "headers": [],
                },
                body_of(chat_body(stream=True, max_tokens=1024)),
                nowhere,
            )
    assert scope.cancelled_caught
    assert stack.cancels == 1


def body_of(body: dict[str, Any]) -> Any:
    """An ASGI receive that gives a body and then waits for ever."""
    messages = [
        {"type": "http.request", "body": httpx.Request("POST", "http://x", json=body).read()}
    ]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await trio.sleep_forever()
        raise AssertionError

    return receive


async def nowhere(message: dict[str, Any]) -> None:
    """An ASGI send that takes everything."""
    await trio.lowlevel.checkpoint()
