"""What of a status outlives the reading of it."""

from typing import Any

import pytest

from core.horde_bodies import answer, done, progress, status
from horde_core.native import read_status
from horde_core.standing import standing


@pytest.mark.parametrize(
    "told,is_worked_on",
    [
        (status(), False),
        (status(processing=1), True),
        (status(progress=[progress("Hi")]), True),
        (done(), True),
    ],
    ids=["queued", "processing", "posted", "done"],
)
def test_a_job_is_worked_on_once_a_worker_has_taken_it(
    told: dict[str, Any], is_worked_on: bool
) -> None:
    """Whichever part of the status shows it."""
    assert standing(read_status(answer(told).body)).is_worked_on is is_worked_on


def test_place_price_and_replies_are_kept() -> None:
    """For keepalives, the log and the metrics."""
    told = read_status(answer(done() | {"queue_position": 4, "wait_time": 7}).body)
    kept = standing(told)
    assert (kept.queue_position, kept.wait_time, kept.kudos) == (4, 7, 3.5)
    assert kept.generations == told.generations
