"""The `horde` object: every key, its range, its default."""

from typing import Any

import pytest

from core.chat_bodies import BAD, UNSUPPORTED, accepted, chat, refused
from horde_core.chat import HordeOptions

BOOLEANS = ("include_reasoning", "openai_guards", "trusted_workers", "slow_workers")
WORDS = {
    "conformance": "'strict' and 'best_effort'",
    "availability_mode": "'fail_fast' and 'wait'",
    "context_fit": "'truncate_oldest', 'grow', and 'reject'",
}

Case = tuple[Any, str, str, str]


def wrong_type(key: str, expected: str, value: Any, kind: str) -> Case:
    message = f"Invalid type for 'horde.{key}': expected {expected}, but got {kind} instead."
    return {key: value}, BAD, f"horde.{key}", message


def bound(key: str, value: int, side: str) -> Case:
    which = "below minimum" if ">" in side else "above maximum"
    message = (
        f"Invalid 'horde.{key}': integer {which} value. "
        f"Expected a value {side}, but got {value} instead."
    )
    return {key: value}, UNSUPPORTED, f"horde.{key}", message


def ids(key: str, value: Any, fault: str, code: str = UNSUPPORTED, place: str = "") -> Case:
    path = f"horde.{key}{place}"
    return {key: value}, code, path, fault.format(path)


EMPTY_ARRAY = (
    "Invalid '{}': empty array. Expected an array with minimum length 1, but got an empty array "
    "instead."
)
LONG_ARRAY = (
    "Invalid '{}': array too long. Expected an array with maximum length 10, but got an array with "
    "length 11 instead."
)
EMPTY_STRING = (
    "Invalid '{}': empty string. Expected a string with minimum length 1, but got an empty string "
    "instead."
)

CASES: list[Case] = [
    *[
        (
            value,
            BAD,
            "horde",
            f"Invalid type for 'horde': expected an object, but got {kind} instead.",
        )
        for value, kind in (("x", "a string"), ([], "an array"), (True, "a boolean"))
    ],
    *[
        ({key: 1}, UNSUPPORTED, f"horde.{key}", f"Unknown parameter: 'horde.{key}'.")
        for key in ("dry_run", "operation_key", "workers", "rep_pen", "model", "")
    ],
    (
        {"max_kudo": 1},
        UNSUPPORTED,
        "horde.max_kudo",
        "Unknown parameter: 'horde.max_kudo'. Did you mean 'max_kudos'?",
    ),
    # An unknown key before the value of a known one, whatever their order
    (
        {"max_kudos": 0, "zzz": 1},
        UNSUPPORTED,
        "horde.zzz",
        "Unknown parameter: 'horde.zzz'.",
    ),
    *[wrong_type(key, "a boolean", "true", "a string") for key in BOOLEANS],
    *[wrong_type(key, "a boolean", 1, "an integer") for key in BOOLEANS],
    *[
        wrong_type(key, f"one of {words.replace('and', 'or')}", 1, "an integer")
        for key, words in WORDS.items()
    ],
    *[
        (
            {key: "bogus"},
            UNSUPPORTED,
            f"horde.{key}",
            f"Invalid value: 'bogus'. Supported values are: {words}.",
        )
        for key, words in WORDS.items()
    ],
    *[
        wrong_type(key, "an integer", value, kind)
        for key in ("context_length", "max_kudos")
        for value, kind in (("512", "a string"), (512.5, "a decimal number"), (True, "a boolean"))
    ],
    bound("context_length", 255, ">= 256"),
    bound("context_length", 1048577, "<= 1048576"),
    bound("max_kudos", 0, ">= 1"),
    bound("max_kudos", -5, ">= 1"),
    *[wrong_type(key, "an array of strings", "w1", "a string") for key in ("only", "ignore")],
    *[ids(key, [], EMPTY_ARRAY) for key in ("only", "ignore")],
    *[ids(key, ["w"] * 11, LONG_ARRAY) for key in ("only", "ignore")],
    *[ids(key, ["w1", ""], EMPTY_STRING, place="[1]") for key in ("only", "ignore")],
    *[
        ids(
            key,
            [7],
            "Invalid type for '{}': expected a string, but got an integer instead.",
            BAD,
            "[0]",
        )
        for key in ("only", "ignore")
    ],
    ids("only", ["w\0"], "Invalid '{}': string contains a NUL character.", BAD, "[0]"),
    ids("ignore", ["\ud800"], "Invalid '{}': string contains an unpaired surrogate.", BAD, "[0]"),
]


@pytest.mark.parametrize("value, code, param, message", CASES)
def test_a_bad_option_is_refused_at_its_path(
    value: Any, code: str, param: str, message: str
) -> None:
    assert refused(chat(horde=value)) == (400, code, param, message)


def test_the_defaults_are_those_of_the_contract() -> None:
    assert accepted(horde={}).horde == HordeOptions(
        include_reasoning=True,
        conformance="strict",
        openai_guards=False,
        availability_mode="fail_fast",
        context_fit="truncate_oldest",
        context_length=None,
        max_kudos=None,
        only=(),
        ignore=(),
        trusted_workers=False,
        slow_workers=True,
    )


@pytest.mark.parametrize(
    "key, value, taken",
    [
        ("include_reasoning", False, False),
        ("conformance", "best_effort", "best_effort"),
        ("openai_guards", True, True),
        ("availability_mode", "wait", "wait"),
        ("context_fit", "grow", "grow"),
        ("context_fit", "reject", "reject"),
        ("context_length", 256, 256),
        ("context_length", 1048576, 1048576),
        ("context_length", 4096.0, 4096),
        ("max_kudos", 1, 1),
        ("max_kudos", 10**12, 10**12),
        ("only", ["w1"], ("w1",)),
        ("only", [str(i) for i in range(10)], tuple("0123456789")),
        ("ignore", ["w1", "w1"], ("w1", "w1")),
        ("trusted_workers", True, True),
        ("slow_workers", False, False),
    ],
)
def test_a_good_option_is_taken(key: str, value: Any, taken: Any) -> None:
    assert getattr(accepted(horde={key: value}).horde, key) == taken


def test_a_null_option_is_an_omission() -> None:
    nulls = dict.fromkeys(("include_reasoning", "only", "ignore", "max_kudos"))
    assert accepted(horde=nulls).horde == HordeOptions()
