"""The core and the simulator import nothing that waits, tells time, rolls dice, logs or opens."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = [ROOT / "core/horde_core", ROOT / "simulator/horde_simulator"]
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))

ALLOWED = {
    "core/horde_core": {
        *("attrs", "cattrs", "orjson", "regex", "horde_core"),
        *("base64", "binascii", "bisect", "collections", "contextlib", "copy", "enum", "functools"),
        *("hashlib", "ipaddress", "itertools", "json", "math", "operator", "re", "typing"),
        *("types", "unicodedata", "urllib", "zlib"),
    },
    "simulator/horde_simulator": {
        *("attrs", "jsonschema", "orjson", "referencing", "PIL", "horde_core", "horde_simulator"),
        *("base64", "binascii", "bisect", "collections", "contextlib", "copy", "difflib", "enum"),
        *("fractions", "functools", "hashlib", "heapq", "importlib", "io", "ipaddress"),
        *("itertools", "json", "math", "operator", "random", "re", "string", "tomllib", "typing"),
        *("types", "unicodedata", "urllib", "warnings"),
    },
}
# The class that callers hand in and never the module's hidden source; a package's own data files.
PURE_PARTS = ("random.Random", "importlib.resources", "urllib.parse")
BUILTINS_THAT_ACT = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}


def imports(tree: ast.AST) -> Iterator[tuple[str, ast.Import | ast.ImportFrom]]:
    """The full name of everything imported, wherever in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_pure_module_imports_only_what_is_pure(path: Path) -> None:
    """The list says what is allowed, so a new import is a decision."""
    package = next(package for package in PACKAGES if path.is_relative_to(package))
    allowed = ALLOWED[str(package.relative_to(ROOT))]
    for name, node in imports(ast.parse(path.read_text())):
        assert name.split(".")[0] in allowed, f"{path.name}:{node.lineno} imports {name}"
        if name.startswith(("random", "importlib", "urllib")):
            assert name.startswith(PURE_PARTS), f"{path.name}:{node.lineno} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_pure_module_calls_no_builtin_that_acts(path: Path) -> None:
    """No file is opened, nothing is printed, no text is run."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in BUILTINS_THAT_ACT, f"{path.name}:{node.lineno}"


def test_the_simulator_shares_only_the_native_wire_types() -> None:
    """One that called the front's translation would agree with its bugs."""
    for path in PACKAGES[1].rglob("*.py"):
        for name, _ in imports(ast.parse(path.read_text())):
            if name.startswith("horde_core"):
                assert name.startswith("horde_core.native"), f"{path.name} imports {name}"


def test_no_file_is_hard_to_take_in() -> None:
    """One noun a file: none is over 450 lines."""
    sizes = {
        path.name: len(path.read_text().splitlines())
        for folder in ("core", "adapters", "simulator")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {name: size for name, size in sizes.items() if size > 450} == {}
