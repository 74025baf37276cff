"""The Horde's native chat API: its paths, its words, and the values read from its answers.

This is the one place that knows native names (a port: another dialect is a change in this file).
Readers are tolerant, as the contract asks: unknown fields are ignored, missing ones have defaults,
and only an answer that isn't the object it should be is an `UnreadableAnswer`.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import attrs
import orjson

BASE: Final = "/api/v2"
SUBMIT: Final = f"{BASE}/generate/chat/async"
STATUS: Final = f"{BASE}/generate/chat/status"
POP: Final = f"{BASE}/generate/chat/pop"
PROGRESS: Final = f"{BASE}/generate/chat/progress"
WORKER_SUBMIT: Final = f"{BASE}/generate/chat/submit"
IMAGE: Final = f"{BASE}/generate/chat/image"
WORKERS: Final = f"{BASE}/workers"
MODELS: Final = f"{BASE}/status/models"
FIND_USER: Final = f"{BASE}/find_user"
HEARTBEAT: Final = f"{BASE}/status/heartbeat"
PERFORMANCE: Final = f"{BASE}/status/performance"

ANONYMOUS_KEY: Final = "0000000000"

FEATURES: Final = (
    "tools",
    "parallel_tool_calls",
    "response_format.json_object",
    "response_format.json_schema",
    "tools_with_response_format",
    "reasoning_effort",
    "image_input",
    "progress",
)
GUARANTEES: Final = ("tool_choice", "json_schema_strict", "no_prompt_trim")
LIMITS: Final = ("max_temperature_with_tools",)

# The id becomes part of a path, a header and every chunk: nothing that could break one of them.
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_LARGEST: Final = 1e15
"""Beyond, whole numbers aren't exact in a float, and none is a count of anything here."""


class UnreadableAnswer(Exception):  # noqa: N818 - it names what was found, not a fault of ours
    """An answer of the Horde that can't be read: not JSON, or not the object it should be."""


@attrs.frozen
class HordeAnswer:
    """An HTTP answer of the Horde as it came: header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def retry_after(self) -> float | None:
        """`Retry-After` in seconds; dates and nonsense, which the Horde doesn't send, are None."""
        text = self.headers.get("retry-after", "")
        try:
            seconds = float(text)
        except ValueError:
            return None
        return seconds if 0 <= seconds < float("inf") else None


@attrs.frozen
class HordeError:
    """What an error answer says: `rc` is the Horde's return code, `errors` a schema failure."""

    message: str
    rc: str | None
    errors: Mapping[str, str]
    index: int | None
    """Which of the request's models an `UnknownModel` means."""
    readable: bool


@attrs.frozen
class Receipt:
    """The 202 of a submit: the Horde holds the job now."""

    id: str
    max_length: int | None
    prompt_tokens_estimate: int
    context_adjustments: tuple[Mapping[str, Any], ...]


@attrs.frozen
class Quote:
    """The answer to a dry run; `kudos` is the estimate at current pricing."""

    kudos: float


@attrs.frozen
class Progress:
    """One job's latest progress post, from the asked offsets on (offsets count code points)."""

    index: int
    attempt: int
    worker_id: str | None
    worker_name: str | None
    model: str | None
    content_from: int
    content: str
    reasoning_from: int
    reasoning: str


@attrs.frozen
class Usage:
    """Tokens as the worker counted them; `reasoning` is None when it didn't count those."""

    prompt: int
    completion: int
    reasoning: int | None


@attrs.frozen
class Generation:
    """One finished job of a request."""

    index: int
    worker_id: str | None
    worker_name: str | None
    model: str | None
    state: str
    content: str
    reasoning: str
    tool_calls: tuple[Mapping[str, Any], ...]
    finish_reason: str
    native_finish_reason: str | None
    usage: Usage | None


@attrs.frozen
class ExceededLimit:
    """A limit that the request exceeds on every online worker."""

    limit: str
    requested: float | None
    largest: float | None


