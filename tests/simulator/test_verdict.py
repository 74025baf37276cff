"""The verdict: what a caller is blamed for, and what it isn't."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from horde_simulator.verdict import Grader

BODY: Mapping[str, Any] = {"messages": [{"role": "user", "content": "Hi"}], "operation_key": "one"}


def submit(grader: Grader, now: float = 0.0, request_id: str = "r", **more: Any) -> None:
    body = {**BODY, **more.pop("body", {})}
    grader.asked(now, "submit", body.get("operation_key"))
    grader.submitted(now, request_id, key="k", body=body, **more)


def kinds(grader: Grader, now: float) -> list[str]:
    return [finding.kind for finding in grader.verdict(now).findings]


def test_a_good_caller_gets_a_good_verdict() -> None:
    """Submit, a read at once, reads 1.1 s apart, the done answer, and nothing more."""
    grader = Grader()
    submit(grader)
    for number in range(20):
        grader.asked(0.01 + number * 1.1, "status", "r")
    grader.told_done("r")
    verdict = grader.verdict(10_000.0)
    assert verdict.document() == {"ok": True, "findings": []}
    grader.forgotten(10_000.0, "r")
    assert grader.verdict(10_000.0).ok


@pytest.mark.parametrize("gap, found", [(0.1, True), (0.99, True), (1.0, False), (1.1, False)])
def test_polling_faster_than_once_a_second(gap: float, found: bool) -> None:
    """The aim is 1.1 s; a tenth is left for the way."""
    grader = Grader()
    submit(grader)
    grader.asked(5.0, "status", "r")
    grader.asked(5.0 + gap, "status", "r")
    assert kinds(grader, 6.0) == (["polled_too_fast"] if found else [])


def test_two_requests_are_polled_apart() -> None:
    """The limit is for one request id."""
    grader = Grader()
    submit(grader, request_id="a")
    submit(grader, request_id="b", body={"operation_key": "two"})
    grader.asked(1.0, "status", "a")
    grader.asked(1.0, "status", "b")
    assert kinds(grader, 2.0) == []


@pytest.mark.parametrize("wait, found", [(2.9, True), (3.0, False), (9.0, False)])
@pytest.mark.parametrize("call", ["submit", "status", "cancel"])
def test_retry_after_is_honoured_or_found(call: Any, wait: float, found: bool) -> None:
    """Per call and subject: three seconds are three seconds."""
    grader = Grader()
    submit(grader)
    subject = "one" if call == "submit" else "r"
    grader.asked(10.0, call, subject)
    grader.told_to_wait(10.0, call, subject, 3.0)
    grader.asked(10.0 + wait, call, subject)
    assert ("ignored_retry_after" in kinds(grader, 11.0)) is found


def test_retry_after_of_a_read_doesnt_hold_back_the_cancel() -> None:
    """GET and DELETE are limited apart."""
    grader = Grader()
    submit(grader)
    grader.asked(1.0, "status", "r")
    grader.told_to_wait(1.0, "status", "r", 30.0)
    grader.asked(1.5, "cancel", "r")
    assert kinds(grader, 2.0) == []


def lost_then(again: Mapping[str, Any], at: float, existing: bool = False) -> list[str]:
    grader = Grader()
    submit(grader, request_id="first", delivered=False)
    submit(grader, at, "first" if existing else "second", body=again, existing=existing)
    return kinds(grader, at)


@pytest.mark.parametrize(
    "again, at, existing, found",
    [
        ({"operation_key": "two"}, 5.0, False, True),
        ({"operation_key": None}, 5.0, False, True),
        ({}, 5.0, True, False),
        ({"operation_key": "two", "models": ["other"]}, 5.0, False, False),
        ({"operation_key": "two"}, 61.0, False, False),
    ],
    ids=["another key", "no key", "the same key", "another body", "much later"],
)
def test_a_resend_after_a_lost_answer(
    again: Mapping[str, Any], at: float, existing: bool, found: bool
) -> None:
    """The held job is a second charge unless the same operation key was sent."""
    assert lost_then(again, at, existing) == (["submitted_twice"] if found else [])


def test_equal_bodies_are_two_jobs_when_no_answer_was_lost() -> None:
    """Two clients may well say the same."""
    grader = Grader()
    submit(grader, request_id="a")
    submit(grader, 0.1, "b", body={"operation_key": "two"})
    assert kinds(grader, 1.0) == []


def test_another_callers_equal_body_is_no_resend() -> None:
    """A resend comes with the same API key."""
    grader = Grader()
    grader.submitted(0.0, "a", key="k", body=BODY, delivered=False)
    grader.submitted(1.0, "b", key="other", body=BODY)
    assert kinds(grader, 2.0) == []


def test_one_lost_answer_explains_one_resend() -> None:
    """The second equal body is found once, the third is a client's own."""
    grader = Grader()
    submit(grader, request_id="a", delivered=False)
    submit(grader, 1.0, "b", body={"operation_key": "two"})
    submit(grader, 2.0, "c", body={"operation_key": "three"})
    assert kinds(grader, 2.0) == ["submitted_twice"]


