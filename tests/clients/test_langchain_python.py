"""langchain-openai: `ChatOpenAI`, at its defaults."""

from typing import Any

import pytest

from clients.assertions import (
    ANSWER,
    assert_hundred_words_live,
    assert_recipe,
    assert_uses_results,
)
from clients.dev_server import PLAIN, QWEN, DevServer
from clients.programs import need_module, results
from clients.requests_made import blue_png


@pytest.fixture(scope="module")
def found(dev: DevServer) -> dict[str, Any]:
    """All cases' results: they run at once, in one process."""
    need_module("langchain_openai")
    dev.fail("diverges", model=PLAIN)
    return results("langchain_python.py", dev, blue_png())


@pytest.mark.parametrize("case", ["invoke", "stream"])
def test_text(found: dict[str, Any], case: str) -> None:
    """The answer, why it ended, and the model that served."""
    message = found[case]
    assert message["content"] == ANSWER
    assert message["metadata"]["finish_reason"] == "stop"
    assert message["metadata"]["model_name"] == QWEN
    assert message["metadata"]["system_fingerprint"].startswith("fp_")
    dropped = {"reasoning_content", "x_horde"}
    assert not dropped & {*message["more"], *message["metadata"]}, "the how-to says otherwise"


def test_usage(found: dict[str, Any]) -> None:
    """A whole reply's counts, the reasoning's among them."""
    usage = found["invoke"]["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0
    assert 0 < usage["output_token_details"]["reasoning"] < usage["output_tokens"]


@pytest.mark.parametrize("case", ["tool_round", "tool_round_streamed"])
def test_tool_round(found: dict[str, Any], case: str) -> None:
    """Two calls in one reply, both answered; then text that uses both results."""
    first, second = found[case]["first"], found[case]["second"]
    assert first["metadata"]["finish_reason"] == "tool_calls"
    assert first["content"] == ""
    assert first["calls"] == [
        {"name": "get_weather", "args": {"city": city}} for city in ("Paris", "Oslo")
    ]
    assert len(set(first["ids"])) == 2
    assert second["calls"] == []
    assert second["metadata"]["finish_reason"] == "stop"
    assert_uses_results(second["content"])


@pytest.mark.parametrize("case", ["structured", "structured_by_function"])
def test_structured_output(found: dict[str, Any], case: str) -> None:
    """By a strict schema and by a forced function, each as the model that was asked for."""
    assert_recipe(found[case])


def test_image(found: dict[str, Any]) -> None:
    """A picture as a data URL, to a model that sees."""
    assert "12 × 8" in found["image"]["content"]
    assert "blue" in found["image"]["content"]


def test_refusals(found: dict[str, Any]) -> None:
    """The errors are the SDK's, with the front's `param` and `code`."""
    assert found["refused"] == {
        "status": 400,
        "code": "UnsupportedChatParameter",
        "param": "logit_bias",
    }
    assert found["no_worker"] == {"status": 503, "code": "no_eligible_worker", "param": None}


def test_error_event_in_a_stream(found: dict[str, Any]) -> None:
    """Some text, then the event: raised with its code; the next stream lives."""
    assert found["diverges"]["pieces"]
    assert found["diverges"]["code"] == "ChatStreamDiverged"
    assert_hundred_words_live(found["diverges"]["live"])


def test_each_request_made_one_job(found: dict[str, Any], dev: DevServer) -> None:
    """The broken stream isn't asked again, and a refusal leaves nothing."""
    texts, tool_rounds, documents, images, plain = 2, 2 * 2, 2, 1, 2
    assert dev.submits == texts + tool_rounds + documents + images + plain
