"""Where a reply ends: at a stop sequence, or when `max_length` tokens are spent."""

import json

import attrs

from horde_simulator.brains import Job, Reply
from horde_simulator.tokens import count, cut


def ended(reply: Reply, job: Job) -> Reply:
    """The reply as far as the job lets it go.

    A stop sequence ends the content before itself. Tokens are spent on reasoning first, then on
    content, then on calls; whatever is cut, the reply's reason is `length`, and a call that is cut
    has arguments that don't parse, as a real model's would have.
    """
    content, stopped = _before_stop(reply.content, job)
    if stopped:
        reply = attrs.evolve(
            reply,
            content=content,
            tool_calls=(),
            finish_reason="stop",
            native_finish_reason="stop_sequence",
        )
    limit = job.payload.get("max_length")
    return reply if limit is None else _within(reply, int(limit))


def call_tokens(reply: Reply) -> int:
    """How many tokens a reply's calls have: names and arguments."""
    return sum(
        count(call["function"]["name"]) + count(call["function"]["arguments"])
        for call in reply.tool_calls
    )


def _before_stop(content: str, job: Job) -> tuple[str, bool]:
    sequences = job.payload.get("stop_sequence") or ()
    found = [at for sequence in sequences if sequence and (at := content.find(sequence)) >= 0]
    return (content[: min(found)], True) if found else (content, False)


def _within(reply: Reply, limit: int) -> Reply:
    left = limit - count(reply.reasoning)
    if left >= count(reply.content) + call_tokens(reply):
        return reply
    out = attrs.evolve(reply, finish_reason="length", native_finish_reason="length")
    if left <= 0:
        return attrs.evolve(out, reasoning=cut(reply.reasoning, limit), content="", tool_calls=())
    content = cut(reply.content, left)
    left -= count(content)
    calls = []
    for call in reply.tool_calls:
        function = call["function"]
        left -= count(function["name"])
        if left <= 0:
            break
        arguments = cut(function["arguments"], left)
        calls.append({**call, "function": {**function, "arguments": arguments}})
        left -= count(arguments)
    return attrs.evolve(out, content=content, tool_calls=tuple(calls))


def compact(value: object) -> str:
    """A value as the JSON that models write: readable text unescaped, spaces after separators."""
    return json.dumps(value, ensure_ascii=False)
