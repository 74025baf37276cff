"""A small Horde for tests, and the callers that speak to it."""

from collections.abc import Mapping
from typing import Any

import attrs
import orjson

from horde_simulator.call import Answer, Call, ImageFetch
from horde_simulator.scenario import (
    FaultSpec,
    ModelSpec,
    Scenario,
    UserSpec,
    WorkerProfile,
)
from horde_simulator.world import World

API = "/api/v2"
MODEL = "koboldcpp/Qwen3-8B"
SMALL = "koboldcpp/Llama-3.2-3B-Instruct"
LARGE = "tabbyAPI/Command-R-35B"
UNKNOWN_SIZE = "somebody/Mystery"
ANONYMOUS = "0000000000"
ALL_FEATURES = (
    "tools",
    "parallel_tool_calls",
    "response_format.json_object",
    "response_format.json_schema",
    "tools_with_response_format",
    "reasoning_effort",
    "image_input",
    "progress",
)
ALL_GUARANTEES = ("tool_choice", "json_schema_strict", "no_prompt_trim")
TOOL = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
}


def scenario(
    *workers: WorkerProfile, limits: Any = "off", faults: tuple[FaultSpec, ...] = (), seed: int = 1
) -> Scenario:
    """Four models, four users, and the given built-in workers."""
    return Scenario(
        name="test",
        seed=seed,
        clock="manual",
        limits=limits,
        models=(
            ModelSpec(MODEL, 8.0),
            ModelSpec(SMALL, 3.0),
            ModelSpec(LARGE, 35.0),
            ModelSpec(UNKNOWN_SIZE, None),
        ),
        users=(
            UserSpec("rich-key", "rich", 1_000_000.0, trusted=True),
            UserSpec("fair-key", "fair", 1000.0),
            UserSpec("poor-key", "poor", 30.0),
            UserSpec("owner-key", "owner", 100.0),
        ),
        workers=workers,
        faults=faults,
    )


def profile(name: str = "Attic", **fields: Any) -> WorkerProfile:
    """A built-in worker of `MODEL` that serves everything, 40 tokens a second."""
    defaults: dict[str, Any] = {
        "models": (MODEL,),
        "max_length": 2048,
        "max_context_length": 16384,
        "features": ALL_FEATURES,
        "guarantees": ALL_GUARANTEES,
        "brain": "echo",
        "prefill_seconds": 0.1,
        "prefill_per_1000_tokens": 0.0,
    }
    return WorkerProfile(name=name, **(defaults | fields))


def body_of(text: str = "Hello", **fields: Any) -> dict[str, Any]:
    """A submit's body. `params` are those that differ from the defaults."""
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": text}],
        "models": [MODEL],
    }
    return body | fields


@attrs.define(eq=False)
class Caller:
    """Speaks to a world and reads its JSON; the last answer's status and headers are kept."""

    world: World
    key: str = "rich-key"
    address: str = "10.0.0.1"
    status: int = 0
    headers: dict[str, str] = attrs.field(factory=dict)

    def send(
        self, method: str, path: str, body: object = None, *, query: str = "", **headers: str
    ) -> Any:
        """The answer's JSON (or its bytes, when it is none)."""
        data = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        sent = {"apikey": self.key} | headers
        call = Call(method, API + path, query, tuple(sent.items()), data, self.address)
        answer = self.world.handle(call)
        assert isinstance(answer, Answer), answer
        return self.keep(answer)

    def keep(self, answer: Answer) -> Any:
        self.status = answer.status
        self.headers = dict(answer.headers)
        try:
            return orjson.loads(answer.body) if answer.cut is None else answer.body
        except orjson.JSONDecodeError:
            return answer.body

    def submit(self, body: Mapping[str, Any] | None = None, **fields: Any) -> Any:
        return self.send("POST", "/generate/chat/async", body or body_of(**fields))

    def submit_raw(self, **fields: Any) -> Answer:
        """The answer as it is, with how it was to be delivered."""
        headers = (("apikey", self.key),)
        data = orjson.dumps(body_of(**fields))
        answer = self.world.handle(
            Call("POST", f"{API}/generate/chat/async", "", headers, data, self.address)
        )
        assert isinstance(answer, Answer)
        return answer

    def submit_for_images(self, body: Mapping[str, Any]) -> ImageFetch:
        data = orjson.dumps(body)
        headers = (("apikey", self.key),)
        answer = self.world.handle(
            Call("POST", f"{API}/generate/chat/async", "", headers, data, self.address)
        )
        assert isinstance(answer, ImageFetch)
        return answer

    def read(self, request_id: str, query: str = "") -> Any:
        return self.send("GET", f"/generate/chat/status/{request_id}", query=query)

    def cancel(self, request_id: str) -> Any:
        return self.send("DELETE", f"/generate/chat/status/{request_id}")

    def wait(self, seconds: float) -> None:
        self.world.advance(self.world.now + seconds)

    def follow(self, request_id: str, *, most: float = 600.0) -> Any:
        """Reads once a second until the request is done, or unknown."""
        until = self.world.now + most
        while True:
            status = self.read(request_id)
            if self.status == 404 or status["done"] or self.world.now > until:
                return status
            self.wait(1.0)


@attrs.define(eq=False)
class Program(Caller):
    """An external worker program of the user `owner`."""

    key: str = "owner-key"
    name: str = "w1"
    declares: dict[str, Any] = attrs.field(factory=dict)

    def pop(self, **changes: Any) -> Any:
        declared = {
            "name": self.name,
            "models": [MODEL],
            "max_length": 2048,
            "max_context_length": 16384,
            "threads": 1,
            "bridge_agent": "test:1:none",
            "chat": {
                "features": list(ALL_FEATURES),
                "guarantees": list(ALL_GUARANTEES),
                "limits": {},
            },
        }
        return self.send("POST", "/generate/chat/pop", declared | self.declares | changes)

    def post(self, job_id: str, seq: int, content: str, reasoning: str = "") -> Any:
        body = {"id": job_id, "seq": seq, "content": content, "reasoning_content": reasoning}
        return self.send("POST", "/generate/chat/progress", body)

    def hand_in(self, job_id: str, content: str | None = "Hi", **fields: Any) -> Any:
        body: dict[str, Any] = {
            "id": job_id,
            "state": "ok",
            "message": {"content": content},
            "finish_reason": "stop",
            "usage": {"prompt_tokens": 5, "completion_tokens": 1},
        }
        return self.send("POST", "/generate/chat/submit", body | fields)


def empty_world(**fields: Any) -> World:
    """A Horde without workers."""
    return World(scenario(**fields))
