"""The Horde's rate limits: fixed windows that take the time as an argument."""

from collections.abc import Mapping
from math import ceil
from typing import Final, Literal

import attrs

from horde_core.native import ANONYMOUS_KEY
from horde_simulator.refusals import HordeError

Mode = Literal["service", "public", "off"]


@attrs.frozen
class Rule:
    """So many calls in so many seconds."""

    calls: int
    seconds: int

    @property
    def text(self) -> str:
        """The rule in the limiter's words, such as `2 per 1 second`."""
        unit, size = ("minute", 60) if self.seconds % 60 == 0 else ("second", 1)
        return f"{self.calls} per {self.seconds // size} {unit}"


# Contract, section 1. Known services (a front is one) may do more than the public.
_SUBMIT_PER_ADDRESS: Final[Mapping[str, Rule]] = {
    "service": Rule(300, 60),
    "public": Rule(90, 60),
}
_SUBMIT_PER_KEY: Final[Mapping[str, Rule]] = {"service": Rule(60, 1), "public": Rule(2, 1)}
_ANONYMOUS_PER_KEY: Final = Rule(60, 1)
_STATUS: Final = Rule(60, 60)
_WORKER: Final = Rule(60, 1)
_OTHER: Final = Rule(90, 60)
_WORKER_CALLS: Final = ("pop", "progress", "worker_submit")


class Window:
    """Counts calls by subject within the current window of one rule.

    Windows are aligned to the world's time, so only one is alive: a new one drops the counts of
    the last. A sliding window would keep a list of times for each request id instead.
    """

    __slots__ = ("_counts", "_number", "rule")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._number = -1
        self._counts: dict[str, int] = {}

    def hit(self, subject: str, now: float) -> int:
        """Counts a call; the calls left after it, negative when it was one too many."""
        number = int(now // self.rule.seconds)
        if number != self._number:
            self._number = number
            self._counts = {}
        used = self._counts.get(subject, 0) + 1
        if used <= self.rule.calls:
            self._counts[subject] = used
        return self.rule.calls - used

    def resets_in(self, now: float) -> int:
        """Whole seconds until the window is over, at least 1."""
        seconds = self.rule.seconds
        return max(1, ceil((now // seconds + 1) * seconds - now))


class Limiter:
    """All windows of one Horde, by the name of the call."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self._headers: dict[tuple[int, int, int, int], tuple[tuple[str, str], ...]] = {}
        if mode == "off":
            return
        self._submit_by_address = Window(_SUBMIT_PER_ADDRESS[mode])
        self._submit_by_key = Window(_SUBMIT_PER_KEY[mode])
        self._submit_anonymous = Window(_ANONYMOUS_PER_KEY)
        self._by_subject = {call: Window(_STATUS) for call in ("status", "cancel")}
        self._by_address = {call: Window(_WORKER) for call in _WORKER_CALLS}

    def check(
        self, call: str, *, address: str, key: str, subject: str, now: float
    ) -> tuple[tuple[str, str], ...]:
        """Counts a call and gives the headers of its answer; none with limits off.

        `call` names the route, `subject` is the request id of a status or cancel.

        Raises:
            HordeError: 429 without an rc, the headers set.
        """
        if self.mode == "off":
            return ()
        if call == "submit":
            window, left = self._submitted(address, key, now)
        else:
            by_subject = self._by_subject.get(call)
            window = by_subject or self._window(call)
            left = window.hit(address if by_subject is None else subject, now)
        headers = self._headers_of(window, max(0, left), now)
        if left < 0:
            error = HordeError(429, {"message": window.rule.text})
            error.headers = headers
            raise error
        return headers

    def _submitted(self, address: str, key: str, now: float) -> tuple[Window, int]:
        """The tighter of the two windows of a submit: what the first refuses, the second misses."""
        by_address = self._submit_by_address
        left = by_address.hit(address, now)
        if left < 0:
            return by_address, left
        by_key = self._submit_anonymous if key == ANONYMOUS_KEY else self._submit_by_key
        left_of_key = by_key.hit(key, now)
        return (by_key, left_of_key) if left_of_key < left else (by_address, left)

    def _window(self, call: str) -> Window:
        window = self._by_address.get(call)
        if window is None:
            window = self._by_address[call] = Window(_OTHER)
        return window

    def _headers_of(self, window: Window, left: int, now: float) -> tuple[tuple[str, str], ...]:
        reset = window.resets_in(now)
        known = (window.rule.calls, left, reset, int(now))
        headers = self._headers.get(known)
        if headers is None:
            if len(self._headers) > 4096:
                self._headers.clear()
            headers = self._headers[known] = (
                ("x-ratelimit-limit", str(window.rule.calls)),
                ("x-ratelimit-remaining", str(left)),
                ("x-ratelimit-reset", str(int(now) + reset)),
                ("retry-after", str(reset)),
            )
        return headers
