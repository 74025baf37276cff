"""Scenario documents: TOML or JSON in, frozen values out, and back (contract: simulator section 4).

The tables of fields below are the format. TOML has no null, so a worker whose replies arrive whole
says `progress_interval = "none"`; a fault's own options stand beside its other keys.
"""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from importlib import resources
from typing import Any, Final

import attrs

from horde_core.native import ANONYMOUS_KEY, FEATURES, GUARANTEES, LIMITS
from horde_simulator import readers as r
from horde_simulator.brains.registry import BRAINS
from horde_simulator.faults import FAULTS, WORKER_CALLS, FaultKind
from horde_simulator.readers import REFUSED, DocumentError, Problems
from horde_simulator.scenario import FaultSpec, ModelSpec, Scenario, UserSpec, WorkerProfile

SHIPPED: Final = ("default", "empty", "busy", "slow", "flaky", "restarts", "storm")
"""The scenarios that come with the package, by name."""

_FAULT_FIELDS: Final[Mapping[str, r.Reader]] = {
    "where": r.word(FAULTS, "fault"),
    "times": r.optional(r.integer(1)),
    "chance": r.optional(r.number(minimum=0, maximum=1)),
    "model": r.optional(r.text()),
    "worker": r.optional(r.text()),
    "after": r.number(minimum=0),
    "name": r.optional(r.text()),
    "follows": r.optional(r.text()),
}
_OPTION_READERS: Final[Mapping[str, r.Reader]] = {
    "text": r.text(),
    "number": r.number(minimum=0),
    "flag": r.flag,
    "names": r.list_of(r.text()),
    "numbers": r.mapping_of(None, "limit", r.number()),
}
_OPTION_NAMES: Final = frozenset(option.name for row in FAULTS.values() for option in row.options)
_CALL_FIELDS: Final[Mapping[str, r.Reader]] = {
    "name": r.text(longest=64),
    "arguments": r.mapping_of(None, "argument", r.anything),
}
_RULE_FIELDS: Final[Mapping[str, r.Reader]] = {
    "match": r.pattern,
    "text": r.text(empty=True),
    "reasoning": r.text(empty=True),
    "calls": r.list_of(r.table(_CALL_FIELDS, ("name",))),
    "delay": r.number(minimum=0),
    "finish_reason": r.word(("stop", "length", "tool_calls", "content_filter"), "finish reason"),
}


def _read_interval(value: Any, path: str, problems: Problems) -> Any:
    if value is None or value == "none":
        return None
    return r.number(above=0)(value, path, problems)


def read_fault(value: Any, path: str, problems: Problems) -> Any:
    """A `FaultSpec` from its table; the options are those of the row that `where` names."""
    where = value.get("where") if isinstance(value, Mapping) else None
    row: FaultKind | None = FAULTS.get(where) if isinstance(where, str) else None
    options = {option.name: _OPTION_READERS[option.kind] for option in row.options} if row else {}
    fields = {**_FAULT_FIELDS, **options}
    if isinstance(value, Mapping) and row is None:
        # Its options can't be judged before it is known which fault is meant.
        value = {key: item for key, item in value.items() if key not in _OPTION_NAMES}
    before = len(problems.found)
    read = r.table(fields, ("where",))(value, path, problems)
    if len(problems.found) > before:
        return REFUSED
    if row is not None and read.get("worker") is not None and not _has_worker(row):
        what = f"has no meaning here: `{row.where}` strikes calls that no worker makes"
        return problems.add(r.join(path, "worker"), what)
    return FaultSpec(
        **{key: item for key, item in read.items() if key in _FAULT_FIELDS},
        options={key: item for key, item in read.items() if key in options},
    )


def _has_worker(row: FaultKind) -> bool:
    return row.side == "worker" or row.where.partition(".")[0] in (*WORKER_CALLS, "any")


def _read_own_fault(value: Any, path: str, problems: Problems) -> Any:
    fault = read_fault(value, path, problems)
    if fault is REFUSED:
        return REFUSED
    if FAULTS[fault.where].side != "worker":
        return problems.add(r.join(path, "where"), "is a fault of the Horde, not of a worker")
    if fault.worker is not None:
        return problems.add(r.join(path, "worker"), "is the worker that the fault stands in")
    return fault


