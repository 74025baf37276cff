"""Jobs as a Horde hands them out, for the brains' tests."""

from typing import Any

from horde_simulator.brains import Job


def job_of(said: str, **payload: Any) -> Job:
    """A job whose conversation is one user message; `images` goes beside the payload."""
    images = payload.pop("images", ())
    messages = [{"role": "user", "content": said}]
    return Job({"messages": messages, "max_length": 2048, **payload}, "some/model", images)


def function(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    """A tool whose parameters are these properties, all required and no others."""
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }
