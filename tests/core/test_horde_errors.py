"""The Horde's refusals in OpenAI's envelope, and the front's own table of codes."""

import json
from typing import Any

import pytest

from core.following import a_request, begun, error, read, told
from core.horde_bodies import answer, pool, status
from horde_core.availability import lacking
from horde_core.errors import FRONT_CODES, refuse, retry_after_header, to_json, type_of_status
from horde_core.horde_errors import faulted, refused_submit
from horde_core.native import HordeAnswer, LastRefusal, read_status

SEVERAL = a_request(models=("a", "b"), from_models_key=True)
MISSING_KEY = {"errors": {"params.max_length": "16 is the least"}, "message": "Input payload …"}


@pytest.mark.parametrize(
    "reply,expected",
    [
        (
            answer({"message": "No such key.", "rc": "InvalidAPIKey"}, 401),
            (401, "InvalidAPIKey", "authentication_error", None, "No such key."),
        ),
        (
            answer({"message": "Too poor.", "rc": "KudosUpfront"}, 403),
            (403, "KudosUpfront", "permission_error", None, "Too poor."),
        ),
        (
            answer({"rc": "PromptExceedsContext"}, 400),
            (
                400,
                "PromptExceedsContext",
                "invalid_request_error",
                None,
                "The AI Horde refused the request (PromptExceedsContext).",
            ),
        ),
        (
            answer({"message": "30 waiting.", "rc": "TooManyPrompts"}, 429),
            (429, "TooManyPrompts", "rate_limit_error", None, "30 waiting."),
        ),
        (
            answer({"message": "2 per 1 second"}, 429),
            (
                429,
                "rate_limit_exceeded",
                "rate_limit_error",
                None,
                "The AI Horde limits how often it is asked (2 per 1 second).",
            ),
        ),
        (
            answer(MISSING_KEY, 400),
            (
                400,
                "BadRequest",
                "invalid_request_error",
                "max_tokens",
                "Invalid 'max_tokens': 16 is the least",
            ),
        ),
        (
            answer({"errors": {"params.temperature": "x"}}, 400),
            (
                400,
                "BadRequest",
                "invalid_request_error",
                "temperature",
                "Invalid 'temperature': x",
            ),
        ),
        (
            answer({"message": "Bad."}, 400),
            (400, "BadRequest", "invalid_request_error", None, "Bad."),
        ),
        (
            answer({"message": "x", "rc": "UnknownModel", "index": 1}, 404),
            (
                404,
                "model_not_found",
                "invalid_request_error",
                "models[1]",
                "The model `b` does not exist or you do not have access to it.",
            ),
        ),
        (
            answer({"message": "x", "rc": "UnknownModel", "index": 9}, 404),
            (
                404,
                "model_not_found",
                "invalid_request_error",
                "models[0]",
                "The model `a` does not exist or you do not have access to it.",
            ),
        ),
        (
            answer(b"<html>Forbidden</html>", 403),
            (502, "horde_error", "api_error", None, "The AI Horde answered with status 403."),
        ),
        (
            answer({"message": "Down for repair.", "rc": "MaintenanceMode"}, 503),
            (
                502,
                "horde_error",
                "api_error",
                None,
                "The AI Horde answered with status 503: Down for repair.",
            ),
        ),
        (
            answer({}, 302),
            (502, "horde_error", "api_error", None, "The AI Horde answered with status 302."),
        ),
    ],
)
def test_refused_submits(reply: HordeAnswer, expected: tuple[Any, ...]) -> None:
    """Status, code, type, param and message of each kind of refusal."""
    refusal = refused_submit(SEVERAL, reply, held=False)
    assert expected == (
        refusal.status,
        refusal.code,
        refusal.type,
        refusal.param,
        refusal.message,
    )


