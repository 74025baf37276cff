"""Every "Verification:" of the how-to for chat clients, named after it, over HTTP."""

import base64
import io
import json
from typing import Any

import pytest
import trio
from PIL import Image

from adapters.stack import OFFLINE, PLAIN, QWEN, Stack, chat_body, events, running, text_of

VISION = "aphrodite/Qwen/Qwen2.5-VL-7B-Instruct"
NEMO = "koboldcpp/Mistral-Nemo-12B"
GARAGE = "8b000000-0000-4000-8000-000000000001"
CELLAR = "8b000000-0000-4000-8000-000000000002"
KEY = {"Authorization": "Bearer rich-key"}

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
ASKED = {"role": "user", "content": "What is the weather in Bergen? Use get_weather."}


async def ask(stack: Stack, **keys: Any) -> dict[str, Any]:
    """A chat with a key that has kudos; its reply, which has to be one."""
    answer = await stack.client.post("/v1/chat/completions", json=chat_body(**keys), headers=KEY)
    assert answer.status_code == 200, answer.text
    reply: dict[str, Any] = answer.json()
    return reply


async def cards(stack: Stack) -> dict[str, dict[str, Any]]:
    """The model cards by id."""
    listed = (await stack.client.get("/v1/models", headers=KEY)).json()["data"]
    return {card["id"]: card for card in listed}


def red_square() -> dict[str, Any]:
    """An image part of a data URL."""
    file = io.BytesIO()
    Image.new("RGB", (32, 32), (220, 10, 10)).save(file, "PNG")
    url = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
    return {"type": "image_url", "image_url": {"url": url, "detail": "low"}}


@pytest.mark.parametrize(
    "authorization, status",
    [
        ("Bearer rich-key", 200),
        ("bearer rich-key", 200),
        ("Bearer 0000000000", 200),
        (None, 200),
        ("Basic cmljaC1rZXk=", 401),
        ("rich-key", 401),
        ("Bearer", 401),
        ("Bearer two words", 401),
    ],
)
async def test_models_with_the_key_is_200_and_with_a_malformed_header_401(
    authorization: str | None, status: int, autojump_clock: trio.testing.MockClock
) -> None:
    """Configure base URL, key and attribution."""
    headers = {} if authorization is None else {"Authorization": authorization}
    async with running() as stack:
        for path in ("/v1/models", f"/v1/models/{QWEN}"):
            answer = await stack.client.get(path, headers=headers)
            assert answer.status_code == status
            if status == 401:
                assert answer.json()["error"]["code"] == "InvalidAuthorizationHeader"


