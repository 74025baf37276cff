"""Console sessions on the pages: commands and what they print, `…` standing for anything."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import attrs

from docs.pages import blocks

LONGEST = 60.0


@attrs.frozen
class Command:
    """One command and what the page says that it prints, on either stream."""

    text: str
    printed: str

    def run(self, folder: Path, here: Mapping[str, str]) -> str:
        """Runs it, with words of the page replaced by this machine's; what it printed."""
        text = self.text
        for written, meant in here.items():
            text = text.replace(written, meant)
        folders = (str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin")
        done = subprocess.run(
            ["/bin/bash", "-c", text],
            cwd=folder,
            env={
                **os.environ,
                "PATH": os.pathsep.join(folders),
            },
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        return done.stdout + done.stderr

    def is_printed_by(self, output: str) -> bool:
        """Whether the output is what the page shows; a line of `…` alone is any lines or none."""
        pattern = "".join(
            r"(?:.*\n)*?" if line == "…" else f"{re.escape(line).replace('…', '.*')}\n"
            for line in self.printed.splitlines()
        )
        # Empty lines separate a stream's events and say nothing on a page.
        told = "".join(f"{line}\n" for line in output.splitlines() if line)
        return re.fullmatch(pattern, told) is not None


def sessions(page: str, title: str | None = None) -> list[Command]:
    """The commands of a page's console blocks that have that title."""
    found = []
    for block in blocks(page):
        if block.language == "console" and block.title == title:
            found += _commands(block.text)
    return found


def _commands(text: str) -> list[Command]:
    found: list[Command] = []
    lines = text.splitlines()
    while lines:
        line = lines.pop(0)
        assert line.startswith(("$ ", "# ")), f"no command: {line}"
        command = line[2:]
        while not _is_whole(command):
            command += "\n" + lines.pop(0)
        printed = []
        while lines and not lines[0].startswith(("$ ", "# ")):
            printed.append(lines.pop(0))
        found.append(Command(command, "\n".join(printed)))
    return found


def _is_whole(command: str) -> bool:
    if command.endswith("\\"):
        return False
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True
