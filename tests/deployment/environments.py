"""Fresh environments of every Python that this machine has."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# What pip says when the index can't be reached, as opposed to a package that is wrong.
UNREACHABLE = (
    "No matching distribution found",
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "Max retries exceeded",
)


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command with nothing of this run's environment that Python or pytest would look at."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYTEST", "COV", "VIRTUAL_ENV", "PYENV"))
    }
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )


def pip(python: Path | str, *arguments: str | Path, cwd: Path) -> None:
    """Runs pip; the test is skipped where there is no index to install from."""
    done = run(python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments, cwd=cwd)
    if done.returncode and any(sign in done.stderr for sign in UNREACHABLE):
        pytest.skip("pip can't reach a package index")
    assert done.returncode == 0, done.stderr


def interpreter(version: str) -> str:
    """A Python of that version, such as `3.12`; the test is skipped where there is none."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    candidates = [shutil.which(f"python{version}")]
    candidates += [
        str(path) for root in roots for path in sorted(root.glob(f"{version}.*/bin/python"))
    ]
    for candidate in candidates:
        if candidate is None:
            continue
        said = subprocess.run([candidate, "-V"], capture_output=True, text=True, check=False)
        if said.stdout.startswith(f"Python {version}."):
            return candidate
    pytest.skip(f"there is no Python {version} on this machine")


def fresh(version: str, folder: Path) -> Path:
    """The interpreter of a new environment."""
    done = run(interpreter(version), "-m", "venv", folder, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    return folder / "bin" / "python"
