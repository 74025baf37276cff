"""The heap of timed events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horde_simulator.timeline import Timeline


def test_events_of_one_instant_keep_their_order() -> None:
    timeline, seen = Timeline(), list[str]()
    for name in "abc":
        timeline.at(2.0, seen.append, name)
    timeline.at(1.0, seen.append, "first")
    timeline.advance(2.0)
    assert seen == ["first", "a", "b", "c"]


def test_an_event_sees_its_own_time_and_may_plan_more_within_the_same_advance() -> None:
    timeline, seen = Timeline(), list[float]()

    def tick(_: object) -> None:
        seen.append(timeline.now)
        timeline.after(1.0, tick)

    timeline.at(0.5, tick)
    timeline.advance(3.0)
    assert seen == [0.5, 1.5, 2.5]
    assert timeline.now == 3.0
    assert timeline.next_at == 3.5


def test_a_time_that_has_passed_means_now() -> None:
    timeline, seen = Timeline(), list[str]()
    timeline.advance(5.0)
    timeline.at(1.0, seen.append, "late")
    assert timeline.next_at == 5.0
    timeline.advance(5.0)
    assert seen == ["late"]


def test_time_runs_forward_only() -> None:
    timeline = Timeline()
    timeline.advance(1.0)
    with pytest.raises(ValueError, match="forward"):
        timeline.advance(0.5)


@given(st.lists(st.integers(0, 5)))
def test_events_run_sorted_by_time_then_plan(times: list[int]) -> None:
    timeline, seen = Timeline(), list[tuple[int, int]]()
    for number, time in enumerate(times):
        timeline.at(float(time), seen.append, (time, number))
    timeline.advance(10.0)
    assert seen == sorted((time, number) for number, time in enumerate(times))
    assert len(timeline) == 0
    assert timeline.next_at is None
