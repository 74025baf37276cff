"""How one progress post becomes smooth text: how many chunks, and where they may be cut.

A chunk never ends inside a grapheme cluster (UAX #29, by the `regex` library's `\\X`) and prefers
to end after whitespace (contract: streaming, pacing).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import attrs

_SPACE = re.compile(r"\s+")


@cache
def _cluster() -> Any:
    import regex  # a twentieth of the start-up's imports, for text that isn't ASCII

    return regex.compile(r"\X")


def _clusters(text: str) -> Iterator[Any]:
    found: Iterator[Any] = _cluster().finditer(text)
    return found


@attrs.frozen
class Pace:
    """How fast streams run; a deployment sets it (contract: streaming, pacing)."""

    fast: float = 20.0
    """Chunks a second for each stream while few are open."""
    slow: float = 5.0
    """The same however many are open."""
    fast_streams: int = 50
    """So many may all run fast; beyond, the sum of chunks stays level."""

    def of(self, open_streams: int) -> float:
        """Chunks a second for each of so many open streams."""
        if open_streams <= self.fast_streams:
            return self.fast
        return max(self.slow, self.fast * self.fast_streams / open_streams)


def settled_length(text: str) -> int:
    """How much of `text` is final clusters: the last one may still grow with what follows."""
    if text.isascii():
        held = 2 if text.endswith("\r\n") else 1
        return max(0, len(text) - held)
    # Looking back from the end suffices only from a known boundary, so the whole text is walked;
    # it is one post's text, some hundred characters.
    end = start = 0
    for cluster in _clusters(text):
        start, end = cluster.span()
    assert end == len(text)
    return start


def cut(text: str, pieces: int) -> list[str]:
    """Cuts `text` into at most `pieces` non-empty parts of about one length, joined: the text."""
    if pieces <= 1 or len(text) <= 1:
        return [text] if text else []
    anywhere, after_space = _boundaries(text)
    parts: list[str] = []
    start = 0
    step = len(text) / pieces
    for at in range(1, pieces):
        target = step * at
        if target <= start:
            continue
        end = _nearest(after_space, target, step / 2)
        if end is None or end <= start:
            end = _nearest(anywhere, target, len(text))
        if end is None or end <= start:
            continue
        parts.append(text[start:end])
        start = end
        if start == len(text):
            return parts
    parts.append(text[start:])
    return parts


def _boundaries(text: str) -> tuple[Sequence[int], Sequence[int]]:
    """Where a cut may be, and where it had best be; both ascending and ending with the length."""
    if text.isascii() and "\r" not in text:
        return range(1, len(text) + 1), [space.end() for space in _SPACE.finditer(text)]
    clusters = [cluster.end() for cluster in _clusters(text)]
    return clusters, [end for end in clusters if text[end - 1].isspace()]


def _nearest(places: Sequence[int], target: float, reach: float) -> int | None:
    """The place closest to `target`, no further than `reach` from it."""
    right = bisect_right(places, target)
    best = None
    if right and target - places[right - 1] <= reach:
        best = places[right - 1]
    if right < len(places):
        after = places[right]
        if after - target <= reach and (best is None or after - target < target - best):
            return after
    return best
