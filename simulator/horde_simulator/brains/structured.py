"""`structured`: a document valid for the schema of the job's `response_format`."""

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from horde_simulator.brains import Job, Reply
from horde_simulator.brains.conversation import last_user_text
from horde_simulator.brains.ending import compact
from horde_simulator.brains.instances import instance_of
from horde_simulator.brains.plausible import Plausible
from horde_simulator.brains.schema_rules import Schema
from horde_simulator.brains.topic import topic_of

_ANY_OBJECT: Final = "json_object"


def format_of(job: Job) -> Mapping[str, Any] | None:
    """The job's response format when it asks for JSON, else None."""
    form: Mapping[str, Any] = job.payload.get("response_format") or {}
    return form if form.get("type") in (_ANY_OBJECT, "json_schema") else None


def structured(job: Job, random: Random) -> Reply:
    """A document for the job's schema; for `json_object`, or no format at all, some JSON object."""
    form = format_of(job)
    said = last_user_text(job)
    if form is None or form["type"] == _ANY_OBJECT:
        topic = topic_of(said)
        return Reply(
            compact({"topic": topic.about, "words": list(topic.words), "length": len(said)})
        )
    schema: Schema = form["json_schema"].get("schema", True)
    return Reply(compact(instance_of(schema, random, Plausible(said))))