_WORKER_FIELDS: Final[Mapping[str, r.Reader]] = {
    "name": r.text(longest=100),
    "models": r.list_of(r.text(), at_least=1, unique=True),
    "id": r.optional(r.text(longest=100)),
    "threads": r.integer(1, 1000),
    "max_length": r.integer(16, 16384),
    "max_context_length": r.integer(80, 1048576),
    "features": r.list_of(r.word(FEATURES, "feature"), unique=True),
    "guarantees": r.list_of(r.word(GUARANTEES, "guarantee"), unique=True),
    "limits": r.mapping_of(LIMITS, "limit", r.number()),
    "trusted": r.flag,
    "slow": r.flag,
    "maintenance": r.flag,
    "online_from": r.number(minimum=0),
    "online_until": r.optional(r.number(minimum=0)),
    "tokens_per_second": r.number(above=0),
    "prefill_seconds": r.number(minimum=0),
    "prefill_per_1000_tokens": r.number(minimum=0),
    "load_factor": r.number(minimum=0),
    "jitter": r.number(minimum=0, maximum=0.3),
    "progress_interval": _read_interval,
    "brain": r.word(BRAINS, "brain"),
    "script": r.list_of(r.table(_RULE_FIELDS, ("match",))),
    "faults": r.list_of(_read_own_fault),
    "background_seconds": r.number(minimum=0),
}


def read_worker(value: Any, path: str, problems: Problems) -> Any:
    """A `WorkerProfile` from its table; what contradicts itself is refused too."""
    before = len(problems.found)
    read = r.table(_WORKER_FIELDS, ("name", "models"))(value, path, problems)
    if len(problems.found) > before:
        return REFUSED
    profile = WorkerProfile(**read)
    if (profile.brain == "script") != bool(profile.script):
        reason = "needs rules" if profile.brain == "script" else "is read by the brain 'script'"
        problems.add(r.join(path, "script"), reason)
    if profile.online_until is not None and profile.online_until <= profile.online_from:
        problems.add(r.join(path, "online_until"), "must be after online_from")
    if profile.max_length > profile.max_context_length:
        problems.add(r.join(path, "max_length"), "must fit into max_context_length")
    return profile if len(problems.found) == before else REFUSED


def _made(kind: type, fields: Mapping[str, r.Reader], required: Sequence[str]) -> r.Reader:
    def read(value: Any, path: str, problems: Problems) -> Any:
        before = len(problems.found)
        known = r.table(fields, required)(value, path, problems)
        return kind(**known) if len(problems.found) == before else REFUSED

    return read


_MODEL_FIELDS: Final[Mapping[str, r.Reader]] = {
    "name": r.text(longest=255),
    "parameters_billion": r.optional(r.number(above=0)),
}
_USER_FIELDS: Final[Mapping[str, r.Reader]] = {
    "key": r.text(longest=100),
    "username": r.text(longest=100),
    "kudos": r.number(minimum=0),
    "trusted": r.flag,
}
_SCENARIO_FIELDS: Final[Mapping[str, r.Reader]] = {
    "name": r.text(longest=100),
    "seed": r.integer(0),
    "clock": r.word(("real", "manual"), "clock"),
    "clock_factor": r.number(above=0),
    "limits": r.word(("service", "public", "off"), "limits"),
    "service_authorization": r.text(longest=512, empty=True),
    "models": r.list_of(_made(ModelSpec, _MODEL_FIELDS, ("name",))),
    "users": r.list_of(_made(UserSpec, _USER_FIELDS, ("key",))),
    "workers": r.list_of(read_worker),
    "faults": r.list_of(read_fault),
}


def read_scenario(document: Any, *, source: str = "") -> Scenario:
    """A scenario from a parsed document (TOML or JSON).

    Raises:
        DocumentError: with the path and the reason of everything that is wrong.
    """
    problems = Problems()
    read = r.table(_SCENARIO_FIELDS)(document, "", problems)
    if problems.found:
        raise DocumentError(problems.found, source)
    scenario = Scenario(**read)
    _check_repeats(scenario, problems)
    _check_models(scenario, problems)
    check_order(_placed_faults(scenario), problems)
    if problems.found:
        raise DocumentError(problems.found, source)
    return scenario


def parse_scenario(text: str, *, source: str) -> Scenario:
    """A scenario from TOML text; `source` is what a refusal calls it.

    Raises:
        DocumentError: the text is no TOML, or no scenario.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DocumentError([("", f"is no TOML: {error}")], source) from None
    return read_scenario(document, source=source)


def shipped_scenario(name: str) -> Scenario:
    """One of `SHIPPED`, read from the package's own data: the one thing read here from a file.

    Raises:
        DocumentError: there is no such scenario.
    """
    if name not in SHIPPED:
        near = r.meant(name, SHIPPED) or f"; shipped are {', '.join(SHIPPED)}"
        raise DocumentError([("", f"no scenario is called {name!r}{near}")])
    data = resources.files("horde_simulator").joinpath("scenarios", f"{name}.toml")
    return parse_scenario(data.read_text(encoding="utf-8"), source=f"{name}.toml")


def scenario_document(scenario: Scenario) -> dict[str, Any]:
    """The scenario as a JSON document that `read_scenario` reads back to an equal one."""
    return {
        "name": scenario.name,
        "seed": scenario.seed,
        "clock": scenario.clock,
        "clock_factor": scenario.clock_factor,
        "limits": scenario.limits,
        "service_authorization": scenario.service_authorization,
        "models": [attrs.asdict(model) for model in scenario.models],
        "users": [attrs.asdict(user) for user in scenario.users],
        "workers": [worker_document(worker) for worker in scenario.workers],
        "faults": [fault_document(fault) for fault in scenario.faults],
    }


def worker_document(worker: WorkerProfile) -> dict[str, Any]:
    """A worker's profile as JSON."""
    fields = {field.name: getattr(worker, field.name) for field in attrs.fields(WorkerProfile)}
    tuples = ("models", "features", "guarantees", "script")
    return {
        **fields,
        **{name: list(fields[name]) for name in tuples},
        "limits": dict(worker.limits),
        "faults": [fault_document(fault) for fault in worker.faults],
    }


