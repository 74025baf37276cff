"""`mixed`: picks among the other brains by what the job asks for."""

from random import Random

import attrs

from horde_simulator.brains import Job, Reply
from horde_simulator.brains.conversation import last_user_text, offered, tool_results
from horde_simulator.brains.prose import prose
from horde_simulator.brains.reasoning import reasoning, thoughts_about
from horde_simulator.brains.structured import format_of, structured
from horde_simulator.brains.tools import has_to_call, points_at_function, tools
from horde_simulator.brains.topic import topic_of
from horde_simulator.brains.vision import vision

_SHORT_WAY = 0.4
"""The share of its usual thoughts that a model needs before a call or a document."""


def mixed(job: Job, random: Random) -> Reply:
    """Calls, documents, descriptions, thoughts or prose, in this order of what is asked for.

    With tools and a format at once the format shapes the final answer only, as at OpenAI.
    """
    if offered(job) and (has_to_call(job) or points_at_function(job)):
        return _after_thought(tools(job, random), job, random)
    if format_of(job) is not None:
        return _after_thought(structured(job, random), job, random)
    if tool_results(job):
        return _after_thought(tools(job, random), job, random)
    if job.images:
        return vision(job, random)
    if job.payload.get("reasoning_effort") is not None:
        return reasoning(job, random)
    return prose(job, random)


def _after_thought(reply: Reply, job: Job, random: Random) -> Reply:
    """The reply with a reasoning model's thoughts before it, when the job has an effort."""
    if job.payload.get("reasoning_effort") in (None, "none"):
        return reply
    topic = topic_of(last_user_text(job))
    return attrs.evolve(reply, reasoning=thoughts_about(job, random, topic, _SHORT_WAY))
