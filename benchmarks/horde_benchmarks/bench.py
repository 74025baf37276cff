"""Runs the subjects with a bar of progress; writes JSON and a chart, or compares two runs.

python -m horde_benchmarks.bench --only polling,calls --json result.json --svg result.svg
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from time import monotonic

from horde_adapters.bench import add_options
from horde_adapters.version import VERSION
from horde_benchmarks import chart, figures
from horde_benchmarks.figures import Figure
from horde_benchmarks.server_process import CannotMeasure
from horde_benchmarks.subjects import SUBJECTS

BAR = 24


def run(options: argparse.Namespace) -> int:
    """Measures. Status 0, or 2 when a file or a name is wrong or this machine can't be measured."""
    # Ended like a Ctrl-C, so that the servers under measurement end as well.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        before = figures.read(options.compare) if options.compare else {}
        names = _names(options.only)
        for file in (options.json, options.svg):
            if file:  # found out now, not after minutes
                file.open("a", encoding="utf-8").close()
        results: dict[str, list[Figure]] = {}
        for done, name in enumerate(names):
            _progress(done, len(names), name)
            results[name] = list(SUBJECTS[name]())
            if options.json:  # what is measured is kept, whatever ends the run
                figures.write(options.json, results)
            _show(name, results[name], before.get(name, []))
        _progress(len(names), len(names), "")
        if options.svg:
            title = f"horde-front {VERSION}: figures and goals"
            options.svg.write_text(chart.draw(results, title), encoding="utf-8")
    except (OSError, ValueError, CannotMeasure) as error:
        print(f"horde-front: {error}", file=sys.stderr)
        return 2
    return 0


def _names(only: str | None) -> list[str]:
    names = [name.strip() for name in only.split(",")] if only else list(SUBJECTS)
    for name in names:
        if name not in SUBJECTS:
            raise ValueError(f"there is no subject {name!r}: {', '.join(SUBJECTS)}")
    return names


_BEGAN = monotonic()


def _progress(done: int, total: int, name: str) -> None:
    if not sys.stderr.isatty():
        return
    filled = round(BAR * done / total)
    bar = "█" * filled + "░" * (BAR - filled)
    line = f"\r\x1b[K{bar} {done}/{total} {monotonic() - _BEGAN:4.0f} s  {name}"
    print(line, end="" if done < total else "\n", file=sys.stderr, flush=True)


def _show(name: str, found: Sequence[Figure], before: Sequence[Figure]) -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(name)
    known = {figure.name: figure.value for figure in before}
    for figure in found:
        line = figure.line()
        if known.get(figure.name):
            line += f"  {figure.value / known[figure.name]:.2f} × before"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    sys.exit(run(parser.parse_args()))


if __name__ == "__main__":
    main()
