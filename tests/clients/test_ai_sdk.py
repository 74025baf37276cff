"""The Vercel AI SDK with `@ai-sdk/openai-compatible`, at its defaults."""

from typing import Any

import pytest

from clients.assertions import (
    ANSWER,
    assert_hundred_words_live,
    assert_recipe,
    assert_uses_results,
)
from clients.contract import check_stream
from clients.dev_server import PLAIN, QWEN, DevServer
from clients.programs import need_node_package, results


@pytest.fixture(scope="module")
def found(dev: DevServer) -> dict[str, Any]:
    """All cases' results: they run at once, in one Node."""
    need_node_package("ai")
    dev.fail("diverges", model=PLAIN)
    return results("ai_sdk.mjs", dev)


def test_generate_text(found: dict[str, Any]) -> None:
    """The text, the reasoning as `reasoningText`, usage, and the model that served."""
    reply = found["generateText"]
    assert reply["text"] == ANSWER
    assert "17 × 4" in reply["reasoningText"]
    assert reply["finishReason"] == "stop"
    assert reply["served"] == QWEN
    usage = reply["usage"]
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"]
    assert usage["outputTokenDetails"]["reasoningTokens"] > 0


def test_stream_text(found: dict[str, Any]) -> None:
    """Reasoning parts before text parts; `x_horde` survives in the raw chunks."""
    reply = found["streamText"]
    kinds = [kind for kind, _ in reply["parts"]]
    assert kinds == sorted(kinds, key=["reasoning-delta", "text-delta"].index)
    assert set(kinds) == {"reasoning-delta", "text-delta"}
    assert reply["text"] == ANSWER
    assert reply["finishReason"] == "stop"
    assert check_stream(reply["raw"], QWEN, usage=False)["content"] == ANSWER


@pytest.mark.parametrize("case", ["generateTools", "streamTools"])
def test_tool_round(found: dict[str, Any], case: str) -> None:
    """The SDK's loop: two calls, run by it, then text that uses both results."""
    first, second = found[case]
    assert first["finishReason"] == "tool-calls"
    assert first["calls"] == [["get_weather", {"city": city}] for city in ("Paris", "Oslo")]
    assert first["results"] == [{"city": "Paris", "degrees": 18}, {"city": "Oslo", "degrees": -4}]
    assert second["finishReason"] == "stop"
    assert second["calls"] == []
    assert_uses_results(second["text"])


@pytest.mark.parametrize("case", ["generateObject", "streamOutput"])
def test_object_of_a_strict_schema(found: dict[str, Any], case: str) -> None:
    """With `supportsStructuredOutputs`: a document that zod has passed."""
    assert_recipe(found[case])


def test_json_object(found: dict[str, Any]) -> None:
    """Without a schema: `json_object`."""
    assert isinstance(found["jsonObject"], dict)
    assert "failed" not in found["jsonObject"]


def test_image(found: dict[str, Any]) -> None:
    """A file part reaches a model that sees, as a data URL."""
    assert "2 × 2" in found["image"]
    assert "blue" in found["image"]


def test_refused_key(found: dict[str, Any]) -> None:
    """An option of the provider's that the front doesn't take: an error with its message."""
    assert found["refused"]["name"] == "APICallError"
    assert found["refused"]["status"] == 400
    assert "min_p" in found["refused"]["message"]


def test_error_event_in_a_stream(found: dict[str, Any]) -> None:
    """Some text, then an `error` part with the front's message; the next stream lives."""
    diverged = found["diverges"]
    assert "failed" not in diverged, diverged
    *texts, last = diverged["broken"]
    assert {kind for kind, _ in texts} == {"text-delta"}
    assert last[0] == "error"
    assert "Discard the partial text" in last[1]
    assert_hundred_words_live([text for _, text in diverged["live"]])


def test_each_request_made_one_job(found: dict[str, Any], dev: DevServer) -> None:
    """The broken stream isn't asked again, and a refusal leaves nothing."""
    texts, tool_rounds, documents, images, plain = 2, 2 * 2, 3, 1, 2
    assert dev.submits == texts + tool_rounds + documents + images + plain
