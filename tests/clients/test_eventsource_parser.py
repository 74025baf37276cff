"""eventsource-parser: the stream is proper server-sent events, wherever it is cut."""

import json
from typing import Any

import pytest

from clients.assertions import ANSWER
from clients.contract import check_stream
from clients.dev_server import PLAIN, QWEN, DevServer
from clients.programs import need_node_package, results


@pytest.fixture(scope="module")
def found(dev: DevServer) -> dict[str, Any]:
    """All cases' results: they run at once, in one Node."""
    need_node_package("eventsource-parser")
    dev.fail("diverges", model=PLAIN)
    return results("eventsource_parser.mjs", dev)


def payloads(stream: dict[str, Any]) -> list[Any]:
    """The JSON of all events but the last, which says that the stream is done.

    No event has a type or an id, and the parser has found nothing to complain of.
    """
    assert stream["type"] == "text/event-stream; charset=utf-8"
    assert stream["retry"] == "false"
    assert stream["errors"] == []
    assert all(set(event) == {"data"} for event in stream["events"])
    *events, done = [event["data"] for event in stream["events"]]
    assert done == "[DONE]"
    return [json.loads(data) for data in events]


def test_byte_by_byte(found: dict[str, Any]) -> None:
    """Fed single bytes, it makes the same events; comments tell of the queue."""
    made = check_stream(payloads(found["reasoning"]), QWEN, usage=True)
    assert made["content"] == ANSWER
    assert made["reasoning_content"]
    assert all(
        comment.lstrip().startswith("horde queue_position=")
        for comment in found["reasoning"]["comments"]
    )
    assert found["reasoning"]["comments"]


def test_live_text(found: dict[str, Any]) -> None:
    """Many events, which make exactly the words asked for."""
    made = check_stream(payloads(found["diverges"]["live"]), PLAIN, usage=True)
    assert len(made["content"].split()) == 100


def test_error_event(found: dict[str, Any]) -> None:
    """The error is the last event but `[DONE]`, and no chunk follows it."""
    *chunks, last = payloads(found["diverges"]["broken"])
    assert all("error" not in chunk for chunk in chunks)
    assert set(last) == {"error"}
    assert set(last["error"]) == {"message", "type", "param", "code", "metadata"}
    assert last["error"]["code"] == "ChatStreamDiverged"
    assert last["error"]["type"] == "api_error"
