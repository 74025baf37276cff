"""What a planned fault does to a built-in worker: the effects of the rows of the faults' table."""

from collections.abc import Sequence
from typing import Any, Final

import attrs

from horde_simulator import tokens
from horde_simulator.faults import option
from horde_simulator.performance import Performance
from horde_simulator.scenario import FaultSpec
from horde_simulator.state import State
from horde_simulator.work import Handed
from horde_simulator.workers import Worker

_OTHERWISE: Final = "Come to think of it, no. "
"""Begins a reply that doesn't continue what was posted."""
_PADDING: Final = " and so on"


def seconds(fault: FaultSpec | None, name: str) -> float:
    """A fault's seconds; 0 without a fault."""
    value = None if fault is None else option(fault, name)
    return 0.0 if value is None else float(value)


def declare(state: State, worker: Worker, fault: FaultSpec) -> None:
    """Has a worker declare what the fault says, the rest as before."""
    for name, read in (
        ("features", frozenset),
        ("guarantees", frozenset),
        ("limits", dict),
        ("max_length", int),
        ("max_context_length", int),
    ):
        value = option(fault, name)
        if value is not None:
            setattr(worker, name, read(value))
    state.registry.changed()


def faulted(fault: FaultSpec) -> Handed:
    """A job that the worker says it can't do."""
    return Handed(state="faulted", fault_reason=str(option(fault, "reason")))


def given_up() -> Handed:
    """A job that the worker stops in the middle."""
    return Handed(state="faulted", fault_reason="The worker stopped in the middle of its reply.")


def spoil_text(state: State, act: Performance, names: Sequence[str]) -> None:
    """Faults that decide before the first word what is said at all."""

    def struck(where: str) -> FaultSpec | None:
        return state.faults.strike(where, model=act.job.model, worker=names)

    if struck("empty_reply"):
        act.say(attrs.evolve(act.reply, content="", reasoning="", tool_calls=()))
    overlong = struck("overlong_reply")
    if overlong is not None:
        limit = act.job.request.demand.max_length
        content = act.reply.content
        missing = limit + 1 - tokens.count(act.reply.reasoning) - tokens.count(content)
        content += _PADDING * (max(0, missing) // tokens.count(_PADDING) + 1)
        act.say(attrs.evolve(act.reply, content=content, finish_reason="stop"))
        act.counted = None if option(overlong, "counted") else limit
    censored = struck("censored")
    if censored is not None:
        act.say(attrs.evolve(act.reply, content="", reasoning="", tool_calls=()))
        act.state = str(option(censored, "state"))


def spoil_submit(state: State, act: Performance, names: Sequence[str]) -> Handed:
    """The reply as it is submitted, with the faults that strike at the submit."""

    def struck(where: str) -> FaultSpec | None:
        return state.faults.strike(where, model=act.job.model, worker=names)

    handed = act.handed()
    if struck("diverges"):
        handed = attrs.evolve(handed, content=_OTHERWISE + (handed.content or ""))
    nonconformant = struck("submits_nonconformant")
    if nonconformant is not None:
        handed = break_rule(act, handed, option(nonconformant, "rule"))
    if struck("no_usage"):
        handed = attrs.evolve(handed, usage=None)
    if struck("no_worker_id"):
        handed = attrs.evolve(handed, omit=("worker_id", "worker_name"))
    return handed


def break_rule(act: Performance, handed: Handed, rule: str | None) -> Handed:
    """A reply that breaks one of the Horde's rules, by default the first that the job allows.

    A rule that the job doesn't make possible (bad JSON where none was asked for) is broken by too
    many tokens, which every job refuses.
    """
    tools = act.payload.get("tools")
    format_ = act.payload.get("response_format")
    if rule is None:
        rule = "unknown_function" if tools else "bad_json" if format_ else "too_many_tokens"
    stopped = attrs.evolve(handed, finish_reason="stop")
    if rule == "unknown_function":
        return attrs.evolve(stopped, tool_calls=(_call("call_1", "not_offered", "{}"),))
    if tools and rule in ("bad_arguments", "repeated_ids"):
        name = tools[0]["function"]["name"]
        arguments = "{" if rule == "bad_arguments" else "{}"
        times = 1 if rule == "bad_arguments" else 2
        return attrs.evolve(stopped, tool_calls=(_call("call_1", name, arguments),) * times)
    if format_ and rule == "bad_json":
        return attrs.evolve(stopped, content="{", tool_calls=())
    counted = act.job.request.demand.max_length + 1
    return attrs.evolve(handed, usage={**(handed.usage or {}), "completion_tokens": counted})


def _call(id_: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def rest(state: State, worker: Worker, names: Sequence[str]) -> None:
    """Puts a worker into maintenance after its submit, for a while or for good."""
    fault = state.faults.strike("goes_into_maintenance", worker=names)
    if fault is None:
        return
    worker.maintenance = True
    state.registry.changed()

    def over(worker: Worker) -> None:
        worker.maintenance = False
        state.registry.changed()

    if option(fault, "seconds") is not None:
        state.timeline.after(seconds(fault, "seconds"), over, worker)
