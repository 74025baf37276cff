"""Keys whose value is one number, boolean or word: types, bounds, nulls."""

from typing import Any

import pytest

from core.chat_bodies import BAD, UNSUPPORTED, Row, accepted, chat, refused


def wrong_type(key: str, expected: str, value: Any, kind: str) -> Row:
    message = f"Invalid type for '{key}': expected {expected}, but got {kind} instead."
    return {key: value}, BAD, key, message


def bound(key: str, number: str, value: Any, side: str, shown: str | None = None) -> Row:
    which = "below minimum" if ">=" in side else "above maximum"
    got = shown if shown is not None else str(value)
    message = (
        f"Invalid '{key}': {number} {which} value. Expected a value {side}, but got {got} instead."
    )
    return {key: value}, UNSUPPORTED, key, message


DECIMALS = ("temperature", "top_p", "frequency_penalty", "presence_penalty")
BOOLEANS = ("stream", "parallel_tool_calls")

ROWS: list[Row] = [
    bound("temperature", "decimal", 2.5, "<= 2"),
    bound("temperature", "decimal", -2.5, ">= 0"),
    bound("temperature", "decimal", 3, "<= 2"),
    bound("temperature", "decimal", 1e300, "<= 2", "1e+300"),
    bound("temperature", "decimal", 10**30, "<= 2"),
    bound("top_p", "decimal", 5, "<= 1"),
    bound("top_p", "decimal", -1, ">= 0"),
    bound("top_p", "decimal", 1.0000001, "<= 1"),
    bound("frequency_penalty", "decimal", 3, "<= 2"),
    bound("frequency_penalty", "decimal", -2.1, ">= -2"),
    bound("presence_penalty", "decimal", -3, ">= -2"),
    bound("presence_penalty", "decimal", 2.01, "<= 2"),
    bound("n", "integer", 0, ">= 1"),
    bound("n", "integer", -1, ">= 1"),
    bound("n", "integer", 21, "<= 20"),
    bound("n", "integer", 64.0, "<= 20", "64"),
    bound("seed", "integer", 2**63, "<= 9223372036854775807"),
    bound("seed", "integer", -(2**63) - 1, ">= -9223372036854775808"),
    *[wrong_type(key, "a decimal", "1", "a string") for key in DECIMALS],
    *[wrong_type(key, "a decimal", True, "a boolean") for key in DECIMALS],
    *[wrong_type(key, "a decimal", [], "an array") for key in DECIMALS],
    *[wrong_type(key, "a decimal", {}, "an object") for key in DECIMALS],
    *[wrong_type(key, "a boolean", "true", "a string") for key in BOOLEANS],
    *[wrong_type(key, "a boolean", 1, "an integer") for key in BOOLEANS],
    *[wrong_type(key, "a boolean", 0.0, "a decimal number") for key in BOOLEANS],
    *[wrong_type(key, "a boolean", {}, "an object") for key in BOOLEANS],
    *[
        wrong_type(key, "an integer", value, kind)
        for key in ("n", "seed", "max_tokens", "max_completion_tokens")
        for value, kind in (
            ("1", "a string"),
            (1.5, "a decimal number"),
            (True, "a boolean"),
            ([1], "an array"),
            ({}, "an object"),
        )
    ],
]


@pytest.mark.parametrize("changes, code, param, message", ROWS)
def test_a_bad_scalar_is_refused_in_openai_words(
    changes: dict[str, Any], code: str, param: str, message: str
) -> None:
    assert refused(chat(**changes)) == (400, code, param, message)


@pytest.mark.parametrize(
    "key, value, taken",
    [
        ("temperature", 0, 0.0),
        ("temperature", 2, 2.0),
        ("temperature", 0.1, 0.1),
        ("temperature", None, 1.0),
        ("top_p", 0, 0.0),
        ("top_p", 1, 1.0),
        ("top_p", None, 1.0),
        ("frequency_penalty", -2, -2.0),
        ("frequency_penalty", None, 0.0),
        ("presence_penalty", 2, 2.0),
        ("presence_penalty", 0.050000000000000044, 0.050000000000000044),
        ("n", 1, 1),
        ("n", 20, 20),
        ("n", 2.0, 2),
        ("n", None, 1),
        ("seed", 0, 0),
        ("seed", -(2**63), -(2**63)),
        ("seed", 2**63 - 1, 2**63 - 1),
        ("seed", 7.0, 7),
        ("seed", None, None),
        ("stream", True, True),
        ("stream", False, False),
        ("stream", None, False),
        ("parallel_tool_calls", None, None),
    ],
)
def test_a_good_scalar_is_taken_and_null_is_an_omission(key: str, value: Any, taken: Any) -> None:
    read = getattr(accepted(**{key: value}), key)
    assert read == taken
    assert type(read) is type(taken)


def test_omitted_sampling_keys_have_their_neutral_values() -> None:
    request = accepted()
    assert (request.temperature, request.top_p) == (1.0, 1.0)
    assert (request.frequency_penalty, request.presence_penalty) == (0.0, 0.0)
    assert (request.n, request.max_tokens, request.seed, request.stop) == (1, 512, None, ())
