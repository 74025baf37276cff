"""How a job stands: what of its last status is needed once that has been acted on.

A status as it was read has the pool, and a post's text, of which a live request keeps its own.
"""

import attrs

from horde_core.native import Generation, HordeAnswer, Status, UnreadableAnswer, read_status


@attrs.frozen
class Standing:
    """Held by every open request from one read to the next."""

    queue_position: int
    wait_time: int
    """Seconds."""
    kudos: float
    is_worked_on: bool
    """Whether a worker has taken any of it."""
    generations: tuple[Generation, ...]


def standing(status: Status) -> Standing:
    """What to keep of it."""
    return Standing(
        queue_position=status.queue_position,
        wait_time=status.wait_time,
        kudos=status.kudos,
        is_worked_on=bool(status.processing or status.progress or status.generations),
        generations=status.generations,
    )


def standing_at_cancel(answer: HordeAnswer) -> Standing | None:
    """What the answer to a cancel tells, which is the status: what the job came to cost."""
    try:
        return standing(read_status(answer.body)) if answer.status == 200 else None
    except UnreadableAnswer:
        return None
