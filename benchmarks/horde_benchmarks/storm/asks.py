"""What the storm's clients ask for: bodies of every kind that the front serves or refuses."""

import base64
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

import orjson

MODELS: Final = (
    "koboldcpp/Llama-3.2-3B-Instruct",
    "koboldcpp/Qwen3-8B",
    "aphrodite/Qwen/Qwen2.5-VL-7B-Instruct",
    "koboldcpp/Mistral-Nemo-12B",
)
OFFLINE: Final = "koboldcpp/Gemma-3-4B-it"
UNKNOWN: Final = "koboldcpp/Nobody-Has-This"

PICTURE: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
"""A PNG of one pixel."""
_DATA_URL: Final = "data:image/png;base64," + base64.b64encode(PICTURE).decode()

_WEATHER: Final = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
            "required": ["city"],
        },
    },
}
_TIME: Final = {"type": "function", "function": {"name": "get_time", "description": "The time"}}
_SCHEMA: Final = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
_TOPICS: Final = (
    "the weather in Lisbon",
    "the ferry to the islands",
    "a family of 👩‍👩‍👧‍👦 and their é",
    "ภาษาไทย",
    "line\u2028separators and \x85 others",
)

Body = dict[str, Any]


def _plain(_: Random) -> Body:
    return {}


def _sampling(random: Random) -> Body:
    return {
        "temperature": random.choice((0, 0.7, 2)),
        "stop": ["###"],
        "seed": random.getrandbits(40),
        "user": "someone",
    }


def _tools(random: Random) -> Body:
    choice = random.choice((None, "auto", "required", "none", "forced"))
    forced = {"type": "function", "function": {"name": "get_weather"}}
    return {
        "tools": [_WEATHER, _TIME],
        "tool_choice": forced if choice == "forced" else choice,
        "parallel_tool_calls": random.choice((None, True, False)),
    }


def _structured(random: Random) -> Body:
    if random.random() < 0.5:
        return {"response_format": {"type": "json_object"}}
    strict = random.choice((None, True))
    wanted = {"name": "person", "schema": _SCHEMA, "strict": strict}
    return {"response_format": {"type": "json_schema", "json_schema": wanted}}


def _reasoning(random: Random) -> Body:
    return {
        "model": MODELS[1],
        "reasoning_effort": random.choice(("none", "low", "high", None)),
        "horde": {"include_reasoning": random.random() < 0.6},
    }


def _several(random: Random) -> Body:
    return {"n": random.randint(2, 4)}


def _any_model(random: Random) -> Body:
    chosen = random.sample((*MODELS, OFFLINE), random.randint(1, 3))
    if random.random() < 0.1:
        chosen.append(UNKNOWN)
    return {"model": None, "models": chosen}


def _best_effort(random: Random) -> Body:
    return {**_tools(random), "horde": {"conformance": "best_effort"}}


def _capped(random: Random) -> Body:
    return {"horde": {"max_kudos": random.choice((1, 50, 5000))}}


def _patient(_: Random) -> Body:
    return {"horde": {"availability_mode": "wait"}}


def _unserved(random: Random) -> Body:
    return {"model": random.choice((OFFLINE, UNKNOWN))}


def _greedy(random: Random) -> Body:
    """Long enough that an account without kudos is refused, or that no worker serves it."""
    return {"max_tokens": random.choice((1024, 4096, 16384))}


def _restricted(random: Random) -> Body:
    worker = f"00000000-0000-4000-8000-00000000000{random.randint(0, 4)}"
    options: tuple[Body, ...] = (
        {"only": [worker]},
        {"ignore": [worker]},
        {"trusted_workers": True},
        {"slow_workers": False},
    )
    return {"horde": random.choice(options)}


def _malformed(random: Random) -> Body:
    faults: tuple[Body, ...] = (
        {"top_k": 5},
        {"temperature": 3},
        {"messages": []},
        {"max_tokens": 4},
        {"horde": {"dry_run": True}},
        {"tool_choice": "auto"},
    )
    return random.choice(faults)


_KINDS: Final[Mapping[str, tuple[int, Callable[[Random], Body]]]] = {
    "plain": (10, _plain),
    "sampling": (3, _sampling),
    "tools": (4, _tools),
    "structured": (3, _structured),
    "reasoning": (3, _reasoning),
    "n": (3, _several),
    "models": (3, _any_model),
    "best effort": (2, _best_effort),
    "capped": (2, _capped),
    "patient": (2, _patient),
    "unserved": (1, _unserved),
    "greedy": (1, _greedy),
    "restricted": (2, _restricted),
    "malformed": (1, _malformed),
    "conversation": (2, _plain),
    "tool history": (1, _plain),
    "picture": (2, _plain),
}
"""Kind to its share and to what it adds to a plain request; messages are `_messages`' affair."""
_NAMES: Final = tuple(_KINDS)
_SHARES: Final = tuple(share for share, _ in _KINDS.values())


def ask(random: Random, number: int, wordy: bool) -> tuple[str, bytes]:
    """A request of some kind, and the kind; `number` makes its text unlike any other's.

    `wordy` ones ask for replies of many progress posts.
    """
    kind = random.choices(_NAMES, _SHARES)[0]
    body: Body = {
        "model": random.choice(MODELS[:2]),
        "messages": _messages(random, kind, number),
        "max_tokens": random.choice((64, 128, 256) if wordy else (16, 16, 24, 48)),
    }
    if random.random() < (0.9 if wordy else 0.6):
        body["stream"] = True
        if random.random() < 0.5:
            body["stream_options"] = {"include_usage": True}
    if kind == "picture":
        body["model"] = MODELS[2]
    body.update(_KINDS[kind][1](random))
    return kind, orjson.dumps(body)


def _messages(random: Random, kind: str, number: int) -> list[Body]:
    question = f"Question {number}: tell me about {random.choice(_TOPICS)}."
    asked: Body = {"role": "user", "content": question}
    if kind == "picture":
        url = _DATA_URL if random.random() < 0.5 else "https://pictures.example/one.png"
        picture = {"type": "image_url", "image_url": {"url": url}}
        asked["content"] = [{"type": "text", "text": question}, picture]
    if kind == "conversation":
        turns = random.choice((2, 6, 60))
        before = [
            {"role": ("user", "assistant")[at % 2], "content": "The ferry leaves at seven. " * 8}
            for at in range(turns)
        ]
        return [{"role": "developer", "content": "Be brief."}, *before, asked]
    if kind == "tool history":
        function = {"name": "get_weather", "arguments": '{"city": "Lisbon"}'}
        call = {"id": "call_1", "type": "function", "function": function}
        return [
            asked,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
        ]
    return [asked]
