"""`/metrics` at an address of its own, for deployments whose front is open to the world."""

from horde_adapters.asgi import Receive, Scope, Send, send_answer
from horde_adapters.metrics import CONTENT_TYPE, Metrics


class MetricsApp:
    """An ASGI app of one path."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one ASGI scope."""
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
        elif scope["type"] == "http":
            await self._answer(scope, send)
        else:
            await send({"type": "websocket.close", "code": 1003})

    async def drain(self) -> None:
        """Nothing here is worth waiting for."""

    async def _answer(self, scope: Scope, send: Send) -> None:
        if scope["path"] != "/metrics":
            await send_answer(send, 404, ((b"content-type", b"text/plain"),), b"try /metrics\n")
        elif scope["method"] not in ("GET", "HEAD"):
            await send_answer(send, 405, ((b"allow", b"GET, HEAD"),), b"")
        else:
            body = self._metrics.exposition()
            await send_answer(send, 200, ((b"content-type", CONTENT_TYPE),), body)
