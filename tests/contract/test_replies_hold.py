"""What replies are, streamed and whole, when workers do well, badly, or say nothing at all."""

import json
from typing import Any

import attrs
import pytest
import trio

from adapters.stack import CREATED, PLAIN, QWEN, Stack, events, running, text_of
from contract.test_verifications import ASKED, WEATHER, ask
from horde_adapters.settings import Settings
from horde_core.timing import Timing
from horde_simulator.document import shipped_scenario
from horde_simulator.scenario import Scenario

FORCED = {"type": "function", "function": {"name": "get_weather"}}
TOOLS: dict[str, Any] = {"model": QWEN, "messages": [ASKED], "tools": [WEATHER], "max_tokens": 300}
X_HORDE = {
    "request_id",
    "worker_id",
    "worker_name",
    "kudos",
    "context_adjustments",
    "notice",
    "usage_estimated",
}


def scripted(*rules: dict[str, Any], interval: float | None = 0.5) -> Scenario:
    """The default scenario, its plain model's one worker saying what the rules say."""
    scenario = shipped_scenario("default")
    worker = attrs.evolve(
        scenario.workers[0], brain="script", script=rules, progress_interval=interval
    )
    return attrs.evolve(scenario, workers=(worker, *scenario.workers[1:]))


async def both(stack: Stack, **keys: Any) -> tuple[dict[str, Any], list[Any]]:
    """The same chat whole and streamed: a reply, and a stream's JSON chunks."""
    whole = await ask(stack, **keys)
    options = {"include_usage": True}
    found = events((await stack.chat(stream=True, stream_options=options, **keys)).text)
    assert found[-1] == "[DONE]"
    return whole, [event for event in found if isinstance(event, dict)]


def finish(chunks: list[Any]) -> dict[str, Any]:
    """The finish chunk of a stream with one choice."""
    (found,) = [c for c in chunks if c["choices"] and c["choices"][0]["finish_reason"]]
    chunk: dict[str, Any] = found
    return chunk


@pytest.mark.parametrize(
    "keys, reason",
    [
        ({"max_tokens": 400, "messages": [{"role": "user", "content": "Write 5 words."}]}, "stop"),
        ({"stop": [" "]}, "stop"),
        (
            {"max_tokens": 16, "messages": [{"role": "user", "content": "Write 90 words."}]},
            "length",
        ),
        (TOOLS, "tool_calls"),
        ({**TOOLS, "tool_choice": "auto"}, "tool_calls"),
        ({**TOOLS, "tool_choice": "required"}, "tool_calls"),
        ({**TOOLS, "tool_choice": FORCED}, "stop"),
    ],
    ids=str,
)
async def test_finish_reasons(
    keys: dict[str, Any], reason: str, autojump_clock: trio.testing.MockClock
) -> None:
    """By what the worker says and which choice was asked for; the worker's own word beside."""
    async with running() as stack:
        whole, chunks = await both(stack, seed=1, **keys)
        verdict = stack.verdict()
    (choice,) = whole["choices"]
    assert choice["finish_reason"] == finish(chunks)["choices"][0]["finish_reason"] == reason
    assert choice["native_finish_reason"]
    assert finish(chunks)["choices"][0]["native_finish_reason"] == choice["native_finish_reason"]
    assert ("tool_calls" in choice["message"]) == ("tools" in keys)
    assert verdict["ok"]


