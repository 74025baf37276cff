"""The whole stack in virtual time: a client, the front, a simulated Horde, and their links."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs
import httpx
import trio

from adapters.fake_link import Network
from horde_adapters.app import Front
from horde_adapters.server import serve
from horde_adapters.settings import Limits, Settings
from horde_adapters.simulated import SimulatedHorde
from horde_adapters.transport import LifoTransport
from horde_simulator.call import Answer, Call
from horde_simulator.document import shipped_scenario
from horde_simulator.scenario import FaultSpec, Scenario
from horde_simulator.world import World

HORDE = httpx.URL("http://horde")
FRONT = httpx.URL("http://front")
PLAIN = "koboldcpp/Llama-3.2-3B-Instruct"
QWEN = "koboldcpp/Qwen3-8B"
SLOW = "tabbyAPI/Command-R-35B"
OFFLINE = "koboldcpp/Gemma-3-4B-it"
CREATED = 1_700_000_000


@attrs.frozen
class Stack:
    """What runs, and a client for it."""

    world: World
    simulated: SimulatedHorde
    front: Front
    network: Network
    client: httpx.AsyncClient
    stop_front: trio.Event

    async def chat(self, **body: Any) -> httpx.Response:
        """Asks for a chat completion and reads the whole answer."""
        return await self.client.post("/v1/chat/completions", json=chat_body(**body))

    def calls(self, method: str, part: str) -> list[dict[str, Any]]:
        """The Horde's journal: calls by method and a part of the path."""
        answer = self.world.handle(Call("GET", "/_sim/journal"))
        assert isinstance(answer, Answer)
        calls: list[dict[str, Any]] = json.loads(answer.body)["calls"]
        return [call for call in calls if call["method"] == method and part in call["path"]]

    @property
    def submits(self) -> int:
        return len(self.calls("POST", "/chat/async"))

    @property
    def cancels(self) -> int:
        return len(self.calls("DELETE", "/chat/status/"))

    def verdict(self) -> dict[str, Any]:
        """What the Horde thinks of the front."""
        answer = self.world.handle(Call("GET", "/_sim/verdict"))
        assert isinstance(answer, Answer)
        verdict: dict[str, Any] = json.loads(answer.body)
        return verdict

    def states(self) -> list[str]:
        """The states of all requests that the Horde knows."""
        answer = self.world.handle(Call("GET", "/_sim/state"))
        assert isinstance(answer, Answer)
        return [request["state"] for request in json.loads(answer.body)["requests"]]

    def fail(self, where: str, **fault: Any) -> None:
        """Plans a fault of the Horde or of its workers."""
        self.world.add_fault(FaultSpec(where, **{"times": 1, **fault}))


class Watched:
    """A front whose every answer is searched for the keys that its clients sent."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._keys: set[bytes] = set()
        self.told: set[bytes] = set()
        """Keys that an answer had in it: there must be none."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        for name, value in scope.get("headers", ()):
            key = value.rpartition(b" ")[2]
            if name == b"authorization" and len(key) > len("public") and key.strip(b"0"):
                self._keys.add(key)

        async def searched(message: Any) -> None:
            said = [message.get("body", b""), *(value for _, value in message.get("headers", ()))]
            self.told |= {key for key in self._keys if any(key in text for text in said)}
            await send(message)

        await self._front(scope, receive, searched)


def chat_body(**keys: Any) -> dict[str, Any]:
    """A chat request's body; the usual keys unless said otherwise."""
    return {"model": PLAIN, "messages": [{"role": "user", "content": "Hi"}], **keys}


@asynccontextmanager
async def running(
    scenario: str | Scenario = "default",
    *,
    settings: Settings | None = None,
    limits: Limits | None = None,
    seed: int | None = None,
    horde: Callable[..., Awaitable[None]] | None = None,
) -> AsyncIterator[Stack]:
    """Runs a stack; `horde` is another ASGI app in place of the simulated one."""
    if isinstance(scenario, str):
        scenario = shipped_scenario(scenario)
    network = Network()
    world = World(scenario, seed=seed)
    simulated = SimulatedHorde(world)
    stop_horde, stop_front = trio.Event(), trio.Event()
    limits = limits or Limits()
    settings = attrs.evolve(settings or Settings(), horde_url=str(HORDE))
    front = Front(
        settings,
        transport=LifoTransport(HORDE, connect=network.connect),
        wall_clock=lambda: CREATED,
    )
    watched = Watched(front)
    transport = LifoTransport(FRONT, connect=network.connect)
    async with trio.open_nursery() as hordes:
        await hordes.start(
            partial(
                serve,
                horde or simulated,
                [network.listen("horde")],
                limits,
                stop=stop_horde.wait,
                drain=simulated.drain,
            )
        )
        async with trio.open_nursery() as fronts:
            await fronts.start(
                partial(
                    serve,
                    watched,
                    [network.listen("front")],
                    limits,
                    stop=stop_front.wait,
                    drain=front.drain,
                )
            )
            async with httpx.AsyncClient(
                transport=transport, base_url=FRONT, timeout=1000.0
            ) as client:
                yield Stack(world, simulated, front, network, client, stop_front)
            stop_front.set()
        stop_horde.set()
    assert not watched.told, "a key is nobody's but its Horde's"


def events(text: str) -> list[Any]:
    """A stream's events as a strict reader takes them: JSON, `[DONE]`, or a comment's text."""
    assert text.endswith("\n\n")
    found: list[Any] = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        (line,) = block.split("\n")
        if line.startswith(": "):
            found.append(line)
        elif line == "data: [DONE]":
            found.append("[DONE]")
        else:
            found.append(json.loads(line.removeprefix("data: ")))
    return found


def text_of(found: list[Any], channel: str = "content") -> str:
    """The text of choice 0 that a stream's events bring on a channel."""
    return "".join(
        choice["delta"].get(channel, "")
        for event in found
        if isinstance(event, dict)
        for choice in event.get("choices", ())
        if choice["index"] == 0
    )
