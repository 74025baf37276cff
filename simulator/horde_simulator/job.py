"""One attempt at one reply of a request: what a worker popped, and what became of it.

All state changes of a job are in `TRANSITIONS`; an event that a state doesn't know is refused as
`REFUSALS` says and changes nothing.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

import attrs

from horde_simulator.refusals import HordeError, refuse

if TYPE_CHECKING:
    from horde_simulator.request import Request
    from horde_simulator.workers import Worker


class JobState(Enum):
    """Where a job is."""

    PROCESSING = auto()
    SETTLED = auto()
    """The reply was accepted and paid."""
    STRUCK = auto()
    """Refused, faulted, out of lease, or its request ended without it: another may try."""
    CANCELLED = auto()
    """The user cancelled; what was streamed was paid."""


class JobEvent(Enum):
    """What can happen to a job."""

    POST = auto()
    SETTLE = auto()
    STRIKE = auto()
    CANCEL = auto()


TRANSITIONS: Final[Mapping[JobState, Mapping[JobEvent, JobState]]] = {
    JobState.PROCESSING: {
        JobEvent.POST: JobState.PROCESSING,
        JobEvent.SETTLE: JobState.SETTLED,
        JobEvent.STRIKE: JobState.STRUCK,
        JobEvent.CANCEL: JobState.CANCELLED,
    },
    JobState.SETTLED: {},
    JobState.STRUCK: {},
    JobState.CANCELLED: {},
}

# What a worker is told that speaks about a job which is over (contract, section 4).
REFUSALS: Final[Mapping[JobState, tuple[str, str]]] = {
    JobState.PROCESSING: ("BadRequest", "The job is still being processed."),
    JobState.SETTLED: ("DuplicateGen", "This reply was already submitted."),
    JobState.STRUCK: ("AbortedGen", "This job was given up and may be with another worker."),
    JobState.CANCELLED: ("AbortedGen", "This job was cancelled."),
}


@attrs.define(eq=False)
class Job:
    """An attempt. Times are the world's seconds."""

    id: str
    request: "Request"
    index: int
    attempt: int
    worker: "Worker"
    model: str
    popped_at: float
    lease_until: float
    payload: bytes
    """The JSON object that the worker was handed."""
    state: JobState = JobState.PROCESSING
    seq: int = 0
    content: str = ""
    reasoning: str = ""
    shown: int = 0
    """Code points of `content` that have been posted; `content` may be longer already."""
    reasoning_shown: int = 0
    reward: int = 0
    """Millionths that the worker got."""
    generation: bytes = b""
    """The accepted reply as the status shows it: a JSON object."""

    def apply(self, event: JobEvent) -> None:
        """Moves the job on.

        Raises:
            HordeError: the job's state doesn't know the event.
        """
        state = TRANSITIONS[self.state].get(event)
        if state is None:
            raise self.refusal()
        self.state = state

    def refusal(self) -> HordeError:
        """What a worker is told that speaks about this job in its present state."""
        rc, message = REFUSALS[self.state]
        return refuse(rc, message)

    @property
    def streamed(self) -> int:
        """Code points that the user could have read so far."""
        return self.shown + self.reasoning_shown

    def leave(self) -> None:
        """Parts from the worker; what only a running job needs is dropped."""
        self.worker.running.pop(self.id, None)
        self.payload = b""
        self.content = self.reasoning = ""
        self.shown = self.reasoning_shown = 0
