"""Live text: what is new, when it is due, whether it still holds."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.horde_bodies import answer, done, generation, progress, status
from horde_core.native import Generation, Progress, read_status
from horde_core.polling import NEVER
from horde_core.relay import Diverged, Piece, Relay, Served


def posts(*entries: dict[str, object]) -> tuple[Progress, ...]:
    """Progress entries as the status reader makes them."""
    return read_status(answer(status(progress=list(entries))).body).progress


def generations(*entries: dict[str, object]) -> tuple[Generation, ...]:
    """Finished generations as the status reader makes them."""
    return read_status(answer(done(*entries)).body).generations


def take(relay: Relay, *entries: dict[str, object], now: float, restarted: int = 0) -> None:
    relay.take(posts(*entries), restarted, now=now, open_streams=1)


def drained(relay: Relay, until: float) -> list[tuple[float, list[Piece]]]:
    """All pieces up to a time, with when they came out."""
    out: list[tuple[float, list[Piece]]] = []
    while (due := relay.next_due) <= until:
        out.append((round(due, 3), relay.due(due)))
    return out


def text(pieces: list[Piece], channel: str = "content", index: int = 0) -> str:
    return "".join(some for at, of, some in pieces if (at, of) == (index, channel))


def test_a_post_is_spread_over_a_second_at_first() -> None:
    """At 20 chunks a second; the last cluster waits for what follows."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("one two three four five six seven eight nine ten!"), now=5.0)
    out = drained(relay, 99.0)
    assert out[0][0] == 5.0
    assert 5.5 < out[-1][0] < 6.0
    assert all(some for _, pieces in out for _, _, some in pieces)
    assert "".join(text(pieces) for _, pieces in out) == (
        "one two three four five six seven eight nine ten"
    )
    assert relay.served == Served("w-1", "koboldcpp/Qwen3-8B")


def test_the_rhythm_follows_the_posts() -> None:
    """Posts 4 s apart are spread over 4 s."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("start."), now=0.0)
    drained(relay, 1.0)
    take(relay, progress("x" * 100, start=6), now=4.0)
    out = drained(relay, 99.0)
    assert out[0][0] == 4.0
    assert 7.5 < out[-1][0] < 8.0


def test_a_newer_post_sends_the_rest_of_the_older_at_once() -> None:
    """Pacing never holds text back behind newer text."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("a" * 60), now=0.0)
    first = relay.due(0.0)
    take(relay, progress("b" * 60, start=60), now=0.2)
    at_once = relay.due(0.2)
    assert len(first) == len(at_once) == 1
    assert text(first + at_once).startswith("a" * 60)


def test_reasoning_goes_before_the_content_of_the_same_post() -> None:
    """And all of it: content that begins shows that the thinking is over."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("Yes, it is.", reasoning_content="Hmm, let me see."), now=0.0)
    pieces = [piece for _, some in drained(relay, 9.0) for piece in some]
    channels = [channel for _, channel, _ in pieces]
    assert channels == sorted(channels, reverse=True)
    assert text(pieces, "reasoning_content") == "Hmm, let me see."
    assert text(pieces) == "Yes, it is"


def test_the_order_of_posts_stays() -> None:
    """A model that thinks again: what the older post left goes before the newer one's reasoning."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("First. ", reasoning_content="Hm, well. "), now=0.0)
    relay.due(0.0)
    more = progress("Second. ", start=7, reasoning_content="Then? ", reasoning_from=10)
    take(relay, more, now=0.1)
    at_once = relay.due(0.1)
    assert [channel for _, channel, _ in at_once[:3]] == [
        "reasoning_content",
        "content",
        "reasoning_content",
    ]
    assert at_once[1] == (0, "content", "First.")
    rest = [piece for _, some in drained(relay, 9.0) for piece in some]
    assert text(rest) == " Second."


def test_reasoning_alone_keeps_its_last_cluster_open() -> None:
    """More may follow."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress(reasoning_content="Hm"), now=0.0)
    assert text(relay.due(0.0), "reasoning_content") == "H"
    take(relay, progress(reasoning_content="m", reasoning_from=2), now=1.0)
    assert text(relay.due(9.0), "reasoning_content") == "m"


def test_hidden_reasoning_is_never_handed_out() -> None:
    """`include_reasoning: false`, live and at the end."""
    relay = Relay(1, show_reasoning=False)
    take(relay, progress("Yes.", reasoning_content="Hmm."), now=0.0)
    live = [piece for _, some in drained(relay, 9.0) for piece in some]
    rest = relay.finish(generations(generation("Yes.", message={"reasoning_content": "Hmm."})))
    assert {channel for _, channel, _ in live + rest} == {"content"}
    assert text(live + rest) == "Yes."


def test_a_server_that_tells_the_whole_text_again() -> None:
    """`content_from` 0 after more was asked for: only what is new counts."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("Hello, "), now=0.0)
    take(relay, progress("Hello, world!"), now=1.0)
    assert text(relay.due(99.0)) == "Hello, world"
    take(relay, progress("Hello"), now=2.0)  # an older view of it changes nothing
    assert relay.due(99.0) == []


def test_a_gap_is_waited_out() -> None:
    """An answer from beyond what came can't be joined on; the next read asks again."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("later", start=50), now=0.0)
    assert relay.next_due == NEVER
    assert relay.tail() == "content_from=0&reasoning_from=0"


def test_text_that_changed_under_us_has_diverged() -> None:
    """The same attempt, and other words."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("Hello, world"), now=0.0)
    with pytest.raises(Diverged, match="text changed"):
        take(relay, progress("Howdy, world, and more"), now=1.0)


