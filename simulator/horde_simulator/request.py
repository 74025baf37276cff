"""A request that the Horde holds: its jobs, its strikes, and how it ends.

All state changes are in `TRANSITIONS`; an event that a state doesn't know changes nothing.
"""

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import attrs

from horde_simulator.accounts import Account
from horde_simulator.line import Place
from horde_simulator.refusals import refuse

if TYPE_CHECKING:
    from horde_simulator.job import Job
    from horde_simulator.queue import Bucket

EXPIRES_AFTER: Final = 1200.0
"""Seconds; renewed by every pop, progress post and charge (contract, section 3)."""
MOST_STRIKES: Final = 3


class RequestState(Enum):
    """Where a request is. Whether its jobs wait or run is told by its jobs."""

    OPEN = "open"
    FINISHED = "finished"
    FAULTED = "faulted"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class RequestEvent(Enum):
    """What can happen to a request."""

    POP = "pop"
    RESTART = "restart"
    LAST_REPLY = "last reply"
    STRUCK_OUT = "struck out"
    CANCEL = "cancel"
    EXPIRE = "expire"


TRANSITIONS: Final[Mapping[RequestState, Mapping[RequestEvent, RequestState]]] = {
    RequestState.OPEN: {
        RequestEvent.POP: RequestState.OPEN,
        RequestEvent.RESTART: RequestState.OPEN,
        RequestEvent.LAST_REPLY: RequestState.FINISHED,
        RequestEvent.STRUCK_OUT: RequestState.FAULTED,
        RequestEvent.CANCEL: RequestState.CANCELLED,
        RequestEvent.EXPIRE: RequestState.EXPIRED,
    },
    # A second cancel, and one of a request that is over, is answered and changes nothing.
    RequestState.FINISHED: {
        RequestEvent.CANCEL: RequestState.FINISHED,
        RequestEvent.EXPIRE: RequestState.EXPIRED,
    },
    RequestState.FAULTED: {
        RequestEvent.CANCEL: RequestState.FAULTED,
        RequestEvent.EXPIRE: RequestState.EXPIRED,
    },
    RequestState.CANCELLED: {
        RequestEvent.CANCEL: RequestState.CANCELLED,
        RequestEvent.EXPIRE: RequestState.EXPIRED,
    },
    RequestState.EXPIRED: {},
}


@attrs.define(eq=False)
class Request:
    """A held request. Small: a busy Horde holds a hundred thousand of them."""

    id: str
    account: Account
    bucket: "Bucket"
    place: Place
    activated_at: float
    expires_at: float
    n: int
    waiting: int
    """Jobs that no worker has."""
    quote: int
    charged: int
    """Millionths, as `quote`."""
    reserved: int
    settle_tokens: int
    """The prompt tokens that replies are settled with."""
    prompt_tokens: int
    payload: bytes
    """The JSON object of the pop payload, open at its end for what depends on the worker."""
    text_only: bool
    """Whether progress posts are shown: neither tools nor structured output."""
    strict: bool
    no_calls: bool
    """Whether the user chose that no tool be called."""
    progress: bool
    effort: str | None
    seed: int | None
    adjustments: tuple[Mapping[str, Any], ...] = ()
    image_tokens: tuple[str, ...] = ()
    operation: tuple[str, str] | None = None
    """The account's name and its operation key."""
    state: RequestState = RequestState.OPEN
    next_index: int = 0
    returned: list[int] | None = None
    """Indices whose job was struck and waits again."""
    jobs: "list[Job] | None" = None
    """Every attempt, in the order of the pops."""
    settled: int = 0
    strikes: int = 0
    polls: int = 0
    retold: bool = False
    """Whether the next attempt of a built-in worker says something else than the last (a fault)."""
    last_refusal: Mapping[str, str] | None = None

    def apply(self, event: RequestEvent) -> None:
        """Moves the request on.

        Raises:
            HordeError: `RequestNotFound`, the state doesn't know the event.
        """
        state = TRANSITIONS[self.state].get(event)
        if state is None:
            raise not_found(self.id)
        self.state = state

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.state is not RequestState.OPEN

    @property
    def processing(self) -> int:
        """Jobs that a worker is at."""
        return 0 if self.over else self.n - self.waiting - self.settled

    def latest_jobs(self) -> "list[Job]":
        """The last attempt at each reply, by index."""
        if not self.jobs or len(self.jobs) == 1:
            return self.jobs or []
        latest = {job.index: job for job in self.jobs}
        return [latest[index] for index in sorted(latest)]

    def attempt_of(self, index: int) -> int:
        """How many attempts there were at a reply."""
        return sum(1 for job in self.jobs or () if job.index == index)

    @property
    def demand(self) -> Any:
        return self.bucket.demand

    def __lt__(self, other: "Request") -> bool:
        """Nearer the head: only asked of a request that is in one heap twice."""
        return self.place < other.place

    def take_index(self) -> int:
        """The index of the next job to hand out: one that came back first."""
        self.waiting -= 1
        if self.returned:
            return self.returned.pop(0)
        self.next_index += 1
        return self.next_index - 1


def not_found(request_id: str) -> Exception:
    """What is answered about a request that isn't held (any more)."""
    return refuse("RequestNotFound", f"Request with ID '{request_id[:80]}' not found.")
