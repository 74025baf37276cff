"""The table of faults and the plan that strikes them."""

from random import Random

import attrs
import pytest

from horde_simulator.faults import CALL_FAULTS, CALLS, FAULTS, FaultPlan, option, planned
from horde_simulator.scenario import FaultSpec, Scenario, WorkerProfile

# The contract's list of faults, worded as `where` (simulator section 3), not taken from the code.
WORKER_WORDS = """
never_pops vanishes_after_pop vanishes_after_posts faults_job submits_nonconformant diverges
restarts_with_other_text duplicate_submit late_submit empty_reply censored no_worker_id no_usage
overlong_reply goes_into_maintenance declarations_change
"""
CALL_WORDS = """
error_500 html_502 truncated_json wrong_json slow cut_before cut_after rate_limited
rate_limited_with_rc maintenance key_revoked
"""
WORKERS_CALLS = ["pop", "progress", "worker_submit"]
ON_WORKERS = WORKER_WORDS.split()
ON_CALLS = CALL_WORDS.split()
OTHERS = ["stale_eligibility", "stale_check_in", "fields_missing", "expiry"]


def plan(*specs: FaultSpec, seed: int = 1) -> FaultPlan:
    return FaultPlan(specs, Random(seed))


def test_every_fault_of_the_contract_has_a_row() -> None:
    """No more and no fewer; calls are crossed with kinds, `any` included."""
    where = ["submit", "status", "cancel", "workers", "models", "any", *WORKERS_CALLS]
    calls = [f"{call}.{kind}" for call in where for kind in ON_CALLS]
    assert {*ON_WORKERS, *calls, *OTHERS} == set(FAULTS)
    assert all(FAULTS[where].side == "worker" for where in ON_WORKERS)
    assert all(FAULTS[where].side == "horde" for where in (*calls, *OTHERS))
    assert set(CALL_FAULTS) == set(ON_CALLS)
    assert "any" not in CALLS


def test_rows_say_what_they_do_and_repeat_no_option() -> None:
    """Each row can be printed as documentation."""
    for row in FAULTS.values():
        names = [option.name for option in row.options]
        assert row.does
        assert len(names) == len(set(names))
        assert all(option.does for option in row.options)


def test_an_empty_plan_strikes_nothing() -> None:
    """And draws nothing: the random source is as before."""
    random = Random(3)
    empty = FaultPlan((), random)
    assert empty.strike("status.slow") is None
    assert empty.strike_call("status") is None
    assert random.getstate() == Random(3).getstate()


def test_times_are_spent_and_then_never_again() -> None:
    """Twice means the first two occasions."""
    two = plan(FaultSpec("submit.error_500", times=2))
    struck = [two.strike("submit.error_500") is not None for _ in range(5)]
    assert struck == [True, True, False, False, False]
    assert two.in_force() == ()


def test_without_times_and_chance_it_strikes_always() -> None:
    """A fault with neither is in force for good."""
    always = plan(FaultSpec("no_usage"))
    assert all(always.strike("no_usage") for _ in range(20))
    assert always.in_force() == (FaultSpec("no_usage"),)


def test_struck_counts_the_named() -> None:
    """Faults without a name, and those that haven't struck, aren't there."""
    faults = plan(
        FaultSpec("expiry", times=2, name="a"),
        FaultSpec("diverges", times=1),
        FaultSpec("late_submit", name="c"),
    )
    assert faults.strike("expiry") is not None
    assert faults.strike("expiry") is not None
    assert faults.strike("diverges") is not None
    assert faults.struck() == {"a": 2}


def test_in_force_counts_what_is_left() -> None:
    """What GET answers is what may still happen."""
    three = plan(FaultSpec("expiry", times=3))
    three.strike("expiry")
    assert three.in_force() == (FaultSpec("expiry", times=2),)


@pytest.mark.parametrize("chance, low, high", [(0.0, 0, 0), (1.0, 1000, 1000), (0.3, 250, 350)])
def test_chance_is_about_its_share(chance: float, low: int, high: int) -> None:
    """Of a thousand occasions; never and always are exact."""
    some = plan(FaultSpec("empty_reply", chance=chance))
    assert low <= sum(some.strike("empty_reply") is not None for _ in range(1000)) <= high


def test_the_same_seed_and_occasions_strike_alike() -> None:
    """Another place asked in between draws nothing when no fault could strike there."""
    spec = FaultSpec("empty_reply", chance=0.5, model="m")
    one, two = plan(spec, seed=9), plan(spec, seed=9)
    first = [one.strike("empty_reply", model="m") is not None for _ in range(50)]
    second = []
    for _ in range(50):
        two.strike("empty_reply", model="other")
        two.strike("no_usage", model="m")
        second.append(two.strike("empty_reply", model="m") is not None)
    assert first == second
    assert len(set(first)) == 2


