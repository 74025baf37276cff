"""Another project's tests, with our wheel in an environment of their own (the tutorial's)."""

import sys
import venv
from pathlib import Path

import pytest

from deployment.environments import pip, run
from docs.pages import ROOT, blocks, write_files
from everything import takes_a_minute

pytestmark = takes_a_minute
PAGE = "docs/tutorial/test-your-own-client.md"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("environment")
    pip(sys.executable, "wheel", "--no-deps", "-w", folder / "wheels", ROOT, cwd=folder)
    (wheel,) = (folder / "wheels").glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    fresh = folder / "venv" / "bin" / "python"
    pip(fresh, "install", f"{wheel}[test]", cwd=folder)
    return fresh


def test_the_tutorial_goes_green(python: Path, tmp_path: Path) -> None:
    """Every file of the page, in an empty folder, with a package `core` that is not ours."""
    write_files(PAGE, tmp_path)
    assert (tmp_path / "core" / "__init__.py").exists()
    done = run(python, "-W", "error", "-m", "pytest", "-q", cwd=tmp_path)
    last = done.stdout.strip().splitlines()[-1]
    shown = blocks(PAGE)[-1].text.splitlines()[-1]
    assert done.returncode == 0, done.stdout
    assert last.startswith(f"{shown} in ")


def test_the_wheel_brings_its_data(python: Path, tmp_path: Path) -> None:
    """Scenarios, types and pages are in the wheel, and nothing at the top that could shadow."""
    code = (
        "import importlib.metadata as m, importlib.resources as r\n"
        "print(sorted({str(f).split('/')[0] for f in m.files('horde-oai-front')}))\n"
        "print(r.files('horde_simulator').joinpath('scenarios/default.toml').is_file())\n"
        "print(r.files('horde_adapters').joinpath('dashboard/index.html').is_file())\n"
        "print(r.files('horde_adapters').joinpath('py.typed').is_file())\n"
        "print(not r.files('horde_benchmarks').joinpath('storm').is_dir())\n"
    )
    lines = run(python, "-c", code, cwd=tmp_path).stdout.splitlines()
    assert lines[1:] == ["True"] * 4
    top = {name.strip("[]' ") for name in lines[0].split(",")}
    assert {name for name in top if not name.endswith(".dist-info") and name != ".."} == {
        "horde_adapters",
        "horde_benchmarks",
        "horde_core",
        "horde_simulator",
    }


def test_the_command_starts(python: Path, tmp_path: Path) -> None:
    done = run(python.parent / "horde-front", "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "simulate" in done.stdout
