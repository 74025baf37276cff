"""What came of one request: counted once in the metrics, and told in one line of the log."""

import uuid

import trio

from horde_adapters import log
from horde_adapters.drive import Drive
from horde_adapters.metrics import LEFT, OK, Metrics
from horde_adapters.phases import Phase
from horde_adapters.routes import Route
from horde_core.errors import Refusal

_UNTOLD = (Route.HEALTH, Route.READY, Route.METRICS)
"""Asked every few seconds by machines: counted, and logged only when refused."""


class Account:
    """One request's. `id` is random, until the Horde gives one: then it is the Horde's."""

    def __init__(self, metrics: Metrics) -> None:
        self.id = uuid.uuid4().hex
        self.route: Route | None = None
        """Stays None for a path that leads nowhere, a preflight and the page's files."""
        self._metrics = metrics
        self._began = trio.current_time()
        self._code: str | None = None
        self._status: int | None = None
        self._fields: dict[str, object] = {}

    def refused(self, refusal: Refusal) -> None:
        """The client is told so."""
        self._code, self._status = refusal.code, refusal.status

    def left(self) -> None:
        """The client went away before its request was whole."""
        self._code = LEFT

    def chatted(self, drive: Drive) -> None:
        """What a chat request came to, however it ended."""
        exchange, phases = drive.exchange, drive.phases
        phases.end(trio.current_time())
        status, refusal = exchange.status, exchange.response.refusal
        stream = exchange.request.stream
        self.id = exchange.response.trace_id
        if drive.failed:
            self._code = "internal_error"
        elif drive.client_left:
            self._code = LEFT
        elif refusal is not None:
            self.refused(refusal)
        first = None if drive.first_byte_at is None else drive.first_byte_at - drive.began
        total = trio.current_time() - drive.began
        self._metrics.chatted(stream=stream, first_byte=first, seconds=total)
        if status is not None:
            self._metrics.kudos.inc(max(0.0, status.kudos))
        served = status.generations[0] if status is not None and status.generations else None
        self._fields = {
            "stream": stream,
            "first_byte": first,
            **{phase.value: phases.seconds.get(phase) for phase in Phase},
            "worker": None if served is None else served.worker_name,
            "model": None if served is None else served.model,
            "kudos": None if status is None else status.kudos,
        }

    def end(self) -> None:
        """Counts and tells it."""
        route = "none" if self.route is None else self.route.name.lower()
        self._metrics.answered(route, self._code)
        if self._code is None and (self.route is None or self.route in _UNTOLD):
            return
        log.line(
            "request",
            id=self.id,
            route=route,
            code=self._code or OK,
            status=self._status,
            **self._fields,
            total=trio.current_time() - self._began,
        )
