"""LangChain.js: `ChatOpenAI` of `@langchain/openai`, at its defaults."""

from typing import Any

import pytest

from clients.assertions import (
    ANSWER,
    assert_hundred_words_live,
    assert_recipe,
    assert_uses_results,
)
from clients.dev_server import PLAIN, QWEN, DevServer
from clients.programs import need_node_package, results


@pytest.fixture(scope="module")
def found(dev: DevServer) -> dict[str, Any]:
    """All cases' results: they run at once, in one Node."""
    need_node_package("@langchain/openai")
    dev.fail("diverges", model=PLAIN)
    return results("langchain_js.mjs", dev)


@pytest.mark.parametrize("case", ["invoke", "stream"])
def test_text(found: dict[str, Any], case: str) -> None:
    """The answer, the thoughts among the additional keys, usage, and the model that served."""
    message = found[case]
    assert message["content"] == ANSWER
    assert "17 × 4" in message["reasoning"]
    assert message["metadata"]["finish_reason"] == "stop"
    assert message["metadata"]["model_name"] == QWEN
    usage = message["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0


@pytest.mark.parametrize("case", ["toolRound", "toolRoundStreamed"])
def test_tool_round(found: dict[str, Any], case: str) -> None:
    """Two calls, answered by messages with a `name`; then text that uses both results."""
    first, second = found[case]["first"], found[case]["second"]
    assert first["metadata"]["finish_reason"] == "tool_calls"
    called = [(call["name"], call["args"]) for call in first["calls"]]
    assert called == [("get_weather", {"city": city}) for city in ("Paris", "Oslo")]
    assert len({call["id"] for call in first["calls"]}) == 2
    assert second["calls"] == []
    assert second["metadata"]["finish_reason"] == "stop"
    assert_uses_results(second["content"])


@pytest.mark.parametrize("case", ["structured", "structuredByFunction"])
def test_structured_output(found: dict[str, Any], case: str) -> None:
    """By a strict schema and by a forced function."""
    assert_recipe(found[case])


def test_image(found: dict[str, Any]) -> None:
    """A picture as a data URL, to a model that sees."""
    assert "2 × 2" in found["image"]["content"]
    assert "blue" in found["image"]["content"]


def test_refused_key(found: dict[str, Any]) -> None:
    """The error is the SDK's, with the front's `param` and `code`."""
    assert found["refused"]["name"] == "BadRequestError"
    assert found["refused"]["param"] == "top_k"
    assert found["refused"]["code"] == "UnsupportedChatParameter"


def test_error_event_in_a_stream(found: dict[str, Any]) -> None:
    """Some text, then the event: raised with its code; the next stream lives."""
    diverged = found["diverges"]
    assert "failed" not in diverged, diverged
    assert diverged["pieces"]
    assert diverged["error"]["code"] == "ChatStreamDiverged"
    assert_hundred_words_live(diverged["live"])


def test_each_request_made_one_job(found: dict[str, Any], dev: DevServer) -> None:
    """The broken stream isn't asked again, and a refusal leaves nothing."""
    texts, tool_rounds, documents, images, plain = 2, 2 * 2, 2, 1, 2
    assert dev.submits == texts + tool_rounds + documents + images + plain
