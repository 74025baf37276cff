"""The schema of a submit: what is refused, under which path, in the Horde's own shape."""

from typing import Any

import orjson
import pytest

from horde_simulator.world import World
from simulator.horde import MODEL, TOOL, Caller, body_of, profile, scenario

Path = tuple[str | int, ...]


def caller() -> Caller:
    return Caller(World(scenario(profile())))


def params(**values: Any) -> dict[str, Any]:
    return body_of(params=values)


def messages(*values: Any) -> dict[str, Any]:
    return body_of(messages=list(values))


def user(content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": content} | fields


def called(**call: Any) -> dict[str, Any]:
    whole = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}} | call
    return {"role": "assistant", "content": None, "tool_calls": [whole]}


SCHEMA_FAULTS = [
    ("messages", {"models": [MODEL]}),
    ("messages", body_of(messages=[])),
    ("messages", body_of(messages="hi")),
    ("messages.0", messages("hi")),
    ("messages.0.role", messages({"role": "developer", "content": "x"})),
    ("messages.0.role", messages({"content": "x"})),
    ("messages.0.content", messages({"role": "user"})),
    ("messages.0.content", messages(user(5))),
    ("messages.1.content", messages(user("x"), {"role": "assistant", "content": None})),
    ("messages.0.content.0", messages(user(["x"]))),
    ("messages.0.content.1", messages(user([{"type": "text", "text": "x"}, {"type": "audio"}]))),
    ("messages.0.content.0", messages(user([{"type": "image_url", "image_url": "http://x"}]))),
    (
        "messages.0.content.0",
        messages(
            {"role": "system", "content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}
        ),
    ),
    ("messages.0.name", messages(user("x", name=5))),
    ("messages.0.tool_calls", messages({"role": "assistant", "tool_calls": 5, "content": "x"})),
    ("messages.0.tool_calls.0.id", messages(called(id=None))),
    ("messages.0.tool_calls.0.function.name", messages(called(function={"arguments": "{}"}))),
    ("messages.0.tool_calls.0.function.arguments", messages(called(function={"name": "f"}))),
    ("messages.0.tool_call_id", messages({"role": "tool", "content": "x"})),
    ("models", {"messages": [user("x")]}),
    ("models", body_of(models=[])),
    ("models", body_of(models="m")),
    ("models", body_of(models=[5])),
    ("workers", body_of(workers=["w"] * 11)),
    ("worker_blacklist", body_of(worker_blacklist="yes")),
    ("trusted_workers", body_of(trusted_workers=1)),
    ("slow_workers", body_of(slow_workers=None)),
    ("conformance", body_of(conformance="lax")),
    ("context_fit", body_of(context_fit=["grow"])),
    ("progress", body_of(progress=0)),
    ("dry_run", body_of(dry_run="true")),
    ("operation_key", body_of(operation_key="k" * 129)),
    ("operation_key", body_of(operation_key=5)),
    ("params", body_of(params=[])),
    ("params.n", params(n=0)),
    ("params.n", params(n=21)),
    ("params.n", params(n=True)),
    ("params.n", params(n=1.0)),
    ("params.max_length", params(max_length=15)),
    ("params.max_length", params(max_length=16385)),
    ("params.max_length", params(max_length="512")),
    ("params.max_context_length", params(max_context_length=79)),
    ("params.max_context_length", params(max_context_length=1048577)),
    ("params.temperature", params(temperature=2.1)),
    ("params.temperature", params(temperature=True)),
    ("params.top_p", params(top_p=-0.1)),
    ("params.frequency_penalty", params(frequency_penalty=2.5)),
    ("params.presence_penalty", params(presence_penalty=-2.5)),
    ("params.rep_pen", params(rep_pen="1")),
    ("params.top_k", params(top_k=0.5)),
    ("params.min_p", params(min_p=1.5)),
    ("params.stop_sequence", params(stop_sequence="stop")),
    ("params.seed", params(seed="1")),
    ("params.reasoning_effort", params(reasoning_effort="extreme")),
    ("tools", body_of(tools={})),
    ("tools.0", body_of(tools=[5])),
    ("tools.0", body_of(tools=[{"type": "retrieval"}])),
    ("tools.0.function.name", body_of(tools=[{"type": "function", "function": {}}])),
    (
        "tools.0.function.parameters",
        body_of(tools=[{"type": "function", "function": {"name": "f", "parameters": []}}]),
    ),
    ("tool_choice", body_of(tools=[TOOL], tool_choice="any")),
    ("tool_choice", body_of(tools=[TOOL], tool_choice={"type": "function"})),
    ("parallel_tool_calls", body_of(tools=[TOOL], parallel_tool_calls="no")),
    ("response_format", body_of(response_format="json")),
    ("response_format.type", body_of(response_format={"type": "xml"})),
    ("response_format.json_schema.schema", body_of(response_format={"type": "json_schema"})),
]


@pytest.mark.parametrize("path, body", SCHEMA_FAULTS, ids=lambda value: str(value)[:50])
def test_schema_faults_name_their_path(path: str, body: dict[str, Any]) -> None:
    horde = caller()
    answer = horde.submit(body)
    assert horde.status == 400
    assert answer["message"] == "Input payload validation failed"
    assert path in answer["errors"]
    assert "rc" not in answer
    assert not horde.world.state.requests


def test_all_faults_are_told_at_once() -> None:
    answer = caller().submit(params(n=0, top_p=3))
    assert set(answer["errors"]) == {"params.n", "params.top_p"}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"5", b'"x"', b"\xff{}", b"[" * 100_000])
