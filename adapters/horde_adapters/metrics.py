"""What Prometheus is told. Every label has a closed set of values, whatever clients send.

With `PROMETHEUS_MULTIPROC_DIR` set, as `prometheus_client` reads it when it is first imported, the
processes that share the folder are summed, and gauges of dead ones are left out.
"""

import os
from collections.abc import Iterable
from functools import cache
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
    multiprocess,
)

from horde_adapters.version import VERSION
from horde_core.errors import FRONT_CODES

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

OK = "ok"
LEFT = "left"
HORDE_REFUSAL = "horde_refusal"
"""In place of a return code of the Horde's, which is the Horde's text."""

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_CALL_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 75)
_REQUEST_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640)


class Metrics:
    """One process's metrics, in a registry of their own."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        # Finding a metric's child costs more than counting with it, and their number is bounded.
        self._child = cache(_child)
        self.requests = Counter(
            "horde_front_requests",
            "Requests answered, by route and by how they ended: ok, an error code, "
            "horde_refusal for a return code of the Horde's, or left by the client.",
            ("route", "code"),
            registry=registry,
        )
        self.in_flight = Gauge(
            "horde_front_chat_in_flight",
            "Chat requests that are open, by phase.",
            ("phase",),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.streams_in_flight = Gauge(
            "horde_front_streams_in_flight",
            "Chat requests that are open and streamed: what a deployment scales by.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.phase_seconds = Histogram(
            "horde_front_phase_seconds",
            "How long chat requests were in each phase; 'queued' is the wait for a worker.",
            ("phase",),
            registry=registry,
            buckets=_REQUEST_BUCKETS,
        )
        self.first_byte_seconds = Histogram(
            "horde_front_first_byte_seconds",
            "From a chat request's arrival to the first byte of its answer.",
            ("stream",),
            registry=registry,
            buckets=_REQUEST_BUCKETS,
        )
        self.chat_seconds = Histogram(
            "horde_front_chat_seconds",
            "From a chat request's arrival to its end, the cancelling of its job included.",
            ("stream",),
            registry=registry,
            buckets=_REQUEST_BUCKETS,
        )
        self.chunks = Counter(
            "horde_front_stream_chunks",
            "Events sent in streams, keepalive comments excepted.",
            registry=registry,
        )
        self.kudos = Counter(
            "horde_front_kudos", "What the Horde charged for chat requests.", registry=registry
        )
        self.horde_calls = Counter(
            "horde_front_horde_calls",
            "Calls to the Horde by what they ask (submit, quote, status: a poll, cancel, workers, "
            "models) and by outcome: the status class, 429, unopened: no connection, or lost: no "
            "whole answer.",
            ("call", "outcome"),
            registry=registry,
        )
        self.horde_call_seconds = Histogram(
            "horde_front_horde_call_seconds",
            "How long calls to the Horde took.",
            ("call",),
            registry=registry,
            buckets=_CALL_BUCKETS,
        )
        self.dropped_parameters = Counter(
            "horde_front_dropped_parameters",
            "Request keys dropped because the deployment says so (drop_parameters).",
            ("parameter",),
            registry=registry,
        )
        self.build_info = Gauge(
            "horde_front_build_info",
            "1, with the front's version.",
            ("version",),
            registry=registry,
            multiprocess_mode="max",
        )
        self.build_info.labels(VERSION).set(1)
        if SHARED_FOLDER not in os.environ:
            ProcessCollector(registry=registry)

    def answered(self, route: str, code: str | None) -> None:
        """Counts a request by the code of its refusal, None for none, or `LEFT`."""
        if code is None:
            code = OK
        elif code != LEFT and code not in FRONT_CODES:
            code = HORDE_REFUSAL
        self._child(self.requests, route, code).inc()

    def dropped(self, parameters: Iterable[str]) -> None:
        """Counts keys that the deployment drops: its own list bounds the label."""
        for parameter in parameters:
            self._child(self.dropped_parameters, parameter).inc()

    def called(self, call: str, outcome: str, seconds: float) -> None:
        """Counts a call to the Horde."""
        self._child(self.horde_calls, call, outcome).inc()
        self._child(self.horde_call_seconds, call).observe(seconds)

    def entered(self, phase: str) -> None:
        """A chat request is in this phase now."""
        self._child(self.in_flight, phase).inc()

    def went_on(self, phase: str, seconds: float) -> None:
        """It is so no longer, after so long."""
        self._child(self.in_flight, phase).dec()
        self._child(self.phase_seconds, phase).observe(seconds)

    def chatted(self, *, stream: bool, first_byte: float | None, seconds: float) -> None:
        """A chat request is over: when its first byte went out, if one did, and what it took."""
        kind = "true" if stream else "false"
        if first_byte is not None:
            self._child(self.first_byte_seconds, kind).observe(first_byte)
        self._child(self.chat_seconds, kind).observe(seconds)

    def exposition(self) -> bytes:
        """All of it in Prometheus' text format."""
        registry = self._registry
        if SHARED_FOLDER in os.environ:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def _child(metric: Any, *labels: str) -> Any:
    return metric.labels(*labels)
