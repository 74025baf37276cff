"""The front, broken in one place each: every check of the storm has to find what it is there for.

python -m storm.mutants 200     # in how many of the first 200 seeds each is caught
"""

import sys
from collections.abc import Callable
from typing import Any, Final

import attrs
import orjson
import pytest

from horde_benchmarks.storm.checks import check
from horde_benchmarks.storm.plan import plan_of
from horde_benchmarks.storm.run import run
from horde_core import endings, events, exchange, relay, response, sse
from horde_core.availability import Outlook
from horde_core.cancellation import Cancellation
from horde_core.errors import refuse
from horde_core.events import Submit
from horde_core.exchange import Exchange
from horde_core.lifecycle import TABLE, State
from horde_core.native import HordeAnswer
from horde_core.polling import NEVER, Polling
from horde_core.relay import Piece, Relay
from horde_core.reply import read_reply
from horde_core.response import Response
from horde_core.sse import Chunks
from horde_core.submission import Submission
from horde_simulator import ending
from horde_simulator.ledger import Ledger

Patch = pytest.MonkeyPatch


@attrs.frozen
class Mutant:
    """One break: what is broken, how, and the family of checks that has to see it."""

    name: str
    family: int
    apply: Callable[[Patch], None]
    seeds: int = 60
    """Within how many seeds it must be found."""


def _handled(patch: Patch, state: State, event: type, change: Callable[..., None]) -> None:
    """Runs `change(exchange)` after a handler."""
    before = exchange._HANDLERS[state, event]

    def handler(self: Exchange, happened: Any, now: float) -> str:
        outcome = before(self, happened, now)
        change(self)
        return outcome

    patch.setitem(exchange._HANDLERS, (state, event), handler)


def double_submit(patch: Patch) -> None:
    def twice(self: Exchange) -> None:
        for effect in tuple(self._effects):
            if isinstance(effect, Submit):
                self._effects.append(Submit(_with_another_key(effect.body)))

    _handled(patch, State.LOOKING_UP, events.PoolRead, twice)


def _with_another_key(body: bytes) -> bytes:
    document = orjson.loads(body)
    document["operation_key"] = document["operation_key"][::-1]
    return orjson.dumps(document)


def resend_with_a_new_key(patch: Patch) -> None:
    again = Submission._again

    def renewed(self: Submission) -> Submit | None:
        found = again(self)
        return found and Submit(_with_another_key(found.body))

    patch.setattr(Submission, "_again", renewed)


def lost_submit_says_retry(patch: Patch) -> None:
    patch.setattr(
        endings, "submit_unknown", lambda: refuse("horde_submit_unknown", "Lost.", held=False)
    )


def cached_no_is_final(patch: Patch) -> None:
    before = exchange._HANDLERS[State.LOOKING_UP, events.PoolRead]

    def handler(self: Exchange, event: events.PoolRead, now: float) -> str:
        return before(self, attrs.evolve(event, fresh=True), now)

    patch.setitem(exchange._HANDLERS, (State.LOOKING_UP, events.PoolRead), handler)


def nothing_told_at_the_end(patch: Patch) -> None:
    patch.setattr(exchange, "faulted", lambda *_, **__: None)
    told = Exchange._refuse
    patch.setattr(
        Exchange, "_refuse", lambda self, refusal: told(self, refusal) if refusal else "refused"
    )


def no_cancel_on_leave(patch: Patch) -> None:
    def left(self: Exchange, event: events.Event, now: float) -> str:
        self.response.abandon()
        return "left"

    for state in (State.READING, State.WAITING):
        patch.setitem(exchange._HANDLERS, (state, events.ClientGone), left)
        patch.setitem(TABLE[state], events.ClientGone, {"left": State.ENDED})


def submit_forgotten_on_leave(patch: Patch) -> None:
    patch.setitem(TABLE[State.SUBMITTING], events.ClientGone, {"left": State.ENDED})
    for event in (events.SubmitAnswered, events.SubmitLost):
        patch.setitem(TABLE[State.ENDED], event, {"ignored": State.ENDED})
        patch.setitem(exchange._HANDLERS, (State.ENDED, event), Exchange._ignored)


