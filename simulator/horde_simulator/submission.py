"""The body of a submit, checked against the schema and read into a frozen value."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import orjson

from horde_simulator.fitting import FITS, Fit, json_length
from horde_simulator.payload import MISSING, Reader
from horde_simulator.refusals import invalid_payload, refuse
from horde_simulator.submitted_messages import image_urls, read_messages

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh")
FORMATS: Final = ("text", "json_object", "json_schema")
_CONFORMANCES: Final = ("strict", "best_effort")
_MOST_TOOLS: Final = 128
_MOST_DEPTH: Final = 10
_MOST_SCHEMA_BYTES: Final = 256 * 1024
_FUNCTION_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SEED: Final = 2**63

# The keywords of a JSON Schema that hold further schemas: one, a list of them, or by name.
_ONE: Final = ("items", "additionalProperties", "not", "contains", "if", "then", "else")
_SEVERAL: Final = ("prefixItems", "anyOf", "oneOf", "allOf")
_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


@attrs.frozen
class Sampling:
    """The `params` of a submit, in the contract's ranges."""

    n: int
    max_length: int
    max_context_length: int
    temperature: float
    top_p: float
    frequency_penalty: float
    presence_penalty: float
    rep_pen: float
    top_k: int
    min_p: float
    stop_sequence: tuple[str, ...]
    seed: int | None
    reasoning_effort: str | None


@attrs.frozen
class Submission:
    """A submit whose shape is right; whether it can be served is not said yet."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    tool_choice: str | Mapping[str, Any] | None
    parallel_tool_calls: bool | None
    response_format: Mapping[str, Any] | None
    params: Sampling
    models: tuple[str, ...]
    workers: tuple[str, ...]
    worker_blacklist: bool
    trusted_workers: bool
    slow_workers: bool
    strict: bool
    context_fit: Fit
    progress: bool
    operation_key: str | None
    dry_run: bool
    image_urls: tuple[str, ...]
    """The URLs of all image parts, in their order."""

    @property
    def offers_tools(self) -> bool:
        """Whether a worker is given tools: under `tool_choice: none` it isn't."""
        return bool(self.tools) and self.tool_choice != "none"

    @property
    def format(self) -> str:
        """The response format's kind."""
        return "text" if self.response_format is None else str(self.response_format["type"])


def read_submission(body: Mapping[str, Any]) -> Submission:
    """The submission that a body holds; keys that the schema doesn't know are ignored.

    Raises:
        HordeError: the schema's refusal, with every path that is wrong.
    """
    errors: dict[str, str] = {}
    reader = Reader(body, errors)
    messages = read_messages(reader)
    submission = Submission(
        messages=messages,
        tools=_tools(reader),
        tool_choice=_tool_choice(reader, body),
        parallel_tool_calls=reader.optional_boolean("parallel_tool_calls"),
        response_format=_response_format(reader),
        params=_params(Reader(reader.object("params"), errors, "params.")),
        models=reader.texts("models", 100, least=1),
        workers=reader.texts("workers", 10),
        worker_blacklist=reader.boolean("worker_blacklist", False),
        trusted_workers=reader.boolean("trusted_workers", False),
        slow_workers=reader.boolean("slow_workers", True),
        strict=reader.choice("conformance", _CONFORMANCES, "strict") == "strict",
        context_fit=reader.choice("context_fit", FITS, "truncate_oldest"),  # type: ignore[arg-type]
        progress=reader.boolean("progress", False),
        operation_key=reader.text("operation_key", longest=128),
        dry_run=reader.boolean("dry_run", False),
        image_urls=() if errors else image_urls(messages),
    )
    if errors:
        raise invalid_payload(errors)
    return submission


def _params(reader: Reader) -> Sampling:
    """Ranges: contract, section 2. A seed is a signed 64-bit integer."""
    return Sampling(
        n=reader.integer("n", 1, 1, 20),
        max_length=reader.integer("max_length", 512, 16, 16384),
        max_context_length=reader.integer("max_context_length", 4096, 80, 1048576),
        temperature=reader.number("temperature", 1.0, 0, 2),
        top_p=reader.number("top_p", 1.0, 0, 1),
        frequency_penalty=reader.number("frequency_penalty", 0.0, -2, 2),
        presence_penalty=reader.number("presence_penalty", 0.0, -2, 2),
        rep_pen=reader.number("rep_pen", 1.0, 0, 3),
        top_k=reader.integer("top_k", 0, 0, 1000),
        min_p=reader.number("min_p", 0.0, 0, 1),
        stop_sequence=reader.texts("stop_sequence", 100),
        seed=reader.optional_integer("seed", -_SEED, _SEED - 1),
        reasoning_effort=reader.choice("reasoning_effort", EFFORTS, None),
    )


