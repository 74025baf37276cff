"""A strict reader of server-sent events, written from the WHATWG's text and from nothing else.

It shares no code with the front, refuses what the specification only shrugs at (an event that the
end cuts off, fields that it would ignore), and what the front promises never to send: `id:`,
`event:` and `retry:` fields, events of several data lines, and raw line separators that split a
line for readers that know more line ends than the specification does.
"""

import re
from collections.abc import Iterator

import attrs

_LINE_END = re.compile(r"\r\n|\n|\r")


class Malformed(Exception):  # noqa: N818 - what was read
    """Bytes that are no event stream of the kind that the front promises; the message says why."""


@attrs.frozen
class Event:
    """One dispatched event's data."""

    data: str


@attrs.frozen
class Comment:
    """One comment line, without its colon."""

    text: str


def read_events(data: bytes) -> list[Event | Comment]:
    """All of a whole stream. Raises Malformed."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8: {error}") from error
    if text.startswith("\ufeff"):
        raise Malformed("begins with a byte order mark")
    lines = _LINE_END.split(text)
    if lines[-1] != "":
        raise Malformed(f"the last line has no end: {lines[-1][:80]!r}")
    if not text.isascii() and text.splitlines() != lines[:-1]:
        raise Malformed("a raw line separator that isn't the specification's")
    return list(_dispatched(lines[:-1]))


def _dispatched(lines: list[str]) -> Iterator[Event | Comment]:
    pending: str | None = None
    for line in lines:
        if line == "":
            if pending is not None:
                yield Event(pending)
            pending = None
        elif line.startswith(":"):
            if pending is not None:
                raise Malformed("a comment within an event")
            yield Comment(line[1:])
        else:
            if pending is not None:
                raise Malformed("an event of more than one line")
            pending = _data_of(line)
    if pending is not None:
        raise Malformed("the end cuts an event off")


def _data_of(line: str) -> str:
    field, colon, value = line.partition(":")
    if field != "data" or not colon:
        raise Malformed(f"a line that is no data: {line[:80]!r}")
    return value.removeprefix(" ")
