"""A client that leaves at any instant, in virtual time: no job stays, none is deleted twice."""

import random
from functools import partial
from typing import Any

import httpx
import pytest
import trio

from adapters.stack import OFFLINE, PLAIN, QWEN, SLOW, Stack, running
from horde_adapters.settings import Settings
from horde_simulator.call import Answer, Call

OVER = {"finished", "cancelled", "faulted"}


async def leave_after(stack: Stack, seconds: float, **keys: Any) -> None:
    """Asks for a chat and goes away after a while, whatever has come by then."""
    with trio.move_on_after(seconds):
        async with stack.client.stream("POST", "/v1/chat/completions", json=keys) as response:
            async for _ in response.aiter_raw():
                pass


def body(model: str, **keys: Any) -> dict[str, Any]:
    """A request of as many seconds of work as its `max_tokens` allow."""
    asked = {"role": "user", "content": "Write 900 words."}
    return {"model": model, "messages": [asked], **keys}


@pytest.mark.parametrize("stream", [True, False])
async def test_every_instant(stream: bool, autojump_clock: trio.testing.MockClock) -> None:
    """In steps of a tenth of a second over the whole life of a request.

    The instants lie between those of the polls: without latency, a client that leaves at the very
    instant of the last read crosses with its answer, and its DELETE meets a finished job.
    """
    for tenths in range(80):
        async with running() as stack:
            await leave_after(
                stack, tenths / 10 + 0.03, **body(PLAIN, stream=stream, max_tokens=300)
            )
            await trio.sleep(2)
        assert stack.submits <= 1
        assert stack.cancels <= 1
        assert set(stack.states()) <= OVER
        assert stack.verdict() == {"ok": True, "findings": []}, tenths


@pytest.mark.parametrize("after", [0.1, 0.5, 1.0, 4.0])
async def test_while_the_submit_is_out(
    after: float, autojump_clock: trio.testing.MockClock
) -> None:
    """Between the submit's sending and its answer: the id is awaited, then deleted."""
    async with running() as stack:
        stack.fail("submit.slow", options={"seconds": 3.0})
        await leave_after(stack, after, **body(PLAIN, stream=True, max_tokens=1024))
        await trio.sleep(10)
    assert stack.submits == 1
    assert stack.cancels == 1
    assert stack.verdict()["ok"]


async def test_while_the_submits_answer_is_lost(autojump_clock: trio.testing.MockClock) -> None:
    """The submit is sent again under its key, only to learn what is to be deleted."""
    async with running() as stack:
        stack.fail("submit.slow", options={"seconds": 3.0})
        stack.fail("submit.cut_after")
        await leave_after(stack, 1.0, **body(PLAIN, stream=True, max_tokens=1024))
        await trio.sleep(10)
    assert set(stack.states()) == {"cancelled"}
    assert stack.verdict()["ok"]


@pytest.mark.parametrize("fault", ["cancel.cut_before", "cancel.error_500", "cancel.cut_after"])
async def test_a_delete_that_fails_is_sent_again(
    fault: str, autojump_clock: trio.testing.MockClock
) -> None:
    """A job that nobody waits for costs its owner kudos, so a failed DELETE isn't the end."""
    async with running() as stack:
        stack.fail(fault)
        await leave_after(stack, 2.0, **body(PLAIN, stream=True, max_tokens=1024))
        await trio.sleep(10)
    assert set(stack.states()) == {"cancelled"}


async def test_refused_requests_leave_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """A client that leaves during an error has no job to delete."""
    async with running() as stack:
        await leave_after(stack, 0.0, **body(OFFLINE))
        await leave_after(stack, 5.0, **body(OFFLINE))
    assert stack.submits == 0
    assert stack.cancels == 0


@pytest.mark.parametrize("seed", [1, 2])
async def test_five_hundred_streams_left_at_random(
    seed: int, autojump_clock: trio.testing.MockClock
) -> None:
    """No job stays behind, none is deleted twice, and the ledger balances."""
    chance = random.Random(seed)
    models = [PLAIN, QWEN, SLOW]
    async with running("default", settings=Settings()) as stack, trio.open_nursery() as nursery:
        for _ in range(500):
            keys = body(
                chance.choice(models),
                stream=chance.random() < 0.8,
                max_tokens=chance.choice([16, 64, 200]),
            )
            seconds = chance.expovariate(0.3)
            nursery.start_soon(partial(leave_after, stack, seconds, **keys))
            await trio.sleep(chance.random() * 0.1)
    assert set(stack.states()) <= OVER
    assert stack.verdict()["ok"]
    ledger = stack.world.handle(Call("GET", "/_sim/ledger"))
    assert isinstance(ledger, Answer)
    totals = httpx.Response(200, content=ledger.body).json()["totals"]
    spent = totals["credited"] + totals["burnt"] + totals["forgiven"]
    assert totals["debited"] == pytest.approx(spent)
