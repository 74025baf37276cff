"""Takes the page's two libraries from npm, and checks that what stands there is what was published.

    python tests/playground/vendored.py --take     fetch the versions below and write the files
    python tests/playground/vendored.py --check    fetch them and compare; status 1 when they differ

`npm pack` itself verifies a tarball against the registry's integrity value; the one that is noted
in `versions.json` is compared as well. A new version: change `VERSIONS`, take, look at the diff.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).parents[2] / "adapters" / "horde_adapters" / "web" / "vendor"
VERSIONS = {"marked": "18.2.1", "dompurify": "3.5.0"}
FILES = {
    "marked": {
        "marked.esm.js": "lib/marked.esm.js",
        "marked.esm.d.ts": "lib/marked.d.ts",
        "marked.LICENSE.txt": "LICENSE",
    },
    "dompurify": {
        "purify.es.mjs": "dist/purify.es.mjs",
        "purify.es.d.mts": "dist/purify.es.d.mts",
        "purify.LICENSE.txt": "LICENSE",
    },
}


def published() -> tuple[dict[str, bytes], dict[str, Any]]:
    """Our names' content as npm has it, and what `versions.json` says of it."""
    contents: dict[str, bytes] = {}
    notes: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for package, version in VERSIONS.items():
            command = ["npm", "pack", "--json", f"{package}@{version}"]
            output = subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
            (packed,) = json.loads(output)
            with tarfile.open(Path(folder) / packed["filename"]) as archive:
                taken = {name: _member(archive, path) for name, path in FILES[package].items()}
            contents |= taken
            notes[package] = {
                "version": version,
                "license": _license(taken),
                "integrity": packed["integrity"],
                "sha256": {name: digest(content) for name, content in taken.items()},
            }
    return contents, notes


def digest(content: bytes) -> str:
    """The content's SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def noted() -> Mapping[str, Any]:
    """What `versions.json` says."""
    notes: Mapping[str, Any] = json.loads((VENDOR / "versions.json").read_text())
    return notes


def _member(archive: tarfile.TarFile, path: str) -> bytes:
    file = archive.extractfile(f"package/{path}")
    assert file is not None
    return file.read()


def _license(taken: Mapping[str, bytes]) -> str:
    texts = [content for name, content in taken.items() if name.endswith("LICENSE.txt")]
    return "Apache-2.0" if b"Apache License" in texts[0] else "MIT"


def main(arguments: list[str]) -> int:
    """Does what the module's first lines say."""
    if arguments not in (["--take"], ["--check"]):
        print(__doc__)
        return 2
    contents, notes = published()
    if arguments == ["--check"]:
        wrong = [name for name, body in contents.items() if (VENDOR / name).read_bytes() != body]
        wrong += [] if noted() == notes else ["versions.json"]
        print("vendored files as published" if not wrong else f"not as published: {wrong}")
        return 1 if wrong else 0
    for name, body in contents.items():
        (VENDOR / name).write_bytes(body)
    (VENDOR / "versions.json").write_text(json.dumps(notes, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
