"""pydantic-ai: agents at their defaults. Prints one JSON object of all results."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import Awaitable
from typing import Any

from pydantic_ai import Agent, BinaryContent, NativeOutput
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from clients.dev_server import OFFLINE, PLAIN, QWEN, VISION
from clients.requests_made import BREAD, HUNDRED_WORDS, IN_TWO_CITIES, SUM, Recipe, get_weather


def agent(model: str, **options: Any) -> Any:
    """An agent over the front."""
    url, key = os.environ["OAI_BASE_URL"], os.environ["HORDE_API_KEY"]
    provider = OpenAIProvider(base_url=url, api_key=key)
    return Agent(OpenAIChatModel(model, provider=provider), **options)


def parts(messages: list[Any]) -> list[list[Any]]:
    """Every part of a run's messages: its kind, and what it says."""
    told = []
    for part in [part for message in messages for part in message.parts]:
        said = getattr(part, "content", None) or getattr(part, "args", None)
        told.append([part.part_kind, said])
    return told


async def run() -> dict[str, Any]:
    """A whole reply, with its thoughts as a part of its own."""
    ran = await agent(QWEN, instructions="Be brief.").run(SUM)
    last = ran.all_messages()[-1]
    return {
        "output": ran.output,
        "parts": parts([last]),
        "finish_reason": last.finish_reason,
        "served": last.model_name,
        "details": last.usage.details,
    }


async def stream() -> dict[str, Any]:
    """A streamed reply."""
    async with agent(QWEN).run_stream(SUM) as streaming:
        output = await streaming.get_output()
        return {"output": output, "parts": parts(streaming.all_messages()[-1:])}


async def tools() -> dict[str, Any]:
    """The agent's own loop."""
    ran = await agent(QWEN, tools=[get_weather]).run(IN_TWO_CITIES)
    return {"output": ran.output, "parts": parts(ran.all_messages())}


async def tools_streamed() -> dict[str, Any]:
    """The same loop, each turn as a stream."""
    async with agent(QWEN, tools=[get_weather]).run_stream(IN_TWO_CITIES) as streaming:
        output = await streaming.get_output()
        return {"output": output, "parts": parts(streaming.all_messages())}


async def structured(output_type: Any) -> dict[str, Any]:
    """A document: by an output tool that has to be called, or by a schema."""
    made = (await agent(QWEN, output_type=output_type).run(BREAD)).output
    assert isinstance(made, Recipe)
    return made.model_dump()


async def image() -> str:
    """What a model that sees says of a picture."""
    data = base64.b64decode(sys.argv[1].split(",")[1])
    asked = ["What is this?", BinaryContent(data, media_type="image/png")]
    said: str = (await agent(VISION).run(asked)).output
    return said


async def refused(model: str, **settings: Any) -> dict[str, Any]:
    """The error that a run ends with."""
    try:
        await agent(model).run(SUM, model_settings=settings)
    except ModelHTTPError as error:
        return {"status": error.status_code, "body": error.body}
    return {}


async def diverges() -> dict[str, Any]:
    """Two streams of the plain model, one after the other: a fault is planned for the first."""
    found: list[dict[str, Any]] = []
    for _ in range(2):
        pieces: list[str] = []
        message = None
        try:
            async with agent(PLAIN).run_stream(HUNDRED_WORDS) as streaming:
                texts = streaming.stream_text(delta=True, debounce_by=None)
                async for piece in texts:
                    pieces += [piece]  # one by one: an error comes after the first pieces
        except ModelAPIError as error:
            message = str(error)
        found.append({"pieces": pieces, "error": message})
    return {"broken": found[0], "live": found[1]}


async def main() -> None:
    """Runs all cases at once."""
    cases: dict[str, Awaitable[Any]] = {
        "run": run(),
        "stream": stream(),
        "tools": tools(),
        "tools_streamed": tools_streamed(),
        "output_tool": structured(Recipe),
        "native_output": structured(NativeOutput(Recipe)),
        "image": image(),
        "refused": refused(QWEN, logit_bias={"50256": -100}),
        "no_worker": refused(OFFLINE),
        "diverges": diverges(),
    }
    results = await asyncio.gather(*cases.values())
    print(json.dumps(dict(zip(cases, results, strict=True))))


asyncio.run(main())
