"""Fills the tables in the simulator's reference pages from the tables that the code goes by.

    python docs/make_simulator_reference.py

A page has its tables between `<!-- table: name -->` and `<!-- end -->`; the rest is written by
hand. A test compares the files with what this makes of them, and a field, fault, brain or code
without a line in `simulator_meanings.py` is a KeyError, so none can come unexplained.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final

import attrs
import simulator_meanings as meanings

from horde_core import native
from horde_simulator import control, document, limits, refusals, routes, scenario
from horde_simulator.brains.reasoning import BUDGETS
from horde_simulator.brains.registry import BRAINS
from horde_simulator.faults import CALL_FAULTS, CALLS, FAULTS, WORKER_CALLS, FaultKind, FaultOption
from horde_simulator.verdict import Kind

REFERENCE: Final = Path(__file__).parent / "reference"
_BLOCK: Final = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _words(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _value(value: object) -> str:
    """A default as a scenario file would have it."""
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return _words(value) if value else "none"
    if isinstance(value, Mapping):
        return "none" if not value else f"`{dict(value)}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


# --- Scenario files ---


def _fields(kind: type, words: Mapping[str, str], required: Sequence[str]) -> str:
    rows = []
    for field in attrs.fields(kind):
        if field.name == "options":  # a fault's own keys, which stand beside the others
            continue
        default = field.default
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
            default = default.factory()
        shown = "required" if field.name in required else _value(default)
        rows.append((f"`{field.name}`", shown, words[field.name]))
    return table(("key", "default", "meaning"), rows)


def _shipped() -> str:
    rows = []
    folder = resources.files("horde_simulator").joinpath("scenarios")
    for name in document.SHIPPED:
        text = folder.joinpath(f"{name}.toml").read_text(encoding="utf-8")
        comment = text.split("\n\n", 1)[0]
        meaning = " ".join(line.removeprefix("#").strip() for line in comment.splitlines())
        loaded = document.shipped_scenario(name)
        rows.append((f"`{name}`", str(len(loaded.models)), str(len(loaded.workers)), meaning))
    return table(("name", "models", "workers", "what it is"), rows)


def _default_workers() -> str:
    loaded = document.shipped_scenario("default")
    rows = []
    for model in loaded.models:
        workers = [worker for worker in loaded.workers if model.name in worker.models]
        features = sorted({name for worker in workers for name in worker.features})
        rows.append(
            (
                f"`{model.name}`",
                f"{model.parameters_billion:g}",
                "<br>".join(worker.name for worker in workers) or "none",
                "<br>".join(f"{worker.tokens_per_second:g}" for worker in workers),
                "<br>".join(f"{worker.max_context_length:,}" for worker in workers),
                _words(features),
            )
        )
    header = ("model", "billions", "workers", "tokens/s", "context", "features of any worker")
    return table(header, rows)


# --- Faults ---


def _options(options: Iterable[FaultOption]) -> str:
    return "<br>".join(
        f"`{option.name}`: {option.does} ({_value(option.default)})" for option in options
    )


def _fault_rows(rows: Iterable[FaultKind]) -> str:
    return table(
        ("where", "what happens", "`after` counts", "its own keys (default)"),
        [(f"`{row.where}`", row.does, row.after, _options(row.options)) for row in rows],
    )


def _call_faults() -> str:
    rows = [FAULTS[f"{CALLS[0]}.{kind}"] for kind in CALL_FAULTS]
    return table(
        ("kind", "what the caller gets", "its own keys (default)"),
        [(f"`{row.where.split('.')[1]}`", row.does, _options(row.options)) for row in rows],
    )


def _fault_calls() -> str:
    calls = (*CALLS, *WORKER_CALLS, "any")
    return table(("call", "which"), [(f"`{call}`", meanings.CALLS[call]) for call in calls])


# --- Brains ---


def _brains() -> str:
    default = scenario.WorkerProfile("x", ("y",)).brain
    rows = [
        (f"`{name}`" + (" (default)" if name == default else ""), meanings.BRAINS[name])
        for name in BRAINS
    ]
    return table(("brain", "reply"), rows)


def _rules() -> str:
    return table(
        ("key", "meaning"),
        [(f"`{name}`", meanings.RULES[name]) for name in document._RULE_FIELDS],
    )


def _efforts() -> str:
    return table(
        ("`reasoning_effort`", "most of `max_length` that thinking takes"),
        [(f"`{effort}`", f"{share:.1%}".replace(".0%", "%")) for effort, share in BUDGETS.items()],
    )


# --- The control API ---


def _control_calls() -> Iterator[tuple[str, str]]:
    for name, methods in control._ROUTES.items():
        yield from ((method, name) for method in methods)
    yield from ((method, "workers/{id}") for method in control._ONE_WORKER)


def _control() -> str:
    rows = [
        (f"`{m} /_sim/{name}`", meanings.CONTROL[m, name]) for m, name in sorted(_control_calls())
    ]
    return table(("call", "what it does"), sorted(rows, key=lambda row: row[0].split()[1]))


def _findings() -> str:
    kinds = Kind.__args__  # type: ignore[attr-defined]
    return table(("kind", "the caller"), [(f"`{kind}`", meanings.FINDINGS[kind]) for kind in kinds])


# --- The native API ---


def _codes() -> str:
    rows = [
        (f"`{rc}`", str(status), meanings.CODES[rc]) for rc, status in refusals.STATUSES.items()
    ]
    return table(("rc", "status", "when"), rows)


def _routes() -> str:
    known = [(path, methods) for path, methods in routes._PATHS.items()]
    known += [(f"{prefix}{{…}}", methods) for prefix, methods in routes._SUBJECTS]
    by_name = {
        name: f"`{method} {path.removeprefix(native.BASE)}`"
        for path, methods in known
        for method, name in methods.items()
    }
    assert set(by_name) == set(meanings.ROUTES)
    return table(
        ("call", "what for"), [(by_name[name], meanings.ROUTES[name]) for name in meanings.ROUTES]
    )


def _limits() -> str:
    submits, keys = limits._SUBMIT_PER_ADDRESS, limits._SUBMIT_PER_KEY
    rows = [
        ("submit, by address", submits["public"].text, submits["service"].text),
        ("submit, by key", keys["public"].text, keys["service"].text),
        ("submit, the anonymous key", *[limits._ANONYMOUS_PER_KEY.text] * 2),
        ("status and cancel, each by request", *[limits._STATUS.text] * 2),
        ("pop, progress, submit of a worker, by address", *[limits._WORKER.text] * 2),
        ("every other call, by address", *[limits._OTHER.text] * 2),
    ]
    return table(("calls", "the public", "a known service"), rows)


TABLES: Final[Mapping[str, Any]] = {
    "scenario": lambda: _fields(scenario.Scenario, meanings.SCENARIO, ()),
    "model": lambda: _fields(scenario.ModelSpec, meanings.MODEL, ("name",)),
    "user": lambda: _fields(scenario.UserSpec, meanings.USER, ("key",)),
    "worker": lambda: _fields(scenario.WorkerProfile, meanings.WORKER, ("name", "models")),
    "fault": lambda: _fields(scenario.FaultSpec, meanings.FAULT, ("where",)),
    "shipped": _shipped,
    "default-workers": _default_workers,
    "worker-faults": lambda: _fault_rows(row for row in FAULTS.values() if row.side == "worker"),
    "horde-faults": lambda: _fault_rows(
        row for row in FAULTS.values() if row.side == "horde" and "." not in row.where
    ),
    "call-faults": _call_faults,
    "fault-calls": _fault_calls,
    "brains": _brains,
    "rules": _rules,
    "efforts": _efforts,
    "control": _control,
    "findings": _findings,
    "routes": _routes,
    "limits": _limits,
    "codes": _codes,
}
PAGES: Final = ("native-api.md", "scenario-file.md", "control-api.md", "faults.md", "brains.md")


def filled(page: str) -> str:
    """A page with its tables as the code has them now."""

    def fill(block: re.Match[str]) -> str:
        begin, name, end = block.groups()
        return f"{begin}\n{TABLES[name]()}\n\n{end}"

    return _BLOCK.sub(fill, page)


def used(page: str) -> list[str]:
    """The names of a page's tables."""
    return [name for _, name, _ in _BLOCK.findall(page)]


def main() -> int:
    for name in PAGES:
        path = REFERENCE / name
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
