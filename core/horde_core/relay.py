"""What of a live reply is new, when each piece of it is due, and whether it still holds.

The relay takes progress posts as the status shows them and hands out pieces of text on time.  It
promises (contract section 10): what was handed out is a prefix of the final reply, reasoning goes
before the content of the same post, a newer post or the end never waits for the pacing.

A text is held once, as it came: what went out and what waits are counts of its code points.
"""

from collections.abc import Sequence
from typing import Literal

import attrs

from horde_core.native import Generation, Progress
from horde_core.pacing import Pace, cut, settled_length
from horde_core.polling import NEVER

Channel = Literal["content", "reasoning_content"]
CHANNELS: tuple[Channel, Channel] = ("reasoning_content", "content")

FIRST_RHYTHM = 1.0
"""Seconds that posts are taken to be apart until two have been seen."""
SLOWEST_RHYTHM = 10.0

Piece = tuple[int, Channel, str]
"""Some text, ready to be sent, and its choice's index. A plain tuple: every event makes one."""


class Diverged(Exception):  # noqa: N818 - it names what the reply did
    """The reply doesn't continue the text that was handed out; the message says how."""


@attrs.frozen
class Served:
    """Who serves the first choice: every chunk of the stream names this worker's model."""

    worker_id: str
    model: str


@attrs.define(eq=False)
class _Text:
    """One channel of one choice: all that came, and how much of it is planned or has gone out."""

    whole: str = ""
    planned: int = 0
    sent: int = 0

    def news(self, start: int, text: str) -> bool:
        """Adds what of `text`, which begins at code point `start`, hadn't come yet, if any."""
        have = len(self.whole)
        if start > have:
            return False  # a gap: the next read asks from where we are
        if start < have:
            # A Horde that doesn't know the tail query tells the reply from its beginning.
            overlap = min(have - start, len(text))
            if self.whole[start : start + overlap] != text[:overlap]:
                raise Diverged("the worker's text changed")
            text = text[have - start :]
        self.whole += text
        return bool(text)


@attrs.define(eq=False)
class _Run:
    """Parts of one channel, evenly spaced; the lengths are in reverse, the next one last."""

    channel: Channel
    due: float
    gap: float
    lengths: list[int]

    def pass_on(self, now: float) -> int:
        """The length of all that is due."""
        lengths = self.lengths
        length = lengths.pop()
        self.due += self.gap
        while lengths and self.due <= now:
            length += lengths.pop()
            self.due += self.gap
        return length


@attrs.define(eq=False)
class _Track:
    """One choice: its texts, who writes them, and what of them waits."""

    index: int
    attempt: int | None = None
    content: _Text = attrs.field(factory=_Text)
    reasoning: _Text = attrs.field(factory=_Text)
    runs: list[_Run] = attrs.field(factory=list)
    """In order; no two of one channel in a row."""
    served: Served | None = None

    @property
    def has_sent(self) -> bool:
        return bool(self.content.sent or self.reasoning.sent)

    def text(self, channel: Channel) -> _Text:
        """The text of one channel."""
        return self.content if channel == "content" else self.reasoning

    def start_over(self) -> None:
        """Forgets an attempt of which nothing was handed out."""
        self.content, self.reasoning = _Text(), _Text()
        self.runs = []

    def hand_out(self, now: float, pieces: list[Piece]) -> None:
        """Adds all that is due: at most one piece for each channel in a row."""
        runs = self.runs
        while runs and (run := runs[0]).due <= now:
            channel = run.channel
            text = self.content if channel == "content" else self.reasoning
            start = text.sent
            text.sent = end = start + run.pass_on(now)
            pieces.append((self.index, channel, text.whole[start:end]))
            if not run.lengths:
                del runs[0]

    def plan(self, parts: Sequence[tuple[Channel, list[int]]], now: float, gap: float) -> None:
        """Spaces new parts evenly from now on; what older posts left is due at once."""
        runs = [_Run(run.channel, now, 0.0, [sum(run.lengths)]) for run in self.runs]
        due = now
        for channel, lengths in parts:
            if runs and runs[-1].channel == channel:
                lengths[-1] += sum(runs.pop().lengths)
            runs.append(_Run(channel, due, gap, lengths))
            due += gap * len(lengths)
        self.runs = runs


