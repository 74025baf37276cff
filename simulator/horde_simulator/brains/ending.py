"""Where a reply ends: at a stop sequence, or when `max_length` tokens are spent."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import orjson

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


def call_tokens(calls: Sequence[Mapping[str, Any]]) -> int:
    """How many tokens calls have: those of their JSON, as the reply's usage counts them."""
    return count(orjson.dumps(list(calls)).decode()) if calls else 0


def _before_stop(content: str, job: Job) -> tuple[str, bool]:
    sequences = job.payload.get("stop_sequence") or ()
    found = [at for sequence in sequences if sequence and (at := content.find(sequence)) >= 0]
    return (content[: min(found)], True) if found else (content, False)


def _within(reply: Reply, limit: int) -> Reply:
    left = limit - count(reply.reasoning)
    if left >= count(reply.content) + call_tokens(reply.tool_calls):
        return reply
    out = attrs.evolve(reply, finish_reason="length", native_finish_reason="length")
    if left <= 0:
        return attrs.evolve(out, reasoning=cut(reply.reasoning, limit), content="", tool_calls=())
    content = cut(reply.content, left)
    calls = _calls_within(reply.tool_calls, left - count(content))
    return attrs.evolve(out, content=content, tool_calls=calls)


def _calls_within(calls: Sequence[Mapping[str, Any]], limit: int) -> tuple[Mapping[str, Any], ...]:
    """The whole calls that fit, then one with as much of its arguments as fits."""
    fitting: list[Mapping[str, Any]] = []
    for call in calls:
        if call_tokens([*fitting, call]) <= limit:
            fitting.append(call)
            continue
        function = call["function"]
        # By halves: escaping gives the arguments more tokens inside JSON than they have alone.
        length = count(function["arguments"])
        while length > 0:
            length //= 2
            short = {**function, "arguments": cut(function["arguments"], length)}
            if call_tokens([*fitting, {**call, "function": short}]) <= limit:
                fitting.append({**call, "function": short})
                break
        break
    return tuple(fitting)


def compact(value: object) -> str:
    """A value as the JSON that models write: readable text unescaped, spaces after separators."""
    return json.dumps(value, ensure_ascii=False)
