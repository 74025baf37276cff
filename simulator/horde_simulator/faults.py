"""Everything that can go wrong on purpose: the table of faults, and the plan that strikes them.

`FAULTS` is the one vocabulary of `where` (contract: simulator section 3). A fault on a worker is
looked for where that worker acts, a fault on the Horde where a call is answered; whoever stands
there asks the plan, and does what the fault's row says.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, Literal

import attrs

from horde_simulator.scenario import FaultSpec, Scenario

Unit = Literal["chances", "posts", "polls", "seconds"]


@attrs.frozen
class FaultOption:
    """What a fault takes besides when it strikes. `kind` is the type of a JSON value."""

    name: str
    kind: Literal["text", "number", "flag", "names", "numbers"]
    default: Any
    does: str


@attrs.frozen
class FaultKind:
    """One row: what the fault does, what it takes, and what its `after` counts.

    `chances` are counted by the plan (the occasions that match the fault's model and worker); of
    the other units the asker tells how many there have been.
    """

    where: str
    side: Literal["worker", "horde"]
    does: str
    after: Unit = "chances"
    options: tuple[FaultOption, ...] = ()


def _text(name: str, default: str | None, does: str) -> FaultOption:
    return FaultOption(name, "text", default, does)


def _number(name: str, default: float | None, does: str) -> FaultOption:
    return FaultOption(name, "number", default, does)


_DECLARED = "what the worker declares from then on; as before when not given"
_WORKER_FAULTS = (
    FaultKind("never_pops", "worker", "the worker is online and takes no job", "seconds"),
    FaultKind(
        "vanishes_after_pop",
        "worker",
        "the worker takes a job and is never heard of again: the lease runs out",
    ),
    FaultKind(
        "vanishes_after_posts",
        "worker",
        "the worker is never heard of again after `after` progress posts of a job",
        "posts",
    ),
    FaultKind(
        "faults_job",
        "worker",
        "the worker submits the job as faulted",
        options=(_text("reason", "The worker ran out of memory.", "the `fault_reason`"),),
    ),
    FaultKind(
        "submits_nonconformant",
        "worker",
        "the worker submits a reply that breaks a rule, and the Horde refuses it",
        options=(
            _text(
                "rule",
                None,
                "which rule: unknown_function, bad_arguments, repeated_ids, bad_json, "
                "too_many_tokens; by default the first that the job makes possible",
            ),
        ),
    ),
    FaultKind("diverges", "worker", "the final reply doesn't continue the progress posted"),
    FaultKind(
        "restarts_with_other_text",
        "worker",
        "after `after` posts the worker gives the job up; the next attempt says something else",
        "posts",
    ),
    FaultKind("duplicate_submit", "worker", "the worker submits the same reply twice"),
    FaultKind(
        "late_submit",
        "worker",
        "the worker falls silent, and submits after its lease has run out",
        options=(_number("seconds", 5.0, "how long after the lease's end"),),
    ),
    FaultKind("empty_reply", "worker", "the reply has neither text nor calls"),
    FaultKind(
        "censored",
        "worker",
        "the worker withholds the reply",
        options=(_text("state", "censored", "`censored` or `csam`"),),
    ),
    FaultKind("no_worker_id", "worker", "the generation names no worker"),
    FaultKind("no_usage", "worker", "the worker counts no tokens"),
    FaultKind(
        "overlong_reply",
        "worker",
        "the text is longer than `max_length` allows",
        options=(
            FaultOption(
                "counted", "flag", False, "whether the usage owns up to it (and is refused)"
            ),
        ),
    ),
    FaultKind(
        "goes_into_maintenance",
        "worker",
        "the worker goes into maintenance once it has submitted",
        options=(_number("seconds", None, "how long; for good by default"),),
    ),
    FaultKind(
        "declarations_change",
        "worker",
        "the worker declares something else once a request that it could serve is submitted",
        options=(
            FaultOption("features", "names", None, _DECLARED),
            FaultOption("guarantees", "names", None, _DECLARED),
            FaultOption("limits", "numbers", None, _DECLARED),
            _number("max_length", None, _DECLARED),
            _number("max_context_length", None, _DECLARED),
        ),
    ),
)

_EFFECT = FaultOption("effect", "flag", False, "whether the call did its work all the same")
_RETRY = _number("seconds", 2.0, "what `Retry-After` says")
_CUT = _number("bytes", 0.0, "how much of the response goes out before the cut")

CALLS: Final = ("submit", "status", "cancel", "workers", "models")
"""The calls of a front that a fault can hit."""
WORKER_CALLS: Final = ("pop", "progress", "worker_submit")
"""The calls of an external worker that a fault can hit; `any` stands for these and a front's."""

_CALL_FAULTS: Final[Mapping[str, tuple[str, tuple[FaultOption, ...]]]] = {
    "error_500": ("500 with a Horde error", (_EFFECT,)),
    "html_502": ("502 with a proxy's HTML page", (_EFFECT,)),
    "truncated_json": (
        "the call works; its JSON ends half-way",
        (_number("bytes", None, "how many bytes are left; half by default"),),
    ),
    "wrong_json": ("the call works; its JSON is well-formed and isn't what it should be", ()),
    "slow": ("the call works; its answer is held back", (_number("seconds", 5.0, "how long"),)),
    "cut_before": ("the connection is cut and the call has done nothing", (_CUT,)),
    "cut_after": ("the connection is cut and the call has done its work", (_CUT,)),
    "rate_limited": ("429 without an rc", (_RETRY,)),
    "rate_limited_with_rc": ("429 with an rc", (_RETRY, _text("rc", "TooManyPrompts", "the rc"))),
    "maintenance": ("400 `MaintenanceMode`", ()),
    "key_revoked": ("401 `InvalidAPIKey`", ()),
}
CALL_FAULTS: Final = tuple(_CALL_FAULTS)

_HORDE_FAULTS = (
    FaultKind(
        "stale_eligibility",
        "horde",
        "the status tells the eligibility of a while ago",
        "polls",
        (_number("seconds", 60.0, "how old it is"),),
    ),
    FaultKind(
        "stale_check_in",
        "horde",
        "the Horde counts a worker as online for a while after it has left",
        options=(_number("seconds", 30.0, "how long"),),
    ),
    FaultKind(
        "fields_missing",
        "horde",
        "the status lacks fields",
        "polls",
        (
            FaultOption(
                "fields",
                "names",
                ("wait_time", "queue_position", "is_possible", "eligible_workers", "pool"),
                "which",
            ),
        ),
    ),
    FaultKind(
        "expiry", "horde", "the request expires at this read: 404 `RequestNotFound`", "polls"
    ),
    *(
        FaultKind(
            f"{call}.{kind}", "horde", does, "polls" if call == "status" else "chances", options
        )
        for call in (*CALLS, *WORKER_CALLS, "any")
        for kind, (does, options) in _CALL_FAULTS.items()
    ),
)

FAULTS: Final[Mapping[str, FaultKind]] = {row.where: row for row in _WORKER_FAULTS + _HORDE_FAULTS}


def option(fault: FaultSpec, name: str) -> Any:
    """What the fault says for one of its options, else the default of its row."""
    if name in fault.options:
        return fault.options[name]
    return next(row.default for row in FAULTS[fault.where].options if row.name == name)


@attrs.define(eq=False)
class _Armed:
    """A planned fault with what is left of it."""

    spec: FaultSpec
    number: int
    """Its place in the order of planning."""
    left: int | None
    chances: int = 0


@attrs.define(eq=False, init=False)
class FaultPlan:
    """The faults still to come. What strikes depends on the seed and on the order of asking only.

    Args:
        specs: in the order in which they are to be tried at one occasion: the first wins.
        random: the world's source; drawn from only for a `chance` whose fault could strike.
    """

    _random: Random
    _armed: dict[str, list[_Armed]]
    _struck: Counter[str | None]
    """By name, how often; never under None."""
    _planned_so_far: int
    _rows: dict[str, list[_Armed]]
    """What is to be tried at one occasion, in order: made when it is first asked for."""
    _call_rows: dict[str, list[_Armed]]

    def __init__(self, specs: Iterable[FaultSpec], random: Random) -> None:
        self._random = random
        self._armed = {}
        self._struck = Counter()
        self._planned_so_far = 0
        self._rows = {}
        self._call_rows = {}
        for spec in specs:
            self.add(spec)

    def add(self, spec: FaultSpec) -> None:
        """Plans one more fault, tried after those already planned for the same place."""
        self._armed.setdefault(spec.where, []).append(
            _Armed(spec, self._planned_so_far, spec.times)
        )
        self._planned_so_far += 1
        self._rows.clear()
        self._call_rows.clear()

    @property
    def empty(self) -> bool:
        """Whether nothing was ever planned: then there is nothing to ask."""
        return not self._armed

    def struck(self) -> Mapping[str, int]:
        """How often each fault that has a name has struck so far."""
        return {name: times for name, times in self._struck.items() if name is not None and times}

    def in_force(self) -> tuple[FaultSpec, ...]:
        """The faults that may still strike, as they would have to be planned anew.

        `times` counts what is left, and one that followed a fault which has struck follows none.
        """
        return tuple(
            attrs.evolve(
                armed.spec,
                times=armed.left,
                follows=None if self._struck[armed.spec.follows] else armed.spec.follows,
            )
            for armed in sorted(self._all(), key=lambda armed: armed.number)
            if armed.left != 0
        )

    def names(self) -> frozenset[str]:
        """The names of all faults that were ever planned, those that are spent included."""
        return frozenset(armed.spec.name for armed in self._all() if armed.spec.name is not None)

    def _all(self) -> Iterator[_Armed]:
        for row in self._armed.values():
            yield from row

    def strike(
        self,
        where: str,
        *,
        model: str | None = None,
        worker: str | Sequence[str] | None = None,
        count: float = 0.0,
    ) -> FaultSpec | None:
        """The fault that strikes here and now, if any; one of its `times` is then spent.

        Args:
            where: a row of `FAULTS`. For a call (`status.slow`) the faults planned for `any` call
                are tried too, after those of the call itself.
            model: what a fault limited to a model must name; such a fault spares an occasion
                without a model. `worker` likewise: a name, or the name and the id.
            count: how many posts, polls or seconds there have been (the row's `after`).
        """
        row = self._rows.get(where)
        if row is None:
            row = self._rows[where] = list(self._planned(where))
        return self._first_of(row, model, worker, count) if row else None

    def strike_call(
        self,
        call: str,
        *,
        model: str | None = None,
        worker: str | Sequence[str] | None = None,
        count: float = 0.0,
    ) -> FaultSpec | None:
        """The first fault of any kind that strikes this call: `where` ends in its kind."""
        row = self._call_rows.get(call)
        if row is None:
            row = [armed for kind in CALL_FAULTS for armed in self._planned(f"{call}.{kind}")]
            self._call_rows[call] = row
        return self._first_of(row, model, worker, count) if row else None

    def _first_of(
        self,
        row: Sequence[_Armed],
        model: str | None,
        worker: str | Sequence[str] | None,
        count: float,
    ) -> FaultSpec | None:
        workers = (worker,) if isinstance(worker, str) else tuple(worker or ())
        for armed in row:
            if self._strikes(armed, model, workers, count):
                return armed.spec
        return None

    def _planned(self, where: str) -> Iterator[_Armed]:
        yield from self._armed.get(where, ())
        call, dot, kind = where.partition(".")
        if dot and call != "any":
            yield from self._armed.get(f"any.{kind}", ())

    def _strikes(
        self, armed: _Armed, model: str | None, workers: tuple[str, ...], count: float
    ) -> bool:
        spec = armed.spec
        if armed.left == 0:
            return False
        if spec.model is not None and spec.model != model:
            return False
        if spec.worker is not None and spec.worker not in workers:
            return False
        if spec.follows is not None and not self._struck[spec.follows]:
            return False
        if FAULTS[spec.where].after == "chances":
            count = armed.chances
            armed.chances += 1
        if count < spec.after:
            return False
        if spec.chance is not None and self._random.random() >= spec.chance:
            return False
        if armed.left is not None:
            armed.left -= 1
        if spec.name is not None:
            self._struck[spec.name] += 1
        return True


def planned(scenario: Scenario) -> tuple[FaultSpec, ...]:
    """All faults of a scenario: each worker's own, limited to that worker, then the Horde's."""
    return (
        *(
            attrs.evolve(fault, worker=worker.name)
            for worker in scenario.workers
            for fault in worker.faults
        ),
        *scenario.faults,
    )
