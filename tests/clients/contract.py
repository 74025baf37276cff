"""What holds for every reply, whichever client brings it (front.md sections 8 and 10)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

X_HORDE = {
    "request_id",
    "worker_id",
    "worker_name",
    "kudos",
    "context_adjustments",
    "notice",
    "usage_estimated",
}
FINGERPRINT = re.compile(r"fp_[0-9a-f]{12}")


def check_x_horde(told: Mapping[str, Any]) -> None:
    """The Horde's details of a reply of one choice that went as asked."""
    assert set(told) == X_HORDE
    assert told["kudos"] > 0
    assert told["worker_id"]
    assert told["worker_name"]
    assert told["notice"] is None
    assert told["usage_estimated"] is False


def check_usage(usage: Mapping[str, Any]) -> None:
    """Counts that add up, the reasoning among the completion."""
    assert usage["prompt_tokens"] > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    details = usage["completion_tokens_details"]
    assert 0 <= details["reasoning_tokens"] <= usage["completion_tokens"]


def check_reply(reply: Mapping[str, Any], model: str) -> dict[str, Any]:
    """A whole reply with one choice; returns the choice."""
    assert reply["object"] == "chat.completion"
    assert reply["id"] == f"chatcmpl-{reply['x_horde']['request_id']}"
    assert reply["model"] == model
    assert reply["service_tier"] == "default"
    assert FINGERPRINT.fullmatch(reply["system_fingerprint"])
    check_x_horde(reply["x_horde"])
    check_usage(reply["usage"])
    (choice,) = reply["choices"]
    assert choice["index"] == 0
    assert choice["native_finish_reason"]
    found: dict[str, Any] = choice
    return found


def check_stream(chunks: Sequence[Mapping[str, Any]], model: str, *, usage: bool) -> dict[str, Any]:
    """The chunks of a stream with one choice, in the seed's order.

    Returns the message that they make, with its `finish_reason`.
    """
    for key in ("id", "created", "model", "system_fingerprint"):
        assert len({chunk[key] for chunk in chunks}) == 1, key
    assert chunks[0]["model"] == model
    if usage:
        *chunks, last = chunks
        assert last["choices"] == []
        check_usage(last["usage"])
    first, *middle, finish = chunks
    assert first["choices"][0]["delta"] == {"role": "assistant"}
    made: dict[str, Any] = {"role": "assistant"}
    for chunk in middle:
        (choice,) = chunk["choices"]
        assert choice["finish_reason"] is None
        ((channel, said),) = choice["delta"].items()
        if channel == "tool_calls":
            assert channel not in made, "every call is whole, in one chunk"
            assert [call["index"] for call in said] == list(range(len(said)))
            made[channel] = said
        else:
            assert channel in ("content", "reasoning_content")
            assert said
            made[channel] = made.get(channel, "") + said
    (choice,) = finish["choices"]
    assert choice["delta"] == {}
    check_x_horde(finish["x_horde"])
    assert finish["id"] == f"chatcmpl-{finish['x_horde']['request_id']}"
    return {**made, "finish_reason": choice["finish_reason"]}
