"""Readers of untrusted documents: a value and its path in, the read value out, problems noted.

A reader never stops at the first problem, so that one reading tells all that is wrong. It returns
`REFUSED` for what it noted a problem about. TOML and JSON values alike; a flag is not a number.
"""

import difflib
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs


class DocumentError(ValueError):
    """A document that is refused, with everything that is wrong with it.

    `problems` holds (path, reason) pairs, such as `("workers[2].jitter", "must be at least 0")`;
    an empty path is the document itself. `source` names the document, such as a file.
    """

    def __init__(self, problems: Sequence[tuple[str, str]], source: str = "") -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__(
            "\n".join(": ".join(filter(None, (source, *problem))) for problem in problems)
        )


class _Refused:
    def __repr__(self) -> str:
        return "REFUSED"


REFUSED: Final = _Refused()


@attrs.define
class Problems:
    """What has been found wrong so far."""

    found: list[tuple[str, str]] = attrs.field(factory=list)

    def add(self, path: str, reason: str) -> _Refused:
        self.found.append((path, reason))
        return REFUSED


Reader = Callable[[Any, str, Problems], Any]
_MOST_WORDS = 12


def meant(word: str, known: Iterable[str]) -> str:
    """`, did you mean x?` when a known word is close to this one, else nothing."""
    close = difflib.get_close_matches(word, sorted(known), n=1)
    return f", did you mean {close[0]}?" if close else ""


def _name_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a flag", int: "a number", float: "a number", str: "text", list: "a list"}
    return names.get(type(value), "a table" if isinstance(value, Mapping) else "something else")


def number(
    *, minimum: float | None = None, above: float | None = None, maximum: float | None = None
) -> Reader:
    """A finite number within bounds; `above` is a bound that it must not touch."""

    def read(value: Any, path: str, problems: Problems) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return problems.add(path, f"must be a number, not {_name_of(value)}")
        if not math.isfinite(value):
            return problems.add(path, f"must be a finite number, not {value}")
        if minimum is not None and value < minimum:
            return problems.add(path, f"must be at least {minimum}, not {value}")
        if above is not None and value <= above:
            return problems.add(path, f"must be above {above}, not {value}")
        if maximum is not None and value > maximum:
            return problems.add(path, f"must be at most {maximum}, not {value}")
        return float(value)

    return read


def integer(minimum: int, maximum: int = 2**63 - 1) -> Reader:
    """A whole number within bounds; `8.0` is no integer in a document that people write."""

    def read(value: Any, path: str, problems: Problems) -> Any:
        if isinstance(value, bool) or not isinstance(value, int):
            return problems.add(path, f"must be a whole number, not {_name_of(value)}")
        bounded = number(minimum=minimum, maximum=maximum)(value, path, problems)
        return bounded if bounded is REFUSED else value

    return read


def text(*, longest: int = 100_000, empty: bool = False) -> Reader:
    """A string; not an empty one unless `empty`."""

    def read(value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, str):
            return problems.add(path, f"must be text, not {_name_of(value)}")
        if not value and not empty:
            return problems.add(path, "must not be empty")
        if len(value) > longest:
            return problems.add(path, f"must have at most {longest} characters")
        return value

    return read


def pattern(value: Any, path: str, problems: Problems) -> Any:
    """A regular expression that compiles, as text."""
    read = text()(value, path, problems)
    if read is REFUSED:
        return REFUSED
    try:
        re.compile(value)
    except re.error as error:
        return problems.add(path, f"is no regular expression: {error}")
    return value


def flag(value: Any, path: str, problems: Problems) -> Any:
    """True or false."""
    if not isinstance(value, bool):
        return problems.add(path, f"must be true or false, not {_name_of(value)}")
    return value


def word(known: Collection[str], what: str) -> Reader:
    """One of the known words; `what` says what they are, for the refusal."""

    def read(value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, str):
            return problems.add(path, f"must be text, not {_name_of(value)}")
        if value not in known:
            near = meant(value, known) or f"; known are {_some(known)}"
            return problems.add(path, f"unknown {what} {value!r}{near}")
        return value

    return read


def _some(known: Collection[str]) -> str:
    """All of a few; of a table's hundred the first, as many as a line holds."""
    words = sorted(known)
    if len(words) <= _MOST_WORDS:
        return ", ".join(words)
    return f"{', '.join(words[:_MOST_WORDS])} and {len(words) - _MOST_WORDS} more"


def optional(reader: Reader) -> Reader:
    """What `reader` reads, or null."""
    return lambda value, path, problems: None if value is None else reader(value, path, problems)


def list_of(reader: Reader, *, at_least: int = 0, unique: bool = False) -> Reader:
    """A list as a tuple; `unique` refuses a second appearance of one item."""

    def read(value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, list | tuple):
            return problems.add(path, f"must be a list, not {_name_of(value)}")
        if len(value) < at_least:
            return problems.add(path, "must not be empty")
        items = [reader(item, f"{path}[{index}]", problems) for index, item in enumerate(value)]
        if unique:
            for index, item in enumerate(items):
                if item is not REFUSED and item in items[:index]:
                    problems.add(f"{path}[{index}]", f"repeats {item!r}")
        return tuple(items)

    return read


def mapping_of(known: Collection[str] | None, what: str, reader: Reader) -> Reader:
    """A table with any of the known keys (any key at all for None), each value read alike."""

    def read(value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, Mapping):
            return problems.add(path, f"must be a table, not {_name_of(value)}")
        for key in value:
            if known is not None and key not in known:
                problems.add(join(path, key), f"unknown {what}{meant(key, known)}")
        return {key: reader(item, join(path, key), problems) for key, item in value.items()}

    return read


def anything(value: Any, _path: str, _problems: Problems) -> Any:
    """Any JSON value."""
    return value


def table(fields: Mapping[str, Reader], required: Collection[str] = ()) -> Reader:
    """A table with these keys and no other, as a dict of those given and readable."""

    def read(value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, Mapping):
            return problems.add(path, f"must be a table, not {_name_of(value)}")
        known: dict[str, Any] = {}
        for key, item in value.items():
            if key not in fields:
                problems.add(join(path, key), f"unknown key{meant(key, fields)}")
                continue
            known[key] = fields[key](item, join(path, key), problems)
        for key in required:
            if key not in value:
                problems.add(join(path, key), "is missing")
        return known

    return read


def join(path: str, key: str) -> str:
    """The path of a key inside the table at `path`."""
    return f"{path}.{key}" if path else key
