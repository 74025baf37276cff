"""The strict reader of server-sent events, against the specification's own rules."""

import pytest

from horde_benchmarks.storm.event_stream import Comment, Event, Malformed, read_events


@pytest.mark.parametrize(
    "data,expected",
    [
        (b"", []),
        (b"data: x\n\n", [Event("x")]),
        (b"data:x\n\n", [Event("x")]),  # at most one space is taken off
        (b"data:  x\n\n", [Event(" x")]),
        (b"data: a: b\n\n", [Event("a: b")]),
        (b"data: x\r\n\r\n", [Event("x")]),
        (b"data: x\r\r", [Event("x")]),
        (b": hi\n\n", [Comment(" hi")]),
        (b":\n", [Comment("")]),
        (b"\n\ndata: x\n\n\n", [Event("x")]),  # blank lines alone dispatch nothing
        (b"data:\n\n", [Event("")]),
        ("data: \u00e9\n\n".encode(), [Event("é")]),
    ],
)
def test_what_is_read(data: bytes, expected: list[Event | Comment]) -> None:
    """Line ends, the one space, comments."""
    assert read_events(data) == expected


@pytest.mark.parametrize(
    "data,says",
    [
        (b"data: x\n", "cuts an event off"),
        (b"data: x", "has no end"),
        (b"data: \xff\n\n", "not UTF-8"),
        (b"\xef\xbb\xbfdata: x\n\n", "byte order mark"),
        (b"id: 1\n\n", "no data"),
        (b"event: e\n\n", "no data"),
        (b"data\n\n", "no data"),
        (b"data: a\ndata: b\n\n", "more than one line"),
        (b"data: a\n: hi\n\n", "comment within"),
        ("data: a\u2028b\n\n".encode(), "line separator"),
        ("data: a\x85b\n\n".encode(), "line separator"),
    ],
)
def test_what_is_refused(data: bytes, says: str) -> None:
    """All that the specification shrugs at or that breaks a client in use."""
    with pytest.raises(Malformed, match=says):
        read_events(data)
