"""`echo`: the last user message, as it came."""

from random import Random

from horde_simulator.brains import Job, Reply
from horde_simulator.brains.conversation import last_user_text


def echo(job: Job, _random: Random) -> Reply:
    """Says the text of the last user message."""
    return Reply(last_user_text(job))
