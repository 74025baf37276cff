"""`script`: replies by rules, for a test that needs to know what the worker will say."""

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from horde_simulator.brains import Brain, Job, Reply
from horde_simulator.brains.conversation import last_user_text, tool_results
from horde_simulator.brains.ending import compact
from horde_simulator.brains.identifiers import call_id


def script(rules: Sequence[Mapping[str, Any]]) -> Brain:
    """A brain that follows the first rule whose pattern is found in what was last said.

    That is the last tool result when the conversation ends with one, else the last user message.
    A rule is `{"match", "text", "reasoning", "calls": [{"name", "arguments"}], "delay",
    "finish_reason"}`, all but `match` optional. Without a rule that matches, the reply says so.
    """
    compiled = [(re.compile(rule["match"]), rule) for rule in rules]

    def reply(job: Job, random: Random) -> Reply:
        results = tool_results(job)
        said = results[-1][1] if results else last_user_text(job)
        rule = next((rule for pattern, rule in compiled if pattern.search(said)), None)
        if rule is None:
            return Reply(f"(No rule of the script matches: {said})")
        return _said(rule, random)

    return reply


def _said(rule: Mapping[str, Any], random: Random) -> Reply:
    calls = tuple(
        {
            "id": call_id(random),
            "type": "function",
            "function": {"name": call["name"], "arguments": compact(call.get("arguments", {}))},
        }
        for call in rule.get("calls", ())
    )
    return Reply(
        content=rule.get("text", ""),
        reasoning=rule.get("reasoning", ""),
        tool_calls=calls,
        finish_reason=rule.get("finish_reason", "tool_calls" if calls else "stop"),
        delay=float(rule.get("delay", 0.0)),
    )
