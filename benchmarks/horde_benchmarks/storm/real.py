"""The same storm over the whole stack: trio, httpx, hypercorn and sockets, with time sped up.

The front and the simulated Horde listen on ports of this machine, and every client connects to the
front.  Trio's clock runs faster than the wall, for all of them alike, so a minute of patience is
over in seconds while the bytes are real.
"""

import math
from typing import Final

import attrs
import httpx
import trio
import trio.testing

from horde_adapters.app import Front
from horde_adapters.serve import Address, serving
from horde_adapters.settings import Limits, Settings
from horde_adapters.simulated import SimulatedHorde
from horde_adapters.transport import LifoTransport
from horde_benchmarks.storm.checks import check
from horde_benchmarks.storm.faulty_transport import FaultyTransport
from horde_benchmarks.storm.plan import Plan
from horde_benchmarks.storm.record import Record, Storm
from horde_benchmarks.storm.run import CREATED
from horde_benchmarks.storm.summary import Result, summed
from horde_benchmarks.storm.watched_world import WatchedWorld
from horde_core.body import read_body
from horde_core.errors import Refusal
from horde_core.events import SendHead
from horde_core.request import read_request

RATE: Final = 20.0
"""Virtual seconds a second. Faster, and a busy machine is late by more than calls may wait."""
DRAIN_RATE: Final = 1.0
"""The last moment of a process is 0.6 s, which no machine keeps when it is a fraction of that."""
LATEST_DRAIN: Final = 6.0
MOST_CLIENTS: Final = 16
LONGEST_BUDGET: Final = 45.0
DRAIN_GRACE: Final = 3.0
CONNECTING: Final = 1.0
"""Virtual seconds before a drain from which on nobody comes any more: a connection takes time."""
LATE: Final = 100.0
"""Virtual seconds (5 real ones) by which a busy machine may be late at anything."""
_FETCHED: Final = b"pictures.example"
"""A picture that the Horde would have to fetch from a network that isn't there."""


def real_plan_of(plan: Plan) -> Plan:
    """The plan with what takes too long, or can't be done over sockets, left out."""
    timing = attrs.evolve(
        plan.timing,
        stream_budget=min(plan.timing.stream_budget, LONGEST_BUDGET),
        whole_budget=min(plan.timing.whole_budget, LONGEST_BUDGET),
    )
    drain_at = None if plan.drain_at is None else min(plan.drain_at, LATEST_DRAIN)
    last = math.inf if drain_at is None else drain_at - CONNECTING
    clients = [
        client for client in plan.clients if _FETCHED not in client.body and client.at < last
    ]
    return attrs.evolve(
        plan,
        scenario=attrs.evolve(plan.scenario, clock="real"),
        clients=tuple(clients[:MOST_CLIENTS]),
        timing=timing,
        stalls=(),
        drain_at=drain_at,
    )


def real_result_of(plan: Plan) -> Result:
    """Runs a plan over the whole stack and checks it."""
    plan = real_plan_of(plan)
    rate = RATE if plan.drain_at is None else DRAIN_RATE
    clock = trio.testing.MockClock(rate=rate, autojump_threshold=math.inf)
    storm: Storm = trio.run(_run, plan, clock=clock)
    return summed(storm, check(storm))


async def _run(plan: Plan) -> Storm:
    records = {
        client.number: Record(client, saw_fresh_view=True)  # which can't be seen from here
        for client in plan.clients
    }
    world = WatchedWorld(plan.scenario, records)
    storm = Storm(plan, world, list(records.values()), late=LATE)
    storm.initial = {account.name: account.balance for account in world.state.accounts.all()}
    horde = SimulatedHorde(world)
    async with serving(horde, Address(), Limits(), horde.drain) as horde_url:
        carried = FaultyTransport(LifoTransport(httpx.URL(horde_url)), records)
        settings = Settings(
            horde_url=horde_url, timing=plan.timing, pool_age=plan.pool_age, grace=DRAIN_GRACE
        )
        front = Front(settings, transport=carried, wall_clock=lambda: CREATED)
        async with (
            trio.open_nursery() as clients,
            serving(front, Address(), Limits(), front.drain) as url,
        ):
            await _blow(plan, records, url, clients)
        await trio.sleep(1.0)  # what was under way to the Horde arrives
    storm.horde_calls, storm.link_faults = world.calls, carried.struck
    return storm


async def _blow(plan: Plan, records: dict[int, Record], url: str, clients: trio.Nursery) -> None:
    """Sends the clients, and returns when they are through or the front has to end."""
    began = trio.current_time()
    if plan.drain_at is None:
        async with trio.open_nursery() as waited_for:
            for record in records.values():
                waited_for.start_soon(_visit, url, record, began)
        return
    for record in records.values():
        clients.start_soon(_visit, url, record, began)
    await trio.sleep(plan.drain_at)
    for record in records.values():
        if record.complete_at is None and record.left_at is None:
            record.drained_at = trio.current_time()


async def _visit(url: str, record: Record, began: float) -> None:
    """One client, from its arrival to its end; it leaves when its plan says."""
    client = record.client
    await trio.sleep_until(began + client.at)
    record.came_at = trio.current_time()
    try:
        record.request = read_request(read_body(client.body, None, cap=1_000_000))
    except Refusal:
        record.request = None
    stay = math.inf if client.leaves_after is None else client.leaves_after
    with trio.move_on_after(stay) as scope:
        try:
            await _ask(url, record)
        except httpx.HTTPError as error:
            record.misdeeds.append(f"the client got {error!r}")
    if scope.cancelled_caught:
        record.left_at = trio.current_time()
    record.ended_at = trio.current_time()


async def _ask(url: str, record: Record) -> None:
    headers = {"authorization": f"Bearer {record.client.key}", "content-type": "application/json"}
    async with (
        httpx.AsyncClient(timeout=None, trust_env=False) as http,
        http.stream(
            "POST", f"{url}/v1/chat/completions", content=record.client.body, headers=headers
        ) as response,
    ):
        lowered = tuple((name.lower(), value) for name, value in response.headers.raw)
        record.head = SendHead(response.status_code, lowered)
        async for data in response.aiter_raw():
            record.sent.append((trio.current_time(), data))
        record.complete_at = trio.current_time()
