"""Every error that the front can answer: code, status, type, and whether a retry is safe.

`FRONT_CODES` is the one table (contract: the front's code table; the docs page is made from it).
A `Refusal` is raised anywhere in the core and knows its whole answer; the edges only print it.
"""

from collections.abc import Mapping
from typing import Any

import attrs
import orjson

SHOULD_NOT_RETRY = (b"x-should-retry", b"false")


@attrs.frozen(eq=False, repr=False)
class ErrorCode:
    """One row of the table. `held` tells that the Horde may hold a job by then: no safe retry."""

    code: str
    status: int
    type: str
    held: bool
    when: str
    retry_after: int | None = None
    """Seconds that `Retry-After` says when the refusal itself knows no better (1 to 60)."""


_TABLE = (
    ErrorCode(
        "InvalidAuthorizationHeader",
        401,
        "authentication_error",
        False,
        "`Authorization` is there but isn't `Bearer <key>`.",
    ),
    ErrorCode(
        "BadRequest",
        400,
        "invalid_request_error",
        False,
        "Malformed JSON or text, a wrong type, a missing key, an empty `messages`, an unknown "
        "`reasoning_effort`, or a payload that the Horde itself finds invalid.",
    ),
    ErrorCode(
        "UnsupportedChatParameter",
        400,
        "invalid_request_error",
        False,
        "An unknown or unserved key; a value out of range, off its enum or pattern, too many or "
        "too long; a schema rule, a role, a part type, the tool history.",
    ),
    ErrorCode(
        "ChatRequestConflict",
        400,
        "invalid_request_error",
        False,
        "Keys that contradict or need one another.",
    ),
    ErrorCode(
        "request_too_large",
        413,
        "invalid_request_error",
        False,
        "The body, decoded, is larger than the deployment's cap.",
    ),
    ErrorCode(
        "unsupported_encoding",
        415,
        "invalid_request_error",
        False,
        "`Content-Encoding` is neither `gzip` nor `deflate`, or the body isn't what it says.",
    ),
    ErrorCode(
        "not_found",
        404,
        "invalid_request_error",
        False,
        "No such path.",
    ),
    ErrorCode(
        "method_not_allowed",
        405,
        "invalid_request_error",
        False,
        "The path is known, with another method; `Allow` lists them.",
    ),
    ErrorCode(
        "model_not_found",
        404,
        "invalid_request_error",
        False,
        "The Horde knows no such model, or the id has a `:`.",
    ),
    ErrorCode(
        "max_kudos_exceeded",
        400,
        "invalid_request_error",
        False,
        "The Horde's estimate is above `horde.max_kudos`; `metadata` has both figures.",
    ),
    ErrorCode(
        "no_eligible_worker",
        503,
        "api_error",
        True,
        "No online worker serves the model, or none could serve the request within the grace.",
    ),
    ErrorCode(
        "no_worker_supports_features",
        404,
        "invalid_request_error",
        True,
        "The model's online workers lack a declaration that the request needs; the message "
        "lists what is missing.",
    ),
    ErrorCode(
        "no_worker_supports_limit",
        400,
        "invalid_request_error",
        True,
        "`max_tokens` is above what the online workers declare.",
    ),
    ErrorCode(
        "queue_unavailable",
        503,
        "api_error",
        True,
        "Under `fail_fast`, the estimated wait is above the budget left.",
        retry_after=30,
    ),
    ErrorCode(
        "ChatRequestFaulted",
        502,
        "api_error",
        True,
        "The Horde gave the job up; the message has the last refusal.",
    ),
    ErrorCode(
        "ChatStreamDiverged",
        502,
        "api_error",
        True,
        "In a stream only: the reply started over, or doesn't continue the text already sent.",
    ),
    ErrorCode(
        "horde_unreachable",
        503,
        "api_error",
        False,
        "No connection to the Horde; nothing was sent.",
        retry_after=5,
    ),
    ErrorCode(
        "horde_submit_unknown",
        502,
        "api_error",
        True,
        "The answer to the submit was lost: the Horde may hold the job.",
    ),
    ErrorCode(
        "horde_status_lost",
        502,
        "api_error",
        True,
        "The job's status could not be read for too long; the job is cancelled.",
    ),
    ErrorCode(
        "horde_timeout",
        504,
        "api_error",
        True,
        "The request's time budget is spent; the job is cancelled.",
    ),
    ErrorCode(
        "overloaded",
        503,
        "api_error",
        False,
        "The front has as many open requests as it may.",
        retry_after=2,
    ),
    ErrorCode(
        "draining",
        503,
        "api_error",
        False,
        "The front is shutting down. Once a job was submitted `x-should-retry: false` is set.",
        retry_after=5,
    ),
    ErrorCode(
        "RequestNotFound",
        404,
        "invalid_request_error",
        True,
        "The Horde no longer knows the job (it expired).",
    ),
    ErrorCode(
        "horde_error",
        502,
        "api_error",
        True,
        "The Horde answered the submit with a server error, or with what can't be read.",
    ),
    ErrorCode(
        "rate_limit_exceeded",
        429,
        "rate_limit_error",
        False,
        "The Horde's rate limiter, without a return code; its headers are kept.",
        retry_after=1,
    ),
    ErrorCode(
        "internal_error",
        500,
        "api_error",
        False,
        "A fault of the front itself. Once a job was submitted `x-should-retry: false` is set.",
    ),
)

