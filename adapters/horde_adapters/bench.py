"""`horde-front bench`: what the front costs, measured on the machine at hand.

The measuring is in the package `horde_benchmarks`, loaded only here.
"""

import argparse
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "--only",
        metavar="NAMES",
        help="some of the subjects, with commas between; a name that there is not lists them",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="where the chart goes")
    parser.add_argument(
        "--compare", type=Path, metavar="FILE", help="an earlier --json file to show ratios to"
    )


def run(options: argparse.Namespace) -> int:
    """Runs it; returns the process's exit status."""
    from horde_benchmarks import bench

    status: int = bench.run(options)
    return status