@pytest.mark.parametrize(
    "reply,held",
    [
        (answer(b"oops", 500), True),
        (answer({}, 502), True),
        (answer({}, 302), True),
        (answer(b"<html>", 403), False),
        (answer({"message": "x", "rc": "MaintenanceMode"}, 503), False),
        (answer({"rc": "X"}, 400), False),
        (answer({}, 429), False),
    ],
)
def test_what_proves_that_nothing_is_held(reply: HordeAnswer, held: bool) -> None:
    """A return code, a 4xx or a rate limit does; a bare server error doesn't."""
    assert refused_submit(SEVERAL, reply, held=False).held is held
    earlier = refused_submit(SEVERAL, reply, held=True)
    assert earlier.held


def test_a_rate_limit_keeps_its_headers() -> None:
    """Retry-After as the Horde says it, and its X-RateLimit-*; without one, a second."""
    limited = answer(
        {"message": "90 per minute"}, 429,
        retry_after="90", x_ratelimit_limit="90", x_ratelimit_remaining="0", x_ratelimit_reset="5",
        x_other="no",
    )  # fmt: skip
    assert dict(refused_submit(SEVERAL, limited, held=False).headers) == {
        b"retry-after": b"90",
        b"x-ratelimit-limit": b"90",
        b"x-ratelimit-remaining": b"0",
        b"x-ratelimit-reset": b"5",
    }
    untold = refused_submit(SEVERAL, answer({}, 429), held=False)
    assert "no figure given" in untold.message
    assert untold.headers == ((b"retry-after", b"1"),)


def test_a_worker_that_stopped_answering() -> None:
    """A lease that ran out is no fault that a worker reported."""
    refusal = faulted("r", LastRefusal("ChatWorkerTimeout", "150 s"), cancelled=False)
    assert "after its worker stopped answering (ChatWorkerTimeout): 150 s" in refusal.message


LACKS = [
    ({"missing_features": ["tools"]}, "no_worker_supports_features", "features: tools"),
    (
        {"missing_guarantees": ["tool_choice", "no_prompt_trim"]},
        "no_worker_supports_features",
        (
            "guarantees: tool_choice, no_prompt_trim). Drop or change what is missing, or send "
            'horde.conformance "best_effort" to do without the guarantees.'
        ),
    ),
    (
        {
            "exceeded_limits": [
                {"limit": "max_temperature_with_tools", "requested": 1.5, "largest": 1.0}
            ]
        },
        "no_worker_supports_features",
        (
            "limit max_temperature_with_tools: 1.5 requested, at most 1 served). Drop or change "
            "what is missing, or lower the temperature."
        ),
    ),
    (
        {"exceeded_limits": [{"limit": "max_length", "requested": 512, "largest": 256}]},
        "no_worker_supports_limit",
        "Send max_tokens 256 or less.",
    ),
    (
        {"exceeded_limits": [{"limit": "max_length"}]},
        "no_worker_supports_limit",
        "serves max_tokens 512.",
    ),
    (
        {"exceeded_limits": [{"limit": "max_temperature_with_tools"}]},
        "no_worker_supports_features",
        "unknown requested, at most unknown served",
    ),
]


@pytest.mark.parametrize("changes,code,says", LACKS)
def test_what_the_pool_lacks(changes: dict[str, Any], code: str, says: str) -> None:
    """Named in the message, with what to do."""
    read = read_status(answer(status(pool=pool(**changes))).body)
    refusal = lacking(a_request(), read)
    assert refusal is not None
    assert refusal.code == code
    assert says in refusal.message


@pytest.mark.parametrize(
    "options,says",
    [
        ({}, "not served by any online worker."),
        ({"trusted_workers": True}, "any online worker that horde.trusted_workers allows."),
        (
            {"ignore": ["w1"], "slow_workers": False},
            "any online worker that horde.ignore and horde.slow_workers allow.",
        ),
        ({"only": ["w1"]}, "any online worker that horde.only allows."),
    ],
)
def test_an_empty_pool_is_told_with_what_emptied_it(options: dict[str, Any], says: str) -> None:
    """The model may well be served, by workers that the client doesn't want."""
    read = read_status(answer(status(pool=pool(online_workers=0))).body)
    refusal = lacking(a_request(horde=options), read)
    assert refusal is not None
    assert refusal.code == "no_eligible_worker"
    assert says in refusal.message