def _tools(reader: Reader) -> list[dict[str, Any]]:
    tools = reader.objects("tools", 10_000)
    for index, tool in enumerate(tools):
        path = f"tools.{index}"
        function = tool.get("function")
        if tool.get("type") != "function" or type(function) is not dict:
            reader.wrong(path, "is not a function tool")
        elif type(function.get("name")) is not str:
            reader.wrong(f"{path}.function.name", MISSING)
        elif type(function.get("parameters", {})) is not dict:
            reader.wrong(f"{path}.function.parameters", "is not of type 'object'")
    return tools


def _tool_choice(reader: Reader, body: Mapping[str, Any]) -> str | Mapping[str, Any] | None:
    choice = body.get("tool_choice")
    if choice is None or (type(choice) is str and choice in ("none", "auto", "required")):
        return choice
    if type(choice) is dict and choice.get("type") == "function":
        function = choice.get("function")
        if type(function) is dict and type(function.get("name")) is str:
            return choice
    reader.wrong("tool_choice", "is neither none, auto, required nor a function")
    return None


def _response_format(reader: Reader) -> Mapping[str, Any] | None:
    format_ = reader.object("response_format")
    if not format_:
        return None
    if format_.get("type") not in FORMATS:
        reader.wrong("response_format.type", f"is not one of {list(FORMATS)}")
        return None
    if format_["type"] == "json_schema":
        named = format_.get("json_schema")
        if type(named) is not dict or type(named.get("schema")) is not dict:
            reader.wrong("response_format.json_schema.schema", MISSING)
            return None
    return format_ if format_["type"] != "text" else None


def check_sizes(submission: Submission) -> None:
    """The sizes, depths and names that the schema alone can't say.

    Raises:
        HordeError: `BadRequest` with what is too much.
    """
    tools, choice, format_ = submission.tools, submission.tool_choice, submission.response_format
    if not tools and format_ is None and choice is None:
        return
    if len(tools) > _MOST_TOOLS:
        raise refuse("BadRequest", f"{len(tools)} tools are more than {_MOST_TOOLS}.")
    for tool in tools:
        name = tool["function"]["name"]
        if not _FUNCTION_NAME.fullmatch(name):
            raise refuse("BadRequest", f"The function name {name[:80]!r} is not allowed.")
        _check_depth(tool["function"].get("parameters", {}), f"The parameters of {name!r}")
    if format_ is not None and format_["type"] == "json_schema":
        _check_depth(format_["json_schema"]["schema"], "The response schema")
    if choice not in (None, "none", "auto"):
        _check_choice(choice, [tool["function"]["name"] for tool in tools])
    size = sum(len(orjson.dumps(part)) for part in (tools, choice, format_) if part)
    if size > _MOST_SCHEMA_BYTES:
        raise refuse("BadRequest", f"tools, tool_choice and response_format take {size} bytes.")


def _check_choice(choice: str | Mapping[str, Any] | None, names: Sequence[str]) -> None:
    if not names:
        raise refuse("BadRequest", "tool_choice needs tools.")
    if isinstance(choice, Mapping) and choice["function"]["name"] not in names:
        raise refuse("BadRequest", "tool_choice names a function that is not offered.")


def _check_depth(schema: Mapping[str, Any], what: str) -> None:
    level: list[object] = [schema]
    for _ in range(_MOST_DEPTH + 1):
        level = [inner for outer in level for inner in _schemas_in(outer)]
        if not level:
            return
    raise refuse("BadRequest", f"{what} nest deeper than {_MOST_DEPTH} levels.")


def _schemas_in(schema: object) -> list[object]:
    """The schemas right below one."""
    if not isinstance(schema, dict):
        return []
    found = [schema[key] for key in _ONE if isinstance(schema.get(key), dict)]
    for key in _SEVERAL:
        if isinstance(schema.get(key), list):
            found += [inner for inner in schema[key] if isinstance(inner, dict)]
    for key in _NAMED:
        if isinstance(schema.get(key), dict):
            found += [inner for inner in schema[key].values() if isinstance(inner, dict)]
    return found


def tools_length(submission: Submission) -> int:
    """Characters of the tools' JSON that a worker is given."""
    return json_length(submission.tools) if submission.offers_tools else 0
