"""The openai Python SDK: whole replies, streams, helpers, tools, schemas, images and errors."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam
from pydantic import BaseModel

from clients.assertions import ANSWER, assert_uses_results
from clients.contract import check_reply, check_stream, check_x_horde
from clients.dev_server import KEY, OFFLINE, PLAIN, QWEN, VISION, DevServer, wait_for
from clients.requests_made import (
    BREAD,
    DEGREES,
    HUNDRED_WORDS,
    IN_TWO_CITIES,
    SUM,
    WEATHER_TOOL,
    Recipe,
    blue_png,
    get_weather,
)

ASKED_SUM: list[ChatCompletionMessageParam] = [{"role": "user", "content": SUM}]
ASKED_WORDS: list[ChatCompletionMessageParam] = [{"role": "user", "content": HUNDRED_WORDS}]


@pytest.fixture(scope="module")
def client(dev: DevServer) -> Iterator[OpenAI]:
    """The SDK at its defaults."""
    with OpenAI(base_url=dev.front, api_key=KEY) as client:
        yield client


@asynccontextmanager
async def async_client(dev: DevServer) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=dev.front, api_key=KEY) as client:
        yield client


def answered(call: Any) -> dict[str, Any]:
    """The tool message that answers a call."""
    result = get_weather(**json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)}


def test_models_are_listed_and_found_by_name(client: OpenAI) -> None:
    """An id with slashes reaches its card; what isn't a key of OpenAI's is in `model_extra`."""
    cards = {card.id: card for card in client.models.list()}
    assert {PLAIN, QWEN, VISION} < set(cards)
    assert OFFLINE not in cards
    card = client.models.retrieve(VISION)
    extra = card.model_extra or {}
    assert card.id == VISION
    assert extra["architecture"]["input_modalities"] == ["text", "image"]
    assert "tools" in extra["supported_parameters"]


def test_whole_reply(client: OpenAI) -> None:
    """A reasoning model's answer, with its thoughts and the Horde's details in `model_extra`."""
    reply = client.chat.completions.create(model=QWEN, messages=ASKED_SUM)
    choice = check_reply(reply.model_dump(), QWEN)
    assert choice["finish_reason"] == "stop"
    message = reply.choices[0].message
    assert message.content == ANSWER
    assert message.tool_calls is None
    assert "17 × 4" in (message.model_extra or {})["reasoning_content"]
    assert reply.usage is not None
    assert reply.usage.completion_tokens_details is not None
    assert reply.usage.completion_tokens_details.reasoning_tokens
    check_x_horde((reply.model_extra or {})["x_horde"])


def test_stream(client: OpenAI) -> None:
    """Chunks in the seed's order, the reasoning first, the sum of them the answer."""
    with client.chat.completions.create(
        model=QWEN, messages=ASKED_SUM, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = [chunk.model_dump(exclude_unset=True) for chunk in stream]
    made = check_stream(chunks, QWEN, usage=True)
    assert made["content"] == ANSWER
    assert made["reasoning_content"]
    assert made["finish_reason"] == "stop"


def test_live_stream(client: OpenAI) -> None:
    """A model that posts progress: many chunks, which make exactly the words asked for."""
    with client.chat.completions.create(model=PLAIN, messages=ASKED_WORDS, stream=True) as stream:
        chunks = [chunk.model_dump(exclude_unset=True) for chunk in stream]
    made = check_stream(chunks, PLAIN, usage=False)
    assert len(made["content"].split()) == 100
    assert len(chunks) > 6, "role, several pieces, finish"


def test_stream_helper_returns_the_final_completion(client: OpenAI) -> None:
    """`.stream()` makes of the chunks what a whole reply would have been.

    It drops what it doesn't know of later chunks: `x_horde` is in the finish chunk's event only.
    """
    with client.chat.completions.stream(model=QWEN, messages=ASKED_SUM) as stream:
        events = list(stream)
        final = stream.get_final_completion()
    deltas = [event.delta for event in events if event.type == "content.delta"]
    chunks = [event.chunk for event in events if event.type == "chunk"]
    message = final.choices[0].message
    assert message.content == "".join(deltas) == ANSWER
    assert (message.model_extra or {})["reasoning_content"]
    assert final.choices[0].finish_reason == "stop"
    check_x_horde((chunks[-1].model_extra or {})["x_horde"])


def test_async_whole_stream_and_helper(dev: DevServer) -> None:
    """The three ways at once, from one asynchronous client."""

    async def whole(client: AsyncOpenAI) -> str | None:
        reply = await client.chat.completions.create(model=QWEN, messages=ASKED_SUM)
        check_reply(reply.model_dump(), QWEN)
        return reply.choices[0].message.content

    async def streamed(client: AsyncOpenAI) -> str | None:
        async with await client.chat.completions.create(
            model=QWEN, messages=ASKED_SUM, stream=True
        ) as stream:
            chunks = [chunk.model_dump(exclude_unset=True) async for chunk in stream]
        content: str = check_stream(chunks, QWEN, usage=False)["content"]
        return content

    async def helped(client: AsyncOpenAI) -> str | None:
        async with client.chat.completions.stream(model=QWEN, messages=ASKED_SUM) as stream:
            final = await stream.get_final_completion()
        return final.choices[0].message.content

    async def all_three() -> tuple[str | None, ...]:
        async with async_client(dev) as client:
            return await asyncio.gather(whole(client), streamed(client), helped(client))

    assert list(asyncio.run(all_three())) == [ANSWER] * 3


def test_leaving_an_async_stream_cancels_the_job_once(dev: DevServer) -> None:
    """Leaving the `async with` block after the first words is one DELETE."""
    before = dev.cancels

    async def leave_early() -> None:
        async with (
            async_client(dev) as client,
            await client.chat.completions.create(
                model=PLAIN, messages=ASKED_WORDS, stream=True
            ) as stream,
        ):
            async for chunk in stream:
                if chunk.choices[0].delta.content:
                    break

    asyncio.run(leave_early())
    wait_for(lambda: dev.cancels > before)
    wait_for(lambda: not dev.unfinished())
    assert dev.cancels == before + 1


def test_parallel_tool_round(client: OpenAI) -> None:
    """Two calls in one reply; the returned message is replayed as it is, both are answered."""
    messages: list[Any] = [{"role": "user", "content": IN_TWO_CITIES}]
    first = client.chat.completions.create(
        model=QWEN, messages=messages, tools=[WEATHER_TOOL], parallel_tool_calls=True
    )
    choice = check_reply(first.model_dump(), QWEN)
    assert choice["finish_reason"] == "tool_calls"
    message = first.choices[0].message
    calls: list[Any] = message.tool_calls or []
    assert message.content is None
    assert [json.loads(call.function.arguments) for call in calls] == [
        {"city": "Paris"},
        {"city": "Oslo"},
    ]
    assert len({call.id for call in calls}) == 2
    messages.append(message)
    messages += [answered(call) for call in calls]
    second = client.chat.completions.create(model=QWEN, messages=messages, tools=[WEATHER_TOOL])
    choice = check_reply(second.model_dump(), QWEN)
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["tool_calls"] is None
    assert_uses_results(choice["message"]["content"])


def test_tool_round_through_the_stream_helper(client: OpenAI) -> None:
    """One call at most; the helper's final message, with all that the SDK adds, is replayed."""
    messages: list[Any] = [{"role": "user", "content": IN_TWO_CITIES}]
    asked: dict[str, Any] = {"model": QWEN, "tools": [WEATHER_TOOL], "parallel_tool_calls": False}
    with client.chat.completions.stream(messages=messages, **asked) as stream:
        first = stream.get_final_completion()
    assert first.choices[0].finish_reason == "tool_calls"
    message = first.choices[0].message
    (call,) = message.tool_calls or []
    messages += [message, answered(call)]
    with client.chat.completions.stream(messages=messages, **asked) as stream:
        second = stream.get_final_completion()
    assert second.choices[0].finish_reason == "stop"
    assert second.choices[0].message.tool_calls is None
    city = json.loads(call.function.arguments)["city"]
    assert str(DEGREES[city]) in (second.choices[0].message.content or "")


class GetWeather(BaseModel):
    """The weather in a city, now."""

    city: str
    unit: Literal["celsius", "fahrenheit"]


def test_forced_strict_tool_is_parsed(client: OpenAI) -> None:
    """`pydantic_function_tool` is a strict tool; forced, its calls end with `stop`."""
    reply = client.chat.completions.parse(
        model=QWEN,
        messages=[{"role": "user", "content": "And in Oslo?"}],
        tools=[openai.pydantic_function_tool(GetWeather)],
        tool_choice={"type": "function", "function": {"name": "GetWeather"}},
    )
    choice = reply.choices[0]
    assert choice.finish_reason == "stop"
    (call,) = choice.message.tool_calls or []
    assert isinstance(call.function.parsed_arguments, GetWeather)
    assert call.function.parsed_arguments.city == "Oslo"


def test_parse_into_a_pydantic_model(client: OpenAI) -> None:
    """A strict `json_schema` made from a model: the reply is one of it."""
    reply = client.chat.completions.parse(
        model=QWEN,
        messages=[{"role": "user", "content": BREAD}],
        response_format=Recipe,
    )
    message = reply.choices[0].message
    assert reply.choices[0].finish_reason == "stop"
    assert isinstance(message.parsed, Recipe)
    assert Recipe.model_validate_json(message.content or "") == message.parsed


def test_json_object(client: OpenAI) -> None:
    """Any JSON object, served although no message mentions it by its name."""
    reply = client.chat.completions.create(
        model=QWEN,
        messages=[{"role": "user", "content": "Describe Oslo."}],
        response_format={"type": "json_object"},
    )
    choice = check_reply(reply.model_dump(), QWEN)
    assert isinstance(json.loads(choice["message"]["content"]), dict)


def test_image(client: OpenAI) -> None:
    """A picture as a data URL reaches a model that sees."""
    reply = client.chat.completions.create(
        model=VISION,
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": blue_png(), "detail": "low"}},
                ],
            }
        ],
    )
    choice = check_reply(reply.model_dump(), VISION)
    assert "12 × 8" in choice["message"]["content"]
    assert "blue" in choice["message"]["content"]
    assert reply.model_extra is not None
    assert reply.model_extra["x_horde"]["kudos"] > 5, "an image costs 5 kudos"


