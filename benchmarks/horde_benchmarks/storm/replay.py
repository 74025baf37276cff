"""One seed again: what broke, with how little it still breaks, and what happened then."""

from collections.abc import Iterator

from horde_benchmarks.storm.checks import check
from horde_benchmarks.storm.plan import Plan, plan_of
from horde_benchmarks.storm.record import Record, Storm
from horde_benchmarks.storm.run import run
from horde_benchmarks.storm.shrink import shrink
from horde_benchmarks.storm.summary import pure_result, real_result
from horde_benchmarks.storm.told import outcome_of


def replay(seed: int, *, real: bool) -> int:
    """Prints all about a seed; returns 1 when it fails."""
    findings = (real_result if real else pure_result)(seed).findings
    for finding in findings:
        print(finding.line())
    if not findings:
        print("Nothing is wrong.")
        return 0
    if real:  # what goes wrong over sockets isn't repeated exactly enough to be shrunk
        return 1
    plan = plan_of(seed)
    rule = findings[0].rule
    small = shrink(plan, lambda smaller: _breaks(smaller, rule))
    print(f"\nThe least with which “{rule}” still breaks:\n")
    for line in story(run(small)):
        print(line)
    return 1


def _breaks(plan: Plan, rule: str) -> bool:
    return any(finding.rule == rule for finding in check(run(plan)))


def story(storm: Storm) -> Iterator[str]:
    """A storm told in lines, in the order of time within each client."""
    plan = storm.plan
    yield f"timing {plan.timing}"
    for worker in plan.scenario.workers:
        yield f"worker {worker.name}: {', '.join(worker.models)}, {worker.brain}"
    for fault in plan.scenario.faults:
        times = f"{fault.times} times" if fault.chance is None else f"chance {fault.chance}"
        yield f"fault {fault.where}: {times}, after {fault.after:g}"
    for stall in plan.stalls:
        yield f"the front stands still from {stall.at:.3f} for {stall.seconds:g} s"
    if plan.drain_at is not None:
        yield f"drain at {plan.drain_at:.3f}"
    for record in storm.records:
        yield from _of_client(record)
    for finding in check(storm):
        yield finding.line()


def _of_client(record: Record) -> Iterator[str]:
    client = record.client
    yield f"client {client.number} at {client.at:.3f}, {client.kind}, key {client.key}"
    yield f"    {client.body.decode()}"
    for fault in client.faults:
        yield f"    link: {fault.call} {fault.nth} {fault.kind} {fault.seconds:g} s"
    happened = [(record.left_at, "leaves"), (record.drained_at, "is drained")]
    happened += [(record.complete_at, f"is told {outcome_of(record)}")]
    happened += [(record.ended_at, "needs nothing more")]
    for made in record.calls:
        happened.append((made.sent_at, f"{made.name} goes out"))
        said = (
            "nothing" if made.answer is None else f"{made.answer.status} {_short(made.answer.body)}"
        )
        happened.append((made.over_at, f"{made.name} is answered {said}"))
    for at, data in record.sent:
        happened.append((at, f"gets {_short(data)}"))
    told = [(at, what) for at, what in happened if at is not None]
    for when, what in sorted(told, key=lambda pair: pair[0]):
        yield f"    {when:9.3f} {what}"
    for misdeed in record.misdeeds:
        yield f"    {misdeed}"


def _short(data: bytes) -> str:
    text = data.decode("utf-8", "replace").strip()
    return text if len(text) <= 200 else f"{text[:120]} … {text[-70:]}"
