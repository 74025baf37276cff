"""The whole request: missing keys, the order of checks, conflicts, size, the guard, the model."""

from typing import Any

import attrs
import pytest

from core.chat_bodies import (
    ABSENT,
    BAD,
    CONFLICT,
    UNSUPPORTED,
    USER,
    Row,
    accepted,
    chat,
    json_schema,
    refused,
    tool,
)
from horde_core.errors import Refusal
from horde_core.request import LARGEST_TOOLING, read_request

NO_MODEL = "you must provide a model parameter"
NO_MESSAGES = "Missing required parameter: 'messages'."

ROWS: list[Row] = [
    # Missing keys
    *[({"model": value}, BAD, "model", NO_MODEL) for value in (ABSENT, None, "")],
    *[({"model": value, "models": None}, BAD, "model", NO_MODEL) for value in (ABSENT, None, "")],
    ({"messages": ABSENT}, BAD, "messages", NO_MESSAGES),
    ({"model": ABSENT, "messages": ABSENT}, BAD, "model", NO_MODEL),
    # Keys that contradict or need one another
    (
        {"models": ["a"]},
        CONFLICT,
        "models",
        "Setting 'model' and 'models' at the same time is not supported.",
    ),
    *[
        (
            {"max_tokens": one, "max_completion_tokens": other},
            CONFLICT,
            "max_tokens",
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        )
        for one, other in ((16, 17), (512, 16384))
    ],
    *[
        (
            {"stream": stream, "stream_options": options},
            CONFLICT,
            "stream_options",
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
        for stream in (ABSENT, False, None)
        for options in ({}, {"include_usage": True})
    ],
    (
        {"horde": {"only": ["w1"], "ignore": ["w2"]}},
        CONFLICT,
        "horde.only",
        "Setting 'horde.only' and 'horde.ignore' at the same time is not supported.",
    ),
    # The guard that a client may ask for
    (
        {"response_format": {"type": "json_object"}, "horde": {"openai_guards": True}},
        UNSUPPORTED,
        "messages",
        (
            "'messages' must contain the word 'json' in some form, to use 'response_format' of "
            "type 'json_object'."
        ),
    ),
]


@pytest.mark.parametrize("changes, code, param, message", ROWS)
def test_a_request_that_does_not_add_up_is_refused(
    changes: dict[str, Any], code: str, param: str, message: str
) -> None:
    assert refused(chat(**changes)) == (400, code, param, message)


IN_ORDER: list[tuple[dict[str, Any], str]] = [
    ({"model": None, "models": ABSENT}, "model"),
    ({"messages": ABSENT}, "messages"),
    ({"zzz": 1}, "zzz"),
    ({"model": 7}, "model"),
    ({"models": []}, "models"),
    ({"messages": []}, "messages"),
    ({"tools": "x"}, "tools"),
    ({"tool_choice": "bogus"}, "tool_choice"),
    ({"parallel_tool_calls": 1}, "parallel_tool_calls"),
    ({"max_completion_tokens": 0}, "max_completion_tokens"),
    ({"n": 0}, "n"),
    ({"temperature": 3}, "temperature"),
    ({"top_p": 3}, "top_p"),
    ({"presence_penalty": 3}, "presence_penalty"),
    ({"frequency_penalty": 3}, "frequency_penalty"),
    ({"user": 1}, "user"),
    ({"seed": 0.5}, "seed"),
    ({"response_format": {}}, "response_format.type"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"reasoning_effort": "max"}, "reasoning_effort"),
    ({"stop": ""}, "stop"),
    ({"stream": 1}, "stream"),
    ({"stream_options": {"bogus": 1}}, "stream_options.bogus"),
    ({"horde": {"bogus": 1}}, "horde.bogus"),
    ({"parallel_tool_calls": True}, "parallel_tool_calls"),
    ({"max_tokens": 16, "max_completion_tokens": 17}, "max_tokens"),
    ({"stream_options": {}}, "stream_options"),
    ({"horde": {"only": ["a"], "ignore": ["b"]}}, "horde.only"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"model": "a:b"}, "model"),
]
"""One fault for each check, in the contract's order (section 3)."""


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
@pytest.mark.parametrize("backwards", [False, True])
def test_of_two_faults_the_first_in_the_contracts_order_is_told(
    first: int, backwards: bool
) -> None:
    """Whatever comes first in the body: each pair of faults in different keys, both ways round."""
    changes, param = IN_ORDER[first]
    for later, _ in IN_ORDER[first + 1 :]:
        if changes.keys() & later.keys():
            continue
        body = {**changes, **later}
        if backwards:
            body = dict(reversed(body.items()))
        body = {**body, **{k: v for k, v in chat().items() if k not in body}}
        with pytest.raises(Refusal) as caught:
            read_request({k: v for k, v in body.items() if v is not ABSENT})
        assert caught.value.param == param, later


