"""Function calls for each streamed event and for each poll: a unit without noise.

    python -m horde_benchmarks.calls

Two runs of different length, divided by what the second had more.  The front runs on a clock that
goes faster than the real one, so that a stream of a minute takes some seconds; its Horde is a
transport in this process.  The baseline is bare hypercorn, one send an event.
"""

import cProfile
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any

import httpx
import orjson
import trio
from hypercorn.config import Config
from hypercorn.trio import serve as serve_bare

from horde_adapters.app import Front
from horde_adapters.listener import listen
from horde_adapters.server import serve
from horde_adapters.settings import Limits, Settings
from horde_benchmarks import bare, load, polling, server_process
from horde_benchmarks.figures import Figure
from horde_benchmarks.scripted_horde import MODEL, Jobs, Script
from horde_benchmarks.timing import calls_of, count_calls

RATE = 2.0
"""How much faster than the real one the front's clock goes: 400 events a second at most."""
_CLIENT = """
import sys
from horde_benchmarks import load
port, streams = map(int, sys.argv[1:])
read = load.Load(port, sys.stdin.buffer.read(), streams, a_second=200, keep=True).run(60)
chunks = [chunk for stream in read for chunk in load.http_chunks(bytes(stream.data))]
textless = sum(b'"content":' not in chunk for chunk in chunks)
whole = all(stream.is_whole for stream in read)
print(sum(stream.events for stream in read), len(chunks), textless, whole)
"""


class FastClock(trio.abc.Clock):
    """As cheap as trio's own, and faster."""

    def start_clock(self) -> None:
        """Nothing to start."""

    def current_time(self) -> float:
        """Seconds."""
        return perf_counter() * RATE

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Real seconds."""
        return (deadline - self.current_time()) / RATE


class InProcess(httpx.AsyncBaseTransport):
    """The scripted Horde without a socket, in the time of trio's clock."""

    def __init__(self, seconds: float, characters: float) -> None:
        self._jobs = Jobs(Script(seconds, characters, 0.0), clock=trio.current_time)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answers at once."""
        target = request.extensions["target"]
        line = request.method.encode() + b" " + target
        status, body = self._jobs.answer(line)
        return httpx.Response(status, content=body)


async def _ask(port: int, request: bytes, streams: int = 1) -> tuple[int, int, int]:
    """Runs the client in a process of its own: events, HTTP chunks, and those without text."""
    command = [sys.executable, "-c", _CLIENT, str(port), str(streams)]
    process = await trio.run_process(command, stdin=request, capture_stdout=True)
    events, chunks, textless, whole = process.stdout.split()
    if whole != b"True":
        raise RuntimeError("the stream was cut")
    return int(events), int(chunks), int(textless)


async def bare_stream(path: str, streams: int = 1) -> tuple[int, int, int]:
    """Streams of bare hypercorn."""
    listener = bare.listening_socket()
    port = listener.getsockname()[1]
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.errorlog = None
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(serve_bare, bare.app, config, shutdown_trigger=stop.wait))
        counted = await _ask(port, load.get(path), streams)
        stop.set()
    return counted


async def front_stream(
    seconds: float, characters: float = 110.0, streams: int = 1
) -> tuple[int, int, int]:
    """Streams of the front, counted as `_ask` does."""
    horde = InProcess(seconds, characters)
    front = Front(Settings(), transport=horde)
    limits = Limits()
    listeners = await listen("127.0.0.1", 0, limits)
    port = listeners[0].socket.getsockname()[1]
    stop = trio.Event()
    body = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "Go on."}]}
    request = load.post("/v1/chat/completions", orjson.dumps(body))
    async with trio.open_nursery() as nursery:
        await nursery.start(
            partial(serve, front, listeners, limits, stop=stop.wait, drain=front.drain)
        )
        counted = await _ask(port, request, streams)
        stop.set()
    return counted


def slope(
    run: Callable[[float], Any], short: float, long: float, clock: Callable[[], Any]
) -> tuple[float, tuple[float, ...]]:
    """Calls for each event more, and how much more of each thing was counted."""
    fewer, of_short = count_calls(run, short, clock=clock())
    more, of_long = count_calls(run, long, clock=clock())
    grown = tuple(b - a for a, b in zip(of_short, of_long, strict=True))
    return (more - fewer) / grown[0], grown


def front_calls(streams: int = 30, characters: float = 110.0) -> tuple[float, tuple[float, ...]]:
    """Calls for each event of so many streams, the reading of their polls included."""
    run = partial(front_stream, characters=characters, streams=streams)
    return slope(run, 4.4, 13.2, FastClock)


def request_calls(ask: Callable[[int], Any]) -> float:
    """Calls of one short request more, on a connection of its own."""
    few, _ = count_calls(ask, 20, clock=FastClock())
    many, _ = count_calls(ask, 80, clock=FastClock())
    return (many - few) / 60


def front_request_calls() -> float:
    """Of the front: a submit, a read, one event of text; its Horde's side is in this process."""
    return request_calls(lambda count: front_stream(0, streams=count))


