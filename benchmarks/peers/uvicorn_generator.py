"""The events of the bare hypercorn server, made by uvicorn on uvloop and h11.

python benchmarks/peers/uvicorn_generator.py --port 4002 --event 'data: {}'

`/burst/N` sends N events one after the other, `/paced/N/GAP` with a sleep of GAP milliseconds after
each, `/hold` one and then nothing.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")],
}


class Generator:
    """The ASGI app."""

    def __init__(self, event: bytes) -> None:
        self._more = {"type": "http.response.body", "body": event, "more_body": True}

    async def __call__(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        """Serves a request."""
        while (await receive()).get("more_body"):
            pass
        kind, *numbers = scope["path"].strip("/").split("/")
        await send(START)
        if kind == "hold":
            await send(self._more)
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        for _ in range(int(numbers[0])):
            await send(self._more)
            if kind == "paced":
                await asyncio.sleep(int(numbers[1]) / 1000)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--event", required=True)
    options = parser.parse_args()
    uvicorn.run(
        Generator(f"{options.event}\n\n".encode()),
        port=options.port,
        http="h11",
        loop="uvloop",
        log_level="error",
        lifespan="off",
        backlog=4096,
    )


if __name__ == "__main__":
    main()
