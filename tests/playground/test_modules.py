"""The page's modules without a browser: node's tests, types, sizes and the vendored libraries."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from playground.site import running_site
from playground.vendored import VENDOR, digest, noted

HERE = Path(__file__).parent
NODE = HERE / "node"
WEB = VENDOR.parent
TYPESCRIPT = HERE / "node_modules" / ".bin" / "tsc"


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node isn't installed")


def run_in_node(tests: Sequence[Path], **variables: str) -> int:
    """Runs node's own test runner; the number of tests that passed. All others are a failure."""
    environment = {key: value for key, value in os.environ.items() if key != "NODE_OPTIONS"}
    ran = subprocess.run(
        ["node", "--test", *map(str, tests)],
        capture_output=True,
        text=True,
        check=False,
        env=environment | variables,
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    counted = dict(re.findall(r"^\W*(tests|pass) (\d+)$", ran.stdout, re.MULTILINE))
    assert counted["pass"] == counted["tests"], ran.stdout[-4000:]
    return int(counted["pass"])


@needs_node
def test_modules_in_node() -> None:
    """node's own test runner passes on every test of the modules."""
    tests = [path for path in NODE.glob("*.test.js") if path.name != "front.test.js"]
    assert run_in_node(sorted(tests)) > len(tests)


@needs_node
def test_chat_client_in_node_on_a_running_front() -> None:
    """The client does its whole work in Node, over a real front, and leaves no job behind."""
    with running_site(pace=4.0) as site:
        assert run_in_node([NODE / "front.test.js"], FRONT_URL=site.base_url) == 5
        assert len(site.calls("DELETE", "/chat/status/")) == 1
        assert site.horde.verdict() == {"ok": True, "findings": []}


@pytest.mark.skipif(
    not TYPESCRIPT.exists(), reason="TypeScript isn't installed: npm ci in tests/playground"
)
def test_modules_types() -> None:
    """The JSDoc types of every module hold, strictly."""
    command = [str(TYPESCRIPT), "--project", str(HERE / "tsconfig.json")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[:4000]


def test_own_code_is_small() -> None:
    """The page is below 150 KB of our own code, and no file is long."""
    own = [path for path in WEB.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in own) < 150_000
    for path in own:
        assert len(path.read_text().splitlines()) <= 400, path.name


def test_chat_client_stands_alone() -> None:
    """A frontend author takes one file: it imports nothing."""
    assert not re.search(r"^import |\bimport\(\"", (WEB / "chat-client.js").read_text(), re.M)


def test_vendored_files_are_the_published_ones() -> None:
    """Each vendored file has the published content's hash, and there is no other."""
    hashes = {name: sha for note in noted().values() for name, sha in note["sha256"].items()}
    found = {path.name: digest(path.read_bytes()) for path in VENDOR.iterdir()}
    found.pop("versions.json")
    assert found == hashes


@pytest.mark.parametrize("package", ["marked", "dompurify"])
def test_vendored_versions_and_licences(package: str) -> None:
    """Each library says its version, and comes with its licence."""
    note = noted()[package]
    (script,) = [VENDOR / name for name in note["sha256"] if name.endswith(("esm.js", ".mjs"))]
    assert note["version"] in script.read_text()[:400]
    assert note["license"] in {"MIT", "Apache-2.0"}
    assert any(name.endswith("LICENSE.txt") for name in note["sha256"])


@pytest.mark.parametrize(
    "pattern", [r"\binnerHTML\b", r"\beval\(", r"new Function", r"insertAdjacentHTML", r"outerHTML"]
)
def test_no_text_becomes_markup(pattern: str) -> None:
    """Only the sanitiser makes elements of text."""
    for path in WEB.glob("*.js"):
        assert not re.search(pattern, path.read_text()), path.name