FRONT_CODES: Mapping[str, ErrorCode] = {row.code: row for row in _TABLE}


def type_of_status(status: int) -> str:
    """The envelope's `type` for a Horde refusal that keeps its own status (contract section 9)."""
    if status >= 500:
        return "api_error"
    return {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}.get(
        status, "invalid_request_error"
    )


@attrs.define(eq=True, hash=False)
class Refusal(Exception):  # noqa: N818 - the field's word: a request is refused
    """A request's one error, with all that its answer says.

    `held` adds `x-should-retry: false`; `headers` holds further ones to pass on, such as
    `Retry-After` and the Horde's rate-limit headers (lower-case bytes).
    """

    code: str
    message: str
    param: str | None = None
    status: int = 0
    type: str = ""
    held: bool = False
    headers: tuple[tuple[bytes, bytes], ...] = ()
    metadata: Mapping[str, Any] = attrs.field(factory=dict)

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.message}"

    def envelope(self) -> dict[str, Any]:
        """The error as every answer and every stream event carries it."""
        return {
            "error": {
                "message": self.message,
                "type": self.type,
                "param": self.param,
                "code": self.code,
                "metadata": dict(self.metadata),
            }
        }

    def body(self) -> bytes:
        """The envelope as UTF-8 JSON; text that UTF-8 can't hold is escaped, never an error."""
        return to_json(self.envelope())

    def answer_headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Headers that go with the envelope, without the CORS and id headers of every answer."""
        retry = (SHOULD_NOT_RETRY,) if self.held else ()
        return (b"content-type", b"application/json"), *self.headers, *retry


def refuse(
    code: str,
    message: str,
    param: str | None = None,
    *,
    held: bool | None = None,
    retry_after: float | None = None,
    metadata: Mapping[str, Any] | None = None,
    headers: tuple[tuple[bytes, bytes], ...] = (),
) -> Refusal:
    """Makes a refusal of one of `FRONT_CODES`; the table fills in what is not said."""
    row = FRONT_CODES[code]
    after = retry_after if retry_after is not None else row.retry_after
    if after is not None:
        headers = (*headers, retry_after_header(after))
    return Refusal(
        code=code,
        message=message,
        param=param,
        status=row.status,
        type=row.type,
        held=row.held if held is None else held,
        headers=headers,
        metadata=metadata or {},
    )


def retry_after_header(seconds: float) -> tuple[bytes, bytes]:
    """`Retry-After` in whole seconds, 1 to 60: stock clients ignore or misread longer ones."""
    return b"retry-after", str(max(1, min(60, -int(-seconds // 1)))).encode()


def to_json(value: object) -> bytes:
    """Compact UTF-8 JSON. Lone surrogates, which a Horde reply can yield, become U+FFFD."""
    try:
        return orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        return orjson.dumps(_replace_surrogates(value))


def _replace_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_replace_surrogates(k): _replace_surrogates(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_surrogates(item) for item in value]
    return value
