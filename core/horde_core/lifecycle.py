"""The life of one request as a table: state, event, outcome, next state.

Two rules: every change of an exchange's state is in this table, and the table knows nothing of how
an outcome is found (`horde_core.exchange` decides that, handler by handler).  An event that a state
has no row for is a WrongEvent and changes nothing.  The diagram in the docs is drawn from here.
"""

from collections.abc import Mapping
from enum import Enum

from horde_core import events


class State(Enum):
    """Where a request is. Values read well in logs and diagrams."""

    NEW = "new"
    LOOKING_UP = "looking up"
    """The view of models and workers is awaited."""
    QUOTING = "quoting"
    """The dry run is out."""
    SUBMITTING = "submitting"
    """The submit is out: from here on the Horde may hold a job."""
    ABANDONED = "abandoned"
    """The submit is out, and nobody waits for the reply any more."""
    READING = "reading"
    """A status read is out."""
    WAITING = "waiting"
    """The job lives; the next read is scheduled."""
    CANCELLING = "cancelling"
    """Nobody waits for the reply; the job is being deleted."""
    ENDED = "ended"

    # Enum's own hash runs Python code, thrice for every event of every stream.
    __hash__ = object.__hash__


class WrongEvent(Exception):  # noqa: N818 - the driver's fault, named for what it handed in
    """An event that can't happen in this state. Nothing was changed."""


Outcomes = Mapping[str, State]

_READ_OUTCOMES: Outcomes = {
    "alive": State.WAITING,
    "finished": State.ENDED,
    "gone": State.ENDED,
    "refused": State.CANCELLING,
    "unread": State.WAITING,
    "lost": State.CANCELLING,
}
_IGNORED_WHILE_CANCELLING: Outcomes = {"ignored": State.CANCELLING}
_IGNORED_AT_END: Outcomes = {"ignored": State.ENDED}

TABLE: Mapping[State, Mapping[type[events.Event], Outcomes]] = {
    State.NEW: {
        events.Arrived: {"admitted": State.LOOKING_UP},
    },
    State.LOOKING_UP: {
        events.PoolRead: {
            "served": State.SUBMITTING,
            "capped": State.QUOTING,
            "doubted": State.LOOKING_UP,
            "refused": State.ENDED,
        },
        events.PoolLost: {"refused": State.ENDED},
        events.TimePassed: {"in time": State.LOOKING_UP, "timeout": State.ENDED},
        events.ClientGone: {"left": State.ENDED},
        events.Draining: {"drained": State.ENDED},
    },
    State.QUOTING: {
        events.QuoteAnswered: {"affordable": State.SUBMITTING, "refused": State.ENDED},
        events.QuoteLost: {"refused": State.ENDED},
        events.TimePassed: {"in time": State.QUOTING, "timeout": State.ENDED},
        events.ClientGone: {"left": State.ENDED},
        events.Draining: {"drained": State.ENDED},
    },
    State.SUBMITTING: {
        events.SubmitAnswered: {
            "accepted": State.READING,
            "resent": State.SUBMITTING,
            "refused": State.ENDED,
        },
        events.SubmitLost: {"resent": State.SUBMITTING, "refused": State.ENDED},
        events.TimePassed: {"in time": State.SUBMITTING, "timeout": State.ABANDONED},
        events.ClientGone: {"left": State.ABANDONED},
        events.Draining: {"drained": State.ABANDONED},
    },
    State.ABANDONED: {
        events.SubmitAnswered: {
            "accepted": State.CANCELLING,
            "resent": State.ABANDONED,
            "refused": State.ENDED,
        },
        events.SubmitLost: {"resent": State.ABANDONED, "refused": State.ENDED},
        events.TimePassed: {"ignored": State.ABANDONED},
        events.ClientGone: {"ignored": State.ABANDONED},
        events.Draining: {"ignored": State.ABANDONED},
    },
    State.READING: {
        events.StatusAnswered: _READ_OUTCOMES,
        events.StatusLost: {"unread": State.WAITING, "lost": State.CANCELLING},
        events.TimePassed: {"in time": State.READING, "timeout": State.CANCELLING},
        events.ClientGone: {"left": State.CANCELLING},
        events.Draining: {"drained": State.CANCELLING},
    },
    State.WAITING: {
        events.TimePassed: {
            "in time": State.WAITING,
            "read due": State.READING,
            "timeout": State.CANCELLING,
            "lost": State.CANCELLING,
        },
        events.ClientGone: {"left": State.CANCELLING},
        events.Draining: {"drained": State.CANCELLING},
    },
    State.CANCELLING: {
        events.CancelAnswered: {"cancelled": State.ENDED, "again": State.CANCELLING},
        events.CancelLost: {"again": State.CANCELLING, "given up": State.ENDED},
        events.TimePassed: {"in time": State.CANCELLING, "again": State.CANCELLING},
        events.ClientGone: _IGNORED_WHILE_CANCELLING,
        events.Draining: _IGNORED_WHILE_CANCELLING,
        # The read that was out when the client left.
        events.StatusAnswered: _IGNORED_WHILE_CANCELLING,
        events.StatusLost: _IGNORED_WHILE_CANCELLING,
    },
    State.ENDED: {
        # What was out when the exchange ended comes back late; the end is the end.
        events.PoolRead: _IGNORED_AT_END,
        events.PoolLost: _IGNORED_AT_END,
        events.QuoteAnswered: _IGNORED_AT_END,
        events.QuoteLost: _IGNORED_AT_END,
        events.StatusAnswered: _IGNORED_AT_END,
        events.StatusLost: _IGNORED_AT_END,
        events.TimePassed: _IGNORED_AT_END,
        events.ClientGone: _IGNORED_AT_END,
        events.Draining: _IGNORED_AT_END,
    },
}


def next_state(state: State, event: type[events.Event], outcome: str) -> State:
    """Looks the table up; raises WrongEvent for a pair, or an outcome, that it doesn't have."""
    try:
        return TABLE[state][event][outcome]
    except KeyError:
        raise WrongEvent(f"{event.__name__} ({outcome}) in state {state.value}") from None


def mermaid() -> str:
    """The table as a Mermaid state diagram, for the docs."""
    lines = ["stateDiagram-v2", f"    [*] --> {State.NEW.name}"]
    arrows: dict[tuple[str, str], list[str]] = {}
    for state, row in TABLE.items():
        for event, outcomes in row.items():
            for outcome, following in outcomes.items():
                if outcome not in ("ignored", "in time"):
                    label = f"{event.__name__}: {outcome}"
                    arrows.setdefault((state.name, following.name), []).append(label)
    lines += [
        f"    {start} --> {end}: {'<br/>'.join(labels)}" for (start, end), labels in arrows.items()
    ]
    return "\n".join([*lines, f"    {State.ENDED.name} --> [*]"]) + "\n"