def test_a_limit_that_has_no_code_of_its_own_is_left_to_the_grace() -> None:
    """Such as a context larger than any: the status table's "otherwise"."""
    beyond = {"limit": "max_context_length", "requested": 32768, "largest": 8192}
    exceeded = status(eligible_workers=0, pool=pool(exceeded_limits=[beyond]))
    assert lacking(a_request(), read_status(answer(exceeded).body)) is None
    exchange = begun(**exceeded)
    message = error(told(exchange, read(exchange, 16.0, **exceeded), 16.0))["message"]
    assert "for 15 s (limit max_context_length: 32768 requested, at most 8192 served)" in message


def test_a_pool_that_lacks_nothing_or_isnt_told() -> None:
    """Nothing is then held against the request."""
    assert lacking(a_request(), read_status(answer(status()).body)) is None
    assert lacking(a_request(), read_status(answer(status(pool=None)).body)) is None


def test_the_table_of_codes() -> None:
    """Every code of contract section 9 with its status, type and retry rule."""
    table = {
        row.code: (row.status, row.type, row.held, row.retry_after is not None)
        for row in FRONT_CODES.values()
    }
    bad, api = "invalid_request_error", "api_error"
    assert table == {
        "InvalidAuthorizationHeader": (401, "authentication_error", False, False),
        "BadRequest": (400, bad, False, False),
        "UnsupportedChatParameter": (400, bad, False, False),
        "ChatRequestConflict": (400, bad, False, False),
        "request_too_large": (413, bad, False, False),
        "unsupported_encoding": (415, bad, False, False),
        "not_found": (404, bad, False, False),
        "method_not_allowed": (405, bad, False, False),
        "model_not_found": (404, bad, False, False),
        "max_kudos_exceeded": (400, bad, False, False),
        "no_eligible_worker": (503, api, True, False),
        "no_worker_supports_features": (404, bad, True, False),
        "no_worker_supports_limit": (400, bad, True, False),
        "queue_unavailable": (503, api, True, True),
        "ChatRequestFaulted": (502, api, True, False),
        "ChatStreamDiverged": (502, api, True, False),
        "horde_unreachable": (503, api, False, True),
        "horde_submit_unknown": (502, api, True, False),
        "horde_status_lost": (502, api, True, False),
        "horde_timeout": (504, api, True, False),
        "overloaded": (503, api, False, True),
        "draining": (503, api, False, True),
        "RequestNotFound": (404, bad, True, False),
        "horde_error": (502, api, True, False),
        "rate_limit_exceeded": (429, "rate_limit_error", False, True),
        "internal_error": (500, api, False, False),
    }


def test_the_envelope() -> None:
    """All five keys, always; metadata always an object."""
    refusal = refuse("overloaded", "Busy.")
    assert json.loads(refusal.body()) == {
        "error": {
            "message": "Busy.",
            "type": "api_error",
            "param": None,
            "code": "overloaded",
            "metadata": {},
        }
    }
    assert (b"retry-after", b"2") in refusal.answer_headers()
    assert str(refusal) == "503 overloaded: Busy."


@pytest.mark.parametrize(
    "seconds,said", [(0, b"1"), (0.2, b"1"), (1.2, b"2"), (60, b"60"), (300, b"60")]
)
def test_computed_waits_stay_within_what_clients_read(seconds: float, said: bytes) -> None:
    """1 to 60 whole seconds, never less than is needed."""
    assert retry_after_header(seconds) == (b"retry-after", said)


def test_types_follow_statuses() -> None:
    """401, 403, 429 have their own; the rest go by class."""
    assert [type_of_status(s) for s in (400, 401, 403, 404, 429, 500, 503)] == [
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "invalid_request_error",
        "rate_limit_error",
        "api_error",
        "api_error",
    ]


def test_text_that_utf8_cant_hold_never_breaks_an_answer() -> None:
    """Lone surrogates become U+FFFD, in keys and in nested values."""
    value = {"\ud800": ["\udfff", ("x",), 1, None, "👩"]}
    assert json.loads(to_json(value)) == {"\ufffd": ["\ufffd", ["x"], 1, None, "👩"]}