def no_cancel_on_timeout(patch: Patch) -> None:
    patch.setattr(Exchange, "_refuse_and_cancel", Exchange._refuse)
    patch.setattr(Exchange, "_cancel_and_refuse", Exchange._refuse)
    for row in (TABLE[State.READING], TABLE[State.WAITING]):
        for event, outcomes in tuple(row.items()):
            ended = {
                name: State.ENDED if state is State.CANCELLING and name != "left" else state
                for name, state in outcomes.items()
            }
            patch.setitem(row, event, ended)


def cancel_given_up_at_once(patch: Patch) -> None:
    patch.setattr(Cancellation, "failed", lambda self, now, retry_after=None: False)


def cancel_again_after_an_answer(patch: Patch) -> None:
    patch.setattr(
        Cancellation, "answered", lambda self, answer, now: self.failed(now, answer.retry_after())
    )


def prefix_not_checked(patch: Patch) -> None:
    def finish(self: Relay, generations: Any) -> list[Piece]:
        pieces: list[Piece] = []
        for generation, track in zip(generations, self._tracks, strict=True):
            for channel in self._channels:
                final = generation.content if channel == "content" else generation.reasoning
                if rest := final[track.text(channel).sent :]:
                    pieces.append((generation.index, channel, rest))
        return pieces

    patch.setattr(Relay, "finish", finish)


def restart_not_noticed(patch: Patch) -> None:
    patch.setattr(relay._Track, "has_sent", property(lambda self: False))


def text_handed_out_twice(patch: Patch) -> None:
    due = Relay.due
    patch.setattr(Relay, "due", lambda self, now: [p for p in due(self, now) for _ in "12"])


def hidden_reasoning_shown(patch: Patch) -> None:
    init = Relay.__init__

    def shown(self: Relay, choices: int, **named: Any) -> None:
        init(self, choices, **{**named, "show_reasoning": True})

    patch.setattr(Relay, "__init__", shown)


def clusters_cut(patch: Patch) -> None:
    patch.setattr(relay, "settled_length", len)


def no_done_after_an_error(patch: Patch) -> None:
    def told(self: Response, refusal: Any) -> list[events.Effect]:
        self.phase = response.Phase.COMPLETE
        return [events.SendBytes(sse.event(refusal.envelope()), last=True)]

    before = Response.refuse
    patch.setattr(
        Response,
        "refuse",
        lambda self, refusal: (
            told(self, refusal) if self.phase is response.Phase.OPEN else before(self, refusal)
        ),
    )


def role_in_every_chunk(patch: Patch) -> None:
    patch.setattr(Response, "_role", lambda self, chunks, index: chunks.role(index))


def raw_line_separators(patch: Patch) -> None:
    patch.setattr(sse, "on_one_line", lambda encoded: encoded)


def no_head_for_a_quick_reply(patch: Patch) -> None:
    """As it was before the storm's first seed."""
    finish = Response.finish
    patch.setattr(
        Response,
        "finish",
        lambda self, reply, rest: [
            effect
            for effect in finish(self, reply, rest)
            if not (self._is_stream and isinstance(effect, events.SendHead))
        ],
    )


def one_keepalive_only(patch: Patch) -> None:
    keepalive = Response.keepalive
    kept_alive: set[Response] = set()

    def once(self: Response, status: Any) -> list[events.Effect]:
        again = self in kept_alive
        kept_alive.add(self)
        return [] if again else keepalive(self, status)

    patch.setattr(Response, "keepalive", once)


def usage_missing(patch: Patch) -> None:
    patch.setattr(Chunks, "usage", lambda self, usage: b"")


def cancel_charges_nothing(patch: Patch) -> None:
    patch.setattr(ending, "charge_reply", lambda *_: 0)


def worker_unpaid(patch: Patch) -> None:
    charge = Ledger.charge

    def unpaid(
        self: Ledger, at: Any, request: Any, kind: Any, debtor: Any, creditor: Any = None, **of: Any
    ) -> int:
        before = creditor.balance if creditor is not None else 0
        credited = charge(self, at, request, kind, debtor, creditor, **of)
        if creditor is not None:
            creditor.balance = before
        return credited

    patch.setattr(Ledger, "charge", unpaid)


def wrong_kudos_told(patch: Patch) -> None:
    read = read_reply

    def cheaper(*args: Any, **named: Any) -> Any:
        reply = read(*args, **named)
        return attrs.evolve(reply, x_horde={**reply.x_horde, "kudos": 0.0})

    patch.setattr(exchange, "read_reply", cheaper)


