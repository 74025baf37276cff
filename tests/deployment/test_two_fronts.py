"""Two fronts behind the shipped nginx: what clients see, and what becomes of their jobs.

The fronts hold no state but open requests, so any of them may go at any time (contract: front,
section 9); real processes, real sockets, real time, bounded.
"""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from deployment.rig import NGINX, FrontProcess, Rig, crowd, running, wait_for
from deployment.streams import Chat, run_all

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx isn't installed")

SCENARIO = crowd(threads=64, tokens_per_second=40)


async def until(happened: Callable[[], bool], what: str) -> None:
    """Waits in a thread, as what it asks blocks."""
    await trio.to_thread.run_sync(wait_for, happened, what)


def open_requests(front: FrontProcess) -> int:
    """How many it has, in whatever phase."""
    return int(front.metric("chat_in_flight"))


def assert_balanced(rig: Rig) -> None:
    """What was taken from accounts is what others got, was burnt or forgiven."""
    totals = rig.totals()
    debited = totals["debited"]
    assert debited == pytest.approx(totals["credited"] + totals["burnt"] + totals["forgiven"])


def assert_idle(rig: Rig) -> None:
    """No job is left at the Horde."""
    assert set(rig.states()) <= {"finished", "cancelled"}


def test_streams_and_cancels_go_through(tmp_path: Path) -> None:
    """Served, streamed and whole; a client that leaves nginx is a job cancelled."""
    chats = [Chat(stream=number % 3 > 0, max_tokens=120) for number in range(18)]
    leaving = [Chat(stream=number % 2 > 0, max_tokens=2000, leave_after=3.0) for number in range(8)]
    with running(SCENARIO, tmp_path) as rig:
        run_all(rig.nginx.port, chats + leaving)
        wait_for(lambda: rig.states()["cancelled"] == 8, "cancelling")
        assert [chat for chat in chats if not chat.is_served] == []
        assert {chat.ending for chat in leaving} == {"left"}
        assert rig.states() == {"finished": 18, "cancelled": 8}
        assert rig.findings() == []
        assert_balanced(rig)
        served = [len(front.log()) for front in rig.fronts]
    assert min(served) >= 8, "nginx shares requests out"


def test_one_front_is_killed(tmp_path: Path) -> None:
    """Its streams are cut without `[DONE]`, its whole requests get 502 without a retry by itself;
    the other front's clients see nothing of it, and neither do new ones. Its jobs, which nobody
    cancels any more, end by the Horde's expiry.
    """
    streams = [Chat(max_tokens=320) for _ in range(12)]
    wholes = [Chat(stream=False, max_tokens=320) for _ in range(6)]
    late = [Chat(stream=number % 2 > 0, max_tokens=60) for number in range(8)]
    on_killed: list[int] = []
    with running(SCENARIO, tmp_path) as rig:

        async def kill_one() -> None:
            await until(lambda: rig.states()["processing"] == 18, "work on all")
            on_killed.append(await trio.to_thread.run_sync(open_requests, rig.fronts[0]))
            rig.fronts[0].send(signal.SIGKILL)
            assert await trio.to_thread.run_sync(rig.fronts[0].wait) == -signal.SIGKILL
            async with trio.open_nursery() as nursery:
                for chat in late:
                    nursery.start_soon(chat.run, rig.nginx.port)

        run_all(rig.nginx.port, streams + wholes, kill_one)
        cut = [chat for chat in streams if chat.ending == "cut"]
        assert not any(b"[DONE]" in chat.body for chat in cut)
        lost = [chat for chat in wholes if chat.status == 502]
        assert len(cut) + len(lost) == on_killed[0] > 0
        for chat in lost:
            assert chat.error is not None
            assert chat.error["code"] == "front_lost"
            assert chat.header("x-should-retry") == "false"
            assert chat.header("access-control-allow-origin") == "*"
        others = [chat for chat in streams + wholes + late if chat not in cut + lost]
        assert [chat for chat in others if not chat.is_served] == []
        assert rig.states()["cancelled"] == 0
        rig.pass_time(1300.0)
        assert rig.requests() == [], "20 minutes after the last sign of life"
        assert_balanced(rig)
        assert set(rig.findings()) <= {"left_without_cancel"}


def test_one_front_is_drained_under_load(tmp_path: Path) -> None:
    """After the grace each of its clients is told `draining` and each of its jobs is cancelled;
    who comes meanwhile is refused before anything is submitted, and comes again.
    """
    streams = [Chat(max_tokens=600) for _ in range(10)]
    wholes = [Chat(stream=False, max_tokens=600) for _ in range(6)]
    late = [Chat(max_tokens=60, retries=5) for _ in range(6)]
    ended: list[int] = []
    on_drained: list[int] = []
    with running(SCENARIO, tmp_path, "--grace", "2") as rig:

        async def drain_one() -> None:
            await until(lambda: rig.states()["processing"] == 16, "work on all")
            on_drained.append(await trio.to_thread.run_sync(open_requests, rig.fronts[0]))
            rig.fronts[0].send(signal.SIGTERM)
            async with trio.open_nursery() as nursery:
                for chat in late:
                    nursery.start_soon(chat.run, rig.nginx.port)
                ended.append(await trio.to_thread.run_sync(rig.fronts[0].wait))

        run_all(rig.nginx.port, streams + wholes, drain_one)
        told = [chat for chat in streams + wholes if chat.error is not None]
        assert len(told) == on_drained[0] > 0
        for chat in told:
            assert chat.error is not None
            assert chat.error["code"] == "draining"
            assert chat.ending == "whole"
            if chat.stream:
                assert chat.events()[-1] == "[DONE]"
            else:
                assert (chat.status, chat.header("x-should-retry")) == (503, "false")
        others = [chat for chat in streams + wholes + late if chat not in told]
        assert [chat for chat in others if not chat.is_served] == []
        assert ended == [0]
        assert rig.states() == {"cancelled": len(told), "finished": 22 - len(told)}
        assert rig.findings() == []
        assert_balanced(rig)


def test_a_rolling_restart_loses_nothing(tmp_path: Path) -> None:
    """Each front in turn: no new requests from nginx, drained to its end, started anew."""
    chats: list[Chat] = []
    with running(SCENARIO, tmp_path, "--grace", "60") as rig:

        async def arrivals(nursery: trio.Nursery, over: trio.Event) -> None:
            while not over.is_set():
                chat = Chat(stream=len(chats) % 3 > 0, max_tokens=100)
                chats.append(chat)
                nursery.start_soon(chat.run, rig.nginx.port)
                await trio.sleep(0.1)

        def restart(number: int) -> None:
            front = rig.fronts[number]
            rig.nginx.configure(down=front.port)
            rig.nginx.reload()
            front.send(signal.SIGTERM)
            assert front.wait() == 0
            front.start()
            rig.nginx.configure()
            rig.nginx.reload()

        async def main() -> None:
            over = trio.Event()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(arrivals, nursery, over)
                for number in range(2):
                    await trio.to_thread.run_sync(restart, number)
                over.set()

        trio.run(main)
        assert len(chats) > 20
        assert [chat for chat in chats if not chat.is_served] == []
        assert_idle(rig)
        assert rig.states()["cancelled"] == 0
        assert rig.findings() == []
        assert_balanced(rig)