class Relay:
    """The live text of one request. Times are seconds on the exchange's clock."""

    __slots__ = (
        "_channels",
        "_last_news",
        "_pace",
        "_restarted",
        "_rhythm",
        "_tracks",
        "next_due",
        "served",
    )

    def __init__(self, choices: int, *, show_reasoning: bool, pace: Pace | None = None) -> None:
        self._pace = pace or Pace()
        self._tracks = [_Track(index) for index in range(choices)]
        self._channels: tuple[Channel, ...] = CHANNELS if show_reasoning else ("content",)
        self._last_news: float | None = None
        self._rhythm = FIRST_RHYTHM
        self._restarted: int | None = None
        self.served: Served | None = None
        """Set once a piece has been handed out."""
        self.next_due = NEVER
        """When the next piece is due; never while nothing waits or no chunk may go out yet."""

    def tail(self) -> str:
        """The query that asks the status for what hasn't come yet."""
        lengths = [(len(track.content.whole), len(track.reasoning.whole)) for track in self._tracks]
        if len(lengths) == 1:
            content, reasoning = lengths[0]
            return f"content_from={content}&reasoning_from={reasoning}"
        return "&".join(
            f"from={index}:{content}:{reasoning}"
            for index, (content, reasoning) in enumerate(lengths)
        )

    def take(
        self, posts: Sequence[Progress], restarted: int, *, now: float, open_streams: int
    ) -> None:
        """Takes what a status read tells. Raises Diverged when text that went out is void."""
        self._note_restarts(restarted)
        news = [self._news_of(post) for post in posts if 0 <= post.index < len(self._tracks)]
        fresh = [(track, channels) for track, channels in news if channels]
        if fresh:
            pace = self._pace.of(open_streams)
            if self._last_news is not None:
                self._rhythm = min(SLOWEST_RHYTHM, max(now - self._last_news, 1 / pace))
            self._last_news = now
            for track, channels in fresh:
                self._plan(track, channels, now, max(1, round(self._rhythm * pace)))
        self._set_next_due()

    def due(self, now: float) -> list[Piece]:
        """Hands out all that is due, merged: at most one piece per choice and channel in a row."""
        if now < self.next_due:
            return []
        if self.served is None:
            self.served = self._tracks[0].served
        pieces: list[Piece] = []
        for track in self._tracks:
            track.hand_out(now, pieces)
        self._set_next_due()
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
                text = track.text(channel)
                if not final.startswith(text.whole[: text.sent]):
                    raise Diverged("the final reply doesn't continue the text already sent")
                if rest := final[text.sent :]:
                    pieces.append((generation.index, channel, rest))
        return pieces

    def _set_next_due(self) -> None:
        """Nothing goes out before some of the first choice does: it names the worker."""
        tracks = self._tracks
        if self.served is None:
            tracks = tracks[:1] if tracks[0].served is not None else []
        soonest = NEVER
        for track in tracks:
            if track.runs and track.runs[0].due < soonest:
                soonest = track.runs[0].due
        self.next_due = soonest

    def _note_restarts(self, restarted: int) -> None:
        """`restarted` counts jobs; with one choice a rise after text went out voids that text."""
        before = self._restarted
        self._restarted = max(before or 0, restarted)  # a status without the figure is no news
        rose = before is not None and restarted > before
        if rose and len(self._tracks) == 1 and self._tracks[0].has_sent:
            raise Diverged("the worker stopped and the Horde starts the reply over")

    def _news_of(self, post: Progress) -> tuple[_Track, Sequence[Channel]]:
        """Takes a post's text; the channels that have more now."""
        track = self._tracks[post.index]
        if track.attempt is not None and post.attempt > track.attempt:
            if track.has_sent:
                raise Diverged("the worker stopped and the Horde started the reply over")
            track.start_over()
        track.attempt = post.attempt
        if post.worker_id is not None and post.model is not None:
            track.served = Served(post.worker_id, post.model)
        told: dict[Channel, tuple[int, str]] = {
            "reasoning_content": (post.reasoning_from, post.reasoning),
            "content": (post.content_from, post.content),
        }
        return track, [c for c in self._channels if track.text(c).news(*told[c])]

    def _plan(self, track: _Track, fresh: Sequence[Channel], now: float, pieces: int) -> None:
        """Spreads a post's text over the rhythm."""
        planned: list[tuple[Channel, str]] = []
        for channel in self._channels:
            text = track.text(channel)
            waiting = text.whole[text.planned :]
            if channel == "reasoning_content" and "content" in fresh:
                length = len(waiting)  # content that begins shows that the thinking is over
            else:
                length = settled_length(waiting) if channel in fresh else 0
            if length:
                text.planned += length
                planned.append((channel, waiting[:length]))
        total = sum(len(settled) for _, settled in planned)
        parts: list[tuple[Channel, list[int]]] = []
        for channel, settled in planned:
            cuts = cut(settled, max(1, round(pieces * len(settled) / total)))
            parts.append((channel, [len(part) for part in reversed(cuts)]))
        gap = self._rhythm / max(1, sum(len(lengths) for _, lengths in parts))
        track.plan(parts, now, gap)
