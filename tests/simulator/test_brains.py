"""The small brains, where replies end, and what `mixed` picks."""

import io
import json
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from horde_simulator.brains import Job, Reply
from horde_simulator.brains.echo import echo
from horde_simulator.brains.ending import call_tokens, ended
from horde_simulator.brains.mixed import mixed
from horde_simulator.brains.registry import BRAINS, brain_of
from horde_simulator.brains.script import script
from horde_simulator.brains.structured import structured
from horde_simulator.brains.vision import vision
from horde_simulator.scenario import WorkerProfile
from horde_simulator.tokens import count
from simulator.jobs import function, job_of
from simulator.schemas import schemas


def picture(kind: str, size: tuple[int, int], colour: Any, mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.new(mode, size, colour).save(out, kind)
    return out.getvalue()


def test_the_registry_has_the_contracts_brains() -> None:
    """simulator section 2."""
    words = "prose echo script tools structured reasoning vision mixed"
    assert set(BRAINS) == set(words.split())


@pytest.mark.parametrize(
    "messages, said",
    [
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "a"),
        ([{"role": "user", "content": "a"}, {"role": "user", "content": " b\n"}], " b\n"),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "x"},
                        {"type": "image_url", "image_url": {"url": "https://e.example"}},
                        {"type": "text", "text": "y"},
                    ],
                }
            ],
            "xy",
        ),
        ([{"role": "system", "content": "s"}], ""),
        ([], ""),
    ],
)
def test_echo_says_the_last_user_message(messages: list[Any], said: str) -> None:
    """Its texts when it has parts."""
    assert echo(Job({"messages": messages}, "m"), Random(1)) == Reply(said)


RULES = (
    {"match": "^hi", "text": "hello", "reasoning": "greet", "delay": 2.0},
    {"match": "weather", "calls": ({"name": "get", "arguments": {"city": "Köln"}}, {"name": "x"})},
    {"match": "cut", "text": "half", "finish_reason": "length"},
    {"match": "hi", "text": "second"},
    {"match": "^21", "text": "It is 21."},
)


def test_script_follows_the_first_rule_that_matches() -> None:
    """Not the best one."""
    said = script(RULES)(job_of("hi there"), Random(1))
    assert said == Reply("hello", "greet", delay=2.0)
    assert script(RULES)(job_of("oh hi"), Random(1)).content == "second"
    assert script(RULES)(job_of("cut it"), Random(1)).finish_reason == "length"


def test_script_makes_calls() -> None:
    """Arguments as JSON text, `{}` when the rule gives none."""
    reply = script(RULES)(job_of("the weather"), Random(1))
    assert [call["function"] for call in reply.tool_calls] == [
        {"name": "get", "arguments": '{"city": "Köln"}'},
        {"name": "x", "arguments": "{}"},
    ]
    assert reply.finish_reason == "tool_calls"
    assert len({call["id"] for call in reply.tool_calls}) == 2


def test_script_matches_the_tool_result_that_ends_the_conversation() -> None:
    """And no longer the user message before it."""
    messages = [
        {"role": "user", "content": "weather"},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "get"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "21 degrees"},
    ]
    assert script(RULES)(Job({"messages": messages}, "m"), Random(1)).content == "It is 21."


def test_script_says_when_no_rule_matches() -> None:
    """So that a test's author sees why."""
    reply = script(RULES)(job_of("unheard of"), Random(1))
    assert reply.content == "(No rule of the script matches: unheard of)"


@settings(max_examples=150, deadline=None)
@given(schemas(), st.integers(0, 100))
def test_structured_writes_json_that_the_schema_accepts(schema: Any, seed: int) -> None:
    """The content parses, and the library finds the document valid."""
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    reply = structured(job_of("Paris, 7", response_format=form), Random(seed))
    jsonschema.Draft202012Validator(schema).validate(json.loads(reply.content))


def test_structured_writes_some_object_for_json_object() -> None:
    """It has to do with the message."""
    form = {"type": "json_object"}
    reply = structured(job_of("Tell me about lighthouses", response_format=form), Random(1))
    document = json.loads(reply.content)
    assert isinstance(document, dict)
    assert "lighthouses" in document["words"]


