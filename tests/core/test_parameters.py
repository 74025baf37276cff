"""Models, token limits, stop sequences, effort, stream options, user."""

from typing import Any

import pytest

from core.chat_bodies import ABSENT, BAD, MODEL, UNSUPPORTED, Row, accepted, chat, refused

EFFORTS = "'none', 'minimal', 'low', 'medium', 'high', and 'xhigh'"
EFFORT_TYPE = "one of 'none', 'minimal', 'low', 'medium', 'high', or 'xhigh'"
LIMITS = ("max_tokens", "max_completion_tokens")


def models(value: Any) -> dict[str, Any]:
    return {"model": ABSENT, "models": value}


ROWS: list[Row] = [
    # Models
    *[
        (
            {"model": value},
            BAD,
            "model",
            f"Invalid type for 'model': expected a string, but got {kind} instead.",
        )
        for value, kind in (
            (7, "an integer"),
            (True, "a boolean"),
            ([], "an array"),
            ({}, "an object"),
        )
    ],
    ({"model": "a\0b"}, BAD, "model", "Invalid 'model': string contains a NUL character."),
    (
        {"model": "a\ud800"},
        BAD,
        "model",
        "Invalid 'model': string contains an unpaired surrogate.",
    ),
    (
        models("m"),
        BAD,
        "models",
        "Invalid type for 'models': expected an array of strings, but got a string instead.",
    ),
    (
        models([]),
        UNSUPPORTED,
        "models",
        (
            "Invalid 'models': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead."
        ),
    ),
    (
        models(["a", "b", "c", "d", "e", "f"]),
        UNSUPPORTED,
        "models",
        (
            "Invalid 'models': array too long. Expected an array with maximum length 5, but got an "
            "array with length 6 instead."
        ),
    ),
    (
        models(["a", ""]),
        UNSUPPORTED,
        "models[1]",
        (
            "Invalid 'models[1]': empty string. Expected a string with minimum length 1, but got "
            "an empty string instead."
        ),
    ),
    (
        models(["a", 1]),
        BAD,
        "models[1]",
        "Invalid type for 'models[1]': expected a string, but got an integer instead.",
    ),
    (
        models(["a", None]),
        BAD,
        "models[1]",
        "Invalid type for 'models[1]': expected a string, but got null instead.",
    ),
    (
        models(["a", "b", "a"]),
        UNSUPPORTED,
        "models",
        "Invalid 'models': 'a' occurs more than once.",
    ),
    (
        models(["b\0"]),
        BAD,
        "models[0]",
        "Invalid 'models[0]': string contains a NUL character.",
    ),
    # Token limits: OpenAI's floor of 1 in OpenAI's words, then the Horde's own of 16
    *[
        (
            {key: value},
            UNSUPPORTED,
            key,
            (
                f"Invalid '{key}': integer below minimum value. Expected a value >= {least}, "
                f"but got {value} instead."
            ),
        )
        for key in LIMITS
        for value, least in ((0, 1), (-1, 1), (1, 16), (15, 16))
    ],
    *[
        (
            {key: value},
            UNSUPPORTED,
            key,
            (
                f"{key} is too large: {value}. This model supports at most 16384 completion "
                f"tokens, whereas you provided {value}."
            ),
        )
        for key in LIMITS
        for value in (16385, 32000)
    ],
    # Stop sequences
    (
        {"stop": ["a"] * 9},
        UNSUPPORTED,
        "stop",
        (
            "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an "
            "array with length 9 instead."
        ),
    ),
    *[
        (
            {"stop": value},
            UNSUPPORTED,
            param,
            (
                f"Invalid '{param}': empty string. Expected a string with minimum length 1, but "
                "got an empty string instead."
            ),
        )
        for value, param in (("", "stop"), ([""], "stop[0]"), (["a", ""], "stop[1]"))
    ],
    *[
        (
            {"stop": value},
            BAD,
            "stop",
            (
                "Invalid type for 'stop': expected one of a string or array of strings, "
                f"but got {kind} instead."
            ),
        )
        for value, kind in ((1, "an integer"), ({}, "an object"), (False, "a boolean"))
    ],
    (
        {"stop": ["a", None]},
        BAD,
        "stop[1]",
        "Invalid type for 'stop[1]': expected a string, but got null instead.",
    ),
    ({"stop": "\0"}, BAD, "stop", "Invalid 'stop': string contains a NUL character."),
    (
        {"stop": ["a", "\udfff"]},
        BAD,
        "stop[1]",
        "Invalid 'stop[1]': string contains an unpaired surrogate.",
    ),
    # Reasoning effort
    *[
        (
            {"reasoning_effort": value},
            BAD,
            "reasoning_effort",
            (
                f"Unsupported value: 'reasoning_effort' does not support '{value}' with this "
                f"model. Supported values are: {EFFORTS}."
            ),
        )
        for value in ("max", "", "Medium")
    ],
    *[
        (
            {"reasoning_effort": value},
            BAD,
            "reasoning_effort",
            f"Invalid type for 'reasoning_effort': expected {EFFORT_TYPE}, but got {kind} instead.",
        )
        for value, kind in ((5, "an integer"), (["low"], "an array"), (False, "a boolean"))
    ],
    # Stream options
    *[
        (
            {"stream": True, "stream_options": value},
            BAD,
            "stream_options",
            f"Invalid type for 'stream_options': expected an object, but got {kind} instead.",
        )
        for value, kind in (("on", "a string"), ([], "an array"), (True, "a boolean"))
    ],
    (
        {"stream": True, "stream_options": {"include_usage": True, "bogus": 1}},
        UNSUPPORTED,
        "stream_options.bogus",
        "Unknown parameter: 'stream_options.bogus'.",
    ),
    (
        {"stream": True, "stream_options": {"include_usag": True}},
        UNSUPPORTED,
        "stream_options.include_usag",
        "Unknown parameter: 'stream_options.include_usag'. Did you mean 'include_usage'?",
    ),
    (
        {"stream_options": {"bogus": None}},
        UNSUPPORTED,
        "stream_options.bogus",
        "Unknown parameter: 'stream_options.bogus'.",
    ),
    (
        {"stream": True, "stream_options": {"include_usage": "yes"}},
        BAD,
        "stream_options.include_usage",
        (
            "Invalid type for 'stream_options.include_usage': expected a boolean, but got a string "
            "instead."
        ),
    ),
    *[
        (
            {"stream": True, "stream_options": {"include_obfuscation": value}},
            UNSUPPORTED,
            "stream_options.include_obfuscation",
            (
                "Unsupported parameter: 'stream_options.include_obfuscation' is not supported by "
                "the AI Horde. Leave it out or send false."
            ),
        )
        for value in (True, 0, "no")
    ],
    # User
    *[
        (
            {"user": value},
            BAD,
            "user",
            f"Invalid type for 'user': expected a string, but got {kind} instead.",
        )
        for value, kind in (({"id": "u1"}, "an object"), (7, "an integer"))
    ],
]


