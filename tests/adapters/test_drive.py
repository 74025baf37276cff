"""Driving an exchange: faults of the front itself, readers that hold it up, secrets in the log."""

import io
import json
import sys
from typing import Any

import httpx
import pytest
import trio

from adapters.stack import SLOW, Stack, chat_body, events, running
from horde_adapters import log
from horde_adapters.drive import LONGEST_SEND
from horde_adapters.horde import HordeClient
from horde_core import events as core_events
from horde_core.exchange import Exchange

SECRET = "my secret prompt"
KEY = "my-secret-key"


class Client:
    """An ASGI client of the front, whose sends can be held up for ever."""

    def __init__(self, stack: Stack, *, holds_up_after: int = 1000, **keys: Any) -> None:
        self._stack = stack
        self._holds_up_after = holds_up_after
        self._content = httpx.Request("POST", "http://front", json=chat_body(**keys)).read()
        self.sent: list[dict[str, Any]] = []
        self.hung_up = False

    async def run(self) -> None:
        """Asks, and takes the answer as far as it does."""
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "path": "/v1/chat/completions",
            "query_string": b"",
            "headers": [],
            "client": ("198.51.100.1", 5),
            "state": {"connection": self},
        }
        await self._stack.front(scope, self._receive, self._send)

    def hold(self) -> None:
        """What the server's connection offers, to send several things as one."""

    async def release(self) -> None:
        """The other half of it."""
        await trio.lowlevel.checkpoint()

    async def break_off(self) -> None:
        """What the server's connection offers, to end it."""
        self.hung_up = True
        await trio.lowlevel.checkpoint()

    async def _receive(self) -> dict[str, Any]:
        await trio.lowlevel.checkpoint()
        if self._content:
            content, self._content = self._content, b""
            return {"type": "http.request", "body": content}
        await trio.sleep_forever()
        raise AssertionError

    async def _send(self, message: dict[str, Any]) -> None:
        await trio.lowlevel.checkpoint()
        if len(self.sent) >= self._holds_up_after:
            await trio.sleep_forever()
        self.sent.append(message)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the exchange fail at an event of a kind, from its n-th on."""

    def plan(kind: type, after: int) -> None:
        handle = Exchange.handle
        seen = 0

        def failing(self: Exchange, event: Any, now: float) -> Any:
            nonlocal seen
            if isinstance(event, kind):
                seen += 1
                if seen > after:
                    raise RuntimeError(f"a fault that quotes {SECRET}")
            return handle(self, event, now)

        monkeypatch.setattr(Exchange, "handle", failing)

    return plan


@pytest.mark.parametrize(
    "kind, after, stream, retry, jobs",
    [
        (core_events.Arrived, 0, False, True, 0),
        (core_events.PoolRead, 0, True, True, 0),
        (core_events.SubmitAnswered, 0, True, False, 1),
        (core_events.StatusAnswered, 0, True, False, 1),
        (core_events.StatusAnswered, 1, False, False, 1),
        (core_events.TimePassed, 0, False, False, 1),
    ],
)
async def test_fault_before_the_first_byte(
    kind: type,
    after: int,
    stream: bool,
    retry: bool,
    jobs: int,
    faulty: Any,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A 500 in the envelope; a job that may exist is cancelled, and then no retry is safe."""
    faulty(kind, after)
    async with running() as stack:
        answer = await stack.chat(stream=stream, max_tokens=300)
        again = await stack.client.get("/v1/models")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal_error"
    assert ("x-should-retry" not in answer.headers) is retry
    assert answer.headers["access-control-allow-origin"] == "*"
    assert len(stack.states()) == jobs
    assert set(stack.states()) <= {"cancelled"}
    assert again.status_code == 200


