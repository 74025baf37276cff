"""Runs storms from the command line: many seeds, or one that failed.

python -m horde_benchmarks.storm --seeds 2000            # the fixed set, 0 to 1999
python -m horde_benchmarks.storm --seeds 2000 --fresh 500   # and 500 never seen before
python -m horde_benchmarks.storm --minutes 30            # fresh seeds until the time is up
python -m horde_benchmarks.storm --seed 93               # one again, told in full and shrunk
python -m horde_benchmarks.storm --real --seeds 20       # over trio, httpx, hypercorn, sockets
"""

import argparse
import os
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count, islice
from multiprocessing import get_context

from horde_benchmarks.storm.replay import replay
from horde_benchmarks.storm.summary import Result, Summary, pure_result, real_result

FRESH_FROM = 1_000_000
"""Fresh seeds are above every fixed one."""
SEEDS = 200
"""Of the fixed set, when the command line names none."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 when a seed failed."""
    options = _options(arguments)
    if options.seed is not None:
        return replay(options.seed, real=options.real)
    seeds, fresh = _seeds(options)
    if fresh is not None:
        print(f"fresh seeds from {fresh} on (the same again: --from {fresh})", flush=True)
    began = time.monotonic()
    until = began + options.minutes * 60 if options.minutes else float("inf")
    summary = Summary()
    total = options.seeds + options.fresh if not options.minutes else None
    for result in _results(seeds, options.processes, real=options.real):
        summary.add(result)
        _show(summary, total, began)
        if result.findings:
            _complain(result, real=options.real)
        if time.monotonic() > until:
            break
    print(file=sys.stderr)
    print(summary.text(time.monotonic() - began, options.processes))
    return 1 if summary.failed else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m horde_benchmarks.storm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=0,
        help=f"how many of the fixed set, from 0 ({SEEDS} when nothing is said)",
    )
    parser.add_argument("--fresh", type=int, default=0, help="how many besides, never seen before")
    parser.add_argument("--from", type=int, dest="start", help="where the fresh seeds begin")
    parser.add_argument("--minutes", type=float, default=0.0, help="fresh seeds for so long")
    parser.add_argument("--seed", type=int, help="run this one, tell all and shrink it")
    parser.add_argument("--real", action="store_true", help="over the whole stack")
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        help="how many work side by side (default: one for each core)",
    )
    options = parser.parse_args(arguments)
    if not (options.seeds or options.fresh or options.minutes):
        options.seeds = SEEDS
    return options


def _seeds(options: argparse.Namespace) -> tuple[Iterable[int], int | None]:
    """The seeds, and where the fresh ones among them begin."""
    fixed = range(options.seeds)
    if not options.fresh and not options.minutes:
        return fixed, None
    start = options.start or FRESH_FROM + secrets.randbelow(2**40)
    fresh = count(start) if options.minutes else range(start, start + options.fresh)
    return _joined(fixed, fresh), start


def _joined(fixed: range, fresh: Iterable[int]) -> Iterator[int]:
    yield from fixed
    yield from fresh


def _results(seeds: Iterable[int], processes: int, *, real: bool) -> Iterator[Result]:
    one = real_result if real else pure_result
    if processes == 1:
        yield from map(one, seeds)
        return
    lot = 1 if real else 5
    waiting = iter(seeds)
    # A new process each, and none forked: a fork would carry this one's threads over.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        while batch := list(islice(waiting, processes * lot * 10)):
            yield from pool.map(one, batch, chunksize=lot)


def _show(summary: Summary, total: int | None, began: float) -> None:
    """One line on stderr that is written over: a bar when the end is known."""
    seconds = time.monotonic() - began
    if total is None:
        bar = f"{summary.seeds:,} seeds"
    else:
        filled = 30 * summary.seeds // max(1, total)
        bar = f"[{'#' * filled}{'.' * (30 - filled)}] {summary.seeds:,}/{total:,}"
    if sys.stderr.isatty() or summary.seeds % 200 == 0:
        print(
            f"\r{bar} {summary.requests:,} requests {seconds:.0f} s",
            end="" if sys.stderr.isatty() else "\n",
            file=sys.stderr,
            flush=True,
        )


def _complain(result: Result, *, real: bool) -> None:
    print(f"\nseed {result.seed} failed:", file=sys.stderr)
    for finding in result.findings[:5]:
        print(f"  {finding.line()}", file=sys.stderr)
    how = " --real" if real else ""
    command = f"python -m horde_benchmarks.storm --seed {result.seed}{how}"
    print(f"  again: {command}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
