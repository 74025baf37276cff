"""Reading the Horde's answers: tolerant of what is missing or odd, strict about what must be."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.horde_bodies import REQUEST_ID, answer, generation, progress, status
from horde_core.native import (
    HordeAnswer,
    UnreadableAnswer,
    Usage,
    objects_of,
    optional_number,
    read_error,
    read_list,
    read_quote,
    read_receipt,
    read_status,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def test_a_status_whole() -> None:
    """The contract's example fields arrive under their names."""
    read = read_status(answer(status(progress=[progress("Hi")])).body)
    assert (read.wait_time, read.queue_position, read.kudos) == (2, 1, 1.0)
    assert (read.processing, read.eligible_workers, read.eligible_worker_threads) == (0, 1, 2)
    assert read.pool is not None
    assert read.pool.online_workers == 1
    assert read.progress[0].content == "Hi"
    assert read.last_refusal is None


def test_a_bare_status_is_read() -> None:
    """Fields may be missing: nothing is then known against the request."""
    read = read_status(b'{"done": false}')
    assert not read.done
    assert read.is_possible
    assert read.pool is None
    assert read.eligible_workers is None
    assert read.generations == ()
    assert read.progress == ()


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"null", b"{}", b'{"done": "yes"}', b'{"done": fa', b"[" * 100_000],
)
def test_an_unreadable_status(body: bytes) -> None:
    """It has to be an object that says done or faulted."""
    with pytest.raises(UnreadableAnswer):
        read_status(body)


def test_odd_fields_are_as_good_as_missing() -> None:
    """Wrong types and impossible numbers never raise."""
    body = (
        b'{"done": false, "wait_time": "soon", "queue_position": 1e400, "kudos": NaN, "pool": 5,'
        b' "progress": [7, {}], "generations": {"a": 1}, "last_refusal": {"message": "no rc"},'
        b' "eligible_workers": true}'
    )
    read = read_status(body)
    assert (read.wait_time, read.queue_position, read.kudos) == (0, 0, 0.0)
    assert read.eligible_workers is None
    assert len(read.progress) == 1
    assert read.last_refusal is None


def test_lone_surrogates_are_read() -> None:
    """A worker can produce them; the fast parser can't take them."""
    body = b'{"done": false, "progress": [{"index": 0, "content": "\\ud800"}]}'
    assert read_status(body).progress[0].content == "\ud800"


def test_generations_are_numbered_when_the_horde_doesnt() -> None:
    """Their place is their index."""
    bare = {"done": True, "generations": [{}, {"message": "no object"}]}
    read = read_status(answer(bare).body)
    assert [generation.index for generation in read.generations] == [0, 1]
    assert read.generations[0].state == "ok"
    assert read.generations[0].finish_reason == "stop"


def test_usage_needs_its_completion_tokens() -> None:
    """Anything less was not counted."""
    counted = generation(usage={"prompt_tokens": 2, "completion_tokens": 4})
    read = read_status(answer(status(generations=[counted])).body)
    assert read.generations[0].usage == Usage(2, 4, None)
    uncounted = generation(usage={"prompt_tokens": 2})
    read = read_status(answer(status(generations=[uncounted])).body)
    assert read.generations[0].usage is None


def test_a_receipt() -> None:
    """What a submit's 202 says."""
    body = {"id": REQUEST_ID, "max_length": 100, "prompt_tokens_estimate": 7}
    read = read_receipt(answer(body).body)
    assert (read.id, read.max_length, read.prompt_tokens_estimate) == (REQUEST_ID, 100, 7)
    assert read_receipt(answer({"id": "a"}).body).max_length is None


@pytest.mark.parametrize("request_id", [None, 5, "", "a/b", "a\r\nb", "x" * 129])
def test_an_id_that_could_break_a_path_is_no_receipt(request_id: object) -> None:
    """It goes into a URL, a header and every chunk."""
    with pytest.raises(UnreadableAnswer):
        read_receipt(answer({"id": request_id}).body)


def test_a_quote() -> None:
    """A figure, or nothing at all."""
    assert read_quote(b'{"kudos": 217}').kudos == 217.0
    for body in (b"{}", b'{"kudos": "x"}', b'{"kudos": true}'):
        with pytest.raises(UnreadableAnswer):
            read_quote(body)


def test_a_list() -> None:
    """Entries that aren't objects are left out; no array is no list, nor is one of other things."""
    assert read_list(b'[{"a": 1}, 5]') == ({"a": 1},)
    with pytest.raises(UnreadableAnswer):
        read_list(b"{}")
    with pytest.raises(UnreadableAnswer):
        read_list(b'["this", "is", "not", "what", "you", "expect"]')
    assert read_list(b"[]") == ()


def test_errors() -> None:
    """With a code, with a schema failure, or not JSON at all."""
    coded = read_error(answer({"message": "no", "rc": "KudosUpfront", "index": 1}, 403))
    assert (coded.message, coded.rc, coded.index) == ("no", "KudosUpfront", 1)
    invalid = read_error(answer({"message": "x", "errors": {"params.n": "too big"}}, 400))
    assert invalid.errors == {"params.n": "too big"}
    assert not read_error(HordeAnswer(502, {}, b"<html>")).readable


@pytest.mark.parametrize(
    "text,seconds",
    [("7", 7.0), ("1.5", 1.5), ("-1", None), ("inf", None), ("Wed, 21 Oct 2026", None), ("", None)],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    """Seconds; anything else is no advice."""
    assert HordeAnswer(429, {"retry-after": text}, b"").retry_after() == seconds


def test_numbers_are_finite_and_no_booleans() -> None:
    """What counts as a number in an answer."""
    assert optional_number(3) == 3.0
    assert optional_number(True) is None
    assert optional_number(float("nan")) is None
    assert optional_number(10**400) is None
    assert objects_of("x") == ()


@given(st.dictionaries(st.sampled_from(sorted(status())), JSON))
def test_any_fields_give_a_status_or_an_unreadable_answer(fields: dict[str, object]) -> None:
    """Never another exception, whatever the types."""
    try:
        read_status(json.dumps({"done": False} | fields).encode())
    except UnreadableAnswer:
        assert not isinstance(fields.get("done", False), bool)
