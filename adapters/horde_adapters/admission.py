"""Who may come in: the bound of open requests, and the way out at the end of the process."""

from collections.abc import Iterator
from contextlib import contextmanager

import trio

from horde_adapters.drive import Drive
from horde_core.errors import refuse
from horde_core.events import Draining

ROUND = 5.0
"""Seconds between two rounds of `keep_time`."""

LAST_MOMENT = 0.6
"""Seconds after the grace in which errors are told and jobs cancelled."""


class Admission:
    """Counts open chat requests, at most `most`."""

    def __init__(self, *, most: int) -> None:
        self.is_draining = False
        self._most = most
        self._open = 0
        self._drives: set[Drive] = set()
        self._streams = 0
        self._is_closed = False
        self._empty = trio.Event()

    @property
    def open_requests(self) -> int:
        """How many chat requests are open."""
        return self._open

    def open_streams(self) -> int:
        """How many streams are open, which sets their pace."""
        return self._streams

    @contextmanager
    def request(self) -> Iterator[None]:
        """A place for one chat request. Raises the Refusal `draining` or `overloaded`."""
        self.require_open()
        if self._open >= self._most:
            raise refuse("overloaded", "The front has as many open requests as it may have.")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._empty.set()

    @contextmanager
    def drive(self, drive: Drive) -> Iterator[None]:
        """While `drive` runs it is known, so that the end of the process can be told to it."""
        if self._is_closed:
            raise refuse("draining", "The front is shutting down.")
        streams = int(drive.exchange.request.is_live)
        self._drives.add(drive)
        self._streams += streams
        try:
            yield
        finally:
            self._drives.discard(drive)
            self._streams -= streams

    def require_open(self) -> None:
        """Raises `draining` once the process is about to end."""
        if self.is_draining:
            raise refuse("draining", "The front is shutting down.")

    async def keep_time(self) -> None:
        """Goes round the drives for ever, for those whose writer is held up in a send."""
        while True:
            await trio.sleep(ROUND)
            for drive in tuple(self._drives):
                drive.tell_time()

    async def drain(self, grace: float) -> None:
        """No new requests; those open get `grace` seconds, then each is ended, job and all."""
        self.is_draining = True
        with trio.move_on_after(grace):
            await self._wait_until_empty()
        self._is_closed = True
        for drive in tuple(self._drives):
            drive.deliver(Draining())
        with trio.move_on_after(LAST_MOMENT):
            await self._wait_until_empty()
        for drive in tuple(self._drives):
            drive.abort()

    async def _wait_until_empty(self) -> None:
        while self._open:
            self._empty = trio.Event()
            await self._empty.wait()
