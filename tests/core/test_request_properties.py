"""General rules: no body whatever is a crash, and nothing that is accepted gets lost."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from core.chat_bodies import MODEL, answer, calls, json_schema, tool
from horde_core.body import read_body
from horde_core.chat import ChatRequest
from horde_core.errors import FRONT_CODES, Refusal
from horde_core.job import submit_body
from horde_core.keys import CLIENT_DEFAULTS, KEYS, UNSERVED
from horde_core.request import read_request

ANY_TEXT = st.text(st.characters(), max_size=8)
"""Surrogates and NUL included."""

LEGAL_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)

RICH: dict[str, Any] = {
    "model": MODEL,
    "messages": [
        {"role": "developer", "content": "d", "name": "n"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "t"},
                {
                    "type": "image_url",
                    "image_url": {"url": "https://a.example/x.png", "detail": "low"},
                },
            ],
        },
        calls("a", "b"),
        answer("b"),
        answer("a"),
    ],
    "tools": [
        tool(
            description="d",
            parameters={
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/A"}},
                "required": ["a"],
                "additionalProperties": False,
                "$defs": {"A": {"type": "array", "items": {"type": "string"}}},
            },
            strict=True,
        )
    ],
    "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
    "parallel_tool_calls": True,
    "response_format": json_schema({"type": "object", "properties": {"a": {}}}),
    "temperature": 0.5,
    "top_p": 0.5,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.5,
    "max_tokens": 64,
    "n": 2,
    "seed": 1,
    "stop": ["#"],
    "stream": True,
    "stream_options": {"include_usage": True},
    "reasoning_effort": "low",
    "user": "u",
    "logprobs": False,
    "horde": {"only": ["w1"], "max_kudos": 5, "context_fit": "grow"},
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every node."""
    found = [path]
    if isinstance(value, dict):
        for key, member in value.items():
            found += places(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            found += places(member, (*path, index))
    return found


def outcome(document: Any) -> ChatRequest | Refusal:
    """Through bytes, as a client's request goes."""
    raw = json.dumps(document).encode()
    try:
        request = read_request(read_body(raw, None, cap=1_000_000))
    except Refusal as refusal:
        return refusal
    json.loads(submit_body(request, operation_key="k", context_length=4096))
    return request


def check_outcome(document: Any) -> None:
    result = outcome(document)
    if isinstance(result, Refusal):
        assert FRONT_CODES[result.code].status == result.status
        assert result.status in (400, 404)
        envelope = json.loads(result.body())
        assert envelope["error"]["message"]
        assert envelope["error"]["type"] == "invalid_request_error"


@given(JSON_VALUES)
def test_any_json_value_is_a_request_or_a_refusal(document: Any) -> None:
    check_outcome(document)


@given(
    st.dictionaries(
        st.sampled_from([*KEYS, *CLIENT_DEFAULTS, *UNSERVED]) | ANY_TEXT, JSON_VALUES, max_size=6
    )
)
def test_any_values_of_known_keys_are_a_request_or_a_refusal(changes: dict[str, Any]) -> None:
    check_outcome({"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], **changes})


@settings(max_examples=400)
@given(st.sampled_from(places(RICH)[1:]), JSON_VALUES | st.just("remove"), st.data())
def test_a_good_request_with_any_node_replaced_is_a_request_or_a_refusal(
    place: tuple[Any, ...], value: Any, data: st.DataObject
) -> None:
    document = json.loads(json.dumps(RICH))
    owner = document
    for step in place[:-1]:
        owner = owner[step]
    if value == "remove":
        del owner[place[-1]]
    elif isinstance(owner, dict) and data.draw(st.booleans()):
        owner[data.draw(ANY_TEXT)] = value
    else:
        owner[place[-1]] = value
    check_outcome(document)


def test_the_good_request_is_good() -> None:
    assert isinstance(outcome(RICH), ChatRequest)


MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user", "assistant"])},
        optional={"bogus": ANY_TEXT},
    ).flatmap(lambda message: LEGAL_TEXT.map(lambda text: {**message, "content": text})),
    min_size=1,
    max_size=4,
)
SCHEMAS = st.dictionaries(
    st.sampled_from(["title", "description", "x", "default"]) | LEGAL_TEXT,
    st.none() | st.booleans() | st.integers() | LEGAL_TEXT,
    max_size=4,
).map(lambda members: {"type": "object", **members})
NAMES = st.from_regex(r"\A[a-zA-Z0-9_-]{1,64}\Z")
TOOLS = st.lists(
    st.builds(
        tool,
        NAMES,
        description=LEGAL_TEXT,
        parameters=SCHEMAS,
        strict=st.just(False),
    ),
    min_size=1,
    max_size=3,
)


def between(least: int, most: int) -> st.SearchStrategy[float]:
    return st.integers(least, most) | st.floats(least, most)


NATIVE_NAMES = {
    "max_tokens": "max_length",
    "max_completion_tokens": "max_length",
    "stop": "stop_sequence",
}
PARAMETERS: dict[str, st.SearchStrategy[Any]] = {
    "max_tokens": st.integers(16, 16384),
    "temperature": between(0, 2),
    "top_p": between(0, 1),
    "presence_penalty": between(-2, 2),
    "frequency_penalty": between(-2, 2),
    "n": st.integers(1, 20),
    "seed": st.integers(-(2**63), 2**63 - 1),
    "stop": st.lists(LEGAL_TEXT.filter(bool), max_size=4),
    "reasoning_effort": st.sampled_from(["none", "minimal", "low", "medium", "high", "xhigh"]),
}


@given(MESSAGES, st.fixed_dictionaries({}, optional=PARAMETERS), LEGAL_TEXT.filter(bool))
def test_every_accepted_parameter_is_found_again_in_the_submit(
    messages: list[dict[str, Any]], parameters: dict[str, Any], model: str
) -> None:
    model = model.replace(":", "-")
    job = job_of({"model": model, "messages": messages, **parameters})
    assert job["models"] == [model]
    assert job["messages"] == [
        {"role": m["role"].replace("developer", "system"), "content": m["content"]}
        for m in messages
    ]
    for key, value in parameters.items():
        assert job["params"][NATIVE_NAMES.get(key, key)] == value


@given(TOOLS, st.sampled_from(["none", "auto", "required"]), st.booleans(), SCHEMAS, NAMES)
def test_tools_and_schemas_are_forwarded_unchanged(
    tools: list[dict[str, Any]], choice: str, parallel: bool, schema: dict[str, Any], name: str
) -> None:
    offered = {"tools": tools, "tool_choice": choice, "parallel_tool_calls": parallel}
    chosen = {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}
    messages = [{"role": "user", "content": "Hi"}]
    job = job_of({"model": MODEL, "messages": messages, "response_format": chosen, **offered})
    assert {key: job[key] for key in offered} == offered
    assert job["response_format"] == chosen


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "conformance": st.sampled_from(["strict", "best_effort"]),
            "context_fit": st.sampled_from(["truncate_oldest", "grow", "reject"]),
            "trusted_workers": st.booleans(),
            "slow_workers": st.booleans(),
        },
    ),
    st.lists(LEGAL_TEXT.filter(bool), min_size=1, max_size=10),
    st.sampled_from(["only", "ignore"]),
    st.integers(256, 1048576),
)
def test_every_horde_option_that_the_horde_has_is_found_again_in_the_submit(
    options: dict[str, Any], workers: list[str], key: str, context: int
) -> None:
    horde = {**options, key: workers, "context_length": context}
    messages = [{"role": "user", "content": "Hi"}]
    job = job_of({"model": MODEL, "messages": messages, "horde": horde})
    assert {name: job[name] for name in options} == options
    assert (job["workers"], job["worker_blacklist"]) == (workers, key == "ignore")
    assert job["params"]["max_context_length"] == context


def job_of(document: dict[str, Any]) -> dict[str, Any]:
    request = outcome(document)
    assert isinstance(request, ChatRequest), request
    raw = submit_body(request, operation_key="k", context_length=4096)
    job: dict[str, Any] = json.loads(raw)
    return job