def test_hidden_reasoning(client: OpenAI) -> None:
    """`include_reasoning: false` hides the thoughts and still counts them."""
    reply = client.chat.completions.create(
        model=QWEN, messages=ASKED_SUM, extra_body={"horde": {"include_reasoning": False}}
    )
    message = reply.choices[0].message
    assert message.content == ANSWER
    assert "reasoning_content" not in (message.model_extra or {})
    assert reply.usage is not None
    assert reply.usage.completion_tokens_details is not None
    assert reply.usage.completion_tokens_details.reasoning_tokens


def test_any_of_several_models(client: OpenAI) -> None:
    """`models` in place of `model`: served by the one that is online."""
    # The SDK asks for a model; `omit` leaves it out of the body.
    asked: dict[str, Any] = {"model": openai.omit, "messages": ASKED_SUM}
    reply = client.chat.completions.create(**asked, extra_body={"models": [OFFLINE, QWEN]})
    check_reply(reply.model_dump(), QWEN)


def test_refused_key_and_value(client: OpenAI, dev: DevServer) -> None:
    """The SDK's error has the front's `param` and `code`; nothing is queued."""
    before = dev.submits
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=QWEN, messages=ASKED_SUM, logit_bias={"50256": -100})
    assert refused.value.param == "logit_bias"
    assert refused.value.code == "UnsupportedChatParameter"
    assert refused.value.type == "invalid_request_error"
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=QWEN, messages=ASKED_SUM, temperature=2.5)
    assert refused.value.param == "temperature"
    assert "Expected a value <= 2, but got 2.5 instead." in refused.value.message
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=QWEN, messages=ASKED_SUM, tool_choice="auto")
    assert refused.value.code == "ChatRequestConflict"
    assert dev.submits == before