def test_a_restart_before_anything_went_out_starts_over() -> None:
    """Nobody has seen the first attempt's text."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("x", worker_id=None), now=0.0)
    assert relay.next_due == NEVER
    take(relay, progress("Anew it begins.", attempt=2, worker_id="w-2"), now=1.0, restarted=1)
    assert text(relay.due(99.0)) == "Anew it begins"
    assert relay.served == Served("w-2", "koboldcpp/Qwen3-8B")


@pytest.mark.parametrize("entries,restarted", [([progress("New text", attempt=2)], 0), ([], 1)])
def test_a_restart_after_text_went_out_has_diverged(
    entries: list[dict[str, object]], restarted: int
) -> None:
    """The Horde starts the reply over; the text that was sent is void."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("Some text"), now=0.0)
    relay.due(9.0)
    with pytest.raises(Diverged, match="reply over"):
        take(relay, *entries, now=1.0, restarted=restarted)


def test_nothing_goes_out_before_the_worker_is_known() -> None:
    """Every chunk names model and fingerprint; without a worker they aren't known."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("Some text", worker_id=None), now=0.0)
    assert relay.next_due == NEVER
    assert relay.due(9.0) == []
    assert text(relay.finish(generations(generation("Some text, whole.")))) == "Some text, whole."


def test_several_choices_wait_for_the_first() -> None:
    """The chunks' model and worker are the first choice's."""
    relay = Relay(2, show_reasoning=True)
    take(relay, progress("second", index=1), now=0.0)
    assert relay.next_due == NEVER
    assert relay.tail() == "from=0:0:0&from=1:6:0"
    take(relay, progress("first"), progress("", index=1, start=6), progress("?", index=7), now=1.0)
    pieces = relay.due(9.0)
    assert text(pieces) == "firs"
    assert text(pieces, index=1) == "secon"


def test_one_of_several_choices_restarting_spares_the_others() -> None:
    """`restarted` counts jobs: only the choice whose attempt rose is void."""
    relay = Relay(2, show_reasoning=True)
    take(relay, progress("first"), now=0.0)
    relay.due(9.0)
    take(relay, progress("second", index=1, attempt=2), now=1.0, restarted=1)
    assert text(relay.due(99.0), index=1) == "secon"


def test_the_end_hands_out_the_rest() -> None:
    """Per channel, reasoning first, whatever the pacing had in mind."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("The answer is long", reasoning_content="So."), now=0.0)
    relay.due(0.0)
    rest = relay.finish(
        generations(generation("The answer is long.", message={"reasoning_content": "So. Right."}))
    )
    assert [channel for _, channel, _ in rest] == ["reasoning_content", "content"]


def test_a_final_reply_that_doesnt_continue_has_diverged() -> None:
    """What was sent is no prefix of it."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("The answer"), now=0.0)
    relay.due(9.0)
    with pytest.raises(Diverged, match="doesn't continue"):
        relay.finish(generations(generation("Another answer")))


@pytest.mark.parametrize("changes", [{"worker_id": "w-2"}, {"model": "other"}])
def test_a_final_reply_by_another_worker_has_diverged(changes: dict[str, str]) -> None:
    """Even with the same words: the chunks named the first worker."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("The answer"), now=0.0)
    relay.due(9.0)
    with pytest.raises(Diverged, match="another worker"):
        relay.finish(generations(generation("The answer.", **changes)))


def test_a_final_reply_without_worker_stays_with_the_one_named() -> None:
    """The worker's id went missing, its text didn't."""
    relay = Relay(1, show_reasoning=True)
    take(relay, progress("The answer"), now=0.0)
    relay.due(9.0)
    rest = relay.finish(generations(generation("The answer.", worker_id=None, model=None)))
    assert text(rest) == "r."


def test_a_text_is_held_once() -> None:
    """What went out and what waits are no copies of what came: 40 posts of 1,000 characters."""
    relay = Relay(1, show_reasoning=True)
    tracemalloc.start()
    for at in range(40):
        take(relay, progress("seven ten " * 100, start=at * 1000), now=float(at))
        relay.due(at + 0.3)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert relay.next_due < 40
    assert 40_000 < held < 60_000


WORDS = st.lists(st.sampled_from([*"ab c\n", "é", "e\u0301", "👩‍👩‍👧", "漢"]), max_size=60).map(
    "".join
)


@given(WORDS, WORDS, st.lists(st.integers(0, 60), max_size=6), st.booleans())
def test_what_is_relayed_is_the_reply(
    reasoning: str, content: str, cuts: list[int], tails: bool
) -> None:
    """However it is posted and read: pieces and rest add up to the final reply, in order."""
    relay = Relay(1, show_reasoning=True)
    pieces: list[Piece] = []
    now = 0.0
    sent = (0, 0)
    for cut in sorted(cuts):
        thought, said = reasoning[:cut], content[: max(0, cut - len(reasoning))]
        start = sent if tails else (0, 0)
        take(
            relay,
            progress(
                said[start[1] :],
                start=start[1],
                reasoning_content=thought[start[0] :],
                reasoning_from=start[0],
            ),
            now=now,
        )
        sent = (len(thought), len(said))
        pieces += relay.due(now)
        pieces += relay.due(now + 0.3)
        now += 1.1
    final = generations(generation(content, message={"reasoning_content": reasoning}))
    pieces += relay.finish(final)
    assert text(pieces, "reasoning_content") == reasoning
    assert text(pieces) == content
