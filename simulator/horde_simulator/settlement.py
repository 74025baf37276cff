"""Charging a request: its activation, each reply, and what was streamed before a cancel."""

from horde_simulator.accounts import Account
from horde_simulator.job import Job
from horde_simulator.pricing import FLAT, MICRO, activation, billed_tokens, micro, reward
from horde_simulator.request import EXPIRES_AFTER, Request
from horde_simulator.state import State


def charge_activation(state: State, request: Request, images: int) -> None:
    """Burns the tax that every request pays when it enters the queue."""
    tax = activation(images)
    request.charged = tax
    state.ledger.charge(state.now, request.id, "activation", request.account, burn=tax)


def charge_reply(state: State, job: Job, characters: int, kind: str) -> int:
    """Pays a worker for a reply of so many characters; the user pays the flat part besides.

    Returns:
        Millionths that the user was charged.
    """
    request = job.request
    tokens = billed_tokens(characters, request.demand.max_length)
    earned = reward(tokens, state.size(job.model), request.settle_tokens)
    state.tokens_settled += tokens
    return _charge(state, job, earned, kind)


def charge_withheld(state: State, job: Job) -> int:
    """Charges a censored reply: the flat part only, nothing to the worker."""
    return _charge(state, job, 0, "censored")


def _charge(state: State, job: Job, earned: int, kind: str) -> int:
    request = job.request
    # A larger model than the first listed one may have served: the quote stays the most that a
    # user pays, and the worker bears the difference (contract, section 5).
    left = max(0, request.quote * MICRO - request.charged)
    burn = min(micro(FLAT), left)
    earned = min(earned, left - burn)
    job.reward = state.ledger.charge(
        state.now, request.id, kind, request.account, job.worker.owner, reward=earned, burn=burn
    )
    job.worker.earned += job.reward
    request.charged += earned + burn
    request.expires_at = state.now + EXPIRES_AFTER
    return earned + burn


def can_reserve(account: Account, amount: int) -> bool:
    """Whether an account has so much that is held for no other request."""
    return account.balance - account.reserved >= amount


def release_reserve(request: Request) -> None:
    """Gives back what was held for a request."""
    request.account.reserved -= request.reserved
    request.reserved = 0