@pytest.mark.parametrize(
    "kind, after", [(core_events.StatusAnswered, 2), (core_events.TimePassed, 4)]
)
async def test_fault_in_an_open_stream(
    kind: type, after: int, faulty: Any, autojump_clock: trio.testing.MockClock
) -> None:
    """One error event, `[DONE]`, and the job is cancelled."""
    faulty(kind, after)
    async with running() as stack:
        answer = await stack.chat(
            stream=True, messages=[{"role": "user", "content": "Write 300 words."}]
        )
    found = events(answer.text)
    assert answer.status_code == 200
    assert found[-2]["error"]["code"] == "internal_error"
    assert found[-1] == "[DONE]"
    assert stack.states() == ["cancelled"]


@pytest.mark.parametrize("call", ["status", "submit"])
async def test_fault_in_a_call(
    call: str, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """A fault outside the exchange ends the stream just as properly."""
    original = getattr(HordeClient, call)
    calls = 0

    async def failing(self: HordeClient, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if call != "status" or calls == 3:
            raise RuntimeError(SECRET)
        return await original(self, *arguments)

    monkeypatch.setattr(HordeClient, call, failing)
    async with running() as stack:
        answer = await stack.chat(
            stream=True, messages=[{"role": "user", "content": "Write 300 words."}]
        )
        again = await stack.client.get("/healthz")
    if call == "status":
        assert events(answer.text)[-2]["error"]["code"] == "internal_error"
        assert stack.states() == ["cancelled"]
    else:
        assert answer.status_code == 500
        assert answer.headers["x-should-retry"] == "false"
    assert again.status_code == 200


async def test_fault_after_the_client_left(
    faulty: Any, autojump_clock: trio.testing.MockClock
) -> None:
    """Nobody is told, and the job is cancelled all the same."""
    faulty(core_events.ClientGone, 0)
    async with running() as stack:
        with trio.move_on_after(2):
            await stack.chat(
                stream=True, messages=[{"role": "user", "content": "Write 900 words."}]
            )
    assert stack.states() == ["cancelled"]


@pytest.mark.parametrize("form", ["console", "json"])
async def test_log_names_the_place_and_quotes_nothing(
    form: str,
    faulty: Any,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A fault's own text may quote a prompt, so its type and place must do; no key either."""
    faulty(core_events.StatusAnswered, 1)
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(log.LOGGER, "handlers", [])
    log.log_to_stderr(form)
    try:
        async with running() as stack:
            await stack.client.post(
                "/v1/chat/completions",
                json=chat_body(messages=[{"role": "user", "content": SECRET}]),
                headers={"Authorization": f"Bearer {KEY}"},
            )
            await stack.chat(messages=[{"role": "user", "content": SECRET}])
    finally:
        log.LOGGER.handlers[:] = []
        log.LOGGER.propagate = True
    assert "RuntimeError" in written.getvalue()
    assert "test_drive.py" in written.getvalue()
    assert SECRET not in written.getvalue()
    assert KEY not in written.getvalue()


async def test_time_goes_on_while_a_send_is_held_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A reader that holds its stream up is given up, its job cancelled, its connection broken."""
    async with running() as stack:
        client = Client(stack, holds_up_after=2, model=SLOW, stream=True)
        began = trio.current_time()
        await client.run()
        took = trio.current_time() - began
        reads = len(stack.calls("GET", "/chat/status/"))
    assert LONGEST_SEND <= took <= LONGEST_SEND + 15
    assert client.hung_up
    assert reads > 5, "the job was followed meanwhile"
    assert set(stack.states()) <= {"cancelled", "finished"}


async def test_held_up_stream_is_merged(autojump_clock: trio.testing.MockClock) -> None:
    """What gathers while a send waits goes out in one piece, and nothing is lost."""

    class Slow(Client):
        async def _send(self, message: dict[str, Any]) -> None:
            await trio.sleep(30)
            self.sent.append(message)

    async with running() as stack:
        client = Slow(
            stack, stream=True, messages=[{"role": "user", "content": "Write 150 words."}]
        )
        await client.run()
    found = events(b"".join(message.get("body", b"") for message in client.sent).decode())
    assert found[-1] == "[DONE]"
    assert found[-2]["choices"][0]["finish_reason"] == "stop"
    assert len(client.sent) < 12
    assert client.sent[-1]["more_body"] is False
    assert json.dumps(found[-2]["x_horde"])
