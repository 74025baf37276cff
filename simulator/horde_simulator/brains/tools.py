"""`tools`: calls the offered functions that the conversation points at, then uses the results."""

import json
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

from horde_simulator.brains import Job, Reply
from horde_simulator.brains.conversation import last_user_text, offered, tool_results
from horde_simulator.brains.ending import compact
from horde_simulator.brains.identifiers import call_id
from horde_simulator.brains.instances import instance_of
from horde_simulator.brains.plausible import Plausible, words_of
from horde_simulator.brains.prose import prose
from horde_simulator.brains.topic import topic_of

Function = Mapping[str, Any]

_CLAUSE: Final = re.compile(r"\s*(?:[;?!]|,?\s+\b(?:and(?: also| then)?|then|also|plus)\b|,)\s+")
_POINTS: Final = 3
"""The score of a function that is pointed at: a word of its name, or three of its description."""
_MOST_CALLS: Final = 8


def tools(job: Job, random: Random) -> Reply:
    """Calls, text that uses the results of calls, or prose when no function is pointed at."""
    functions = offered(job)
    if tool_results(job) and not has_to_call(job):
        return Reply(_from_results(job))
    if not functions or not (has_to_call(job) or points_at_function(job)):
        return prose(job, random)
    calls = tuple(
        {
            "id": call_id(random),
            "type": "function",
            "function": {
                "name": function["name"],
                "arguments": compact(_arguments(function, clause, random)),
            },
        }
        for function, clause in _chosen(job, functions)
    )
    return Reply(tool_calls=calls, finish_reason="tool_calls")


def has_to_call(job: Job) -> bool:
    """Whether the job requires a call: some function's or a forced one's."""
    choice = job.payload.get("tool_choice")
    return choice == "required" or isinstance(choice, Mapping)


def points_at_function(job: Job) -> bool:
    """Whether the last user message speaks of an offered function and isn't answered yet."""
    if tool_results(job) or job.payload.get("tool_choice") == "none":
        return False
    said = last_user_text(job)
    return any(_score(function, said) >= _POINTS for function in offered(job))


def _chosen(job: Job, functions: Sequence[Function]) -> list[tuple[Function, str]]:
    """The functions to call, each with the part of the message that it answers."""
    said = last_user_text(job)
    choice = job.payload.get("tool_choice")
    if isinstance(choice, Mapping):
        name = choice.get("function", {}).get("name")
        functions = [function for function in functions if function["name"] == name] or functions
    best = max(functions, key=lambda function: _score(function, said))
    if job.payload.get("parallel_tool_calls") is False:
        return [(best, said)]
    return _for_clauses(functions, said)[:_MOST_CALLS] or [(best, said)]


def _for_clauses(functions: Sequence[Function], said: str) -> list[tuple[Function, str]]:
    """A call for each clause that points at a function, or names one more place for the last."""
    chosen: list[tuple[Function, str]] = []
    for clause in _CLAUSE.split(said):
        best = max(functions, key=lambda function: _score(function, clause))
        if _score(best, clause) >= _POINTS:
            chosen.append((best, clause))
        elif chosen and (name := re.fullmatch(r"(?:in |at |for )?([A-ZÀ-Þ][\w' -]*)\W*", clause)):
            chosen.append((chosen[-1][0], f"in {name[1]}"))
        elif chosen:
            function, before = chosen[-1]
            chosen[-1] = (function, f"{before} and {clause}")
    return chosen


def _score(function: Function, said: str) -> int:
    """How much a text speaks of a function: its whole name, words of name and description."""
    name = words_of(function["name"])
    heard = words_of(re.sub(r"[^\w\s-]", " ", said))
    roots = {_root(word) for word in heard}
    whole = 10 if f" {' '.join(name)} " in f" {' '.join(heard)} " else 0
    told = {_root(word) for word in topic_of(str(function.get("description") or "")).words}
    telling = {_root(word) for word in name} - {"get", "set", "run", "do", "the", "a", "of", "in"}
    return whole + 3 * len(telling & roots) + len((told - telling) & roots)


def _root(word: str) -> str:
    word = word.lower()
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _arguments(function: Function, said: str, random: Random) -> dict[str, Any]:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    arguments = instance_of({"type": "object", **schema}, random, Plausible(said))
    return arguments if isinstance(arguments, dict) else {}


def _from_results(job: Job) -> str:
    sentences = [_sentence(call, result) for call, result in tool_results(job)]
    return " ".join(sentences)


def _sentence(call: Mapping[str, Any], result: str) -> str:
    asked = _parsed(str(call.get("arguments") or ""))
    about = ""
    if isinstance(asked, dict) and asked:
        about = f" for {', '.join(_plain(value) for value in asked.values())}"
    return f"{call.get('name') or 'The function'} says{about}: {_plain(_parsed(result))}."


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip().rstrip(".") or "nothing"


def _plain(value: Any) -> str:
    """A value as a person would write it in a sentence."""
    if isinstance(value, dict):
        return ", ".join(f"{' '.join(words_of(key))} {_plain(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value is None else str(value)
