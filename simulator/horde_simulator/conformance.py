"""Whether a worker's reply keeps what the request asked for (contract, section 4)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import jsonschema
import orjson
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from horde_simulator.refusals import HordeError, refuse

_CUT: Final = "length"


def check_reply(
    payload: Mapping[str, Any],
    reply: Mapping[str, Any],
    *,
    strict: bool,
    no_calls: bool,
) -> None:
    """Checks a submitted reply against the request that it answers.

    Args:
        payload: the job's payload, as the worker was handed it.
        reply: the submit: `message`, `finish_reason`, `usage`.
        strict: whether the request asked for strict conformance.
        no_calls: whether the request's `tool_choice` is `none`, which a worker isn't told.

    Raises:
        HordeError: `ChatSubmitNonconformant` naming the rule.
    """
    message = reply["message"]
    calls = message.get("tool_calls") or []
    _check_length(payload, reply.get("usage"))
    if calls and no_calls:
        raise _broken("The request's 'tool_choice' is 'none', so the reply may call no function.")
    cut = reply.get("finish_reason") == _CUT
    _check_calls(payload, calls, cut)
    if strict:
        _check_choice(payload, calls)
    if not cut:
        _check_format(payload.get("response_format"), message.get("content"), calls, strict)


def _broken(rule: str) -> HordeError:
    return refuse("ChatSubmitNonconformant", rule)


def _check_length(payload: Mapping[str, Any], usage: object) -> None:
    if isinstance(usage, Mapping):
        counted = usage.get("completion_tokens")
        if isinstance(counted, int) and counted > payload["max_length"]:
            raise _broken(
                f"The reply has {counted} completion tokens and the request's 'max_length' is "
                f"{payload['max_length']}."
            )


def _check_calls(payload: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], cut: bool) -> None:
    offered = {tool["function"]["name"] for tool in payload.get("tools") or ()}
    ids: set[str] = set()
    for call in calls:
        function = call["function"]
        if function["name"] not in offered:
            raise _broken(f"The reply calls the function '{function['name'][:80]}', not offered.")
        if not cut and not isinstance(_parsed(function["arguments"]), dict):
            raise _broken("The arguments of a tool call have to be a JSON object.")
        if not call["id"] or call["id"] in ids:
            raise _broken("Every tool call of the reply has to have an id of its own.")
        ids.add(call["id"])


def _check_choice(payload: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> None:
    asked_choice = payload.get("tool_choice")
    if asked_choice == "required" and not calls:
        raise _broken("The request's 'tool_choice' is 'required', so the reply has to call.")
    if isinstance(asked_choice, Mapping):
        name = asked_choice["function"]["name"]
        if not calls or any(call["function"]["name"] != name for call in calls):
            raise _broken(f"The request's 'tool_choice' forces the function '{name}'.")
    if payload.get("parallel_tool_calls") is False and len(calls) > 1:
        raise _broken("The request's 'parallel_tool_calls' is false, so one call at most.")


def _check_format(
    format_: Mapping[str, Any] | None,
    content: object,
    calls: Sequence[Mapping[str, Any]],
    strict: bool,
) -> None:
    """The format binds the text answer; a reply that only calls has none."""
    if format_ is None or (calls and not content):
        return
    kind = format_["type"]
    parsed = _parsed(content)
    if kind == "json_object" and not isinstance(parsed, dict):
        raise _broken(
            "The request's 'response_format' is 'json_object', so the reply content has to be JSON."
        )
    if kind == "json_schema" and strict and format_["json_schema"].get("strict") is True:
        _check_schema(format_["json_schema"]["schema"], parsed)


class _NoJson:
    """What a text that doesn't parse reads as: valid for no schema."""


def _parsed(text: object) -> object:
    try:
        return orjson.loads(text) if isinstance(text, str) else _NoJson
    except orjson.JSONDecodeError:
        return _NoJson


def _check_schema(schema: Mapping[str, Any], value: object) -> None:
    rule = "The request's 'response_format' is a strict 'json_schema', so the reply content has to"
    if value is _NoJson:
        raise _broken(f"{rule} be JSON.")
    validator = jsonschema.Draft202012Validator
    try:
        validator.check_schema(schema)
        # A registry of its own: the library's default one would fetch a foreign `$ref`.
        validator(schema, registry=Registry()).validate(value)
    except ValidationError as error:
        raise _broken(f"{rule} match it: {error.json_path}: {error.message[:200]}") from None
    except (SchemaError, Unresolvable, RecursionError, re.error):
        # A schema that says nothing that can be checked binds nobody.
        return
