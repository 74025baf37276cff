"""Chats through the whole stack, in virtual time."""

from itertools import pairwise

import pytest
import trio

from adapters.stack import CREATED, OFFLINE, PLAIN, QWEN, SLOW, events, running, text_of
from horde_adapters.settings import Settings


async def test_whole_reply(autojump_clock: trio.testing.MockClock) -> None:
    """A plain chat is one chat.completion with the Horde's details."""
    async with running() as stack:
        answer = await stack.chat()
        reply = answer.json()
    assert answer.status_code == 200
    assert reply["object"] == "chat.completion"
    assert reply["created"] == CREATED
    assert reply["model"] == PLAIN
    assert reply["choices"][0]["message"]["role"] == "assistant"
    assert reply["choices"][0]["message"]["content"]
    assert reply["id"] == f"chatcmpl-{reply['x_horde']['request_id']}"
    assert answer.headers["x-request-id"] == reply["x_horde"]["request_id"]
    assert answer.headers["access-control-allow-origin"] == "*"


async def test_stream_is_live(autojump_clock: trio.testing.MockClock) -> None:
    """Text arrives while the worker still generates, and the pieces make one reply."""
    arrivals: list[float] = []
    text = ""
    async with (
        running() as stack,
        stack.client.stream(
            "POST",
            "/v1/chat/completions",
            json={
                "model": QWEN,
                "stream": True,
                "max_tokens": 200,
                "stream_options": {"include_usage": True},
                "messages": [{"role": "user", "content": "Why is the sky blue?"}],
            },
        ) as response,
    ):
        async for piece in response.aiter_text():
            text += piece
            if "reasoning_content" in piece or '"content"' in piece:
                arrivals.append(trio.current_time())
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert response.headers["x-should-retry"] == "false"
        verdict = stack.verdict()
    found = events(text)
    chunks = [event for event in found if isinstance(event, dict)]
    assert found[-1] == "[DONE]"
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant"}
    assert text_of(found, "reasoning_content")
    assert text_of(found)
    assert chunks[-2]["choices"][0]["finish_reason"] in ("stop", "length")
    assert chunks[-2]["x_horde"]["worker_name"]
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] > 0
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    assert len(arrivals) > 20
    assert max(after - before for before, after in pairwise(arrivals)) < 2
    assert verdict == {"ok": True, "findings": []}


async def test_same_text_streamed_and_whole(autojump_clock: trio.testing.MockClock) -> None:
    """With one seed the stream's text is the text of the whole reply."""
    keys = {"model": QWEN, "seed": 7, "max_tokens": 100}
    async with running() as stack:
        streamed = events((await stack.chat(stream=True, **keys)).text)
        whole = (await stack.chat(**keys)).json()["choices"][0]["message"]
    assert text_of(streamed) == whole["content"]
    assert text_of(streamed, "reasoning_content") == whole["reasoning_content"]


async def test_waiting_stream_has_keepalives(autojump_clock: trio.testing.MockClock) -> None:
    """A request behind others gets a comment at least every five seconds."""
    async with (
        running() as stack,
        stack.client.stream(
            "POST",
            "/v1/chat/completions",
            json={
                "model": SLOW,
                "stream": True,
                "max_tokens": 64,
                "messages": [{"role": "user", "content": "Hi"}],
            },
        ) as response,
    ):
        seen = [
            trio.current_time()
            async for line in response.aiter_lines()
            if line.startswith(": horde queue_position=")
        ]
    gaps = [after - before for before, after in pairwise(seen)]
    assert len(seen) >= 5
    assert max(gaps) <= 5.1


async def test_tools_arrive_whole(autojump_clock: trio.testing.MockClock) -> None:
    """A tool round goes through: calls in one chunk, then text that uses the result."""
    tool = {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    asked = {"role": "user", "content": "What is the weather in Bergen? Use the tool."}
    async with running() as stack:
        found = events(
            (await stack.chat(model=QWEN, messages=[asked], tools=[tool], stream=True)).text
        )
        (calls,) = [
            choice["delta"]["tool_calls"]
            for event in found
            if isinstance(event, dict)
            for choice in event["choices"]
            if "tool_calls" in choice["delta"]
        ]
        history = [
            asked,
            {"role": "assistant", "content": None, "tool_calls": calls},
            *[{"role": "tool", "tool_call_id": call["id"], "content": "9 C"} for call in calls],
        ]
        reply = (await stack.chat(model=QWEN, messages=history, tools=[tool])).json()
    assert calls[0]["function"]["name"] == "get_weather"
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert "9 C" in reply["choices"][0]["message"]["content"]


async def test_offline_model_is_refused_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """A known model without a worker is 503 without a retry, and nothing is queued."""
    async with running() as stack:
        answer = await stack.chat(model=OFFLINE)
        submits = stack.submits
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "no_eligible_worker"
    assert answer.headers["x-should-retry"] == "false"
    assert submits == 0


async def test_lost_submit_is_resent_once(autojump_clock: trio.testing.MockClock) -> None:
    """A submit whose answer is lost is sent again under its key: one job, one reply."""
    async with running() as stack:
        stack.fail("submit.cut_after")
        answer = await stack.chat()
        submits, states = stack.submits, stack.states()
    assert answer.status_code == 200
    assert submits == 2
    assert len(states) == 1


@pytest.mark.parametrize("most", [0, 1])
async def test_bound_of_open_requests(most: int, autojump_clock: trio.testing.MockClock) -> None:
    """Beyond the bound a request is told to come back; within it, it is served."""
    async with running(settings=Settings(most_requests=most)) as stack:
        answer = await stack.chat()
    assert answer.status_code == (200 if most else 503)
    if not most:
        assert answer.json()["error"]["code"] == "overloaded"
        assert int(answer.headers["retry-after"]) >= 1
