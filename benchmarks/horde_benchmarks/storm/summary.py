"""What many storms came to, in numbers that add up."""

from collections import Counter

import attrs

from horde_benchmarks.storm.checks import check
from horde_benchmarks.storm.plan import Plan, plan_of
from horde_benchmarks.storm.record import Finding, Storm
from horde_benchmarks.storm.run import run
from horde_benchmarks.storm.told import outcome_of


@attrs.frozen
class Result:
    """What one seed came to. Small, so that it can go from one process to another."""

    seed: int
    requests: int
    horde_calls: int
    link_faults: int
    horde_faults: int
    """Faults that the Horde's plan let strike."""
    virtual_seconds: float
    outcomes: Counter[str]
    findings: tuple[Finding, ...]


@attrs.define(eq=False)
class Summary:
    """All results so far."""

    seeds: int = 0
    requests: int = 0
    horde_calls: int = 0
    link_faults: int = 0
    horde_faults: int = 0
    virtual_seconds: float = 0.0
    outcomes: Counter[str] = attrs.field(factory=Counter)
    failed: dict[int, tuple[Finding, ...]] = attrs.field(factory=dict)

    def add(self, result: Result) -> None:
        """Counts one more."""
        self.seeds += 1
        self.requests += result.requests
        self.horde_calls += result.horde_calls
        self.link_faults += result.link_faults
        self.horde_faults += result.horde_faults
        self.virtual_seconds += result.virtual_seconds
        self.outcomes.update(result.outcomes)
        if result.findings:
            self.failed[result.seed] = result.findings

    def text(self, seconds: float, processes: int) -> str:
        """A few lines for a person; `seconds` are those of the wall."""
        asked, called = (n / seconds / processes for n in (self.requests, self.horde_calls))
        survived = f"{self.horde_faults:,} faults of the Horde and {self.link_faults:,} of links"
        rows = [
            f"{self.seeds:,} seeds, {self.virtual_seconds / 3600:,.1f} virtual hours",
            f"{self.requests:,} client requests, {self.horde_calls:,} calls of the Horde",
            f"{asked:,.0f} and {called:,.0f} a second and process",
            f"{survived} survived" if not self.failed else f"{len(self.failed)} seeds FAILED",
            "",
        ]
        width = max((len(name) for name in self.outcomes), default=0)
        rows += [f"{name:{width}} {count:>9,}" for name, count in self.outcomes.most_common()]
        return "\n".join(rows)


def result_of(plan: Plan) -> Result:
    """Runs a plan and checks it."""
    storm = run(plan)
    return summed(storm, check(storm))


def summed(storm: Storm, findings: list[Finding]) -> Result:
    """A storm's result."""
    return Result(
        seed=storm.plan.seed,
        requests=len(storm.records),
        horde_calls=storm.horde_calls,
        link_faults=storm.link_faults,
        horde_faults=sum(storm.world.state.faults.struck().values()),
        virtual_seconds=storm.world.now,
        outcomes=Counter(outcome_of(record) for record in storm.records),
        findings=tuple(findings[:20]),
    )


def pure_result(seed: int) -> Result:
    """What a seed of the pure storm comes to. Raises RuntimeError, which names the seed."""
    try:
        return result_of(plan_of(seed))
    except Exception as error:
        raise RuntimeError(f"the storm of seed {seed} broke down") from error


def real_result(seed: int) -> Result:
    """What a seed comes to over the whole stack. Raises RuntimeError, which names the seed."""
    from horde_benchmarks.storm.real import real_result_of  # the pure storm needs no network

    try:
        return real_result_of(plan_of(seed))
    except Exception as error:
        raise RuntimeError(f"the real storm of seed {seed} broke down") from error
