"""The baseline: bare hypercorn on trio and an app that makes events, with nothing between.

    python -m horde_benchmarks.bare [--fronts-server]

`/burst/N` sends N events one after the other, `/paced/N/GAP` with a sleep of GAP milliseconds
after each, `/hold` one and then nothing, `/whole` a JSON body.  A number behind `/burst/N/` is
events a send.  Prints its port.
"""

import argparse
import socket
from functools import partial
from typing import Any

import trio
from hypercorn.config import Config
from hypercorn.trio import serve

from horde_adapters.listener import listen
from horde_adapters.server import serve as serve_as_the_front_is
from horde_adapters.settings import Limits

EVENT = (
    b'data: {"id":"chatcmpl-00000000-0000-4000-8000-000000000000","object":"chat.completion.chunk",'
    b'"created":1700000000,"model":"koboldcpp/Bench-8B","service_tier":"default",'
    b'"system_fingerprint":"fp_0123456789ab","choices":[{"index":0,"delta":{"content":" hello"},'
    b'"logprobs":null,"finish_reason":null}]}\n\n'
)
"""As long as the front's own."""
HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
START = {"type": "http.response.start", "status": 200, "headers": HEADERS}


async def app(scope: Any, receive: Any, send: Any) -> None:
    """The ASGI app."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    while (await receive()).get("more_body"):
        pass
    kind, *numbers = scope["path"].strip("/").split("/")
    await send(START)
    more = {"type": "http.response.body", "body": EVENT, "more_body": True}
    if kind == "burst":
        events, batch = int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 1
        more["body"] = EVENT * batch
        for _ in range(events // batch):
            await send(more)
    elif kind == "paced":
        for _ in range(int(numbers[0])):
            await send(more)
            await trio.sleep(int(numbers[1]) / 1000)
    elif kind == "hold":
        await send(more)
        while (await receive())["type"] != "http.disconnect":
            pass
        return
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def listening_socket() -> socket.socket:
    """A socket of 4,096 waiting connections on a free port."""
    return socket.create_server(("127.0.0.1", 0), backlog=4096)


async def _serve_as_the_front_is() -> None:
    limits = Limits()
    listeners = await listen("127.0.0.1", 0, limits)
    print("port", listeners[0].socket.getsockname()[1], flush=True)
    await serve_as_the_front_is(
        app, listeners, limits, stop=trio.sleep_forever, drain=trio.sleep_forever
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--fronts-server", action="store_true", help="the same app on the front's own server"
    )
    if parser.parse_args().fronts_server:
        trio.run(_serve_as_the_front_is)
        return
    listener = listening_socket()
    print("port", listener.getsockname()[1], flush=True)
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.errorlog = None
    trio.run(partial(serve, app, config))


if __name__ == "__main__":
    main()
