"""Putting a request into the Horde's hands: its place, its payload, its price, its end in time."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import orjson

from horde_core.native import IMAGE
from horde_simulator import pricing
from horde_simulator.accounts import Account
from horde_simulator.eligibility import Demand, demand_of
from horde_simulator.ending import expire
from horde_simulator.fitting import Fitted, settled_prompt_tokens
from horde_simulator.queue import GAIN_PER_SECOND
from horde_simulator.request import EXPIRES_AFTER, Request
from horde_simulator.settlement import charge_activation
from horde_simulator.state import State
from horde_simulator.submission import Submission


@attrs.frozen
class Pending:
    """A submit that has passed every refusal before its images, which are still to be fetched."""

    submission: Submission
    account: Account
    fitted: Fitted
    operation: tuple[str, str] | None
    digest: bytes


def quote_of(state: State, submission: Submission, fitted: Fitted) -> int:
    size = state.size(submission.models[0])
    job = pricing.estimate(fitted.max_length, fitted.max_context_length, size)
    return pricing.quote(job, submission.params.n, len(submission.image_urls))


def demand_now(pending: Pending) -> Demand:
    owner = pending.account.name if pending.account.resting else None
    fitted = pending.fitted
    return demand_of(pending.submission, fitted.max_length, fitted.max_context_length, owner)


def place_now(state: State, account: Account) -> tuple[float, int]:
    """Where the request would stand now (see `horde_simulator.queue`)."""
    return GAIN_PER_SECOND * state.now - account.priority, state.submitted + 1


def activate(state: State, pending: Pending, pictures: Sequence[bytes], reserved: int) -> Request:
    submission, account, fitted = pending.submission, pending.account, pending.fitted
    params = submission.params
    place = place_now(state, account)
    tokens = tuple(state.new_id() for _ in pictures)
    # A dropped turn takes its pictures with it: they were paid for and go to nobody.
    state.images.keep(tokens, pictures)
    state.submitted += 1
    request = Request(
        id=state.new_id(),
        account=account,
        bucket=state.queue.bucket(demand_now(pending)),
        place=place,
        activated_at=state.now,
        expires_at=state.now + EXPIRES_AFTER,
        n=params.n,
        waiting=params.n,
        quote=quote_of(state, submission, fitted),
        charged=0,
        reserved=reserved,
        settle_tokens=settled_prompt_tokens(fitted.messages),
        prompt_tokens=fitted.prompt_tokens,
        payload=_payload(pending, tokens),
        text_only=not submission.tools and submission.response_format is None,
        strict=submission.strict,
        no_calls=submission.tool_choice == "none",
        progress=submission.progress,
        effort=params.reasoning_effort,
        seed=params.seed,
        adjustments=fitted.adjustments,
        image_tokens=tokens,
        operation=pending.operation,
    )
    account.reserved += reserved
    account.unpopped += params.n
    state.requests[request.id] = request
    if pending.operation is not None:
        state.operations[pending.operation] = (pending.digest, request.id)
    charge_activation(state, request, len(pictures))
    state.queue.add(request, params.n)
    state.timeline.at(request.expires_at, _look_at_expiry, (state, request))
    state.work_came(request)
    return request


def _look_at_expiry(held: tuple[State, Request]) -> None:
    """Forgets a request whose time has not been renewed."""
    state, request = held
    if state.requests.get(request.id) is not request:
        return
    if request.expires_at > state.now:
        state.timeline.at(request.expires_at, _look_at_expiry, held)
    else:
        expire(state, request)


def _payload(pending: Pending, tokens: Sequence[str]) -> bytes:
    """The pop payload as JSON, open at its end for what depends on the worker (section 4)."""
    submission, params = pending.submission, pending.submission.params
    urls = [f"{IMAGE}/{token}" for token in tokens]
    payload: dict[str, Any] = {
        "messages": _with_urls(pending, urls) if urls else pending.fitted.messages,
        "max_length": pending.fitted.max_length,
        "max_context_length": pending.fitted.max_context_length,
        "temperature": params.temperature,
        "top_p": params.top_p,
        "frequency_penalty": params.frequency_penalty,
        "presence_penalty": params.presence_penalty,
        "rep_pen": params.rep_pen,
        "top_k": params.top_k,
        "min_p": params.min_p,
        "stop_sequence": params.stop_sequence,
        "images": urls,
    }
    if submission.offers_tools:
        payload["tools"] = submission.tools
        if submission.tool_choice is not None:
            payload["tool_choice"] = submission.tool_choice
        if submission.parallel_tool_calls is not None:
            payload["parallel_tool_calls"] = submission.parallel_tool_calls
    if submission.response_format is not None:
        payload["response_format"] = submission.response_format
    # Cut before the closing brace, to be added to at pop. The cut is also a copy of just the right
    # size: what the encoder hands out sits in a buffer of four kilobytes.
    return orjson.dumps(payload)[:-1]


def _with_urls(pending: Pending, urls: Sequence[str]) -> list[Mapping[str, Any]]:
    """The messages with the Horde's own URLs in place of the pictures' sources."""
    by_source = dict(zip(pending.submission.image_urls, urls, strict=True))
    return [
        message
        if type(message["content"]) is not list
        else {**message, "content": [_part(part, by_source) for part in message["content"]]}
        for message in pending.fitted.messages
    ]


def _part(part: Mapping[str, Any], by_source: Mapping[str, str]) -> Mapping[str, Any]:
    if part["type"] != "image_url":
        return part
    image = part["image_url"]
    return {**part, "image_url": {**image, "url": by_source[image["url"]]}}
