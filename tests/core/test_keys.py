"""Which keys are taken, dropped and refused, in the client's order; the tables agree."""

from typing import Any

import attrs
import pytest

from core.chat_bodies import MODEL, UNSUPPORTED, USER, Row, accepted, chat, refused
from horde_core.chat import HordeOptions
from horde_core.keys import CLIENT_DEFAULTS, KEYS, TAKEN, UNSERVED, Keys
from horde_core.options import OPTIONS


def unserved(key: str, value: Any, instead: str = "") -> Row:
    message = f"Unsupported parameter: '{key}' is not supported by the AI Horde."
    return {key: value}, UNSUPPORTED, key, f"{message} {instead}" if instead else message


def unknown(key: str, hint: str = "", value: Any = 1) -> Row:
    message = f"Unknown parameter: '{key}'."
    return {key: value}, UNSUPPORTED, key, f"{message} Did you mean {hint}?" if hint else message


STORE = "Leave it out or send false."
TIER = "Leave it out or send 'auto'."

ROWS: list[Row] = [
    # Client defaults at another value (first seed, "Keys the front refuses")
    unserved("logprobs", True),
    unserved("logprobs", 0),
    unserved("logprobs", {}),
    unserved("top_logprobs", 5),
    unserved("top_logprobs", -1),
    unserved("top_logprobs", False),
    unserved("top_logprobs", "0"),
    unserved("store", True, STORE),
    unserved("store", "false", STORE),
    unserved("service_tier", "flex", TIER),
    unserved("service_tier", "priority", TIER),
    unserved("service_tier", {}, TIER),
    unserved("logit_bias", {"50256": -100}),
    unserved("logit_bias", []),
    unserved("logit_bias", "x"),
    # Keys that OpenAI documents and the Horde has nothing for
    unserved("functions", [], "Use 'tools' instead."),
    unserved("functions", [{"name": "f"}], "Use 'tools' instead."),
    unserved("function_call", "auto", "Use 'tool_choice' instead."),
    unserved("function_call", {}, "Use 'tool_choice' instead."),
    unserved("audio", {"voice": "alloy"}),
    unserved("modalities", ["text"]),
    unserved("modalities", ["text", "audio"]),
    unserved("prediction", {"type": "content", "content": "x"}),
    unserved("web_search_options", {}),
    unserved("metadata", {}),
    unserved("metadata", {"k": "v"}),
    unserved("moderation", {}),
    unserved("safety_identifier", "u1"),
    unserved("prompt_cache_key", "k"),
    unserved("prompt_cache_options", {}),
    unserved("prompt_cache_retention", "24h"),
    unserved("verbosity", "low"),
    # Keys that nobody knows
    unknown("zzz_unknown"),
    unknown("x"),
    unknown("rep_pen"),
    unknown("min_p"),
    unknown("typical"),
    unknown("sampler_order", value=[6, 0, 1]),
    unknown("max_length"),
    unknown("max_context_length"),
    unknown("chat_template_kwargs", value={}),
    unknown("reasoning", value={"effort": "low"}),
    unknown("thinking", value=None),
    unknown("extra_body", value={}),
    unknown("cache_prompt", value=False),
    unknown("", value=False),
    unknown("top_k", "'top_p'"),
    unknown("top_a", "'top_p'"),
    unknown("stor", "'stop' or 'store'"),
    unknown("temperatur", "'temperature'"),
    unknown("Temperature", "'temperature'"),
    unknown("modelss", "'models'"),
    unknown("hord", "'horde'", {}),
    unknown("max_token", "'max_tokens'"),
    unknown("messagess", "", []),
    unknown("mo\0del", "'models'"),
]


@pytest.mark.parametrize("changes, code, param, message", ROWS)
def test_a_key_that_is_not_taken_is_refused_by_name(
    changes: dict[str, Any], code: str, param: str, message: str
) -> None:
    assert refused(chat(**changes)) == (400, code, param, message)


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": []},
        {"tools": None},
        {"tool_choice": None},
        {"parallel_tool_calls": None},
        {"response_format": {"type": "text"}},
        {"response_format": None},
        {"logprobs": False},
        {"top_logprobs": 0},
        {"top_logprobs": 0.0},
        {"store": False},
        {"service_tier": "auto"},
        {"service_tier": "default"},
        {"user": "u1"},
        {"logit_bias": {}},
        {"horde": None},
        {"horde": {}},
        *[{key: None} for key in (*CLIENT_DEFAULTS, *UNSERVED)],
        *[{key: None} for key in KEYS if key not in ("model", "messages")],
    ],
)
def test_client_defaults_and_nulls_change_nothing(changes: dict[str, Any]) -> None:
    assert accepted(**changes) == accepted()


@pytest.mark.parametrize(
    "keys, first",
    [
        (["zzz", "logit_bias", "min_p"], "zzz"),
        (["logit_bias", "zzz", "min_p"], "logit_bias"),
        (["min_p", "functions", "logit_bias"], "min_p"),
        (["functions", "min_p"], "functions"),
    ],
)
def test_the_first_refused_key_is_the_first_that_the_client_sent(
    keys: list[str], first: str
) -> None:
    body = {**dict.fromkeys(keys, 1), "model": MODEL, "messages": [USER]}
    assert refused(body)[2] == first


def test_a_long_key_is_shortened_in_the_answer() -> None:
    _, code, param, message = refused(chat(**{"k" * 1_000_000: 1}))
    assert code == UNSUPPORTED
    assert param == "k" * 128 + "..." + "k" * 128
    assert message == f"Unknown parameter: '{param}'."


def test_every_key_is_read_into_its_attribute_in_the_order_of_checks() -> None:
    assert list(KEYS) == [field.name for field in attrs.fields(Keys)]


def test_every_horde_option_is_read_into_its_attribute_in_order() -> None:
    assert list(OPTIONS) == [field.name for field in attrs.fields(HordeOptions)]


def test_no_key_is_in_two_tables() -> None:
    assert len(TAKEN) == len(KEYS) + len(CLIENT_DEFAULTS)
    assert not TAKEN & UNSERVED.keys()


def test_the_tables_hold_every_key_that_openai_was_seen_to_know() -> None:
    known = [
        "model",
        "messages",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "audio",
        "modalities",
        "web_search_options",
    ]
    assert set(known) == (TAKEN | UNSERVED.keys()) - {"models", "horde"}
