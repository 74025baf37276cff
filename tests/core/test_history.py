"""The tool history: answers right after their calls, each once, in any order."""

from typing import Any

import pytest

from core.chat_bodies import BAD, UNSUPPORTED, USER, accepted, answer, calls, chat, refused

OPEN = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: "
)
NO_CALLS = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'."
)
SYSTEM = {"role": "system", "content": "s"}
TURN = {"role": "assistant", "content": "done"}


def not_found(call_id: str) -> str:
    return (
        f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' of previous "
        "message."
    )


def duplicate(call_id: str, first: int, second: int) -> str:
    return (
        f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call_id}', in "
        f"messages[{first}] and messages[{second}]."
    )


@pytest.mark.parametrize(
    "messages, param, message",
    [
        # A message before every call is answered
        ([USER, calls("a"), USER], "messages[2].role", OPEN + "a"),
        ([USER, calls("a"), SYSTEM, answer("a")], "messages[2].role", OPEN + "a"),
        ([USER, calls("a", "b"), answer("b"), USER], "messages[3].role", OPEN + "a"),
        ([USER, calls("a", "b"), TURN], "messages[2].role", OPEN + "a, b"),
        ([USER, calls("a"), calls("b")], "messages[2].role", OPEN + "a"),
        # Calls still open at the end
        ([USER, calls("a")], "messages", OPEN + "a"),
        ([USER, calls("a", "b", "c"), answer("b")], "messages", OPEN + "a, c"),
        # A second answer to one id
        ([calls("a", "b"), answer("a"), answer("a")], "messages[2].role", duplicate("a", 1, 2)),
        ([calls("a"), answer("a"), answer("a")], "messages[2].role", duplicate("a", 1, 2)),
        # A tool message with no open calls
        ([answer("a")], "messages[0].role", NO_CALLS),
        ([USER, answer("a")], "messages[1].role", NO_CALLS),
        ([calls("a"), answer("a"), answer("b")], "messages[2].role", NO_CALLS),
        ([calls("a"), answer("a"), USER, answer("a")], "messages[3].role", NO_CALLS),
        ([{**TURN, "tool_calls": []}, answer("a")], "messages[1].role", NO_CALLS),
        # An id that was not issued in the preceding assistant message
        ([calls("a"), answer("b")], "messages[1].tool_call_id", not_found("b")),
        ([calls("a"), answer("")], "messages[1].tool_call_id", not_found("")),
        (
            [calls("a"), answer("a"), calls("b"), answer("a")],
            "messages[3].tool_call_id",
            not_found("a"),
        ),
    ],
)
def test_a_broken_history_is_refused_at_the_message_that_breaks_it(
    messages: list[Any], param: str, message: str
) -> None:
    assert refused(chat(messages=messages)) == (400, UNSUPPORTED, param, message)


@pytest.mark.parametrize("missing", [{}, {"tool_call_id": None}])
def test_a_tool_message_needs_an_id(missing: dict[str, Any]) -> None:
    tool = {"role": "tool", "content": "x", **missing}
    assert refused(chat(messages=[calls("a"), tool])) == (
        400,
        BAD,
        "messages[1].tool_call_id",
        "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
    )


def test_a_call_id_is_a_string() -> None:
    assert refused(chat(messages=[calls("1"), answer("1") | {"tool_call_id": 1}])) == (
        400,
        BAD,
        "messages[1].tool_call_id",
        (
            "Invalid type for 'messages[1].tool_call_id': expected a string, but got an integer "
            "instead."
        ),
    )


@pytest.mark.parametrize(
    "messages",
    [
        [USER, calls("a"), answer("a")],
        [USER, calls("a", "b", "c"), answer("c"), answer("a"), answer("b"), USER],
        [calls("a"), answer("a"), calls("a"), answer("a")],
        [calls("a"), answer("a"), TURN, USER, calls("a", content="again"), answer("a"), SYSTEM],
    ],
)
def test_whole_rounds_pass_without_any_tools_on_offer(messages: list[Any]) -> None:
    assert len(accepted(messages=messages).messages) == len(messages)


def test_many_long_open_ids_are_shortened() -> None:
    ids = [f"{number}{'x' * 1000}" for number in range(100)]
    message = refused(chat(messages=[calls(*ids)]))[3]
    assert len(message) < 600
