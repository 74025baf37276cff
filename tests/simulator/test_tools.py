"""The brain `tools`: which functions it calls, with which arguments, and how it uses results."""

import json
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horde_simulator.brains import Job, Reply
from horde_simulator.brains.tools import tools
from simulator.jobs import function, job_of
from simulator.schemas import NAMES, schemas

TEXT = {"type": "string"}
WEATHER = function(
    "get_weather", "Current weather of a city", city=TEXT, unit={"enum": ["celsius", "fahrenheit"]}
)
TIME = function("local_time", "What time it is somewhere", city=TEXT)
ADD = function("add", "Sum of two numbers", a={"type": "number"}, b={"type": "number"})
SEARCH = function("web_search", "Search the web", query=TEXT)
ALL = [WEATHER, TIME, ADD, SEARCH]


def calls_of(reply: Reply) -> list[tuple[str, Any]]:
    return [
        (call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in reply.tool_calls
    ]


def called(said: str, seed: int = 1, **payload: Any) -> list[tuple[str, Any]]:
    reply = tools(job_of(said, **{"tools": ALL, **payload}), Random(seed))
    assert reply.finish_reason == ("tool_calls" if reply.tool_calls else "stop")
    return calls_of(reply)


def names(calls: list[tuple[str, Any]]) -> list[str]:
    return [name for name, _ in calls]


def test_a_function_named_in_words_is_called_with_what_was_said() -> None:
    """The place, and the unit that the message mentions."""
    assert called("What is the weather in Paris, in celsius?") == [
        ("get_weather", {"city": "Paris", "unit": "celsius"})
    ]


@pytest.mark.parametrize(
    "said, name",
    [
        ("please run get_weather for Oslo", "get_weather"),
        ("Tell me the local time in Oslo", "local_time"),
        ("add 3 and 5", "add"),
        ("Search for lighthouses", "web_search"),
        ("use web-search", "web_search"),
        ("I want to know the current weather of the city", "get_weather"),
    ],
)
def test_the_function_that_the_message_points_at(said: str, name: str) -> None:
    """By name, by a word of it, or by its description."""
    assert names(called(said)) == [name]


def test_numbers_are_taken_in_their_order() -> None:
    """`add 3 and 5` is one call with both numbers."""
    assert called("add 3 and 5") == [("add", {"a": 3.0, "b": 5.0})]


def test_arguments_take_over_what_was_said() -> None:
    """Addresses, quotes, dates, where from and where to."""
    mail = function("send_email", "", to=TEXT, body=TEXT)
    flight = function(
        "book_flight", "", to=TEXT, **{"from": TEXT, "date": {"type": "string", "format": "date"}}
    )
    said = 'Send an email to ada@example.org saying "see you soon"'
    assert called(said, tools=[mail]) == [
        ("send_email", {"to": "ada@example.org", "body": "see you soon"})
    ]
    said = "Book a flight from Paris to New York on 2026-05-04"
    assert called(said, tools=[flight]) == [
        ("book_flight", {"to": "New York", "from": "Paris", "date": "2026-05-04"})
    ]


@pytest.mark.parametrize("said", ["Hello!", "Tell me a story about a garden", ""])
def test_under_auto_no_function_is_called_without_a_reason(said: str) -> None:
    """Text instead."""
    reply = tools(job_of(said, tools=ALL), Random(1))
    assert reply.tool_calls == ()
    assert reply.content


@pytest.mark.parametrize("said", ["Hello!", "What is the time?", ""])
def test_required_always_calls(said: str) -> None:
    """The best match, or some function."""
    assert called(said, tool_choice="required")
    assert names(called("the local time", tool_choice="required")) == ["local_time"]


@pytest.mark.parametrize("parallel", [True, False, None])
def test_the_forced_function_is_the_one_called(parallel: bool | None) -> None:
    """Whatever the message speaks of."""
    choice = {"type": "function", "function": {"name": "add"}}
    payload = {} if parallel is None else {"parallel_tool_calls": parallel}
    made = called("the weather in Paris, please", tool_choice=choice, **payload)
    assert set(names(made)) == {"add"}
    assert len(made) == 1


def test_none_never_calls() -> None:
    """The Horde takes the tools away then; a brain that still sees them keeps to it."""
    assert called("the weather in Paris", tool_choice="none") == []


def test_several_calls_when_several_are_asked_for() -> None:
    """One function twice, another once, each with its own place."""
    said = "What is the weather in Paris and London, and the local time in Tokyo?"
    made = called(said, parallel_tool_calls=True)
    assert [(name, arguments["city"]) for name, arguments in made] == [
        ("get_weather", "Paris"),
        ("get_weather", "London"),
        ("local_time", "Tokyo"),
    ]


def test_a_single_call_when_parallel_calls_are_off() -> None:
    """The same message, one call."""
    said = "What is the weather in Paris and London, and the local time in Tokyo?"
    assert len(called(said, parallel_tool_calls=False)) == 1


def test_call_ids_are_openais_form_and_all_different() -> None:
    """`call_` and 24 letters or digits."""
    said = "the weather in Paris, the weather in Rome, the weather in Oslo"
    ids = [call["id"] for call in tools(job_of(said, tools=ALL), Random(1)).tool_calls]
    assert len(set(ids)) == len(ids) == 3
    assert all(len(name) == 29 and name.startswith("call_") for name in ids)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(NAMES, schemas(), max_size=3), st.integers(0, 100))
