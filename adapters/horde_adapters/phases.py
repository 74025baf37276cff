"""In which phase a chat request is, and for how long it was: for metrics and the log.

The exchange's states are about calls; what an operator asks is whether a request waits for a
worker or is being worked on, which the last status tells.
"""

from collections.abc import Mapping
from enum import Enum

from horde_adapters.metrics import Metrics
from horde_core.exchange import Exchange
from horde_core.lifecycle import State
from horde_core.standing import Standing


class Phase(Enum):
    """What a chat request is waiting for."""

    LOOKING_UP = "looking_up"
    QUOTING = "quoting"
    SUBMITTING = "submitting"
    QUEUED = "queued"
    GENERATING = "generating"
    CANCELLING = "cancelling"


_BY_STATE: Mapping[State, Phase | None] = {
    State.NEW: Phase.LOOKING_UP,
    State.LOOKING_UP: Phase.LOOKING_UP,
    State.QUOTING: Phase.QUOTING,
    State.SUBMITTING: Phase.SUBMITTING,
    State.ABANDONED: Phase.SUBMITTING,
    State.READING: Phase.QUEUED,
    State.WAITING: Phase.QUEUED,
    State.CANCELLING: Phase.CANCELLING,
    State.ENDED: None,
}


class Phases:
    """The phases of one request. `now` is in seconds, on one clock."""

    def __init__(self, metrics: Metrics, now: float, *, stream: bool) -> None:
        self.seconds: dict[Phase, float] = {}
        self._metrics = metrics
        self._phase: Phase | None = Phase.LOOKING_UP
        self._since = now
        self._state: State | None = State.NEW
        self._status: Standing | None = None
        self._stream = stream
        metrics.entered(Phase.LOOKING_UP.value)
        if stream:
            metrics.streams_in_flight.inc()

    def follow(self, exchange: Exchange, now: float) -> None:
        """Looks at the exchange after an event."""
        if exchange.state is self._state and exchange.status is self._status:
            return
        self._state, self._status = exchange.state, exchange.status
        phase = _BY_STATE[exchange.state]
        if phase is Phase.QUEUED and exchange.status is not None and exchange.status.is_worked_on:
            phase = Phase.GENERATING
        self._enter(phase, now)

    def end(self, now: float) -> None:
        """Leaves whatever phase it is in; again does nothing."""
        self._enter(None, now)
        if self._stream:
            self._stream = False
            self._metrics.streams_in_flight.dec()

    def _enter(self, phase: Phase | None, now: float) -> None:
        last = self._phase
        if phase is last:
            return
        if last is not None:
            spent = now - self._since
            self.seconds[last] = self.seconds.get(last, 0.0) + spent
            self._metrics.went_on(last.value, spent)
        if phase is not None:
            self._metrics.entered(phase.value)
        self._phase, self._since = phase, now
