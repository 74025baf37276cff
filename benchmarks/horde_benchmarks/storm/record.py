"""What happened in a storm, as the checks read it: each client's side, each call of the front."""

from typing import Any

import attrs
import orjson

from horde_benchmarks.storm.plan import Client, HordeCallName, Plan
from horde_core.chat import ChatRequest
from horde_core.errors import Refusal
from horde_core.events import SendHead
from horde_core.native import HordeAnswer, Status, UnreadableAnswer, read_status
from horde_core.timing import Timing
from horde_simulator.job import Job
from horde_simulator.request import Request
from horde_simulator.world import World


@attrs.define(eq=False)
class Made:
    """One call that the front made. Times are the world's seconds."""

    name: HordeCallName
    request_id: str | None
    sent_at: float
    arrived: bool = False
    """Whether the Horde has seen it."""
    over_at: float | None = None
    """When the front had an answer, or knew that it gets none."""
    answer: HordeAnswer | None = None
    """What the front was told; None for nothing (yet)."""
    _statuses: list[Status | None] = attrs.field(factory=list, init=False)

    def status(self) -> Status | None:
        """What a read of the status told; None when it told nothing. Read once for all checks."""
        if not self._statuses:
            self._statuses.append(self._read())
        return self._statuses[0]

    def _read(self) -> Status | None:
        if self.name != "status" or self.answer is None or self.answer.status != 200:
            return None
        try:
            return read_status(self.answer.body)
        except UnreadableAnswer:
            return None


@attrs.frozen
class Running:
    """A job that was at work when its request was cancelled, and what its user could read."""

    job: Job
    shown: int


@attrs.define(eq=False)
class Record:
    """One client: what it was sent, what was done for it."""

    client: Client
    came_at: float = 0.0
    request: ChatRequest | None = None
    refusal: Refusal | None = None
    """The refusal of a body that was never more than that."""
    head: SendHead | None = None
    sent: list[tuple[float, bytes]] = attrs.field(factory=list)
    """Bytes of the body, each with its time."""
    complete_at: float | None = None
    """When the response's last bytes went out."""
    left_at: float | None = None
    drained_at: float | None = None
    ended_at: float | None = None
    """When the exchange had nothing left to do."""
    known_at: float | None = None
    """When the front was told the Horde's id of the job."""
    saw_fresh_view: bool = False
    """Whether a view of the workers was read for this request."""
    calls: list[Made] = attrs.field(factory=list)
    jobs: list[Request] = attrs.field(factory=list)
    """What the Horde came to hold for it: at most one."""
    cut_short: list[Running] = attrs.field(factory=list)
    """Its running jobs at the moment of the cancel."""
    misdeeds: list[str] = attrs.field(factory=list)
    """What should never happen: bytes before the head, after the end, an exception."""

    @property
    def body(self) -> bytes:
        return b"".join(data for _, data in self.sent)

    def header(self, name: bytes) -> str | None:
        """A header of the response."""
        headers = dict(self.head.headers) if self.head is not None else {}
        return headers[name].decode() if name in headers else None


@attrs.define(eq=False)
class Storm:
    """A whole storm that is over."""

    plan: Plan
    world: World
    records: list[Record]
    unfinished: bool = False
    """Whether it had to be stopped: something never ended."""
    horde_calls: int = 0
    link_faults: int = 0
    late: float = 0.0
    """Seconds by which things may be late because a real machine is."""
    initial: dict[str, int] = attrs.field(factory=dict)
    """Accounts' balances at the start, in millionths."""

    @property
    def timing(self) -> Timing:
        return self.plan.timing

    def stalled(self, start: float, end: float) -> float:
        """Seconds between two times in which the front stood still, with the tail of a stall."""
        return sum(
            stall.seconds
            for stall in self.plan.stalls
            if stall.at <= end and start <= stall.at + stall.seconds
        )


@attrs.frozen
class Finding:
    """A rule that was broken. `family` is the contract's number (simulator, section 6)."""

    family: int
    rule: str
    client: int | None
    detail: str

    def line(self) -> str:
        """It in one line."""
        who = "" if self.client is None else f" client {self.client}:"
        return f"[{self.family}] {self.rule}:{who} {self.detail}"


def json_of(data: bytes) -> Any:
    """A body as JSON; None when it is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