@pytest.mark.parametrize(
    "spec, model, worker, strikes",
    [
        (FaultSpec("diverges", model="m"), "m", "w", True),
        (FaultSpec("diverges", model="m"), "other", "w", False),
        (FaultSpec("diverges", model="m"), None, "w", False),
        (FaultSpec("diverges", worker="w"), "m", "w", True),
        (FaultSpec("diverges", worker="w"), "m", ("other", "w"), True),
        (FaultSpec("diverges", worker="w"), "m", "wide", False),
        (FaultSpec("diverges", worker="w"), "m", None, False),
        (FaultSpec("diverges"), None, None, True),
    ],
)
def test_a_fault_spares_what_it_is_not_limited_to(
    spec: FaultSpec, model: str | None, worker: str | None, strikes: bool
) -> None:
    """Model by name, worker by name or id."""
    assert (plan(spec).strike("diverges", model=model, worker=worker) is not None) is strikes


def test_after_counts_chances_by_itself() -> None:
    """Where the row counts chances, the asker needs to tell nothing."""
    third = plan(FaultSpec("submit.cut_after", after=2, times=1))
    struck = [third.strike("submit.cut_after") is not None for _ in range(4)]
    assert struck == [False, False, True, False]


def test_after_counts_only_matching_chances() -> None:
    """Another worker's jobs are no chances of this worker's fault."""
    second = plan(FaultSpec("empty_reply", worker="w", after=1))
    assert second.strike("empty_reply", worker="other") is None
    assert second.strike("empty_reply", worker="w") is None
    assert second.strike("empty_reply", worker="w") is not None


@pytest.mark.parametrize(
    "where, unit",
    [
        ("vanishes_after_posts", "posts"),
        ("restarts_with_other_text", "posts"),
        ("status.slow", "polls"),
        ("expiry", "polls"),
        ("never_pops", "seconds"),
    ],
)
def test_after_of_other_units_is_told_by_the_asker(where: str, unit: str) -> None:
    """Two are too few, three are enough."""
    assert FAULTS[where].after == unit
    later = plan(FaultSpec(where, after=3))
    assert later.strike(where, count=2) is None
    assert later.strike(where, count=3) is not None


def test_the_first_planned_fault_wins() -> None:
    """And the second one's times are not spent by it."""
    first = FaultSpec("status.slow", times=1, options={"seconds": 1})
    second = FaultSpec("status.slow", times=1, options={"seconds": 2})
    both = plan(first, second)
    assert [both.strike("status.slow") for _ in range(3)] == [first, second, None]


def test_any_stands_for_every_call() -> None:
    """After the call's own faults; and never for the other kinds."""
    own, anywhere = FaultSpec("cancel.slow", times=1), FaultSpec("any.slow")
    both = plan(anywhere, own)
    assert both.strike("cancel.slow") is own
    assert both.strike("cancel.slow") is anywhere
    assert both.strike("models.slow") is anywhere
    assert both.strike("models.error_500") is None


def test_strike_call_finds_any_kind() -> None:
    """One look for all that can happen to a call."""
    some = plan(FaultSpec("status.cut_after", times=1, after=2), FaultSpec("submit.slow"))
    assert some.strike_call("status", count=1) is None
    struck = some.strike_call("status", count=2)
    assert struck is not None
    assert struck.where == "status.cut_after"
    assert some.strike_call("workers") is None


def test_a_fault_follows_another() -> None:
    """It waits until the other has struck once."""
    chain = plan(
        FaultSpec("submit.error_500", follows="lost", times=1),
        FaultSpec("submit.cut_after", name="lost", times=1),
    )
    order = [chain.strike_call("submit") for _ in range(3)]
    assert [struck and struck.where for struck in order] == [
        "submit.cut_after",
        "submit.error_500",
        None,
    ]


def test_added_faults_come_after_planned_ones() -> None:
    """The control API adds to a plan that is in use."""
    growing = plan()
    growing.add(FaultSpec("no_usage", times=1))
    assert growing.strike("no_usage") is not None
    assert growing.strike("no_usage") is None


def test_options_have_the_defaults_of_the_row() -> None:
    """What a fault doesn't say, its row says."""
    assert option(FaultSpec("status.slow", options={"seconds": 9}), "seconds") == 9
    assert option(FaultSpec("status.slow"), "seconds") == 5
    assert option(FaultSpec("submit.error_500"), "effect") is False
    assert option(FaultSpec("stale_eligibility"), "seconds") == 60
    assert option(FaultSpec("stale_check_in"), "seconds") == 30


def test_a_workers_own_faults_are_limited_to_it() -> None:
    """A scenario's plan is the workers' faults, then the Horde's."""
    own = FaultSpec("diverges")
    horde = FaultSpec("any.slow")
    scenario = Scenario(workers=(WorkerProfile("w", ("m",), faults=(own,)),), faults=(horde,))
    assert planned(scenario) == (attrs.evolve(own, worker="w"), horde)