@attrs.frozen
class Pool:
    """The online workers of the request's models, as far as declarations go."""

    online_workers: int | None
    missing_features: tuple[str, ...]
    missing_guarantees: tuple[str, ...]
    exceeded_limits: tuple[ExceededLimit, ...]


@attrs.frozen
class LastRefusal:
    """Why the last reply to a job was refused, or the last worker gave it up."""

    rc: str
    message: str


@attrs.frozen
class Status:
    """One reading of a request's status."""

    processing: int
    restarted: int
    done: bool
    faulted: bool
    cancelled: bool
    wait_time: int
    queue_position: int
    kudos: float
    is_possible: bool
    eligible_workers: int | None
    eligible_worker_threads: int
    pool: Pool | None
    context_adjustments: tuple[Mapping[str, Any], ...]
    progress: tuple[Progress, ...]
    last_refusal: LastRefusal | None
    generations: tuple[Generation, ...]


def read_receipt(body: bytes) -> Receipt:
    """Reads a submit's 202. Raises UnreadableAnswer when it doesn't name the request."""
    data = _object(body)
    request_id = data.get("id")
    if not isinstance(request_id, str) or not _REQUEST_ID.fullmatch(request_id):
        raise UnreadableAnswer("the answer to the submit has no usable id")
    max_length = data.get("max_length")
    return Receipt(
        id=request_id,
        max_length=_integer(max_length) if max_length is not None else None,
        prompt_tokens_estimate=_integer(data.get("prompt_tokens_estimate")),
        context_adjustments=objects_of(data.get("context_adjustments")),
    )


def read_quote(body: bytes) -> Quote:
    """Reads a dry run's 200. Raises UnreadableAnswer when it has no figure."""
    kudos = _object(body).get("kudos")
    if isinstance(kudos, bool) or not isinstance(kudos, int | float):
        raise UnreadableAnswer("the answer to the dry run has no kudos")
    return Quote(float(kudos))


def read_status(body: bytes) -> Status:
    """Reads a status. Raises UnreadableAnswer when it tells neither done nor waiting."""
    get = _object(body).get
    if not isinstance(get("done"), bool) and not isinstance(get("faulted"), bool):
        raise UnreadableAnswer("the status says neither `done` nor `faulted`")
    generations = objects_of(get("generations"))
    return Status(
        processing=_integer(get("processing")),
        restarted=_integer(get("restarted")),
        done=get("done") is True,
        faulted=get("faulted") is True,
        cancelled=get("cancelled") is True,
        wait_time=_integer(get("wait_time")),
        queue_position=_integer(get("queue_position")),
        kudos=_number(get("kudos")),
        is_possible=get("is_possible") is not False,
        eligible_workers=_optional_integer(get("eligible_workers")),
        eligible_worker_threads=_integer(get("eligible_worker_threads")),
        pool=_pool(get("pool")),
        context_adjustments=objects_of(get("context_adjustments")),
        progress=tuple([_progress(item) for item in objects_of(get("progress"))]),
        last_refusal=_last_refusal(get("last_refusal")),
        generations=tuple([_generation(item, at) for at, item in enumerate(generations)]),
    )


def read_error(answer: HordeAnswer) -> HordeError:
    """Reads an error answer; HTML, text and broken JSON give `readable` False, never an error."""
    try:
        data = _object(answer.body)
    except UnreadableAnswer:
        return HordeError("", None, {}, None, readable=False)
    errors = data.get("errors")
    return HordeError(
        message=_text(data.get("message")),
        rc=_text(data.get("rc")) or None,
        errors={str(k): str(v) for k, v in errors.items()} if isinstance(errors, dict) else {},
        index=_optional_integer(data.get("index")),
        readable=True,
    )


def _progress(item: Mapping[str, Any]) -> Progress:
    return Progress(
        index=_integer(item.get("index")),
        attempt=_integer(item.get("attempt")),
        worker_id=_text(item.get("worker_id")) or None,
        worker_name=_text(item.get("worker_name")) or None,
        model=_text(item.get("model")) or None,
        content_from=_integer(item.get("content_from")),
        content=_text(item.get("content")),
        reasoning_from=_integer(item.get("reasoning_from")),
        reasoning=_text(item.get("reasoning_content")),
    )


