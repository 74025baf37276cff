"""The table of states: every pair of state and event, and the diagram drawn from it."""

import typing

import pytest

from core.following import DRIVEN_TO, an_event, followed
from horde_core import events
from horde_core.lifecycle import TABLE, State, WrongEvent, mermaid, next_state

EVENTS: tuple[type[events.Event], ...] = typing.get_args(events.Event)
PAIRS = [(state, event) for state in State for event in EVENTS]


def test_every_state_can_be_reached() -> None:
    """The pairs below start from real exchanges, one for each state."""
    assert set(DRIVEN_TO) == set(State)
    for state in State:
        assert followed(state).state is state


@pytest.mark.parametrize("state,event", PAIRS, ids=lambda value: getattr(value, "name", None))
def test_every_pair(state: State, event: type[events.Event]) -> None:
    """A pair in the table leads to one of its states; any other changes nothing."""
    exchange = followed(state)
    if event in TABLE[state]:
        exchange.handle(an_event(event), 1000.0)
        assert exchange.state in TABLE[state][event].values()
        return
    before = (exchange.state, exchange.wake_at, exchange.response.phase)
    with pytest.raises(WrongEvent):
        exchange.handle(an_event(event), 1000.0)
    assert before == (exchange.state, exchange.wake_at, exchange.response.phase)


def test_an_outcome_that_the_table_lacks_is_an_error() -> None:
    """A handler can't invent an outcome."""
    with pytest.raises(WrongEvent, match="TimePassed \\(sideways\\) in state waiting"):
        next_state(State.WAITING, events.TimePassed, "sideways")


def test_no_state_is_left_once_ended() -> None:
    """The end is the end."""
    assert {end for row in TABLE[State.ENDED].values() for end in row.values()} == {State.ENDED}


def test_a_held_job_never_ends_but_by_its_own_end_or_a_cancel() -> None:
    """From reading or waiting, the end is reached by `finished` and `gone` alone."""
    for state in (State.READING, State.WAITING):
        ending = {
            outcome
            for row in TABLE[state].values()
            for outcome, following in row.items()
            if following is State.ENDED
        }
        assert ending <= {"finished", "gone"}


def test_the_diagram_has_every_state_and_move() -> None:
    """Each arrow of the table that changes or keeps a state for a reason is drawn."""
    diagram = mermaid()
    assert diagram.startswith("stateDiagram-v2\n    [*] --> NEW\n")
    assert diagram.endswith("    ENDED --> [*]\n")
    assert "    WAITING --> READING: TimePassed: read due\n" in diagram
    assert "ignored" not in diagram
    for state in State:
        assert state.name in diagram