def test_arguments_are_valid_for_any_parameters(properties: dict[str, Any], seed: int) -> None:
    """An object, as the library judges it."""
    tool = function("do_it", "", **{f"p{i}": rule for i, rule in enumerate(properties.values())})
    made = calls_of(tools(job_of("go", tools=[tool], tool_choice="required"), Random(seed)))
    jsonschema.Draft202012Validator(tool["function"]["parameters"]).validate(made[0][1])


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}, {"$ref": "#/$defs/x"}, False])
def test_parameters_that_say_little_or_nonsense_get_an_object(parameters: Any) -> None:
    """Arguments are always a JSON object."""
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    made = calls_of(tools(job_of("go", tools=[tool], tool_choice="required"), Random(1)))
    assert isinstance(made[0][1], dict)


def after_results(*results: str, **payload: Any) -> Reply:
    calls = [
        {
            "id": f"c{index}",
            "type": "function",
            "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
        }
        for index in range(len(results))
    ]
    messages = [
        {"role": "user", "content": "The weather in Paris?"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *(
            {"role": "tool", "tool_call_id": f"c{index}", "content": result}
            for index, result in enumerate(results)
        ),
    ]
    return tools(Job({"messages": messages, "tools": ALL, **payload}, "m"), Random(1))


def test_results_are_used_in_text_without_further_calls() -> None:
    """Values of JSON are written out."""
    reply = after_results('{"temperature": 21.5, "sunny": true, "wind": {"from": "west"}}')
    assert reply.tool_calls == ()
    assert reply.finish_reason == "stop"
    assert reply.content == (
        "get_weather says for Paris: temperature 21.5, sunny yes, wind from west."
    )


def test_every_result_is_used_in_order() -> None:
    """Plain text results too."""
    content = after_results("21 degrees.", '["a", null]').content
    assert (
        content == "get_weather says for Paris: 21 degrees. get_weather says for Paris: a, nothing."
    )


def test_a_required_choice_calls_again_after_results() -> None:
    """Text would break the choice."""
    assert after_results("x", tool_choice="required").tool_calls


def test_a_result_whose_call_is_unknown_is_used_all_the_same() -> None:
    """A history may be cut."""
    messages = [{"role": "tool", "tool_call_id": "gone", "content": ""}]
    reply = tools(Job({"messages": messages, "tools": ALL}, "m"), Random(1))
    assert reply.content == "The function says: nothing."
