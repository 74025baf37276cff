"""The brains by name, as a worker's profile asks for them."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from horde_simulator.brains import Brain, Job, Reply
from horde_simulator.brains.echo import echo
from horde_simulator.brains.ending import ended
from horde_simulator.brains.mixed import mixed
from horde_simulator.brains.prose import prose
from horde_simulator.brains.reasoning import reasoning
from horde_simulator.brains.script import script
from horde_simulator.brains.structured import structured
from horde_simulator.brains.tools import tools
from horde_simulator.brains.vision import vision
from horde_simulator.scenario import WorkerProfile


def _same(brain: Brain) -> Callable[[WorkerProfile], Brain]:
    """A brain that is the same for every worker."""
    return lambda _profile: brain


BRAINS: Final[Mapping[str, Callable[[WorkerProfile], Brain]]] = {
    "prose": _same(prose),
    "echo": _same(echo),
    "script": lambda profile: script(profile.script),
    "tools": _same(tools),
    "structured": _same(structured),
    "reasoning": _same(reasoning),
    "vision": _same(vision),
    "mixed": _same(mixed),
}


def brain_of(profile: WorkerProfile) -> Brain:
    """The worker's brain; its replies end where stop sequences and `max_length` end them."""
    brain = BRAINS[profile.brain](profile)

    def reply(job: Job, random: Random) -> Reply:
        return ended(brain(job, random), job)

    return reply