def polls_at_half_a_second(patch: Patch) -> None:
    succeeded = Polling.succeeded

    def hurried(self: Polling, status: Any, answer: Any, now: float) -> None:
        succeeded(self, status, answer, now)
        self.next_read = now + 0.5

    patch.setattr(Polling, "succeeded", hurried)


def retry_after_ignored(patch: Patch) -> None:
    patch.setattr(HordeAnswer, "retry_after", lambda self: None)


def budget_forgotten(patch: Patch) -> None:
    def forget(self: Exchange) -> None:
        self._deadline = NEVER

    _handled(patch, State.NEW, events.Arrived, forget)


def no_grace(patch: Patch) -> None:
    refusal = Outlook.refusal

    def impatient(self: Outlook, request: Any, status: Any, now: float, **rest: Any) -> Any:
        self._ineligible_since = now - 1000.0
        return refusal(self, request, status, now, **rest)

    patch.setattr(Outlook, "refusal", impatient)


def reads_given_up_at_once(patch: Patch) -> None:
    patch.setattr(Polling, "failed", lambda self, now, retry_after: False)


MUTANTS: Final = (
    Mutant("submits twice, with two operation keys", 1, double_submit),
    Mutant("resends a lost submit with a new operation key", 1, resend_with_a_new_key),
    Mutant("invites a retry after a lost submit", 1, lost_submit_says_retry, 200),
    Mutant("takes a cached no for final", 1, cached_no_is_final),
    Mutant("ends a faulted request without a word", 1, nothing_told_at_the_end),
    Mutant("doesn't cancel when the client leaves", 2, no_cancel_on_leave),
    Mutant("forgets a submit under way when the client leaves", 2, submit_forgotten_on_leave, 100),
    Mutant("doesn't cancel what it refuses", 2, no_cancel_on_timeout),
    Mutant("tries a cancel once only", 2, cancel_given_up_at_once, 200),
    Mutant("cancels again after an answer", 2, cancel_again_after_an_answer),
    Mutant("doesn't look whether the reply continues the text", 3, prefix_not_checked, 200),
    Mutant("doesn't notice that a reply starts over", 3, restart_not_noticed, 200),
    Mutant("hands live text out twice", 3, text_handed_out_twice),
    Mutant("shows hidden reasoning", 3, hidden_reasoning_shown, 200),
    Mutant("cuts grapheme clusters", 3, clusters_cut, 400),
    Mutant("leaves [DONE] out after an error", 3, no_done_after_an_error),
    Mutant("sends the role with every chunk", 3, role_in_every_chunk),
    Mutant("lets line separators through", 3, raw_line_separators),
    Mutant("sends one keepalive and no more", 3, one_keepalive_only),
    Mutant("leaves the usage chunk out", 3, usage_missing),
    Mutant("forgets the head of a stream that is done at once", 1, no_head_for_a_quick_reply),
    Mutant("the Horde lets a cancelled stream go for nothing", 4, cancel_charges_nothing),
    Mutant("the Horde doesn't pay its workers", 4, worker_unpaid),
    Mutant("tells the client a wrong price", 4, wrong_kudos_told),
    Mutant("polls every half second", 5, polls_at_half_a_second),
    Mutant("ignores Retry-After", 5, retry_after_ignored, 200),
    Mutant("forgets the budget", 6, budget_forgotten),
    Mutant("grants no grace", 6, no_grace),
    Mutant("gives reading up at the first failure", 6, reads_given_up_at_once),
)


def families_found(seed: int) -> set[int]:
    """The families of checks that complain about a seed."""
    return {finding.family for finding in check(run(plan_of(seed)))}


def main() -> None:
    """Counts in how many seeds each mutant is caught, and by which family."""
    seeds = int(sys.argv[1])
    for mutant in MUTANTS:
        with pytest.MonkeyPatch.context() as patch:
            mutant.apply(patch)
            found = [seed for seed in range(seeds) if mutant.family in families_found(seed)]
        first = found[0] if found else "never"
        print(f"{mutant.family} | {mutant.name} | {len(found)} | {first}", flush=True)


if __name__ == "__main__":
    main()
