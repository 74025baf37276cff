"""One measured figure, and the document that a run of them makes."""

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import attrs

LIBRARIES = ("attrs", "cattrs", "h11", "httpcore", "httpx", "hypercorn", "orjson", "trio")


@attrs.frozen
class Figure:
    """A median with its spread; `goal` is what it should stay at or below."""

    name: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    goal: float | None = None
    target: int | None = None
    """The row of the table of targets (docs/explanation/performance.md)."""

    @property
    def is_missed(self) -> bool:
        """Whether a figure with a goal lies above it."""
        return self.goal is not None and self.value > self.goal

    def line(self) -> str:
        """The figure as a row of a terminal's table."""
        spread = f"  {shown(self.low)} to {shown(self.high)}" if self.low is not None else ""
        goal = (
            f"  goal {shown(self.goal)}{'  MISSED' if self.is_missed else ''}" if self.goal else ""
        )
        return f"  {self.name:<58} {shown(self.value):>9} {self.unit:<10}{spread}{goal}"


def of_samples(
    name: str,
    samples: Sequence[float],
    unit: str,
    *,
    goal: float | None = None,
    target: int | None = None,
) -> Figure:
    """The figure of several rounds: their median, smallest and largest."""
    return Figure(name, median(samples), unit, min(samples), max(samples), goal, target)


def shown(value: float | None) -> str:
    """A number to three or four places that count."""
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 100 else f"{value:.3g}"


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "cpus": os.cpu_count(),
        "processor": _processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        **{name: version(name) for name in LIBRARIES},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def write(path: Path, results: Mapping[str, Iterable[Figure]]) -> None:
    """Writes a run as JSON: the machine, then each subject's figures."""
    document = {
        "machine": machine(),
        "subjects": {
            name: [attrs.asdict(figure) for figure in figures] for name, figures in results.items()
        },
    }
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, list[Figure]]:
    """Reads what `write` wrote. Raises OSError, ValueError."""
    try:
        subjects = json.loads(path.read_text(encoding="utf-8"))["subjects"]
        return {name: [Figure(**entry) for entry in figures] for name, figures in subjects.items()}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} isn't a result of `horde-front bench`") from error
