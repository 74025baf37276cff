"""Makes a failing plan smaller: the fewest clients and faults with which a rule still breaks."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import attrs

from horde_benchmarks.storm.plan import Client, Plan
from horde_simulator.scenario import FaultSpec, WorkerProfile

Item = TypeVar("Item")


def shrink(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """The smallest plan that is found; `fails` tells whether a plan still breaks the rule.

    Clients go first, in ever smaller lots (delta debugging), then faults, workers, stalls, the
    drain and the leaving of clients, until nothing more can be taken away.
    """
    while True:
        before = plan
        for take in (_clients, _faults, _workers, _others, _simpler_clients):
            plan = take(plan, fails)
        if plan == before:
            return plan


def fewest(items: Sequence[Item], fails: Callable[[tuple[Item, ...]], bool]) -> tuple[Item, ...]:
    """A part of `items` that fails, from which no single one can be left out."""
    kept = tuple(items)
    lot = max(1, len(kept) // 2)
    while kept:
        for start in range(0, len(kept), lot):
            rest = kept[:start] + kept[start + lot :]
            if fails(rest):
                kept = rest
                break
        else:
            if lot == 1:
                return kept
            lot = max(1, lot // 2)
        lot = max(1, min(lot, len(kept)))
    return kept


def _clients(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    kept = fewest(plan.clients, lambda some: fails(attrs.evolve(plan, clients=some)))
    return attrs.evolve(plan, clients=kept)


def _faults(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    def with_faults(some: tuple[FaultSpec, ...]) -> Plan:
        return attrs.evolve(plan, scenario=attrs.evolve(plan.scenario, faults=some))

    return with_faults(fewest(plan.scenario.faults, lambda some: fails(with_faults(some))))


def _workers(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    def with_workers(some: tuple[WorkerProfile, ...]) -> Plan:
        return attrs.evolve(plan, scenario=attrs.evolve(plan.scenario, workers=some))

    return with_workers(fewest(plan.scenario.workers, lambda some: fails(with_workers(some))))


def _others(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    for simpler in (attrs.evolve(plan, stalls=()), attrs.evolve(plan, drain_at=None)):
        if simpler != plan and fails(simpler):
            plan = simpler
    return plan


def _simpler_clients(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    for at in range(len(plan.clients)):
        for simpler in _simpler(plan.clients[at]):
            clients = (*plan.clients[:at], simpler, *plan.clients[at + 1 :])
            smaller = attrs.evolve(plan, clients=clients)
            if fails(smaller):
                plan = smaller
                break
    return plan


def _simpler(client: Client) -> Iterator[Client]:
    for at in range(len(client.faults)):
        yield attrs.evolve(client, faults=client.faults[:at] + client.faults[at + 1 :])
    if client.leaves_after is not None:
        yield attrs.evolve(client, leaves_after=None)
    if client.latency:
        yield attrs.evolve(client, latency=0.0)
