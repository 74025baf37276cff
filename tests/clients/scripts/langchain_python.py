"""langchain-openai: `ChatOpenAI` at its defaults. Prints one JSON object of all results."""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
from langchain_core.messages import AIMessageChunk, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from clients.dev_server import OFFLINE, PLAIN, QWEN, VISION
from clients.requests_made import BREAD, HUNDRED_WORDS, IN_TWO_CITIES, SUM, Recipe, get_weather


def chat(model: str, **options: Any) -> ChatOpenAI:
    """A client of the front."""
    url, key = os.environ["OAI_BASE_URL"], SecretStr(os.environ["HORDE_API_KEY"])
    return ChatOpenAI(model=model, base_url=url, api_key=key, **options)


def told(message: Any) -> dict[str, Any]:
    """A message as plain values."""
    return {
        "content": message.content,
        "calls": [{"name": call["name"], "args": call["args"]} for call in message.tool_calls],
        "ids": [call["id"] for call in message.tool_calls],
        "metadata": message.response_metadata,
        "usage": message.usage_metadata,
        "more": message.additional_kwargs,
    }


def gathered(client: Any, asked: Any, pieces: list[str] | None = None) -> Any:
    """A stream's chunks, added up as LangChain does; their texts go into `pieces`."""
    whole: AIMessageChunk | None = None
    for chunk in client.stream(asked):
        if pieces is not None and chunk.content:
            pieces.append(chunk.content)
        whole = chunk if whole is None else whole + chunk
    return whole


def answered(call: Any) -> ToolMessage:
    """The tool message that answers a call."""
    return ToolMessage(json.dumps(get_weather(**call["args"])), tool_call_id=call["id"])


def tool_round(ask: Callable[[Any], Any]) -> dict[str, Any]:
    """Question, calls, results, text."""
    messages: list[Any] = [HumanMessage(IN_TWO_CITIES)]
    first = ask(messages)
    messages += [first, *map(answered, first.tool_calls)]
    return {"first": told(first), "second": told(ask(messages))}


def refused(client: Any) -> dict[str, Any]:
    """The error that a question ends with."""
    try:
        client.invoke(SUM)
    except openai.APIStatusError as error:
        return {"status": error.status_code, "code": error.code, "param": error.param}
    return {}


def diverges() -> dict[str, Any]:
    """Two streams of the plain model, one after the other: a fault is planned for the first."""
    pieces: list[str] = []
    code = None
    try:
        gathered(chat(PLAIN), HUNDRED_WORDS, pieces)
    except openai.APIError as error:
        code = error.code
    live: list[str] = []
    gathered(chat(PLAIN), HUNDRED_WORDS, live)
    return {"pieces": pieces, "code": code, "live": live}


def image() -> dict[str, Any]:
    """What a model that sees says of a picture."""
    asked = HumanMessage(
        [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": sys.argv[1]}},
        ]
    )
    return told(chat(VISION).invoke([asked]))


with_tools = chat(QWEN).bind_tools([get_weather])
by_function = chat(QWEN).with_structured_output(Recipe, method="function_calling")
CASES: dict[str, Callable[[], Any]] = {
    "invoke": lambda: told(chat(QWEN).invoke(SUM)),
    "stream": lambda: told(gathered(chat(QWEN), SUM)),
    "tool_round": lambda: tool_round(with_tools.invoke),
    "tool_round_streamed": lambda: tool_round(lambda asked: gathered(with_tools, asked)),
    "structured": lambda: dict(chat(QWEN).with_structured_output(Recipe).invoke(BREAD)),
    "structured_by_function": lambda: dict(by_function.invoke(BREAD)),
    "image": image,
    "refused": lambda: refused(chat(QWEN, logit_bias={50256: -100})),
    "no_worker": lambda: refused(chat(OFFLINE)),
    "diverges": diverges,
}

with ThreadPoolExecutor(len(CASES)) as threads:
    started = {name: threads.submit(case) for name, case in CASES.items()}
    results = {name: case.result() for name, case in started.items()}
print(json.dumps(results, default=dict))
