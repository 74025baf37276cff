"""The last calls that the world answered, bounded, with keys redacted before they are kept."""

from collections import deque
from typing import Any, Final

import attrs

from horde_simulator.call import Call

REDACTED: Final = "…redacted"
_LONGEST_PATH: Final = 300
_ENTRY_OVERHEAD: Final = 120
"""Bytes an entry takes besides its texts (measured: the attrs value and its numbers)."""


@attrs.frozen
class JournalEntry:
    """One call. `key` is null when the caller sent none, and never the key itself."""

    seq: int
    at: float
    method: str
    path: str
    status: int
    key: str | None
    request_id: str | None


@attrs.define(eq=False)
class Journal:
    """Keeps the last `max_calls` calls, fewer when they would hold more than `max_bytes`."""

    max_calls: int = 1000
    max_bytes: int = 512 * 1024
    _entries: deque[tuple[JournalEntry, int]] = attrs.field(factory=deque, init=False)
    _bytes: int = attrs.field(default=0, init=False)
    _seq: int = attrs.field(default=0, init=False)

    def record(self, at: float, call: Call, status: int, request_id: str | None) -> None:
        """Notes a call with the status that it got (0: the connection was cut unanswered)."""
        key = None
        for name, value in call.headers:
            if name == "apikey":
                key = value
                break
        path = call.path
        if key and key in path:
            path = path.replace(key, REDACTED)
        path = path[:_LONGEST_PATH]
        method = call.method[:10]
        self._seq += 1
        shown = None if key is None else REDACTED
        entry = JournalEntry(self._seq, at, method, path, status, shown, request_id)
        size = _ENTRY_OVERHEAD + len(path) + len(method) + len(request_id or "")
        self._entries.append((entry, size))
        self._bytes += size
        while len(self._entries) > self.max_calls or self._bytes > self.max_bytes:
            self._bytes -= self._entries.popleft()[1]

    def clear(self) -> None:
        """Forgets all calls; the numbering goes on."""
        self._entries.clear()
        self._bytes = 0

    def document(self) -> dict[str, Any]:
        """The journal as `GET /_sim/journal` answers it."""
        return {"calls": [attrs.asdict(entry) for entry, _ in self._entries]}
