"""How an exchange ends without a reply, for reasons that the front finds itself."""

from horde_core.errors import Refusal, refuse
from horde_core.relay import Diverged


def horde_unreachable() -> Refusal:
    """No connection to the Horde, so nothing is held."""
    return refuse("horde_unreachable", "The AI Horde can't be reached at the moment.")


def quote_unreadable(why: str) -> Refusal:
    """A dry run that told no figure; it queues nothing."""
    return refuse("horde_error", f"The AI Horde gave no kudos estimate: {why}.", held=False)


def above_cap(kudos: float, cap: int) -> Refusal:
    """The estimate is above the client's own cap."""
    estimate = int(kudos) if kudos == int(kudos) else kudos
    return refuse(
        "max_kudos_exceeded",
        f"The request is estimated at {estimate} kudos, above horde.max_kudos of {cap}. "
        "Lower max_tokens or n, or raise the cap.",
        "horde.max_kudos",
        metadata={"kudos_estimate": estimate, "max_kudos": cap},
    )


def submit_unknown() -> Refusal:
    """The submit's answer was lost, and so was that of its one repetition."""
    return refuse(
        "horde_submit_unknown",
        "The AI Horde's answer to the submit was lost: it may or may not hold the request. "
        "Sending it again may be charged again.",
    )


def request_not_found() -> Refusal:
    """The job expired, or somebody else deleted it long ago."""
    return refuse("RequestNotFound", "The AI Horde no longer knows the request.")


def status_lost(seconds: float) -> Refusal:
    """Reads failed for too long."""
    return refuse(
        "horde_status_lost",
        f"The AI Horde didn't tell the request's status for {seconds:g} s, "
        "and is asked to cancel the request.",
    )


def timeout(seconds: float, *, held: bool) -> Refusal:
    """The request's budget is spent."""
    return refuse(
        "horde_timeout",
        f"The AI Horde didn't finish the request within {seconds:g} s.",
        held=held,
    )


def diverged(divergence: Diverged) -> Refusal:
    """Text that went out is void."""
    return refuse(
        "ChatStreamDiverged",
        f"The live reply broke off: {divergence}. Discard the partial text; "
        "a new request is a new charge.",
    )


def draining(*, held: bool) -> Refusal:
    """The process ends before the reply."""
    return refuse("draining", "The front is shutting down.", held=held)
