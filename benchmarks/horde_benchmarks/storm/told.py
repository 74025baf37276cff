"""What a client was told, in short."""

from typing import Any

import orjson

from horde_benchmarks.storm.record import Record


def error_of(record: Record) -> dict[str, Any] | None:
    """The error that a client was told, in a body of its own or as a stream's event."""
    if record.refusal is not None:
        return dict(record.refusal.envelope()["error"])
    if record.head is None or not record.sent:
        return None
    if record.head.status != 200:
        return dict(orjson.loads(record.body)["error"])
    # Within a chunk's own text the quotes would be escaped.
    _, found, rest = record.body.rpartition(b'data: {"error":')
    if not found:
        return None
    return dict(orjson.loads(b'{"error":' + rest.partition(b"\n\n")[0])["error"])


def outcome_of(record: Record) -> str:
    """One word for the summary: a code, `reply`, `left`, or what should not be."""
    if record.misdeeds:
        return "misdeed"
    if record.complete_at is None:
        return "left" if record.left_at is not None else "nothing"
    error = error_of(record)
    return "reply" if error is None else str(error["code"])