def test_unknown_model_and_key(client: OpenAI, dev: DevServer) -> None:
    """What is not there is 404, a key that the Horde doesn't know 401 with its own code."""
    with pytest.raises(openai.NotFoundError) as refused:
        client.chat.completions.create(model="koboldcpp/Nobody-1B", messages=ASKED_SUM)
    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")
    stranger = client.with_options(api_key="nobody-knows-this")
    with pytest.raises(openai.AuthenticationError) as unknown:
        stranger.chat.completions.create(model=QWEN, messages=ASKED_SUM)
    assert unknown.value.code == "InvalidAPIKey"


def test_no_worker_is_not_asked_again(dev: DevServer) -> None:
    """`x-should-retry: false` holds the SDK's two retries back."""
    sent: list[Any] = []
    before = dev.submits
    http = openai.DefaultHttpxClient(event_hooks={"request": [sent.append]})
    with (
        OpenAI(base_url=dev.front, api_key=KEY, http_client=http) as client,
        pytest.raises(openai.InternalServerError) as refused,
    ):
        client.chat.completions.create(model=OFFLINE, messages=ASKED_SUM)
    assert (refused.value.status_code, refused.value.code) == (503, "no_eligible_worker")
    assert len(sent) == 1
    assert dev.submits == before


def test_faulted_reply_is_not_charged_again(client: OpenAI, dev: DevServer) -> None:
    """A whole request that the Horde held and gave up: one error, and one submit."""
    before = dev.submits
    dev.fail("faults_job", times=3, model=QWEN)
    with pytest.raises(openai.InternalServerError) as faulted:
        client.chat.completions.create(model=QWEN, messages=ASKED_SUM)
    assert (faulted.value.status_code, faulted.value.code) == (502, "ChatRequestFaulted")
    assert isinstance(faulted.value.body, dict)
    assert faulted.value.body["metadata"]["rc"] == "ChatWorkerFault"
    assert dev.submits == before + 1


def test_error_event_in_a_stream_raises(client: OpenAI, dev: DevServer) -> None:
    """Some text, then the event: the SDK raises, with the code, and doesn't ask again."""
    before = dev.submits
    dev.fail("diverges", model=PLAIN)
    chunks: list[ChatCompletionChunk] = []
    with (
        pytest.raises(openai.APIError) as broken,
        client.chat.completions.create(model=PLAIN, messages=ASKED_WORDS, stream=True) as stream,
    ):
        chunks.extend(stream)
    assert any(chunk.choices[0].delta.content for chunk in chunks)
    assert broken.value.code == "ChatStreamDiverged"
    assert dev.submits == before + 1


def test_error_event_reaches_the_stream_helper(client: OpenAI, dev: DevServer) -> None:
    """The same through `.stream()`, for a reply that would have come whole."""
    dev.fail("faults_job", times=3, model=QWEN)
    with (
        pytest.raises(openai.APIError) as broken,
        client.chat.completions.stream(
            model=QWEN, messages=ASKED_SUM, tools=[WEATHER_TOOL]
        ) as stream,
    ):
        stream.get_final_completion()
    assert broken.value.code == "ChatRequestFaulted"