@pytest.mark.parametrize(
    "data, words",
    [
        (picture("PNG", (64, 32), "red"), "a PNG of 64 × 32 pixels, mostly red"),
        (picture("JPEG", (10, 20), (20, 70, 230)), "a JPEG of 10 × 20 pixels, mostly blue"),
        (picture("WEBP", (8, 8), "white"), "a WEBP of 8 × 8 pixels, mostly white"),
        (picture("GIF", (5, 5), 0, "P"), "a GIF of 5 × 5 pixels, mostly black"),
        (picture("PNG", (4, 4), (0, 0, 0, 0), "RGBA"), "a PNG of 4 × 4 pixels, mostly white"),
        (picture("PNG", (3, 3), 130, "L"), "a PNG of 3 × 3 pixels, mostly grey"),
    ],
)
def test_vision_says_format_size_and_main_colour(data: bytes, words: str) -> None:
    """Transparent pixels are seen on white."""
    reply = vision(job_of("What is this?", images=(data,)), Random(1))
    assert reply.content == f"The image is {words}."


def test_vision_sees_the_colour_of_most_pixels() -> None:
    """Not the mean of all."""
    image = Image.new("RGB", (100, 100), "green")
    image.paste("red", (0, 0, 100, 30))
    out = io.BytesIO()
    image.save(out, "PNG")
    assert "mostly green" in vision(job_of("?", images=(out.getvalue(),)), Random(1)).content


def test_vision_describes_each_image_in_order() -> None:
    """One that can't be read included."""
    images = (picture("PNG", (1, 1), "yellow"), b"no image", picture("PNG", (2, 2), "black"))
    assert vision(job_of("?", images=images), Random(1)).content == (
        "Image 1 is a PNG of 1 × 1 pixels, mostly yellow. Image 2 can't be read. "
        "Image 3 is a PNG of 2 × 2 pixels, mostly black."
    )


def test_vision_without_an_image_says_so() -> None:
    """A worker of this brain may get a text job."""
    assert "no image" in vision(job_of("?"), Random(1)).content


def call(arguments: str, name: str = "f") -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_stop_sequence_ends_the_content_before_itself() -> None:
    """The first one to appear; reasoning isn't looked at."""
    job = job_of("x", stop_sequence=["two", "one", "", "zero"])
    end = ended(Reply("a one b two", "zero", (call("{}"),), "tool_calls"), job)
    assert end == Reply("a ", "zero", (), "stop", "stop_sequence")


def test_a_reply_that_fits_is_as_it_was() -> None:
    """To the last token."""
    reply = Reply("a b c d", "e f g")
    assert ended(reply, job_of("x", max_length=7)) is reply
    assert ended(reply, Job({}, "m")) is reply


@pytest.mark.parametrize(
    "limit, reasoning, content", [(6, "e f g", "a b c"), (3, "e f g", ""), (2, "e f", "")]
)
def test_tokens_are_spent_on_reasoning_first(limit: int, reasoning: str, content: str) -> None:
    """A reply that is out of tokens says so in both its reasons."""
    end = ended(Reply("a b c d", "e f g"), job_of("x", max_length=limit))
    assert end == Reply(content, reasoning, (), "length", "length")


@given(st.integers(1, 120), st.text(max_size=60), st.lists(st.text(max_size=80), max_size=3))
def test_an_ended_reply_is_never_above_the_limit(
    limit: int, content: str, texts: list[str]
) -> None:
    """Reasoning, content and the calls' JSON together."""
    calls = tuple(call(json.dumps({"text": text})) for text in texts)
    end = ended(Reply(content, "th ink", calls, "tool_calls"), job_of("x", max_length=limit))
    spent = count(end.reasoning) + count(end.content) + call_tokens(end.tool_calls)
    assert spent <= limit
    assert content.startswith(end.content)
    assert len(end.tool_calls) <= len(calls)


def test_a_call_that_is_cut_keeps_what_fits() -> None:
    """A prefix of the arguments, which no longer parse."""
    whole = call(json.dumps({"text": "word " * 100}))
    end = ended(Reply(tool_calls=(whole,), finish_reason="tool_calls"), job_of("x", max_length=80))
    arguments = end.tool_calls[0]["function"]["arguments"]
    assert whole["function"]["arguments"].startswith(arguments)
    assert 0 < len(arguments) < 500
    assert end.finish_reason == "length"


