"""What of a live reply is new, when each piece of it is due, and whether it still holds.

The relay takes progress posts as the status shows them and hands out pieces of text on time.  It
promises (contract section 10): what was handed out is a prefix of the final reply, reasoning goes
before the content of the same post, a newer post or the end never waits for the pacing.
"""

from collections import deque
from collections.abc import Sequence
from typing import Literal

import attrs

from horde_core.native import Generation, Progress
from horde_core.pacing import Pace, cut, settled_length

Channel = Literal["content", "reasoning_content"]
CHANNELS: tuple[Channel, Channel] = ("reasoning_content", "content")

FIRST_RHYTHM = 1.0
"""Seconds that posts are taken to be apart until two have been seen."""
SLOWEST_RHYTHM = 10.0


class Diverged(Exception):  # noqa: N818 - it names what the reply did
    """The reply doesn't continue the text that was handed out; the message says how."""


@attrs.frozen
class Piece:
    """Some text of one choice, ready to be sent."""

    index: int
    channel: Channel
    text: str


@attrs.frozen
class Served:
    """Who serves the first choice: every chunk of the stream names this worker's model."""

    worker_id: str
    model: str


@attrs.define(eq=False)
class _Track:
    """One choice: what came, what of it has gone out, and the pieces in between."""

    attempt: int | None = None
    received: dict[Channel, list[str]] = attrs.field(factory=lambda: {c: [] for c in CHANNELS})
    lengths: dict[Channel, int] = attrs.field(factory=lambda: dict.fromkeys(CHANNELS, 0))
    sent: dict[Channel, list[str]] = attrs.field(factory=lambda: {c: [] for c in CHANNELS})
    held: dict[Channel, str] = attrs.field(factory=lambda: dict.fromkeys(CHANNELS, ""))
    queue: deque[tuple[float, Channel, str]] = attrs.field(factory=deque)
    served: Served | None = None

    @property
    def has_sent(self) -> bool:
        return any(self.sent.values())

    def start_over(self, attempt: int) -> None:
        """Forgets an attempt of which nothing was handed out."""
        self.attempt = attempt
        self.received = {c: [] for c in CHANNELS}
        self.lengths = dict.fromkeys(CHANNELS, 0)
        self.held = dict.fromkeys(CHANNELS, "")
        self.queue.clear()

    def news(self, channel: Channel, start: int, text: str) -> str:
        """The part of `text`, which begins at code point `start`, that hadn't come yet."""
        have = self.lengths[channel]
        if start > have:
            return ""  # a gap: the next read asks from where we are
        if start < have:
            # A Horde that doesn't know the tail query tells the reply from its beginning.
            known = "".join(self.received[channel])
            overlap = min(have - start, len(text))
            if known[start : start + overlap] != text[:overlap]:
                raise Diverged("the worker's text changed")
            text = text[have - start :]
        if text:
            self.received[channel].append(text)
            self.lengths[channel] += len(text)
        return text


