"""Reads the documentation's pages, so that tests can run what they show."""

import re
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@attrs.frozen
class Block:
    """One fenced block. `title` is the file that the page says it is."""

    language: str
    title: str | None
    text: str


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page (a path below the repository), in order."""
    return [
        Block(language, title or None, text)
        for language, title, text in _FENCE.findall((ROOT / page).read_text(encoding="utf-8"))
    ]


def files(page: str) -> dict[str, str]:
    """The titled blocks of a page, by their file names."""
    found = {}
    for block in blocks(page):
        if block.title is not None:
            assert block.title not in found, f"{page} has {block.title} twice"
            found[block.title] = block.text
    return found


def write_files(page: str, folder: Path) -> list[Path]:
    """Writes a page's files below a folder, as its reader would."""
    written = []
    for name, text in files(page).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written
