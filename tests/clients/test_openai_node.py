"""The openai Node SDK: whole replies, streams, helpers, runTools, schemas, images and errors."""

import json
from typing import Any

import pytest

from clients.assertions import (
    ANSWER,
    assert_hundred_words_live,
    assert_recipe,
    assert_uses_results,
)
from clients.contract import check_reply, check_stream, check_x_horde
from clients.dev_server import OFFLINE, PLAIN, QWEN, VISION, DevServer
from clients.programs import need_node_package, results


@pytest.fixture(scope="module")
def found(dev: DevServer) -> dict[str, Any]:
    """All cases' results: they run at once, in one Node."""
    need_node_package("openai")
    dev.fail("diverges", model=PLAIN)
    return results("openai_sdk.mjs", dev)


def test_models_are_listed_and_found_by_name(found: dict[str, Any]) -> None:
    """An id with slashes, encoded by the SDK, reaches its card."""
    assert {PLAIN, QWEN, VISION} < set(found["models"])
    assert OFFLINE not in found["models"]
    assert found["card"]["id"] == VISION
    assert found["card"]["architecture"]["input_modalities"] == ["text", "image"]


def test_whole_reply(found: dict[str, Any]) -> None:
    """The answer, the thoughts beside it, and `x_horde` as a property."""
    choice = check_reply(found["whole"], QWEN)
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["content"] == ANSWER
    assert "17 × 4" in choice["message"]["reasoning_content"]


def test_stream(found: dict[str, Any]) -> None:
    """Chunks in the seed's order, with usage."""
    made = check_stream(found["streamed"], QWEN, usage=True)
    assert made["content"] == ANSWER
    assert made["reasoning_content"]
    assert made["finish_reason"] == "stop"


def test_stream_helper(found: dict[str, Any]) -> None:
    """`.stream()` puts the chunks together; what it doesn't know, it keeps."""
    final = found["helper"]["final"]
    (choice,) = final["choices"]
    assert choice["message"]["content"] == found["helper"]["streamed"] == ANSWER
    assert choice["message"]["reasoning_content"]
    assert choice["finish_reason"] == "stop"
    check_x_horde(final["x_horde"])


def test_parallel_tool_round(found: dict[str, Any]) -> None:
    """Two calls; the returned message is replayed as it is; the text uses both results."""
    choice = check_reply(found["parallelToolRound"]["first"], QWEN)
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    calls = choice["message"]["tool_calls"]
    arguments = [json.loads(call["function"]["arguments"]) for call in calls]
    assert arguments == [{"city": "Paris"}, {"city": "Oslo"}]
    choice = check_reply(found["parallelToolRound"]["second"], QWEN)
    assert choice["finish_reason"] == "stop"
    assert "tool_calls" not in choice["message"]
    assert_uses_results(choice["message"]["content"])


@pytest.mark.parametrize("case", ["runTools", "runToolsStreamed"])
def test_run_tools(found: dict[str, Any], case: str) -> None:
    """The SDK's own loop: question, calls, a result for each, and text."""
    ran = found[case]
    assert "failed" not in ran, ran
    assert_uses_results(ran["final"])
    roles = [message["role"] for message in ran["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "assistant"]
    called = {call["id"] for call in ran["messages"][1]["tool_calls"]}
    assert {message["tool_call_id"] for message in ran["messages"][2:4]} == called


def test_forced_strict_tool_is_parsed(found: dict[str, Any]) -> None:
    """A strict tool made by zod; a forced call ends with `stop`."""
    choice = check_reply(found["strictTool"], QWEN)
    assert choice["finish_reason"] == "stop"
    (call,) = choice["message"]["tool_calls"]
    assert call["function"]["parsed_arguments"] == {"city": "Oslo"}


def test_parse(found: dict[str, Any]) -> None:
    """A strict schema made by zod, whose own check has passed the reply."""
    assert_recipe(found["parse"])


def test_json_object(found: dict[str, Any]) -> None:
    """Any JSON object."""
    choice = check_reply(found["jsonObject"], QWEN)
    assert isinstance(json.loads(choice["message"]["content"]), dict)


def test_image(found: dict[str, Any]) -> None:
    """A picture as a data URL, to a model that sees."""
    choice = check_reply(found["image"], VISION)
    assert "2 × 2" in choice["message"]["content"]
    assert "blue" in choice["message"]["content"]


def test_hidden_reasoning(found: dict[str, Any]) -> None:
    """`horde` in the body, as other clients send it; the thoughts are counted all the same."""
    reply = found["hiddenReasoning"]
    message = check_reply(reply, QWEN)["message"]
    assert message["content"] == ANSWER
    assert "reasoning_content" not in message
    assert reply["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0


def test_any_of_several_models(found: dict[str, Any]) -> None:
    """`models` in place of `model`: served by the one that is online."""
    assert check_reply(found["anyModel"], QWEN)["message"]["content"] == ANSWER


def test_refused_key(found: dict[str, Any]) -> None:
    """The SDK's error has the front's `param` and `code`."""
    assert found["refused"]["name"] == "BadRequestError"
    assert found["refused"]["param"] == "logit_bias"
    assert found["refused"]["code"] == "UnsupportedChatParameter"


def test_no_worker_is_not_asked_again(found: dict[str, Any]) -> None:
    """`x-should-retry: false` holds the SDK's two retries back."""
    error = found["noWorker"]["error"]
    assert (error["status"], error["code"]) == (503, "no_eligible_worker")
    assert found["noWorker"]["sent"] == 1


def test_error_event_in_a_stream(found: dict[str, Any]) -> None:
    """Some text, then the event: raised with its code, not asked again; the next one lives."""
    diverged = found["diverges"]
    assert "failed" not in diverged, diverged
    assert diverged["text"]
    assert diverged["error"]["code"] == "ChatStreamDiverged"
    check_stream(diverged["live"], PLAIN, usage=False)
    _, *pieces, _ = [chunk["choices"][0]["delta"] for chunk in diverged["live"]]
    assert_hundred_words_live([piece["content"] for piece in pieces])


def test_each_request_made_one_job(found: dict[str, Any], dev: DevServer) -> None:
    """Neither a refusal nor a retry of the SDK's has left a job of its own."""
    texts, tool_rounds, strict, images, options, plain = 3, 3 * 2, 3, 1, 2, 2
    assert dev.submits == texts + tool_rounds + strict + images + options + plain