def read(grader: Grader) -> None:
    grader.asked(1.0, "status", "r")


def cancel(grader: Grader) -> None:
    grader.asked(1.0, "cancel", "r")


def tell_done(grader: Grader) -> None:
    grader.told_done("r")


def submit_lost(grader: Grader) -> None:
    submit(grader, delivered=False)


def resend(grader: Grader) -> None:
    submit(grader, 1.0, existing=True)


def resend_lost(grader: Grader) -> None:
    submit(grader, 1.0, existing=True, delivered=False)


LEFT: dict[str, tuple[Sequence[Callable[[Grader], None]], bool]] = {
    "never read": ([submit], True),
    "read once, then silence": ([submit, read], True),
    "told that it is done": ([submit, read, tell_done], False),
    "cancelled": ([submit, cancel], False),
    "its id never told": ([submit_lost], False),
    "its id told by a resend": ([submit_lost, resend], True),
    "its id lost again": ([submit_lost, resend_lost], False),
}


@pytest.mark.parametrize("name", LEFT)
def test_a_request_left_behind(name: str) -> None:
    """Found at the verdict after a minute of silence, and once more when it expires."""
    happened, left = LEFT[name]
    grader = Grader()
    for event in happened:
        event(grader)
    assert kinds(grader, 59.0) == []
    assert kinds(grader, 100.0) == (["left_without_cancel"] if left else [])
    grader.forgotten(1200.0, "r")
    assert kinds(grader, 1300.0) == (["left_without_cancel"] if left else [])


def test_a_request_that_expires_under_its_readers_eyes_is_not_left() -> None:
    """The caller was there; the Horde was not."""
    grader = Grader()
    submit(grader)
    grader.asked(1190.0, "status", "r")
    grader.forgotten(1200.0, "r")
    assert kinds(grader, 5000.0) == []


@pytest.mark.parametrize("told, found", [(True, True), (False, False)])
def test_cancelling_a_finished_request(told: bool, found: bool) -> None:
    """Blamed only when an answer had said so: the end may fall between two calls."""
    grader = Grader()
    submit(grader)
    if told:
        grader.told_done("r")
    grader.asked(3.0, "cancel", "r")
    assert kinds(grader, 4.0) == (["cancelled_finished"] if found else [])


def test_cancelling_twice_is_cancelling_a_finished_one() -> None:
    """Unless the first answer was lost."""
    grader = Grader()
    submit(grader)
    grader.asked(1.0, "cancel", "r")
    grader.asked(2.0, "cancel", "r")
    assert kinds(grader, 3.0) == []
    grader.told_done("r")
    grader.asked(3.0, "cancel", "r")
    assert kinds(grader, 4.0) == ["cancelled_finished"]


def test_what_the_contract_forbids_is_found_in_words() -> None:
    """The finding says what was sent."""
    grader = Grader()
    grader.forbidden("params.max_length: 8 is below 16", "r")
    assert grader.verdict(0.0).document() == {
        "ok": False,
        "findings": [
            {
                "kind": "forbidden",
                "request_id": "r",
                "detail": "params.max_length: 8 is below 16",
            }
        ],
    }


def test_strangers_are_ignored() -> None:
    """Ids that this Horde never gave out change nothing."""
    grader = Grader()
    grader.asked(0.0, "status", "unknown")
    grader.asked(0.1, "status", "unknown")
    grader.asked(0.2, "status", None)
    grader.told_to_wait(0.3, "submit", None, 5.0)
    grader.told_done("unknown")
    grader.forgotten(1.0, "unknown")
    grader.submitted(1.0, "unknown", key="k", body=BODY, existing=True)
    assert grader.verdict(2.0).ok


def test_findings_are_bounded_and_the_rest_is_counted() -> None:
    """A caller gone wild doesn't fill the memory."""
    grader = Grader()
    for _ in range(1200):
        grader.forbidden("again")
    verdict = grader.verdict(0.0)
    assert (len(verdict.findings), verdict.unlisted, verdict.ok) == (1000, 200, False)


def test_hold_offs_are_bounded() -> None:
    """Old ones are dropped, those still running are kept."""
    grader = Grader()
    for number in range(20_001):
        grader.told_to_wait(float(number), "submit", f"op-{number}", 2.0)
    assert len(grader._held_off) < 10_010
    grader.asked(20_001.0, "submit", "op-20000")
    assert kinds(grader, 20_001.0) == ["ignored_retry_after"]


def test_clear_forgets_findings_and_grades_on() -> None:
    """A reset of the journal starts a new verdict over the same requests."""
    grader = Grader()
    submit(grader)
    grader.forbidden("x")
    grader.clear()
    assert grader.verdict(1.0).ok
    assert kinds(grader, 100.0) == ["left_without_cancel"]