def hypercorn_request_calls() -> float:
    """Of bare hypercorn: one event."""
    return request_calls(lambda count: bare_stream("/burst/1", count))


def hypercorn_calls() -> float:
    """Calls of one send of bare hypercorn."""
    return slope(lambda events: bare_stream(f"/burst/{int(events)}"), 500, 1500, lambda: None)[0]


def hypercorn_and_sleep_calls() -> float:
    """The same with a `trio.sleep` after each."""
    return slope(lambda events: bare_stream(f"/paced/{int(events)}/20"), 50, 150, lambda: None)[0]


def poll_calls(poll: Callable[[int, int, int], float], port: int) -> float:
    """Calls of one status read."""
    profiles = []
    for reads in (50, 150):
        profile = cProfile.Profile()
        profile.enable()
        poll(port, 1, reads)
        profile.disable()
        profiles.append(calls_of(profile))
    # Each run reads twice as often as it is told: once to warm up.
    return (profiles[1] - profiles[0]) / 200


@contextmanager
def status_server() -> Iterator[int]:
    """A Horde whose jobs are worked on for ever; its port."""
    with server_process.running(
        "horde_benchmarks.scripted_horde", "--seconds", "1e9", "--characters", "0"
    ) as horde:
        yield horde.port


def calls() -> Iterator[Figure]:
    """Targets 2, 4 and 8, as far as calls and sends go."""
    bare = hypercorn_calls()
    each, (events, chunks, _) = front_calls()
    yield Figure("bare hypercorn: one send", bare, "calls")
    yield Figure("bare hypercorn: a send and a sleep", hypercorn_and_sleep_calls(), "calls")
    yield Figure("front: an event of 30 streams, polls included", each, "calls")
    yield Figure("an event ÷ a bare send", each / bare, "×", goal=1.15, target=2)
    yield Figure("sends ÷ events", chunks / events, "×", goal=1.0, target=4)
    # Head and first chunk are one packet, and so are the last chunk and the terminator.
    _, _, textless = trio.run(front_stream, 4.4, clock=FastClock())
    yield Figure("sends without text, of a stream", textless, "sends", goal=3, target=4)
    bare_request, request = hypercorn_request_calls(), front_request_calls()
    yield Figure("bare hypercorn: a short request", bare_request, "calls")
    yield Figure("front: the same, calls to the Horde aside", request / bare_request, "×")
    with status_server() as port:
        by_hand = poll_calls(polling.h11_by_hand, port)
        ours = poll_calls(polling.horde_client, port)
    yield Figure("a poll", ours, "calls")
    yield Figure("a poll ÷ h11 by hand", ours / by_hand, "×", goal=5, target=8)


if __name__ == "__main__":
    for figure in calls():
        print(figure.line(), flush=True)