async def test_the_configured_model_is_listed_with_its_workers_and_parameters(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Choose a model from the model card."""
    sent = {"tools", "tool_choice", "parallel_tool_calls", "reasoning_effort", "response_format"}
    async with running() as stack:
        card = (await cards(stack))[QWEN]
    assert card["x_horde"]["workers"] >= 1
    assert sent | {"max_tokens", "temperature", "top_p", "stream"} <= set(
        card["supported_parameters"]
    )


@pytest.mark.parametrize("models", [[PLAIN, QWEN], [OFFLINE, PLAIN], [QWEN]])
@pytest.mark.parametrize("stream", [False, True])
async def test_the_model_of_the_reply_is_one_of_the_listed(
    models: list[str], stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """Accept any of several models."""
    body = {"models": models, "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    async with running() as stack:
        answer = await stack.client.post("/v1/chat/completions", json=body, headers=KEY)
        if stream:
            chunks = [event for event in events(answer.text) if isinstance(event, dict)]
            served = {chunk["model"] for chunk in chunks}
        else:
            served = {answer.json()["model"]}
    assert len(served) == 1
    assert served <= set(models) - {OFFLINE}


async def test_model_messages_and_the_client_defaults_are_a_chat_completion(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Client defaults: each is dropped before the Horde sees it."""
    defaults: dict[str, Any] = {
        "tools": [],
        "tool_choice": None,
        "parallel_tool_calls": None,
        "response_format": {"type": "text"},
        "logprobs": False,
        "top_logprobs": 0,
        "store": False,
        "service_tier": "auto",
    }
    async with running() as stack:
        reply = await ask(stack, **defaults)
        again = await ask(stack, **{**defaults, "tools": None, "service_tier": "default"})
    assert reply["object"] == again["object"] == "chat.completion"


async def test_a_key_the_front_refuses_is_named_as_param(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Keys the front refuses; nothing was queued, so the corrected request is safe."""
    async with running() as stack:
        answer = await stack.chat(logit_bias={"50256": -100})
        assert stack.submits == 0
        corrected = await stack.chat()
    error = answer.json()["error"]
    assert answer.status_code == 400
    assert (error["code"], error["param"]) == ("UnsupportedChatParameter", "logit_bias")
    assert corrected.status_code == 200


@pytest.mark.parametrize("only", [GARAGE, CELLAR])
async def test_the_worker_is_one_of_only(only: str, autojump_clock: trio.testing.MockClock) -> None:
    """Check Horde options: `only`."""
    async with running() as stack:
        reply = await ask(stack, model=QWEN, max_tokens=32, horde={"only": [only]})
    assert reply["x_horde"]["worker_id"] == only
    assert reply["x_horde"]["context_adjustments"] is None


async def test_adjustments_name_what_was_changed(autojump_clock: trio.testing.MockClock) -> None:
    """Check Horde options: lowered, grown, oldest dropped, or null."""
    turns: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for at in range(12):
        turns += [
            {"role": "user", "content": f"Question {at}: " + "why " * 900},
            {"role": "assistant", "content": "Because. " * 50},
        ]
    turns.append({"role": "user", "content": "And now?"})
    async with running() as stack:
        lowered = await ask(stack, max_tokens=5000)
        grown = await ask(stack, messages=turns[:4] + turns[-1:], max_tokens=2048, model=QWEN)
        dropped = await ask(stack, messages=turns, max_tokens=512)
        plain = await ask(stack, max_tokens=64)
    assert lowered["x_horde"]["context_adjustments"] == [
        {"from": 5000, "to": 1024, "reason": "worker_max_length"}
    ]
    assert grown["x_horde"]["context_adjustments"] == [{"from": 4096, "to": 8192, "reason": "grow"}]
    reasons = {entry["reason"]: entry for entry in dropped["x_horde"]["context_adjustments"]}
    assert set(reasons) == {"grow", "truncate_oldest"}
    assert reasons["grow"] == {"from": 4096, "to": 8192, "reason": "grow"}
    assert reasons["truncate_oldest"]["dropped_messages"] > 0
    assert reasons["truncate_oldest"]["dropped_messages"] % 2 == 0
    assert plain["x_horde"]["context_adjustments"] is None


async def test_reasoning_is_shown_and_can_be_hidden(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Reasoning; its tokens are counted either way, streamed and whole."""
    keys: dict[str, Any] = {"model": QWEN, "seed": 3, "max_tokens": 200}
    hidden: dict[str, Any] = {**keys, "horde": {"include_reasoning": False}}
    async with running() as stack:
        shown = await ask(stack, **keys)
        without = await ask(stack, **hidden)
        streamed = events((await stack.chat(stream=True, **hidden)).text)
    assert shown["choices"][0]["message"]["reasoning_content"]
    assert "reasoning_content" not in without["choices"][0]["message"]
    assert text_of(streamed, "reasoning_content") == ""
    assert text_of(streamed)
    for reply in (shown, without):
        assert reply["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0


async def test_the_reply_describes_the_image_and_it_costs_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Images; five kudos each."""
    question = {"type": "text", "text": "What is in this image?"}
    async with running() as stack:
        assert "image" in (await cards(stack))[VISION]["architecture"]["input_modalities"]
        seen = await ask(
            stack,
            model=VISION,
            max_tokens=100,
            messages=[{"role": "user", "content": [question, red_square()]}],
        )
        blind = await ask(
            stack,
            model=VISION,
            max_tokens=100,
            messages=[{"role": "user", "content": [question]}],
        )
    text = seen["choices"][0]["message"]["content"]
    assert "red" in text.lower()
    assert "32" in text
    assert seen["x_horde"]["kudos"] > blind["x_horde"]["kudos"]


@pytest.mark.parametrize("choice", [None, "auto", "required"])
async def test_a_tool_round_ends_with_text(
    choice: str | None, autojump_clock: trio.testing.MockClock
) -> None:
    """Tools and tool_choice."""
    keys: dict[str, Any] = {"model": QWEN, "tools": [WEATHER], "max_tokens": 300}
    first_keys = {} if choice is None else {"tool_choice": choice}
    async with running() as stack:
        first = await ask(stack, messages=[ASKED], **keys, **first_keys)
        (one,) = first["choices"]
        calls = one["message"]["tool_calls"]
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": '{"sky": "vermilion"}'}
            for call in calls
        ]
        follow_up = await ask(stack, messages=[ASKED, one["message"], *results], **keys)
    assert calls[0]["function"]["name"] == "get_weather"
    assert json.loads(calls[0]["function"]["arguments"])["city"]
    assert one["finish_reason"] == "tool_calls"
    assert one["message"]["content"] is None
    last = follow_up["choices"][0]
    assert last["finish_reason"] == "stop"
    assert "vermilion" in last["message"]["content"]
    assert "tool_calls" not in last["message"]


async def test_a_forced_choice_is_refused_under_strict_and_picked_up_under_best_effort(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Conformance, on a model whose card doesn't list `tool_choice`."""
    keys: dict[str, Any] = {
        "model": NEMO,
        "messages": [ASKED],
        "tools": [WEATHER],
        "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
        "temperature": 0.7,
    }
    async with running() as stack:
        assert "tool_choice" not in (await cards(stack))[NEMO]["supported_parameters"]
        refused = await stack.chat(**keys)
        assert stack.states() == ["cancelled"]
        reply = await ask(stack, **keys, horde={"conformance": "best_effort"})
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (404, "no_worker_supports_features")
    assert "tool_choice" in error["message"]
    assert "best_effort" in error["message"]
    assert reply["x_horde"]["worker_name"] == "Windmill"


@pytest.mark.parametrize("stream", [False, True])
async def test_structured_content_is_json_with_the_required_keys(
    stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """Structured output, both types."""
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "population": {"type": "integer"}},
        "required": ["city", "population"],
        "additionalProperties": False,
    }
    wanted = {"name": "place", "strict": True, "schema": schema}
    formats = ({"type": "json_object"}, {"type": "json_schema", "json_schema": wanted})
    contents: list[str] = []
    async with running() as stack:
        for form in formats:
            keys: dict[str, Any] = {"model": QWEN, "max_tokens": 400, "response_format": form}
            if stream:
                contents.append(text_of(events((await stack.chat(stream=True, **keys)).text)))
            else:
                contents.append((await ask(stack, **keys))["choices"][0]["message"]["content"])
    assert isinstance(json.loads(contents[0]), dict)
    assert {"city", "population"} <= set(json.loads(contents[1]))


@pytest.mark.parametrize("usage", [False, True])
async def test_a_stream_ends_with_finish_usage_and_done(
    usage: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """Streaming: a live one."""
    options = {"stream_options": {"include_usage": True}} if usage else {}
    async with running() as stack:
        found = events((await stack.chat(stream=True, **options)).text)
    assert found.pop() == "[DONE]"
    if usage:
        last = found.pop()
        assert last["choices"] == []
        assert last["usage"]["total_tokens"] > 0
    assert found[-1]["choices"][0]["delta"] == {}
    assert found[-1]["choices"][0]["finish_reason"]
    assert found[-1]["x_horde"]["request_id"]


async def test_a_buffered_text_reply_has_four_chunks(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Streaming: a worker without progress posts; role, content, finish, usage."""
    async with running() as stack:
        answer = await stack.chat(
            model=NEMO,
            stream=True,
            stream_options={"include_usage": True},
            horde={"conformance": "best_effort"},
        )
    chunks = [event for event in events(answer.text) if isinstance(event, dict)]
    deltas = [list(chunk["choices"][0]["delta"]) if chunk["choices"] else None for chunk in chunks]
    assert deltas == [["role"], ["content"], [], None]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_known_model_without_a_worker_is_refused_at_once(
    stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """Errors and retries."""
    async with running() as stack:
        began = trio.current_time()
        answer = await stack.chat(model=OFFLINE, stream=stream)
        took = trio.current_time() - began
        submits = stack.submits
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "no_eligible_worker")
    assert "not served by any worker" in error["message"]
    assert answer.headers["x-should-retry"] == "false"
    assert "retry-after" not in answer.headers
    assert took < 1
    assert submits == 0


@pytest.mark.parametrize("model", [PLAIN, VISION, QWEN])
async def test_above_the_cards_maximum_is_served_and_told(
    model: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Limits."""
    async with running() as stack:
        most = (await cards(stack))[model]["top_provider"]["max_completion_tokens"]
        reply = await ask(stack, model=model, max_tokens=most + 1, seed=1)
    (entry,) = [
        entry
        for entry in reply["x_horde"]["context_adjustments"]
        if entry["reason"] == "worker_max_length"
    ]
    assert entry == {"from": most + 1, "to": most, "reason": "worker_max_length"}
