"""What a brain looks up in a job's conversation."""

from collections.abc import Mapping, Sequence
from typing import Any

from horde_simulator.brains import Job


def text_of(message: Mapping[str, Any]) -> str:
    """A message's text: its content, or the texts of its parts joined with nothing between."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = (part for part in content if isinstance(part, Mapping))
        return "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
    return ""


def messages_of(job: Job) -> Sequence[Mapping[str, Any]]:
    """The job's messages, oldest first."""
    messages: Sequence[Mapping[str, Any]] = job.payload.get("messages") or ()
    return messages


def last_user_text(job: Job) -> str:
    """The text of the last user message; empty without one."""
    users = (message for message in reversed(messages_of(job)) if message.get("role") == "user")
    return next((text_of(message) for message in users), "")


def tool_results(job: Job) -> tuple[tuple[Mapping[str, Any], str], ...]:
    """The calls whose results end the conversation, each with its result, in the results' order.

    A call is `{"name", "arguments"}`; empty when the last message isn't a tool's.
    """
    messages = messages_of(job)
    results: list[Mapping[str, Any]] = []
    for message in reversed(messages):
        if message.get("role") != "tool":
            break
        results.append(message)
    if not results:
        return ()
    before = messages[len(messages) - len(results) - 1] if len(messages) > len(results) else {}
    calls = {call.get("id"): call.get("function", {}) for call in before.get("tool_calls") or ()}
    return tuple(
        (calls.get(message.get("tool_call_id"), {}), text_of(message))
        for message in reversed(results)
    )


def offered(job: Job) -> tuple[Mapping[str, Any], ...]:
    """The functions that the job offers: `{"name", "description", "parameters", …}` each."""
    return tuple(tool["function"] for tool in job.payload.get("tools") or ())