@pytest.mark.parametrize("text", ["Reply in JSON.", "json", "a jSoN b", "{'format': 'json'}"])
@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_the_guard_passes_when_any_message_mentions_json(role: str, text: str) -> None:
    for content in (text, [{"type": "text", "text": text}]):
        request = accepted(
            messages=[{"role": role, "content": content}, USER],
            response_format={"type": "json_object"},
            horde={"openai_guards": True},
        )
        assert request.horde.openai_guards


def test_the_guard_reads_the_texts_beside_an_image() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://json.example/x.png"}}
    guarded = {"response_format": {"type": "json_object"}, "horde": {"openai_guards": True}}
    without = {"role": "user", "content": [picture, {"type": "text", "text": "Describe it."}]}
    assert refused(chat(messages=[without], **guarded))[2] == "messages"
    mentioned = {"role": "user", "content": [picture, {"type": "text", "text": "As JSON."}]}
    assert accepted(messages=[mentioned], **guarded).response_format is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "text"}, "horde": {"openai_guards": True}},
        {"response_format": json_schema({}), "horde": {"openai_guards": True}},
        {"horde": {"openai_guards": True}},
    ],
)
def test_without_the_guard_or_json_object_nothing_need_mention_json(
    changes: dict[str, Any],
) -> None:
    assert accepted(**changes).messages


@pytest.mark.parametrize(
    "changes, param, model",
    [
        ({"model": "koboldcpp/Qwen3:free"}, "model", "koboldcpp/Qwen3:free"),
        ({"model": ":"}, "model", ":"),
        ({"model": ABSENT, "models": ["a", "b:c"]}, "models[1]", "b:c"),
    ],
)
def test_a_model_variant_is_a_model_that_does_not_exist(
    changes: dict[str, Any], param: str, model: str
) -> None:
    assert refused(chat(**changes)) == (
        404,
        "model_not_found",
        param,
        f"The model `{model}` does not exist or you do not have access to it.",
    )


def test_dropped_parameters_are_dropped_at_any_value_and_counted_in_order() -> None:
    body = {"min_p": 0.05, **chat(), "metadata": {"\ud800": "\0"}}
    dropping = frozenset({"metadata", "min_p", "typical"})
    request = read_request(body, drop_parameters=dropping)
    assert request.dropped == ("min_p", "metadata")
    assert attrs.evolve(request, dropped=()) == accepted()


def test_only_the_listed_parameters_are_dropped() -> None:
    with pytest.raises(Refusal) as caught:
        read_request(chat(top_k=1, min_p=0), drop_parameters=frozenset({"top_k"}))
    assert caught.value.param == "min_p"


def padded_tool(size: int) -> dict[str, Any]:
    """A tool whose array is `size` bytes of compact JSON."""
    empty = '[{"type":"function","function":{"name":"f","description":""}}]'
    return tool("f", description="d" * (size - len(empty)))


def test_tools_of_exactly_the_largest_size_pass_and_one_byte_more_is_refused() -> None:
    assert accepted(tools=[padded_tool(LARGEST_TOOLING)]).tools
    assert refused(chat(tools=[padded_tool(LARGEST_TOOLING + 1)])) == (
        400,
        UNSUPPORTED,
        "tools",
        (
            "'tools', 'tool_choice' and 'response_format' are too large. Expected at most 262144 "
            "bytes of compact JSON together, but got 262145 bytes instead."
        ),
    )


def test_the_three_keys_count_together() -> None:
    choice = '"auto"'
    form = '{"type":"json_object"}'
    fits = LARGEST_TOOLING - len(choice) - len(form)
    changes: dict[str, Any] = {
        "tool_choice": "auto",
        "response_format": {"type": "json_object"},
    }
    assert accepted(tools=[padded_tool(fits)], **changes).tools
    assert refused(chat(tools=[padded_tool(fits + 1)], **changes))[2] == "tools"


def test_a_format_alone_may_be_too_large() -> None:
    big = json_schema({"description": "é" * (LARGEST_TOOLING // 2)})
    assert refused(chat(response_format=big))[2] == "response_format"


def test_dropped_members_with_illegal_text_still_count() -> None:
    request = accepted(tools=[tool("f", bogus="\ud800" * 10)])
    assert request.tools[0].name == "f"
