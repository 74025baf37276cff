"""CPU time of importing the front, beside the libraries that it is made of.

    python -m horde_benchmarks.start_up

Both sides have their bytecode, as an installed front has: a developer's environment may keep Python
from writing it, and would compile the front anew for each start, but not its libraries. And both do
without click and rich, which developers' tools install, and httpx then imports for a command of its
own.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory

from horde_benchmarks.figures import Figure, of_samples

ROUNDS = 15
LIBRARIES = "import attrs, cattrs, trio, httpx, hypercorn.config, hypercorn.trio"
FRONT = "import horde_adapters.cli; horde_adapters.cli.load()"
BARE = "pass"

_WITHOUT_CLICK = "import sys; sys.modules['click'] = None"
_TELL = "import time; print(time.process_time())"


def import_time(statement: str, bytecode: str) -> float:
    """Milliseconds of CPU of a fresh interpreter, from its start to the end of the statement."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    program = "\n".join((_WITHOUT_CLICK, statement, _TELL))
    told = subprocess.check_output([sys.executable, "-c", program], env=environment)
    return float(told) * 1000


def start_up() -> Iterator[Figure]:
    """Target 17."""
    samples: dict[str, list[float]] = {BARE: [], LIBRARIES: [], FRONT: []}
    with TemporaryDirectory() as bytecode:
        for statement in samples:
            import_time(statement, bytecode)
        for _ in range(ROUNDS):
            for statement, taken in samples.items():
                taken.append(import_time(statement, bytecode))
    yield of_samples("an interpreter that does nothing", samples[BARE], "ms")
    yield of_samples("attrs, cattrs, trio, httpx, hypercorn", samples[LIBRARIES], "ms")
    yield of_samples("horde-front serve, all that it imports", samples[FRONT], "ms")
    ratios = [a / b for a, b in zip(samples[FRONT], samples[LIBRARIES], strict=True)]
    yield of_samples("front ÷ its five libraries", ratios, "×", goal=1.25, target=17)


if __name__ == "__main__":
    for figure in start_up():
        print(figure.line())
