"""The way of a submit: each refusal in the contract's order, then a place in the queue."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import attrs
import orjson

from horde_simulator import images, pricing
from horde_simulator.accounts import Account
from horde_simulator.activation import Pending, activate, demand_now, place_now, quote_of
from horde_simulator.call import FetchedImage
from horde_simulator.fitting import Fitted, fit
from horde_simulator.refusals import refuse
from horde_simulator.request import Request
from horde_simulator.settlement import can_reserve
from horde_simulator.state import State
from horde_simulator.submission import Submission, check_sizes, read_submission, tools_length

_NO_WORKER: Final = "No online worker serves the requested models; the request will wait for one."


@attrs.frozen
class Accepted:
    """What a submit is answered: a status and a body; `request` is None for a dry run."""

    status: int
    body: Mapping[str, Any]
    request: Request | None = None
    existing: bool = False


def begin(state: State, body: Mapping[str, Any], key: str) -> Accepted | Pending:
    """Takes a submit as far as it goes without its images.

    Raises:
        HordeError: the first refusal in the order of the contract's section 2.
    """
    submission = read_submission(body)
    account = state.accounts.get(key)
    if account is None:
        raise refuse("InvalidAPIKey", "No user matching sent API Key.")
    operation, digest = _operation(submission, account, body)
    existing = _existing(state, operation, digest)
    if existing is not None:
        return existing
    _check_names(state, submission)
    check_sizes(submission)
    fitted = _fit(state, submission)
    if submission.dry_run:
        return Accepted(200, _resolved(state, submission, fitted))
    pending = Pending(submission, account, fitted, operation, digest)
    reserve = _check_account(state, pending)
    urls = submission.image_urls
    for url in urls:
        if not images.is_inline(url):
            images.check_url(url)
    if any(not images.is_inline(url) for url in urls):
        return pending
    return _finish(state, pending, (), reserve)


def _resolved(state: State, submission: Submission, fitted: Fitted) -> dict[str, Any]:
    """What a dry run is answered."""
    return {
        "kudos": quote_of(state, submission, fitted),
        "resolved": {
            "max_length": fitted.max_length,
            "max_context_length": fitted.max_context_length,
            "prompt_tokens_estimate": fitted.prompt_tokens,
            "context_adjustments": fitted.adjustments,
        },
    }


def urls_to_fetch(pending: Pending) -> tuple[str, ...]:
    """The URLs that somebody has to fetch before the submit can go on."""
    return tuple(url for url in pending.submission.image_urls if not images.is_inline(url))


def finish(state: State, pending: Pending, fetched: Sequence[FetchedImage]) -> Accepted:
    """Judges the pictures and activates the request.

    Raises:
        HordeError: an image's refusal; or the account's, should the time that the fetch took
            have changed what it may do.
    """
    existing = _existing(state, pending.operation, pending.digest)
    if existing is not None:
        return existing
    return _finish(state, pending, fetched, _check_account(state, pending))


def _finish(
    state: State, pending: Pending, fetched: Sequence[FetchedImage], reserve: int
) -> Accepted:
    waiting = iter(fetched)
    pictures = []
    for url in pending.submission.image_urls:
        inline = images.is_inline(url)
        data = images.inline_bytes(url) if inline else images.fetched_bytes(next(waiting))
        images.check_image(data)
        pictures.append(data)
    request = activate(state, pending, pictures, reserve)
    return Accepted(
        202, _answer(state, request, pending.fitted.max_length, existing=False), request
    )


def _operation(
    submission: Submission, account: Account, body: Mapping[str, Any]
) -> tuple[tuple[str, str] | None, bytes]:
    """The operation that a submit names, and a digest of what it asks for."""
    if submission.operation_key is None or submission.dry_run:
        return None, b""
    canonical = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return (account.name, submission.operation_key), blake2b(canonical, digest_size=16).digest()


def _existing(state: State, operation: tuple[str, str] | None, digest: bytes) -> Accepted | None:
    """The answer for an operation that the Horde holds already."""
    held = state.operations.get(operation) if operation is not None else None
    if held is None:
        return None
    if held[0] != digest:
        raise refuse("OperationKeyConflict", "The operation key was used with another body.")
    request = state.requests[held[1]]
    body = _answer(state, request, request.demand.max_length, existing=True)
    return Accepted(202, body, request, existing=True)


def _check_names(state: State, submission: Submission) -> None:
    for worker in submission.workers:
        if worker not in state.registry.by_id:
            raise refuse("WorkerNotFound", f"Worker with ID '{worker[:80]}' not found.")
    for index, model in enumerate(submission.models):
        if model not in state.sizes:
            raise refuse("UnknownModel", f"The model '{model[:200]}' is unknown.", index=index)


def _fit(state: State, submission: Submission) -> Fitted:
    online = state.registry.online(submission.models)
    return fit(
        submission.messages,
        tools_length(submission),
        max_length=submission.params.max_length,
        max_context_length=submission.params.max_context_length,
        largest_length=online.largest_length,
        largest_context=online.largest_context,
        how=submission.context_fit,
    )


def _check_account(state: State, pending: Pending) -> int:
    """Millionths to reserve, once the account may have the jobs and can pay for them."""
    account, jobs = pending.account, pending.submission.params.n
    limit = account.unpopped_limit
    if account.unpopped + jobs > limit:
        raise refuse("TooManyPrompts", f"More than {limit} jobs would be waiting for a worker.")
    amount = _to_reserve(state, pending)
    if amount and not can_reserve(account, amount):
        raise refuse(
            "KudosUpfront",
            f"An output of {pending.fitted.max_length} tokens needs {pricing.kudos(amount)} kudos "
            "upfront, because it is above the free allowance.",
        )
    return amount


def _to_reserve(state: State, pending: Pending) -> int:
    """Millionths that have to be held; 0 within the free allowance."""
    length = pending.fitted.max_length
    if length <= pricing.FREE_LEAST:
        return 0
    demand = demand_now(pending)
    standing = state.standing(state.queue.bucket(demand))
    _, tokens = state.queue.ahead(demand, place_now(state, pending.account))
    load = pricing.load(tokens, standing.threads, standing.mean_speed)
    if length <= pricing.free_allowance(load):
        return 0
    largest = max(state.size(model) for model in pending.submission.models)
    return pricing.upfront(length, largest, pending.submission.params.n)


def _answer(state: State, request: Request, max_length: int, *, existing: bool) -> dict[str, Any]:
    online = state.registry.online(request.demand.models)
    return {
        "id": request.id,
        "kudos": request.quote,
        "existing": existing,
        "expires_in": int(request.expires_at - state.now),
        "message": _NO_WORKER if online.largest_length is None else None,
        "warnings": [],
        "max_length": max_length,
        "max_context_length": request.demand.max_context_length,
        "prompt_tokens_estimate": request.prompt_tokens,
        "context_adjustments": request.adjustments,
    }