def _generation(item: Mapping[str, Any], at: int) -> Generation:
    message = item.get("message")
    message = message if isinstance(message, dict) else {}
    index = item.get("index")
    return Generation(
        index=at if index is None else _integer(index),
        worker_id=_text(item.get("worker_id")) or None,
        worker_name=_text(item.get("worker_name")) or None,
        model=_text(item.get("model")) or None,
        state=_text(item.get("state")) or "ok",
        content=_text(message.get("content")),
        reasoning=_text(message.get("reasoning_content")),
        tool_calls=objects_of(message.get("tool_calls")),
        finish_reason=_text(item.get("finish_reason")) or "stop",
        native_finish_reason=_text(item.get("native_finish_reason")) or None,
        usage=_usage(item.get("usage")),
    )


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict) or not isinstance(value.get("completion_tokens"), int):
        return None
    return Usage(
        prompt=_integer(value.get("prompt_tokens")),
        completion=_integer(value.get("completion_tokens")),
        reasoning=_optional_integer(value.get("reasoning_tokens")),
    )


def _pool(value: object) -> Pool | None:
    if not isinstance(value, dict):
        return None
    return Pool(
        online_workers=_optional_integer(value.get("online_workers")),
        missing_features=_texts(value.get("missing_features")),
        missing_guarantees=_texts(value.get("missing_guarantees")),
        exceeded_limits=tuple(
            ExceededLimit(
                _text(item.get("limit")),
                optional_number(item.get("requested")),
                optional_number(item.get("largest")),
            )
            for item in objects_of(value.get("exceeded_limits"))
        ),
    )


def _last_refusal(value: object) -> LastRefusal | None:
    if not isinstance(value, dict) or not _text(value.get("rc")):
        return None
    return LastRefusal(_text(value.get("rc")), _text(value.get("message")))


def read_list(body: bytes) -> tuple[Mapping[str, Any], ...]:
    """Reads an answer that is an array of objects, leaving out entries that are none.

    Raises UnreadableAnswer when it is no array, or one of other things: an unreadable list must
    not be taken for an empty one, by which every model would be unknown.
    """
    data = _json(body)
    if not isinstance(data, list):
        raise UnreadableAnswer("the answer is not a JSON array")
    objects = objects_of(data)
    if data and not objects:
        raise UnreadableAnswer("the answer is an array, but not of objects")
    return objects


def _object(body: bytes) -> Mapping[str, Any]:
    data = _json(body)
    if not isinstance(data, dict):
        raise UnreadableAnswer("the answer is not a JSON object")
    return data


def _json(body: bytes) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # The stock parser takes what orjson refuses: lone surrogates, which a worker can produce.
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise UnreadableAnswer("the answer is not JSON") from error


def objects_of(value: object) -> tuple[Mapping[str, Any], ...]:
    """The objects in an array; anything else is none."""
    if type(value) is not list or not value:
        return ()
    return tuple([item for item in value if isinstance(item, dict)])


def _texts(value: object) -> tuple[str, ...]:
    if type(value) is not list or not value:
        return ()
    return tuple([item for item in value if isinstance(item, str)])


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _integer(value: object) -> int:
    if type(value) is int and -_LARGEST < value < _LARGEST:  # nearly always
        return value
    return int(_number(value))


def _number(value: object) -> float:
    number = optional_number(value)
    return 0.0 if number is None else number


def _optional_integer(value: object) -> int | None:
    number = optional_number(value)
    return None if number is None else int(number)


def optional_number(value: object) -> float | None:
    """Any finite JSON number; `1e400` and `NaN`, which the stock parser yields, are nothing."""
    if type(value) is int or type(value) is float:
        return float(value) if -_LARGEST < value < _LARGEST else None
    return None
