"""How text is cut: never inside a grapheme cluster, best after a space, and nothing is lost."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from horde_core.pacing import Pace, cut, settled_length

CLUSTER = regex.compile(r"\X")
FAMILY = "👩‍👩‍👧"
FLAG = "🇳🇱"
WRITTEN = st.lists(
    st.sampled_from([*"ab \n\r\t,é漢", "e\u0301", FAMILY, FLAG, "\u200d", "\u0301", "한", "ᄒ", "ᅡ"])
).map("".join)


def boundaries(text: str) -> set[int]:
    """Where clusters end, by the library alone."""
    return {cluster.end() for cluster in CLUSTER.finditer(text)}


@pytest.mark.parametrize(
    "open_streams,expected", [(1, 20.0), (50, 20.0), (100, 10.0), (200, 5.0), (5000, 5.0)]
)
def test_the_pace_falls_as_streams_grow(open_streams: int, expected: float) -> None:
    """20 chunks a second while few are open, 5 when many are (contract: pacing)."""
    assert expected == Pace().of(open_streams)


def test_a_deployment_sets_the_pace() -> None:
    """Ten at the fast pace of 8; at twenty the sum stays level, and never below 3 each."""
    pace = Pace(fast=8.0, slow=3.0, fast_streams=10)
    assert [pace.of(streams) for streams in (1, 10, 20, 1000)] == [8.0, 8.0, 4.0, 3.0]


@pytest.mark.parametrize(
    "text,settled",
    [
        ("", 0),
        ("a", 0),
        ("ab", 1),
        ("ab\r\n", 2),
        ("ab\r", 2),
        ("ae\u0301", 1),
        (f"a{FAMILY}", 1),
        (f"{FLAG}{FLAG}", 2),
        (f"a{FAMILY}b", 1 + len(FAMILY)),
    ],
)
def test_the_last_cluster_may_still_grow(text: str, settled: int) -> None:
    """So it is held back until more text comes, or the end."""
    assert settled == settled_length(text)


@pytest.mark.parametrize(
    "text,pieces,expected",
    [
        ("", 3, []),
        ("a", 3, ["a"]),
        ("one two three four", 1, ["one two three four"]),
        ("one two three four", 4, ["one ", "two ", "three ", "four"]),
        ("abcdef", 3, ["ab", "cd", "ef"]),
        ("ab", 9, ["a", "b"]),
        ("漢字仮名", 2, ["漢字", "仮名"]),
        (f"x{FAMILY}", 2, ["x", FAMILY]),
        ("a\r\nb", 4, ["a", "\r\n", "b"]),
    ],
)
def test_cuts_worked_by_hand(text: str, pieces: int, expected: list[str]) -> None:
    """About equal parts, moved to the space nearby."""
    assert expected == cut(text, pieces)


@given(WRITTEN, st.integers(1, 40))
def test_a_cut_loses_nothing_and_splits_no_cluster(text: str, pieces: int) -> None:
    """For any text: the parts join to it, none is empty, each ends where a cluster ends."""
    parts = cut(text, pieces)
    assert "".join(parts) == text
    assert all(parts)
    assert len(parts) <= max(1, pieces)
    end = 0
    for part in parts:
        end += len(part)
        assert end in boundaries(text)


@given(WRITTEN, WRITTEN)
def test_settled_text_stays_settled_whatever_follows(text: str, more: str) -> None:
    """What may go out now ends at a cluster's end of the longer text too."""
    settled = settled_length(text)
    assert settled == 0 or settled in boundaries(text + more)
