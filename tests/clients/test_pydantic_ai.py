"""pydantic-ai: agents over the front, at their defaults."""

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
    need_module("pydantic_ai")
    dev.fail("diverges", model=PLAIN)
    return results("pydantic_ai_agents.py", dev, blue_png())


@pytest.mark.parametrize("case", ["run", "stream"])
def test_text(found: dict[str, Any], case: str) -> None:
    """The reasoning becomes a `thinking` part before the text."""
    assert found[case]["output"] == ANSWER
    (thinking, thought), (kind, said) = found[case]["parts"]
    assert (thinking, kind, said) == ("thinking", "text", ANSWER)
    assert "17 × 4" in thought


def test_details(found: dict[str, Any]) -> None:
    """Why the reply ended, the model that served, and the reasoning's tokens."""
    assert found["run"]["finish_reason"] == "stop"
    assert found["run"]["served"] == QWEN
    assert found["run"]["details"]["reasoning_tokens"] > 0


@pytest.mark.parametrize("case", ["tools", "tools_streamed"])
def test_tool_loop(found: dict[str, Any], case: str) -> None:
    """The agent runs both calls and sends their results, with its thoughts, back."""
    kinds = [kind for kind, _ in found[case]["parts"] if kind != "thinking"]
    assert kinds == [
        "user-prompt",
        "tool-call",
        "tool-call",
        "tool-return",
        "tool-return",
        "text",
    ]
    assert_uses_results(found[case]["output"])


@pytest.mark.parametrize("case", ["output_tool", "native_output"])
def test_structured_output(found: dict[str, Any], case: str) -> None:
    """By a tool that has to be called, and by a schema."""
    assert_recipe(found[case])


def test_image(found: dict[str, Any]) -> None:
    """A picture, to a model that sees."""
    assert "12 × 8" in found["image"]
    assert "blue" in found["image"]


def test_refusals(found: dict[str, Any]) -> None:
    """The error keeps the front's status and envelope."""
    assert found["refused"]["status"] == 400
    assert found["refused"]["body"]["param"] == "logit_bias"
    assert found["no_worker"]["status"] == 503
    assert found["no_worker"]["body"]["code"] == "no_eligible_worker"


def test_error_event_in_a_stream(found: dict[str, Any]) -> None:
    """Some text, then the event: raised with the front's message; the next stream lives."""
    broken, live = found["diverges"]["broken"], found["diverges"]["live"]
    assert broken["pieces"]
    assert "Discard the partial text" in broken["error"]
    assert live["error"] is None
    assert_hundred_words_live(live["pieces"])


def test_each_request_made_one_job(found: dict[str, Any], dev: DevServer) -> None:
    """The broken stream isn't asked again, and a refusal leaves nothing."""
    texts, tool_rounds, documents, images, plain = 2, 2 * 2, 2, 1, 2
    assert dev.submits == texts + tool_rounds + documents + images + plain
