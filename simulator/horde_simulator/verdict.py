"""Grades a caller of the Horde: what it did that the contract asks callers not to do.

The world tells what happens, in order; nothing here reads a clock. A caller is held only to what
it could know: an answer that was lost on the way taught it nothing.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import attrs

MIN_READ_GAP: Final = 1.0
"""Seconds between two reads of one request. Callers aim at 1.1 (contract: horde section 1); the
tenth is left for what happens on the way, and the limit itself is 60 a minute."""

ABANDONED_AFTER: Final = 60.0
"""Seconds without a read after which a request counts as left. A caller whose reads
fail gives up after 60 (contract: front section 9) and cancels."""

RESEND_WINDOW: Final = 60.0
"""Seconds after a lost answer in which the same body under another key is taken for a resend."""

_SLACK: Final = 1e-6
_MOST_FINDINGS: Final = 1000

Kind = Literal[
    "polled_too_fast",
    "ignored_retry_after",
    "submitted_twice",
    "left_without_cancel",
    "cancelled_finished",
    "forbidden",
]
Asked = Literal["submit", "status", "cancel"]


@attrs.frozen
class Finding:
    """One thing that the caller should not have done."""

    kind: Kind
    request_id: str | None
    detail: str


@attrs.frozen
class Verdict:
    """What the caller is told. `unlisted` counts findings above the most that are listed."""

    ok: bool
    findings: tuple[Finding, ...]
    unlisted: int = 0

    def document(self) -> dict[str, Any]:
        """The verdict as `GET /_sim/verdict` answers it."""
        return {"ok": self.ok, "findings": [attrs.asdict(finding) for finding in self.findings]}


@attrs.define(eq=False)
class _Followed:
    """What the grader remembers of a request until it is forgotten."""

    submitted_at: float
    known: bool
    """Whether the caller has been told the id."""
    read_at: float | None = None
    told_done: bool = False
    cancel_tried: bool = False


@attrs.frozen
class _Lost:
    """A submit that was held while its answer was lost."""

    until: float
    request_id: str
    key: str
    body: Mapping[str, Any]


@attrs.define(eq=False)
class Grader:
    """Fed by the world with what a caller does; asked for the verdict at any time.

    `asked` comes first in every submit, status and cancel call; the other methods tell what came
    of it. Holds a record for each request from `submitted` to `forgotten`.
    """

    _followed: dict[str, _Followed] = attrs.field(factory=dict, init=False)
    _held_off: dict[tuple[Asked, str], float] = attrs.field(factory=dict, init=False)
    _lost: list[_Lost] = attrs.field(factory=list, init=False)
    _findings: list[Finding] = attrs.field(factory=list, init=False)
    _unlisted: int = attrs.field(default=0, init=False)

    def asked(self, now: float, call: Asked, subject: str | None) -> None:
        """A call has come in. `subject` is the request's id, of a submit its operation key."""
        if subject is None:
            return
        until = self._held_off.pop((call, subject), None)
        if until is not None and now < until - _SLACK:
            early = f"{call} {until - now:.2f} s before Retry-After was over"
            self._find("ignored_retry_after", None if call == "submit" else subject, early)
        followed = self._followed.get(subject) if call != "submit" else None
        if followed is None:
            return
        if call == "cancel":
            if followed.told_done:
                self._find("cancelled_finished", subject, "its status had already said done")
            followed.cancel_tried = True
            return
        if followed.read_at is not None and now - followed.read_at < MIN_READ_GAP - _SLACK:
            gap = now - followed.read_at
            detail = f"{gap:.2f} s after the last read, {MIN_READ_GAP} s is the least"
            self._find("polled_too_fast", subject, detail)
        followed.read_at = now

    def told_to_wait(self, now: float, call: Asked, subject: str | None, seconds: float) -> None:
        """A call was answered with `Retry-After`, and the answer was delivered."""
        if subject is not None:
            self._held_off[call, subject] = now + seconds
        if len(self._held_off) > 10_000:
            self._held_off = {key: until for key, until in self._held_off.items() if until > now}

    def submitted(
        self,
        now: float,
        request_id: str,
        *,
        key: str,
        body: Mapping[str, Any],
        existing: bool = False,
        delivered: bool = True,
    ) -> None:
        """A submit was accepted: as a new request, or as one that its operation key names.

        `delivered` is false when a fault keeps the answer from the caller.
        """
        if existing:
            followed = self._followed.get(request_id)
            if followed is not None:
                followed.known = followed.known or delivered
            return
        self._find_resend(now, request_id, key, body)
        self._followed[request_id] = _Followed(now, delivered)
        if not delivered:
            self._lost.append(_Lost(now + RESEND_WINDOW, request_id, key, _without_operation(body)))

    def told_done(self, request_id: str) -> None:
        """A status or cancel answer that said `done` was delivered."""
        followed = self._followed.get(request_id)
        if followed is not None:
            followed.told_done = True

    def forgotten(self, now: float, request_id: str) -> None:
        """The request has expired, and with it its record here."""
        followed = self._followed.pop(request_id, None)
        if followed is not None:
            self._find_left(now, request_id, followed)
        for call in ("status", "cancel"):
            self._held_off.pop((call, request_id), None)

    def forbidden(self, detail: str, request_id: str | None = None) -> None:
        """The caller sent what the contract forbids, such as a body that fails the schema."""
        self._find("forbidden", request_id, detail)

    def clear(self) -> None:
        """Forgets the findings so far; requests in flight are graded on."""
        self._findings.clear()
        self._unlisted = 0

    def verdict(self, now: float) -> Verdict:
        """The findings so far, and the requests that are left behind at this time."""
        left = [
            Finding("left_without_cancel", request_id, detail)
            for request_id, followed in self._followed.items()
            if (detail := _left(now, followed)) is not None
        ]
        room = _MOST_FINDINGS - len(self._findings)
        unlisted = self._unlisted + max(0, len(left) - room)
        findings = (*self._findings, *left[:room])
        return Verdict(not findings, findings, unlisted)

    def _find(self, kind: Kind, request_id: str | None, detail: str) -> None:
        if len(self._findings) < _MOST_FINDINGS:
            self._findings.append(Finding(kind, request_id, detail))
        else:
            self._unlisted += 1

    def _find_left(self, now: float, request_id: str, followed: _Followed) -> None:
        detail = _left(now, followed)
        if detail is not None:
            self._find("left_without_cancel", request_id, detail)

    def _find_resend(self, now: float, request_id: str, key: str, body: Mapping[str, Any]) -> None:
        if not self._lost:
            return
        self._lost = [lost for lost in self._lost if lost.until > now]
        plain = _without_operation(body)
        for lost in self._lost:
            if lost.key == key and lost.body == plain:
                detail = (
                    f"{lost.request_id} holds the same body, and its operation key was not sent"
                )
                self._find("submitted_twice", request_id, detail)
                self._lost.remove(lost)
                return


def _without_operation(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "operation_key"}


def _left(now: float, followed: _Followed) -> str | None:
    """Why a request counts as left, None while it doesn't.

    One that ended by itself was left all the same, unless its caller has been told of the end: the
    next one would not have ended.  One whose id never reached the caller can't be cancelled, and
    one cancel that was lost on the way is all that is asked for.
    """
    if followed.told_done or followed.cancel_tried or not followed.known:
        return None
    last = followed.submitted_at if followed.read_at is None else followed.read_at
    silent = now - last
    if silent <= ABANDONED_AFTER:
        return None
    return f"neither read nor cancelled for {silent:.0f} s"