def test_what_is_no_json_object(body: bytes) -> None:
    horde = caller()
    answer = horde.send("POST", "/generate/chat/async", body)
    assert horde.status == 400
    assert answer["message"] == "Input payload validation failed"
    assert "" in answer["errors"]


@pytest.mark.parametrize(
    "rc, text",
    [
        ("NulByteInPayload", r"a\u0000b"),
        ("InvalidPromptEncoding", r"a\ud800b"),
        ("InvalidPromptEncoding", r"\udc00"),
    ],
)
@pytest.mark.parametrize("place", ["messages", "key", "unknown"])
def test_illegal_text_anywhere(rc: str, text: str, place: str) -> None:
    """In a value, in a key, and in a field that the schema doesn't know."""
    plain = orjson.dumps(body_of("hello", extra={"some": "where"})).decode()
    old = {"messages": "hello", "key": "some", "unknown": "where"}[place]
    horde = caller()
    answer = horde.send("POST", "/generate/chat/async", plain.replace(old, text).encode())
    assert (horde.status, answer["rc"]) == (400, rc)


@pytest.mark.parametrize("text", [r"\\u0000", r"\ud83d\ude00", r"\\ud800"])
def test_text_that_only_looks_illegal(text: str) -> None:
    horde = caller()
    plain = orjson.dumps(body_of("hello")).decode()
    horde.send("POST", "/generate/chat/async", plain.replace("hello", text).encode())
    assert horde.status == 202


@pytest.mark.parametrize(
    "body",
    [
        body_of(params={"n": 20, "max_length": 16, "max_context_length": 1048576}),
        body_of(params={"temperature": 0, "top_p": 1, "seed": -(2**63)}),
        body_of(tools=None, tool_choice=None, response_format=None, parallel_tool_calls=None),
        body_of(response_format={"type": "text"}),
        body_of(unheard_of={"a": 1}),
        messages(user([{"type": "text", "text": "x"}])),
        messages(user("")),
        messages(called(), {"role": "tool", "tool_call_id": "c", "content": "x"}),
        messages({"role": "assistant", "content": "x"}),
    ],
    ids=range(9),
)
def test_what_the_schema_takes(body: dict[str, Any]) -> None:
    horde = caller()
    horde.submit(body)
    assert horde.status == 202


def nested(levels: int) -> dict[str, Any]:
    """A schema with so many levels below its root."""
    schema: dict[str, Any] = {"type": "string"}
    for number in range(levels):
        key = ("properties", "anyOf", "items")[number % 3]
        wrapped: Any = (
            {"a": schema} if key == "properties" else [schema] if key == "anyOf" else schema
        )
        schema = {key: wrapped}
    return schema


def tool(name: str = "f", parameters: Any = None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters or {}}}


@pytest.mark.parametrize(
    "fields, fine",
    [
        ({"tools": [tool(f"f{i}") for i in range(128)]}, True),
        ({"tools": [tool(f"f{i}") for i in range(129)]}, False),
        ({"tools": [tool("a" * 64)]}, True),
        ({"tools": [tool("a" * 65)]}, False),
        ({"tools": [tool("")]}, False),
        ({"tools": [tool("wéather")]}, False),
        ({"tools": [tool(parameters=nested(10))]}, True),
        ({"tools": [tool(parameters=nested(11))]}, False),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "x", "schema": nested(11)},
                }
            },
            False,
        ),
        ({"tools": [tool()], "tool_choice": "required"}, True),
        ({"tool_choice": "required"}, False),
        (
            {
                "tools": [tool()],
                "tool_choice": {"type": "function", "function": {"name": "other"}},
            },
            False,
        ),
        ({"tools": [tool(parameters={"description": "x" * 262_000})]}, True),
        ({"tools": [tool(parameters={"description": "x" * 262_144})]}, False),
    ],
    ids=range(14),
)
def test_sizes_depths_and_choices(fields: dict[str, Any], fine: bool) -> None:
    """Too much is `BadRequest`; a prompt too long for any context is another matter."""
    horde = caller()
    answer = horde.submit(body_of(dry_run=True, **fields))
    assert (answer.get("rc") != "BadRequest") == fine


@pytest.mark.parametrize("levels, rc", [(90, "BadRequest"), (150, None), (450, None), (2000, None)])
def test_depth_is_bounded_whatever_is_sent(levels: int, rc: str | None) -> None:
    """Each level is two of JSON; a strict parser and the encoder give up at some depth."""
    schema = '{"properties":{"a":' * levels + "{}" + "}}" * levels
    body = orjson.dumps(body_of(tools=[tool()], operation_key="k")).decode()
    horde = caller()
    answer = horde.send("POST", "/generate/chat/async", body.replace("{}", schema).encode())
    assert horde.status == 400
    assert answer.get("rc") == rc
