"""A simulated Horde over HTTP: an ASGI app that carries calls to a world, and its answers back.

The world has no clock and does no I/O, so both are here: time passes in it as the scenario says
(real, or real times a factor; a manual one moves by `/_sim/advance` only), pictures are fetched for
it, and an answer that a fault holds back or cuts is really held back or cut.
"""

from http import HTTPStatus

import trio

from horde_adapters import log
from horde_adapters.asgi import ClientLeft, Incoming, Receive, Scope, Send, send_answer
from horde_adapters.dashboard import dashboard_file
from horde_adapters.fetch import ImageFetcher
from horde_simulator.call import Answer, Call, ImageFetch
from horde_simulator.world import World

LARGEST_BODY = 64 * 1024 * 1024
TICK = 1.0
"""Seconds after which the world catches up by itself, so that a long silence costs no long call."""


class SimulatedHorde:
    """Serves one world."""

    def __init__(self, world: World, *, fetcher: ImageFetcher | None = None) -> None:
        self.world = world
        self._fetcher = fetcher or ImageFetcher()
        self._last = 0.0
        self._moved = trio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one ASGI scope."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1003})

    async def drain(self) -> None:
        """Nothing here is worth waiting for."""

    async def _live(self, receive: Receive, send: Send) -> None:
        self._last = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tick)
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            nursery.cancel_scope.cancel()
        await send({"type": "lifespan.shutdown.complete"})

    async def _tick(self) -> None:
        while True:
            await trio.sleep(TICK)
            self._catch_up()

    def _catch_up(self) -> None:
        now = trio.current_time()
        passed, self._last = now - self._last, now
        if self.world.scenario.clock == "real":
            self.world.advance(self.world.now + passed * self.world.scenario.clock_factor)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await Incoming(receive, pause=30.0, whole=120.0).read(cap=LARGEST_BODY)
        except ClientLeft:
            return
        call = _call(scope, body)
        try:
            answer = dashboard_file(call.method, call.path) or await self._answer(call)
        except Exception as error:
            log.fault("simulated Horde failed", error, path=call.path)
            answer = Answer(500, (("content-type", "application/json"),), b'{"message": "bug"}')
        await self._deliver(answer, scope, send)

    async def _answer(self, call: Call) -> Answer:
        self._catch_up()
        before = self.world.now
        answer = self.world.handle(call)
        if self.world.now != before:
            self._moved.set()
            self._moved = trio.Event()
        if isinstance(answer, ImageFetch):
            images = await self._fetcher.fetch(answer.urls)
            self._catch_up()
            answer = self.world.resume(answer.ticket, images)
        return answer

    async def _deliver(self, answer: Answer, scope: Scope, send: Send) -> None:
        if answer.delay:
            await self._hold(answer.delay)
        headers = tuple((name.encode(), value.encode("latin-1")) for name, value in answer.headers)
        if answer.cut is None:
            await send_answer(send, answer.status, headers, answer.body)
            return
        whole = _as_bytes(answer.status, headers, answer.body)
        await scope["state"]["connection"].break_off(whole[: answer.cut])

    async def _hold(self, seconds: float) -> None:
        """Waits in the world's time, whoever moves it."""
        began = self.world.now
        until = began + seconds
        while began <= self.world.now < until:  # a reset sets it back
            if self.world.scenario.clock == "real":
                await trio.sleep((until - self.world.now) / self.world.scenario.clock_factor)
                self._catch_up()
            else:
                await self._moved.wait()


def _call(scope: Scope, body: bytes) -> Call:
    client = scope.get("client")
    return Call(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
        headers=tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        ),
        body=body,
        address=client[0] if client else "127.0.0.1",
    )


def _as_bytes(status: int, headers: tuple[tuple[bytes, bytes], ...], body: bytes) -> bytes:
    """The response as it would be on an HTTP/1.1 connection, to be cut somewhere."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {status} {phrase}".encode()]
    lines += [name + b": " + value for name, value in headers]
    lines.append(b"content-length: %d" % len(body))
    return b"\r\n".join((*lines, b"", body))