def fault_document(fault: FaultSpec) -> dict[str, Any]:
    """A fault as JSON, its options beside its other keys."""
    fields = {field.name: getattr(fault, field.name) for field in attrs.fields(FaultSpec)}
    options = fields.pop("options")
    return {**fields, **options}


def _check_repeats(scenario: Scenario, problems: Problems) -> None:
    columns = (
        ("models", "name", scenario.models),
        ("users", "key", scenario.users),
        ("workers", "name", scenario.workers),
        ("workers", "id", scenario.workers),
    )
    for where, field, rows in columns:
        seen: dict[str, int] = {}
        for index, row in enumerate(rows):
            value = getattr(row, field)
            if value is None:
                continue
            if value in seen:
                problems.add(f"{where}[{index}].{field}", f"repeats {where}[{seen[value]}]")
            seen.setdefault(value, index)
            if (where, value) == ("users", ANONYMOUS_KEY):
                problems.add(f"users[{index}].key", "is the anonymous account, always there")


def _check_models(scenario: Scenario, problems: Problems) -> None:
    models = [model.name for model in scenario.models]
    for index, worker in enumerate(scenario.workers):
        check_models(worker.models, models, f"workers[{index}].models", problems)
    for path, fault in _placed_faults(scenario):
        check_fault_model(fault, models, path, problems)


def check_models(
    named: Sequence[str], models: Collection[str], path: str, problems: Problems
) -> None:
    """Notes the models of a worker that the Horde doesn't know."""
    for index, model in enumerate(named):
        if model not in models:
            problems.add(f"{path}[{index}]", f"unknown model {model!r}{r.meant(model, models)}")


def check_fault_model(
    fault: FaultSpec, models: Collection[str], path: str, problems: Problems
) -> None:
    """Notes the model of a fault that the Horde doesn't know."""
    if fault.model is not None and fault.model not in models:
        near = r.meant(fault.model, models)
        problems.add(r.join(path, "model"), f"unknown model {fault.model!r}{near}")


def _placed_faults(scenario: Scenario) -> list[tuple[str, FaultSpec]]:
    """Every fault with its path: the workers' own, then the Horde's."""
    own = [
        (f"workers[{index}].faults[{at}]", fault)
        for index, worker in enumerate(scenario.workers)
        for at, fault in enumerate(worker.faults)
    ]
    return own + [(f"faults[{at}]", fault) for at, fault in enumerate(scenario.faults)]


def check_order(
    placed: Sequence[tuple[str, FaultSpec]], problems: Problems, known: Collection[str] = ()
) -> None:
    """Notes names that repeat, `follows` without such a fault, and faults that wait in a circle.

    `known` are names of faults that are planned already.
    """
    named: dict[str, FaultSpec] = {}
    for path, fault in placed:
        if fault.name is None:
            continue
        if fault.name in named or fault.name in known:
            problems.add(r.join(path, "name"), f"repeats {fault.name!r}")
        named.setdefault(fault.name, fault)
    for path, fault in placed:
        if fault.follows is None or fault.follows in known:
            continue
        here = r.join(path, "follows")
        if fault.follows not in named:
            near = r.meant(fault.follows, (*named, *known))
            problems.add(here, f"no fault is called {fault.follows!r}{near}")
            continue
        chain = _chain(fault, named)
        if chain[-1] == fault.name:
            problems.add(here, f"a circle, none would ever strike: {' -> '.join(chain)}")


def _chain(fault: FaultSpec, named: Mapping[str, FaultSpec]) -> list[str]:
    """The names of a fault and of those that it follows, until one repeats or follows none."""
    chain = [fault.name or fault.where]
    follows = fault.follows
    while follows is not None and follows in named:
        chain.append(follows)
        if follows in chain[:-1]:
            break
        follows = named[follows].follows
    return chain
