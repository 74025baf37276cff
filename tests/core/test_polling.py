"""When a request's status is read next: what the exchange's own tests can't show."""

from horde_core.polling import Polling
from horde_core.timing import Timing


def test_the_last_wait_ends_in_giving_up_whatever_the_sum_rounds_to() -> None:
    """29.528… + 5 - 29.528… is less than 5 by a hair, which once let in a read that was too soon.

    Found by the storm's seed 93: two reads 0.87 s apart.
    """
    polling = Polling(Timing(read_failure_limit=5.0))
    assert polling.failed(29.52807724749093, None)
    assert polling.failed(31.458236839700756, None)
    assert polling.failed(33.91488253836059, None)
    assert polling.is_lost(polling.next_read)
