"""4: kudos are conserved, a refusal costs nothing, a cancelled stream pays what was streamed."""

from collections import defaultdict
from collections.abc import Iterator
from math import ceil, log2

import orjson

from horde_benchmarks.storm.record import Finding, Record, Running, Storm
from horde_benchmarks.storm.told import error_of
from horde_simulator.ledger import Entry
from horde_simulator.request import RequestState

FAMILY = 4
MICRO = 1_000_000


def check(storm: Storm) -> Iterator[Finding]:
    """The findings of this family."""
    for rule, detail in _book_faults(storm):
        yield Finding(FAMILY, rule, None, detail)
    by_request: dict[str, list[Entry]] = defaultdict(list)
    for entry in storm.world.state.ledger.entries:
        by_request[entry.request_id].append(entry)
    for record in storm.records:
        entries = [entry for job in record.jobs for entry in by_request.pop(job.id, ())]
        for rule, detail in _faults(storm, record, entries):
            yield Finding(FAMILY, rule, record.client.number, detail)
    for request_id, entries in by_request.items():
        yield Finding(FAMILY, "nothing for a refusal", None, f"{request_id}: {entries[0].kind}")


def _book_faults(storm: Storm) -> Iterator[tuple[str, str]]:
    ledger = storm.world.state.ledger
    if ledger.debited != ledger.credited + ledger.burnt + ledger.forgiven:
        yield "kudos are conserved", f"{ledger.totals()}"
    if ledger.debited != sum(entry.debited for entry in ledger.entries):
        yield "kudos are conserved", "the entries don't add up to the totals"
    accounts = storm.world.state.accounts.all()
    before = sum(storm.initial.values())
    if sum(account.balance for account in accounts) != before - ledger.burnt:
        yield "kudos are conserved", "the balances don't add up"
    everything_over = all(job.over for record in storm.records for job in record.jobs)
    for account in accounts:
        if everything_over and (account.reserved or account.unpopped):
            left = f"{account.reserved} reserved, {account.unpopped} unpopped"
            yield "what was held is given back", f"{account.name}: {left}"


def _faults(storm: Storm, record: Record, entries: list[Entry]) -> Iterator[tuple[str, str]]:
    if not record.jobs:
        return
    job = record.jobs[0]
    if sum(entry.kind == "activation" for entry in entries) != len(record.jobs):
        yield "one activation", f"{[entry.kind for entry in entries]}"
    charged = sum(entry.debited for entry in entries)
    if charged > job.quote * MICRO:
        yield "never above the quote", f"{charged} of {job.quote * MICRO}"
    if job.state is RequestState.CANCELLED:
        yield from _cancel_faults(storm, record, entries)
    told = _told_kudos(record)
    if told is not None and round(told * MICRO) != charged:
        yield "the figure that the client is told", f"{told} of {charged / MICRO}"


def _cancel_faults(storm: Storm, record: Record, entries: list[Entry]) -> Iterator[tuple[str, str]]:
    """What was streamed is paid as a reply of that length, and nothing else is."""
    paid = [entry.debited for entry in entries if entry.kind == "cancel"]
    due = [_due(storm, record, running) for running in record.cut_short if running.shown]
    spent = sum(entry.debited for entry in entries) - sum(paid)
    left = max(0, record.jobs[0].quote * MICRO - spent)
    if len(paid) != len(due) or abs(sum(paid) - min(sum(due), left)) > len(due):
        yield "a cancelled stream pays for what was streamed", f"{paid}, due {due}"


def _due(storm: Storm, record: Record, running: Running) -> int:
    """The contract's settlement (Horde, section 5), worked out here anew: millionths."""
    request = record.jobs[0]
    size = {model.name: model.parameters_billion for model in storm.plan.scenario.models}
    billions = size[running.job.model] or 13.0
    tokens: int = min(request.demand.max_length, max(20, ceil(running.shown / 4)))
    context = min(30.0, max(0.1, 1.2 + 2.2 ** log2(max(request.settle_tokens, 1) / 1024)))
    bonus: float = (max(billions, 13.0) / 13.0) ** 0.2
    due: int = round(tokens * bonus * billions * context / 125 * MICRO) + MICRO
    return due


def _told_kudos(record: Record) -> float | None:
    """`x_horde.kudos` of a reply."""
    if record.request is None or record.complete_at is None or error_of(record) is not None:
        return None
    if not record.request.stream:
        return float(orjson.loads(record.body)["x_horde"]["kudos"])
    for line in reversed(record.body.split(b"\n\n")):
        if b'"x_horde":' in line:
            return float(orjson.loads(line.removeprefix(b"data: "))["x_horde"]["kudos"])
    return None
