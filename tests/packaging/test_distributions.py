"""What is handed out: an sdist and a wheel that work without the tree, on every Python here."""

import json
import re
import signal
import subprocess
import tarfile
import tomllib
import urllib.request
import zipfile
from pathlib import Path

import pytest

from deployment.environments import fresh, pip, run
from docs.pages import ROOT
from everything import takes_a_minute

pytestmark = takes_a_minute
PACKAGES = ("horde_core", "horde_adapters", "horde_simulator")
LOCK = ROOT / "deploy" / "docker" / "requirements.lock"
USER = '''\
"""A user's file, for a strict type checker."""

from horde_adapters.background import SimulatedHordeServer
from horde_adapters.settings import Settings
from horde_core.errors import Refusal
from horde_simulator.scenario import Scenario

settings: Settings = Settings(grace=1.0)
wrong: int = settings.grace


def seed(scenario: Scenario) -> int:
    return scenario.seed


def code(refusal: Refusal) -> str:
    return refusal.code


def url(server: SimulatedHordeServer) -> str:
    return server.url
'''


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from the sdist."""
    folder = tmp_path_factory.mktemp("built")
    python = fresh("3.11", folder / "builder")
    pip(python, "install", "build", cwd=folder)
    done = run(python, "-m", "build", "--outdir", folder / "dist", ROOT, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


def test_the_sdist_has_what_it_takes_to_build_and_to_test(built: Path) -> None:
    """And nothing that belongs to one machine."""
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "tests/conftest.py"} <= names
    for foreign in ("node_modules", ".venv", "__pycache__", ".hypothesis", ".git/"):
        assert not [name for name in names if foreign in name]
    assert path.stat().st_size < 8 << 20


def test_the_wheel_is_pure_and_typed(built: Path) -> None:
    """For every Python; each package with `py.typed`, and the licence with them."""
    (path,) = built.glob("*.whl")
    assert path.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert [name for name in names if name.endswith("licenses/LICENSE")]
    assert not [name for name in names if "/tests/" in name or name.startswith("tests")]


def test_users_see_the_types(built: Path, tmp_path: Path) -> None:
    """A strict checker reads them from the wheel: one mistake is found, and it is the only one."""
    (wheel,) = built.glob("*.whl")
    python = fresh("3.11", tmp_path / "user")
    pip(python, "install", wheel, "mypy", cwd=tmp_path)
    (tmp_path / "mine.py").write_text(USER)
    done = run(python, "-m", "mypy", "--strict", "mine.py", cwd=tmp_path)
    (error,) = [line for line in done.stdout.splitlines() if "error:" in line]
    assert error == (
        'mine.py:9: error: Incompatible types in assignment (expression has type "float", '
        'variable has type "int")  [assignment]'
    )


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_it_runs_from_the_lock(version: str, built: Path, tmp_path: Path) -> None:
    """As the image installs it: pinned and hashed, then the wheel without looking further."""
    (wheel,) = built.glob("*.whl")
    python = fresh(version, tmp_path / "service")
    pip(python, "install", "--require-hashes", "-r", LOCK, cwd=tmp_path)
    pip(python, "install", "--no-deps", wheel, cwd=tmp_path)
    assert run(python, "-m", "pip", "check", cwd=tmp_path).returncode == 0
    with subprocess.Popen(
        [python, "-m", "horde_adapters", "dev", "--port", "0", "--horde-port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            base = dict(part.split("=", 1) for part in line.split()[1:])["front"]
            body = {
                "model": "koboldcpp/Llama-3.2-3B-Instruct",
                "messages": [{"role": "user", "content": "Hi"}],
                "max_tokens": 32,
            }
            request = urllib.request.Request(
                f"{base}/chat/completions",
                json.dumps(body).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                reply = json.load(answer)
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    assert reply["choices"][0]["message"]["content"]


def test_the_lock_is_of_the_projects_own_ranges() -> None:
    """Every dependency is pinned with hashes, and no index is named."""
    text = LOCK.read_text()
    assert "://" not in text
    pinned = [line.split("==")[0] for line in text.splitlines() if "==" in line]
    assert len(pinned) == len(set(pinned))
    for name in dependencies():
        assert name in pinned, f"{name}: make the lock anew"
    entries = [part for part in text.split("\n") if part and not part.startswith((" ", "#"))]
    assert all(entry.endswith("\\") for entry in entries), "each has hashes"


def dependencies() -> list[str]:
    """The names that pyproject.toml depends on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [re.split(r"[\[<>=~!]", entry)[0] for entry in project["dependencies"]]
