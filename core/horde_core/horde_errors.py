"""What the Horde's own refusals become in OpenAI's envelope (contract section 9)."""

from horde_core.chat import ChatRequest
from horde_core.errors import Refusal, refuse, retry_after_header, type_of_status
from horde_core.faults import no_such_model
from horde_core.native import HordeAnswer, HordeError, LastRefusal, read_error

# Native payload names and the keys that a client knows them by.
_OPENAI_NAMES = {
    "max_length": "max_tokens",
    "max_context_length": "horde.context_length",
    "stop_sequence": "stop",
    "workers": "horde.only",
    "worker_blacklist": "horde.ignore",
    "trusted_workers": "horde.trusted_workers",
    "slow_workers": "horde.slow_workers",
    "conformance": "horde.conformance",
    "context_fit": "horde.context_fit",
}
# Return codes of a worker that gave the job up; all others are of a reply that was refused.
_GIVEN_UP = {
    "ChatWorkerFault": "its worker reported a fault",
    "ChatWorkerTimeout": "its worker stopped answering",
}
_PASSED_ON = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


def refused_submit(request: ChatRequest, answer: HordeAnswer, *, held: bool) -> Refusal:
    """The refusal of a submit or a dry run that the Horde answered with anything but success.

    `held` says whether an earlier try of the same submit may have left a job with the Horde.
    """
    error = read_error(answer)
    if answer.status == 429:
        return _rate_limited(answer, error, held=held)
    if answer.status >= 500 or not error.readable or answer.status < 400:
        # A return code is the Horde speaking: it refused, and queued nothing. Without one, a
        # server error may hide a queued job.
        queued = answer.status >= 500 or answer.status < 400
        return refuse(
            "horde_error",
            f"The AI Horde answered with status {answer.status}"
            f"{f': {error.message}' if error.message else '.'}",
            held=held or (queued and error.rc is None),
            metadata=_metadata(error),
        )
    if error.rc == "UnknownModel":
        return _unknown_model(request, error)
    if error.rc is None:
        return _invalid_payload(error, held=held)
    return Refusal(
        code=error.rc,
        message=error.message or f"The AI Horde refused the request ({error.rc}).",
        status=answer.status,
        type=type_of_status(answer.status),
        held=held,
        metadata=_metadata(error),
    )


def faulted(request_id: str, last: LastRefusal | None, *, cancelled: bool) -> Refusal:
    """502 for a job that the Horde gave up, with the last reason it knows (first seed)."""
    if cancelled:
        message = f"The AI Horde reports request {request_id} as cancelled."
    elif last is None:
        message = f"The AI Horde reports request {request_id} as faulted."
    else:
        why = _GIVEN_UP.get(last.rc, "refusing a worker's reply")
        message = (
            f"The AI Horde reports request {request_id} as faulted after {why} "
            f"({last.rc}): {last.message}"
        )
    return refuse("ChatRequestFaulted", message, metadata={"rc": last.rc} if last else {})


def _rate_limited(answer: HordeAnswer, error: HordeError, *, held: bool) -> Refusal:
    headers = tuple(
        (name.encode(), answer.headers[name].encode("latin-1", "replace"))
        for name in _PASSED_ON
        if name in answer.headers
    )
    # The Horde's own wait is kept as it is, however long (first seed, "Errors and retries").
    after = retry_after_header(1)
    if answer.retry_after() is not None:
        after = (b"retry-after", answer.headers["retry-after"].strip().encode("ascii", "ignore"))
    return Refusal(
        code=error.rc or "rate_limit_exceeded",
        message=error.message
        if error.rc
        else f"The AI Horde limits how often it is asked ({error.message or 'no figure given'}).",
        status=429,
        type=type_of_status(429),
        held=held,
        headers=(after, *headers),
        metadata=_metadata(error),
    )


def _unknown_model(request: ChatRequest, error: HordeError) -> Refusal:
    index = error.index if error.index is not None and error.index < len(request.models) else 0
    refusal = no_such_model(request.models[index], model_param(request, index))
    return refuse(refusal.code, refusal.message, refusal.param, metadata={"rc": "UnknownModel"})


def model_param(request: ChatRequest, index: int) -> str:
    """Where the client named the model."""
    return f"models[{index}]" if request.from_models_key else "model"


def _invalid_payload(error: HordeError, *, held: bool) -> Refusal:
    """The Horde's own validation, under the key that the client sent."""
    for native, reason in error.errors.items():
        name = native.removeprefix("params.")
        param = _OPENAI_NAMES.get(name, name)
        return refuse("BadRequest", f"Invalid '{param}': {reason}", param, held=held)
    return refuse("BadRequest", error.message or "The AI Horde refused the request.", held=held)


def _metadata(error: HordeError) -> dict[str, str]:
    return {"rc": error.rc} if error.rc else {}
