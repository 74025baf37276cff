"""The front as a process of its own, as `horde-front serve` runs it, at a pace of one's choice.

    python -m horde_benchmarks.front http://127.0.0.1:8001 --pace 20

The shipped pace falls as streams are opened; `--pace` keeps it, whatever is open.  Prints its port.
"""

import argparse
from functools import partial

import trio

from horde_adapters.serve import Address, Running, run_front
from horde_adapters.settings import Limits, Settings
from horde_core.pacing import Pace
from horde_core.timing import Timing


def _announce(running: Running) -> None:
    assert running.front is not None
    print("port", running.front.removesuffix("/v1").rpartition(":")[2], flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("horde")
    parser.add_argument("--pace", type=float)
    options = parser.parse_args()
    pace = Pace(fast=options.pace, slow=options.pace) if options.pace else Pace()
    timing = Timing(pace=pace)
    settings = Settings(horde_url=options.horde, most_requests=100_000, timing=timing)
    run = partial(run_front, Address(), settings, Limits())
    trio.run(partial(run, until=trio.sleep_forever, ready=_announce))


if __name__ == "__main__":
    main()