@pytest.mark.parametrize("changes, code, param, message", ROWS)
def test_a_bad_parameter_is_refused_in_openai_words(
    changes: dict[str, Any], code: str, param: str, message: str
) -> None:
    assert refused(chat(**changes)) == (400, code, param, message)


@pytest.mark.parametrize(
    "changes, taken, from_models",
    [
        ({"model": "a/b/c"}, ("a/b/c",), False),
        ({"model": "a", "models": None}, ("a",), False),
        ({"model": ABSENT, "models": ["a"]}, ("a",), True),
        ({"model": None, "models": ["a", "b"]}, ("a", "b"), True),
        ({"model": "", "models": list("abcde")}, tuple("abcde"), True),
    ],
)
def test_one_model_or_several_are_taken(
    changes: dict[str, Any], taken: tuple[str, ...], from_models: bool
) -> None:
    request = accepted(**changes)
    assert request.models == taken
    assert request.from_models_key is from_models


@pytest.mark.parametrize(
    "changes, taken",
    [
        ({}, 512),
        ({"max_tokens": None, "max_completion_tokens": None}, 512),
        ({"max_tokens": 16}, 16),
        ({"max_tokens": 16384}, 16384),
        ({"max_tokens": 100.0}, 100),
        ({"max_completion_tokens": 16}, 16),
        ({"max_completion_tokens": 16384}, 16384),
        ({"max_tokens": 64, "max_completion_tokens": 64}, 64),
        ({"max_tokens": None, "max_completion_tokens": 64}, 64),
    ],
)
def test_either_token_limit_is_taken(changes: dict[str, Any], taken: int) -> None:
    assert accepted(**changes).max_tokens == taken


@pytest.mark.parametrize(
    "value, taken",
    [
        (None, ()),
        ([], ()),
        ("###", ("###",)),
        (["a", "b", "c", "d"], ("a", "b", "c", "d")),
        (" ", (" ",)),
        (["漢字", "🐎"], ("漢字", "🐎")),
    ],
)
def test_up_to_four_stop_sequences_are_taken(value: Any, taken: tuple[str, ...]) -> None:
    assert accepted(stop=value).stop == taken


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh", None])
def test_an_effort_is_taken_as_it_is(effort: str | None) -> None:
    assert accepted(reasoning_effort=effort).reasoning_effort == effort


@pytest.mark.parametrize(
    "options, usage",
    [
        (None, False),
        ({}, False),
        ({"include_usage": None}, False),
        ({"include_usage": False}, False),
        ({"include_usage": True}, True),
        ({"include_usage": True, "include_obfuscation": False}, True),
        ({"include_obfuscation": None}, False),
    ],
)
def test_usage_is_asked_for_in_stream_options(options: Any, usage: bool) -> None:
    assert accepted(stream=True, stream_options=options).include_usage is usage


@pytest.mark.parametrize("user", ["u1", "", None, "\0\ud800"])
def test_the_user_is_dropped_whatever_it_says(user: Any) -> None:
    assert accepted(user=user) == accepted()


def test_null_stream_options_need_no_stream() -> None:
    assert accepted(stream_options=None).include_usage is False


def test_the_models_are_those_of_the_request() -> None:
    assert accepted().models == (MODEL,)
