"""CPU time of importing the front, beside the libraries that it is made of.

python -m horde_benchmarks.start_up
"""

import resource
import subprocess
import sys
from collections.abc import Iterator

from horde_benchmarks.figures import Figure, of_samples

ROUNDS = 9
LIBRARIES = "import attrs, cattrs, trio, httpx, hypercorn.config, hypercorn.trio"
FRONT = "import horde_adapters.cli"
BARE = "pass"


def import_time(statement: str) -> float:
    """Milliseconds of CPU of a fresh interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent * 1000


def start_up() -> Iterator[Figure]:
    """Target 17."""
    samples: dict[str, list[float]] = {BARE: [], LIBRARIES: [], FRONT: []}
    for _ in range(ROUNDS):
        for statement, taken in samples.items():
            taken.append(import_time(statement))
    yield of_samples("an interpreter that does nothing", samples[BARE], "ms")
    yield of_samples("attrs, cattrs, trio, httpx, hypercorn", samples[LIBRARIES], "ms")
    yield of_samples("horde-front serve, all that it imports", samples[FRONT], "ms")
    ratios = [a / b for a, b in zip(samples[FRONT], samples[LIBRARIES], strict=True)]
    yield of_samples("front ÷ its five libraries", ratios, "×", goal=1.25, target=17)


if __name__ == "__main__":
    for figure in start_up():
        print(figure.line())