class Relay:
    """The live text of one request. Times are seconds on the exchange's clock."""

    def __init__(self, choices: int, *, show_reasoning: bool, pace: Pace | None = None) -> None:
        self._pace = pace or Pace()
        self._tracks = [_Track() for _ in range(choices)]
        self._channels: tuple[Channel, ...] = CHANNELS if show_reasoning else ("content",)
        self._last_news: float | None = None
        self._rhythm = FIRST_RHYTHM
        self._restarted: int | None = None
        self.served: Served | None = None
        """Set once a piece has been handed out."""

    @property
    def next_due(self) -> float | None:
        """When the next piece is due; None while nothing waits or no chunk may go out yet."""
        if self.served is None and not (self._tracks[0].queue and self._tracks[0].served):
            return None
        soonest = None
        for track in self._tracks:
            if track.queue and (soonest is None or track.queue[0][0] < soonest):
                soonest = track.queue[0][0]
        return soonest

    def tail(self) -> str:
        """The query that asks the status for what hasn't come yet."""
        first = self._tracks[0]
        if len(self._tracks) == 1:
            content, reasoning = first.lengths["content"], first.lengths["reasoning_content"]
            return f"content_from={content}&reasoning_from={reasoning}"
        return "&".join(
            f"from={index}:{track.lengths['content']}:{track.lengths['reasoning_content']}"
            for index, track in enumerate(self._tracks)
        )

    def take(
        self, posts: Sequence[Progress], restarted: int, *, now: float, open_streams: int
    ) -> None:
        """Takes what a status read tells. Raises Diverged when text that went out is void."""
        self._note_restarts(restarted)
        news = [self._news_of(post) for post in posts if 0 <= post.index < len(self._tracks)]
        fresh = [(track, texts) for track, texts in news if any(texts.values())]
        if not fresh:
            return
        if self._last_news is not None:
            self._rhythm = min(
                SLOWEST_RHYTHM, max(now - self._last_news, 1 / self._pace.of(open_streams))
            )
        self._last_news = now
        for track, texts in fresh:
            self._plan(track, texts, now, max(1, round(self._rhythm * self._pace.of(open_streams))))

    def due(self, now: float) -> list[Piece]:
        """Hands out all that is due, merged: at most one piece per choice and channel in a row."""
        if self.served is None:
            first = self._tracks[0]
            if first.served is None or not first.queue or first.queue[0][0] > now:
                return []
            self.served = first.served
        pieces: list[Piece] = []
        for index, track in enumerate(self._tracks):
            queue = track.queue
            while queue and queue[0][0] <= now:
                _, channel, text = queue.popleft()
                while queue and queue[0][0] <= now and queue[0][1] == channel:
                    text += queue.popleft()[2]
                track.sent[channel].append(text)
                pieces.append(Piece(index, channel, text))
        return pieces

    def finish(self, generations: Sequence[Generation]) -> list[Piece]:
        """Hands out what the relayed chunks lack of the final reply, reasoning first.

        Raises Diverged when the reply doesn't continue what was handed out, or when the first
        choice comes from another worker than the chunks say.
        """
        first = generations[0]
        if self.served is not None and (
            first.worker_id not in (None, self.served.worker_id)
            or first.model not in (None, self.served.model)
        ):
            raise Diverged("another worker gave the final reply")
        pieces: list[Piece] = []
        for generation, track in zip(generations, self._tracks, strict=True):
            for channel in self._channels:
                final = generation.content if channel == "content" else generation.reasoning
                sent = "".join(track.sent[channel])
                if not final.startswith(sent):
                    raise Diverged("the final reply doesn't continue the text already sent")
                if rest := final[len(sent) :]:
                    pieces.append(Piece(generation.index, channel, rest))
        return pieces

    def _note_restarts(self, restarted: int) -> None:
        """`restarted` counts jobs; with one choice a rise after text went out voids that text."""
        before = self._restarted
        self._restarted = max(before or 0, restarted)  # a status without the figure is no news
        rose = before is not None and restarted > before
        if rose and len(self._tracks) == 1 and self._tracks[0].has_sent:
            raise Diverged("the worker stopped and the Horde starts the reply over")

    def _news_of(self, post: Progress) -> tuple[_Track, dict[Channel, str]]:
        track = self._tracks[post.index]
        if track.attempt is not None and post.attempt > track.attempt:
            if track.has_sent:
                raise Diverged("the worker stopped and the Horde started the reply over")
            track.start_over(post.attempt)
        track.attempt = post.attempt
        if post.worker_id is not None and post.model is not None:
            track.served = Served(post.worker_id, post.model)
        texts: dict[Channel, str] = {}
        for channel in self._channels:
            start, text = (
                (post.content_from, post.content)
                if channel == "content"
                else (post.reasoning_from, post.reasoning)
            )
            texts[channel] = track.news(channel, start, text)
        return track, texts

    def _plan(self, track: _Track, texts: dict[Channel, str], now: float, pieces: int) -> None:
        """Spreads a post's text over the rhythm; what an older post left is due at once."""
        left = [(now, channel, text) for _, channel, text in track.queue]
        planned: list[tuple[Channel, str]] = []
        content_begins = bool(texts["content"])
        for channel in self._channels:
            text = track.held[channel] + texts[channel]
            keep_open = channel == "content" or not content_begins
            settled = settled_length(text) if keep_open and texts[channel] else len(text)
            if not texts[channel] and keep_open:
                settled = 0
            track.held[channel] = text[settled:]
            planned.append((channel, text[:settled]))
        total = sum(len(text) for _, text in planned)
        parts = [
            (channel, part)
            for channel, text in planned
            if text
            for part in cut(text, max(1, round(pieces * len(text) / total)))
        ]
        gap = self._rhythm / max(1, len(parts))
        spread = [(now + at * gap, channel, part) for at, (channel, part) in enumerate(parts)]
        track.queue = deque(left + spread)