SKY = "Why is the sky blue?"
FORM = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"const": {"a": 1}}}}
TOOL = function("get_weather", "Weather", city={"type": "string"})


def mix(said: str, **payload: Any) -> Reply:
    return mixed(job_of(said, **payload), Random(1))


def test_mixed_writes_prose_for_a_plain_job() -> None:
    """No thoughts, no calls."""
    reply = mix("Write 30 words")
    assert len(reply.content.split()) == 30
    assert reply.reasoning == ""


def test_mixed_reasons_when_the_job_has_an_effort() -> None:
    """And about the question; under `none` it answers at once."""
    assert "sky" in mix(SKY, reasoning_effort="medium").reasoning
    quick = mix(SKY, reasoning_effort="none")
    assert quick.reasoning == ""
    assert "sky" in quick.content


def test_mixed_calls_when_a_function_is_pointed_at() -> None:
    """With a thought before it when the job has an effort."""
    said = "The weather in Rome?"
    assert mix(said, tools=[TOOL]).tool_calls
    thoughtful = mix(said, tools=[TOOL], reasoning_effort="medium")
    assert thoughtful.tool_calls
    assert thoughtful.reasoning
    assert mix(said, tools=[TOOL], reasoning_effort="none").reasoning == ""


def test_mixed_goes_on_when_no_function_is_pointed_at() -> None:
    """To the other things that a job may ask for."""
    assert mix("Hello", tools=[TOOL]).content.startswith("Hello")
    assert mix("Hello", tools=[TOOL], response_format=FORM).content == '{"a": 1}'


def test_mixed_shapes_only_the_final_answer_with_tools_and_format() -> None:
    """Calls first, the document after the results."""
    assert mix("The weather in Rome?", tools=[TOOL], response_format=FORM).tool_calls
    messages = [
        {"role": "user", "content": "The weather in Rome?"},
        {"role": "assistant", "tool_calls": [{"id": "a", **call("{}")}]},
        {"role": "tool", "tool_call_id": "c", "content": "21"},
    ]
    payload = {"messages": messages, "tools": [TOOL], "response_format": FORM}
    assert mixed(Job(payload, "m"), Random(1)).content == '{"a": 1}'
    del payload["response_format"]
    assert "21" in mixed(Job(payload, "m"), Random(1)).content


def test_mixed_uses_results_without_tools_on_offer() -> None:
    """A history with calls needs no `tools`."""
    messages = [
        {"role": "assistant", "tool_calls": [{"id": "c", **call("{}")}]},
        {"role": "tool", "tool_call_id": "c", "content": "21"},
    ]
    assert mixed(Job({"messages": messages}, "m"), Random(1)).content == "f says: 21."


def test_mixed_describes_images() -> None:
    """Before it would reason or write."""
    reply = mix("What is this?", images=(picture("PNG", (2, 2), "red"),))
    assert "mostly red" in reply.content


@pytest.mark.parametrize("name", sorted(BRAINS))
def test_every_brain_keeps_to_the_limit_and_to_its_seed(name: str) -> None:
    """Through the registry, for jobs of every kind; the same seed says the same."""
    rules = ({"match": ".", "text": "word " * 500},) if name == "script" else ()
    brain = brain_of(WorkerProfile("w", ("m",), brain=name, script=rules))
    jobs = [
        job_of("Tell me about the weather in Rome in 900 words", max_length=64),
        job_of("x " * 500, max_length=16, reasoning_effort="high"),
        job_of("The weather in Rome", max_length=16, tools=[TOOL], tool_choice="required"),
        job_of("x", max_length=16, response_format=FORM),
        job_of("?", max_length=16, images=(picture("PNG", (2, 2), "red"),)),
    ]
    for job in jobs:
        reply = brain(job, Random(5))
        spent = count(reply.reasoning) + count(reply.content) + call_tokens(reply.tool_calls)
        assert spent <= job.payload["max_length"]
        assert reply == brain(job, Random(5))