async def test_the_shapes_of_reply_and_chunks(autojump_clock: trio.testing.MockClock) -> None:
    """Every key that section 8 and 10 name, no other, and what never changes in a stream."""
    async with running() as stack:
        whole, chunks = await both(stack, model=QWEN, seed=2, max_tokens=120)
    assert set(whole) == {
        "id",
        "object",
        "created",
        "model",
        "choices",
        "usage",
        "system_fingerprint",
        "service_tier",
        "x_horde",
    }
    (choice,) = whole["choices"]
    assert set(choice) == {"index", "message", "logprobs", "finish_reason", "native_finish_reason"}
    assert set(choice["message"]) == {"role", "content", "refusal", "reasoning_content"}
    assert (choice["message"]["refusal"], choice["logprobs"]) == (None, None)
    assert whole["service_tier"] == "default"
    assert set(whole["x_horde"]) == X_HORDE
    assert whole["id"] == f"chatcmpl-{whole['x_horde']['request_id']}"
    usage = whole["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert whole["x_horde"]["usage_estimated"] is False
    constant = {
        tuple(chunk[key] for key in ("id", "object", "created", "model", "system_fingerprint"))
        for chunk in chunks
    }
    assert len(constant) == 1
    (same,) = constant
    assert same[1:4] == ("chat.completion.chunk", CREATED, QWEN)
    assert same[4].startswith("fp_")
    assert len(same[4]) == 15
    assert all("error" not in chunk for chunk in chunks)
    first, *_, last, counted = chunks
    assert first["choices"][0]["delta"] == {"role": "assistant"}
    assert [chunk for chunk in chunks if "x_horde" in chunk] == [last]
    assert last["choices"][0]["delta"] == {}
    assert set(last["x_horde"]) == X_HORDE
    assert counted["choices"] == []
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    kinds = [key for chunk in chunks[1:-2] for key in chunk["choices"][0]["delta"]]
    assert kinds == sorted(kinds, reverse=True), "all of the reasoning before the content"


@pytest.mark.parametrize("model", [PLAIN, QWEN])
async def test_several_replies(model: str, autojump_clock: trio.testing.MockClock) -> None:
    """Each its index, role and finish; prompt once, completions added; workers in generations."""
    async with running() as stack:
        whole, chunks = await both(stack, model=model, n=3, max_tokens=40, seed=5)
    assert [choice["index"] for choice in whole["choices"]] == [0, 1, 2]
    assert set(whole["x_horde"]) == {*X_HORDE, "generations"}
    generations = whole["x_horde"]["generations"]
    assert [g["index"] for g in generations] == [0, 1, 2]
    assert all(g["model"] == model and g["worker_name"] for g in generations)
    assert generations[0]["worker_id"] == whole["x_horde"]["worker_id"]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    for index in range(3):
        mine = [choice for choice in choices if choice["index"] == index]
        assert mine[0]["delta"] == {"role": "assistant"}
        assert sum(choice["delta"] == {"role": "assistant"} for choice in mine) == 1
        assert [bool(choice["finish_reason"]) for choice in mine] == [False] * (len(mine) - 1) + [
            True
        ]
        for channel in ("content", "reasoning_content"):
            streamed = "".join(choice["delta"].get(channel, "") for choice in mine)
            assert streamed == whole["choices"][index]["message"].get(channel, "")
    with_details = [chunk for chunk in chunks if "x_horde" in chunk]
    assert len(with_details) == 1
    assert with_details[0]["choices"][0]["index"] == 2
    assert len(with_details[0]["x_horde"]["generations"]) == 3
    assert chunks[-1]["usage"] == whole["usage"]
    assert whole["usage"]["completion_tokens"] <= 3 * 40
    async with running() as stack:
        single = await ask(stack, model=model, max_tokens=40, seed=5)
    assert whole["usage"]["prompt_tokens"] == single["usage"]["prompt_tokens"]


@pytest.mark.parametrize("interval", [0.5, None])
@pytest.mark.parametrize(
    "rule, fault, reason, says",
    [
        ({"text": ""}, None, "stop", "empty"),
        ({"text": "Never seen."}, "empty_reply", "stop", "empty"),
        ({"text": "Never seen."}, "censored", "content_filter", "censored"),
        (
            {"text": "", "reasoning": "Hm, hm, hm.", "finish_reason": "length"},
            None,
            "length",
            "max_tokens",
        ),
        ({"text": "", "reasoning": "So that is it."}, None, "stop", "without an answer"),
    ],
)
async def test_a_reply_without_text_has_a_notice(
    rule: dict[str, Any],
    fault: str | None,
    reason: str,
    says: str,
    interval: float | None,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Empty, censored, or ended while thinking: 200, in words that a user can read."""
    scenario = scripted({"match": "", **rule}, interval=interval)
    async with running(scenario) as stack:
        if fault is not None:
            stack.fail(fault, times=2)
        whole, chunks = await both(stack)
    (choice,) = whole["choices"]
    assert choice["finish_reason"] == reason
    assert choice["message"]["content"] == ""
    assert choice["message"].get("reasoning_content", "") == rule.get("reasoning", "")
    assert says in whole["x_horde"]["notice"]
    assert finish(chunks)["x_horde"]["notice"] == whole["x_horde"]["notice"]
    assert finish(chunks)["choices"][0]["finish_reason"] == reason
    assert all("content" not in c["choices"][0]["delta"] for c in chunks if c["choices"])


async def test_a_reply_with_text_has_no_notice(autojump_clock: trio.testing.MockClock) -> None:
    """Null, not a missing key."""
    async with running() as stack:
        whole, chunks = await both(stack)
    assert whole["x_horde"]["notice"] is finish(chunks)["x_horde"]["notice"] is None


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh"])
async def test_every_effort_is_served(effort: str, autojump_clock: trio.testing.MockClock) -> None:
    """`none` disables thinking; without one a declaring worker gets `medium`."""
    keys: dict[str, Any] = {"model": QWEN, "seed": 4, "max_tokens": 256}
    async with running() as stack:
        reply = await ask(stack, reasoning_effort=effort, **keys)
        usual = await ask(stack, **keys)
    message = reply["choices"][0]["message"]
    assert ("reasoning_content" in message) == (effort != "none")
    assert (message == usual["choices"][0]["message"]) == (effort == "medium")


async def test_a_worker_that_counts_nothing_and_one_without_an_id(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The Horde's estimate, marked as one; no fingerprint."""
    async with running(scripted({"match": "", "text": "x" * 100})) as stack:
        stack.fail("no_usage", times=2)
        estimated, chunks = await both(stack)
        stack.fail("no_worker_id")
        nobody = await ask(stack)
    assert estimated["x_horde"]["usage_estimated"] is True
    assert estimated["usage"]["completion_tokens"] == 25
    assert estimated["usage"]["prompt_tokens"] > 0
    assert chunks[-1]["usage"] == estimated["usage"]
    assert nobody["system_fingerprint"] is None
    assert nobody["x_horde"]["worker_id"] is None


async def test_fingerprints_tell_workers_apart(autojump_clock: trio.testing.MockClock) -> None:
    """One worker and model, one fingerprint; another worker, another."""
    async with running() as stack:
        cards = (await stack.client.get("/v1/models/koboldcpp/Qwen3-8B")).json()
        prints: dict[str, set[str]] = {}
        for seed in range(8):
            reply = await ask(stack, model=QWEN, max_tokens=16, seed=seed)
            known = prints.setdefault(reply["x_horde"]["worker_id"], set())
            known.add(reply["system_fingerprint"])
    assert cards["x_horde"]["workers"] == 2
    assert all(len(found) == 1 for found in prints.values())
    assert len(set.union(*prints.values())) == len(prints)


async def test_tool_calls_stream_in_one_chunk_and_are_the_replys(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Whole, numbered from 0, without content beside them; ids agree with the reply's form."""
    twice = {"role": "user", "content": "Weather in Bergen and in Oslo? Use get_weather for both."}
    async with running() as stack:
        whole, chunks = await both(stack, **{**TOOLS, "messages": [twice]}, seed=1)
    calls = [c["choices"][0]["delta"] for c in chunks if c["choices"]]
    (delta,) = [delta for delta in calls if "tool_calls" in delta]
    assert set(delta) == {"tool_calls"}
    assert [call["index"] for call in delta["tool_calls"]] == list(range(len(delta["tool_calls"])))
    assert all(set(call) == {"index", "id", "type", "function"} for call in delta["tool_calls"])
    message = whole["choices"][0]["message"]
    assert message["content"] is None
    assert [call["function"] for call in message["tool_calls"]] == [
        call["function"] for call in delta["tool_calls"]
    ]
    for call in message["tool_calls"]:
        assert set(call) == {"id", "type", "function"}
        json.loads(call["function"]["arguments"])


@pytest.mark.parametrize("style", ["comment", "chunk", "off"])
async def test_keepalive_styles(style: Any, autojump_clock: trio.testing.MockClock) -> None:
    """A queued stream: comments, empty deltas, or nothing; the reply is the same."""
    settings = Settings(timing=Timing(keepalive_style=style))
    async with running(settings=settings) as stack:
        answer = await stack.chat(model="tabbyAPI/Command-R-35B", stream=True, max_tokens=32)
    found = events(answer.text)
    comments = [event for event in found if isinstance(event, str) and event.startswith(":")]
    empty = [
        event
        for event in found
        if isinstance(event, dict)
        and event["choices"][0]["delta"] == {}
        and not event["choices"][0]["finish_reason"]
    ]
    assert bool(comments) == (style == "comment")
    assert bool(empty) == (style == "chunk")
    assert text_of(found)
    assert len({event["id"] for event in found if isinstance(event, dict)}) == 1


async def test_two_clients_do_not_influence_each_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A stream beside a client that does everything wrong is the stream it is alone."""
    keys: dict[str, Any] = {"model": QWEN, "seed": 11, "max_tokens": 150, "stream": True}

    async def spoil(stack: Stack) -> None:
        for _ in range(10):
            await stack.client.post("/v1/chat/completions", content=b"{")
            await stack.chat(model="no/such")
            await stack.chat(rep_pen=1.1)
            await stack.chat(model=QWEN, tools=[WEATHER], temperature=99)
            await stack.client.get("/v1/models", headers={"Authorization": "Basic x"})
            with trio.move_on_after(0.2):
                await stack.chat(stream=True)

    async with running() as stack:
        alone = events((await stack.chat(**keys)).text)
    async with running() as stack, trio.open_nursery() as nursery:
        nursery.start_soon(spoil, stack)
        beside = events((await stack.chat(**keys)).text)
    for channel in ("content", "reasoning_content"):
        assert text_of(beside, channel) == text_of(alone, channel) != ""
