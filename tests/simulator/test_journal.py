"""The journal: bounded, and without keys."""

import pytest

from horde_simulator.call import Call
from horde_simulator.journal import Journal


def call(path: str = "/api/v2/workers", key: str | None = None) -> Call:
    return Call("GET", path, headers=() if key is None else (("apikey", key),))


def test_an_entry_has_the_contracts_keys() -> None:
    """simulator section 4: seq, at, method, path, status, key, request_id."""
    journal = Journal()
    journal.record(2.5, call(key="secret-key"), 200, "id-1")
    assert journal.document() == {
        "calls": [
            {
                "seq": 1,
                "at": 2.5,
                "method": "GET",
                "path": "/api/v2/workers",
                "status": 200,
                "key": "…redacted",
                "request_id": "id-1",
            }
        ]
    }


def test_no_key_is_kept_anywhere() -> None:
    """Not even one that strayed into the path."""
    journal = Journal()
    journal.record(0.0, call("/api/v2/secret-key/x", "secret-key"), 404, None)
    assert "secret-key" not in repr(journal)
    assert "secret-key" not in str(journal.document())


def test_a_call_without_a_key_says_so() -> None:
    """Null, and not the word for a key that was there."""
    journal = Journal()
    journal.record(0.0, call(), 200, None)
    assert journal.document()["calls"][0]["key"] is None


def test_only_the_last_calls_are_kept() -> None:
    """The numbering shows that earlier ones are gone."""
    journal = Journal(max_calls=3)
    for number in range(10):
        journal.record(float(number), call(), 200, None)
    assert [entry["seq"] for entry in journal.document()["calls"]] == [8, 9, 10]


@pytest.mark.parametrize("length", [10, 250, 100_000])
def test_the_bytes_are_bounded_whatever_the_paths(length: int) -> None:
    """Long paths make the journal shorter, and are cut themselves."""
    journal = Journal(max_calls=10_000, max_bytes=20_000)
    for number in range(2000):
        journal.record(0.0, call(f"/{number}" + "x" * length), 404, None)
    calls = journal.document()["calls"]
    assert 10 < len(calls) < 200
    assert sum(len(entry["path"]) for entry in calls) < 20_000


def test_clear_forgets_calls_and_goes_on_counting() -> None:
    """A reader that polls by number never sees one twice."""
    journal = Journal(max_bytes=1000)
    journal.record(0.0, call(), 200, None)
    journal.clear()
    assert journal.document() == {"calls": []}
    journal.record(1.0, call(), 200, None)
    assert [entry["seq"] for entry in journal.document()["calls"]] == [2]
