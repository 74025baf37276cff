"""The parser and the tool loop that the how-to for web frontends prints, word for word."""

from typing import Any

import pytest

from clients.assertions import ANSWER, assert_uses_results
from clients.contract import check_x_horde
from clients.dev_server import PLAIN, QWEN, DevServer
from clients.programs import results


@pytest.fixture(scope="module")
def found(dev: DevServer) -> dict[str, Any]:
    """All cases' results: they run at once, in one Node."""
    dev.fail("diverges", model=PLAIN)
    return results("how_to_parser.mjs", dev)


def test_plain_turn(found: dict[str, Any]) -> None:
    """Text without calls, and who served it."""
    assert found["text"]["text"] == ANSWER
    assert found["text"]["calls"] == []
    assert found["text"]["served"]["model"] == QWEN
    check_x_horde(found["text"]["served"]["horde"])


def test_tool_loop(found: dict[str, Any]) -> None:
    """Calls with names and JSON arguments, then text without further calls."""
    first, second = found["toolLoop"]
    assert first["text"] == ""
    assert [call["function"]["name"] for call in first["calls"]] == ["get_weather"] * 2
    assert second["calls"] == []
    assert_uses_results(second["text"])


def test_limit_is_clamped_by_the_card(found: dict[str, Any]) -> None:
    """What the plain model's one worker declares, and the notice to the user."""
    assert found["clamped"] == {
        "maxTokens": 1024,
        "notices": ["This model's workers serve at most 1024 tokens per reply."],
    }


def test_limit_is_lowered_and_reported(found: dict[str, Any]) -> None:
    """Asked above what the workers declare: served, and the change is told."""
    adjustments = found["lowered"]["horde"]["context_adjustments"]
    assert {"from": 16000, "to": 4096, "reason": "worker_max_length"} in adjustments


def test_refusals_show_their_message(found: dict[str, Any]) -> None:
    """Before the stream opens: the error's message, from the JSON body."""
    assert "not served by any" in found["noWorker"]["message"]
    assert "rep_pen" in found["sampler"]["message"]


def test_error_event_shows_its_message(found: dict[str, Any]) -> None:
    """After the stream has opened: the event's message; the next turn works."""
    diverged = found["diverges"]
    assert "failed" not in diverged, diverged
    assert "Discard the partial text" in diverged["error"]["message"]
    assert len(diverged["next"]["text"].split()) == 100
