"""Several processes that serve one address, for machines with more than one core.

The parent listens, and each worker accepts from the same sockets: who is busy accepts less.  A
worker that dies is replaced.  The parent tells its workers over a pipe to end, so that they end
with it however it ends; a Ctrl-C or a hang-up, which a terminal sends to all of them, is obeyed
once.

Metrics are summed over all workers by `prometheus_client`, in a folder that the parent makes.
"""

import gc
import os
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

import attrs
import trio
from prometheus_client import multiprocess

from horde_adapters import log
from horde_adapters.app import Front
from horde_adapters.listener import authority, listen, raise_descriptor_limit
from horde_adapters.metrics import SHARED_FOLDER, Metrics
from horde_adapters.metrics_app import MetricsApp
from horde_adapters.serve import Address, CannotStart, Running, require_horde, serving, serving_on
from horde_adapters.settings import Deployment

PAUSE = 1.0
"""Seconds before a worker that died is replaced."""

_CONTEXT = get_context("spawn")  # nothing of the parent's loop is to live on in a worker
_READY, _STOP = b"ready", b"stop"


async def run_workers(
    deployment: Deployment,
    *,
    until: Callable[[], Awaitable[None]],
    ready: Callable[[Running], None],
    metrics_at: Address | None = None,
) -> None:
    """Runs as many fronts as the settings say. Raises CannotStart, PortTaken."""
    await require_horde(deployment.settings.horde_url)
    raise_descriptor_limit()
    listeners = await listen(deployment.host, deployment.port, deployment.limits)
    place = None
    async with AsyncExitStack() as stack:
        stack.enter_context(_shared_metrics())
        if metrics_at is not None:
            apart = MetricsApp(Metrics())
            limits = deployment.limits
            place = await stack.enter_async_context(serving(apart, metrics_at, limits, apart.drain))
        sockets = [_as_inherited(listener) for listener in listeners]
        crew = [_Worker(deployment, sockets) for _ in range(deployment.settings.workers)]
        async with trio.open_nursery() as nursery:
            for worker in crew:
                await nursery.start(worker.run)
            url = f"http://{authority(listeners)}/v1"
            ready(Running(url, None, place and f"{place}/metrics"))
            await until()
            for worker in crew:
                worker.stop()


class _Worker:
    """One worker's place, whatever process fills it."""

    def __init__(self, deployment: Deployment, sockets: Sequence[socket.socket]) -> None:
        self._deployment = deployment
        self._sockets = sockets
        self._is_stopping = False
        self._pipe: Connection

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Keeps a process running until `stop`. Raises CannotStart when the first one fails."""
        has_started = False
        while not self._is_stopping:
            process, self._pipe = self._spawn()
            try:
                if await self._is_ready(process) and not has_started:
                    has_started = True
                    task_status.started()
                await trio.lowlevel.wait_readable(process.sentinel)
            finally:
                process.kill()  # the parent ends at once; otherwise it has ended by itself
                process.join()
                multiprocess.mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
                self._pipe.close()
            if not has_started:
                raise CannotStart("a worker process ended before it was ready")
            if not self._is_stopping:
                log.LOGGER.error("worker died", extra={"fields": {"status": process.exitcode}})
                await trio.sleep(PAUSE)

    def stop(self) -> None:
        """Asks for a graceful end."""
        self._is_stopping = True
        try:
            self._pipe.send_bytes(_STOP)
        except OSError:  # it has just died, or is between two processes
            return

    def _spawn(self) -> tuple[SpawnProcess, Connection]:
        ours, theirs = _CONTEXT.Pipe()
        arguments = (self._deployment, self._sockets, theirs)
        process = _CONTEXT.Process(target=work, args=arguments, daemon=True)
        process.start()
        theirs.close()
        return process, ours

    async def _is_ready(self, process: SpawnProcess) -> bool:
        """Waits for the worker's word; False when it ended without one."""
        await trio.lowlevel.wait_readable(self._pipe.fileno())
        try:
            return self._pipe.recv_bytes() == _READY
        except EOFError:
            await trio.lowlevel.wait_readable(process.sentinel)
            return False


def work(deployment: Deployment, sockets: Sequence[socket.socket], pipe: Connection) -> None:
    """A worker's main function."""
    gc.freeze()  # What is imported stays; collections needn't look through it (see `cli`).
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    log.log_to_stderr(deployment.log_format, deployment.log_level)
    raise_descriptor_limit()
    trio.run(_serve, deployment, sockets, pipe)


async def _serve(
    deployment: Deployment, sockets: Sequence[socket.socket], pipe: Connection
) -> None:
    listeners = [
        trio.SocketListener(trio.socket.from_stdlib_socket(inherited)) for inherited in sockets
    ]
    front = Front(deployment.settings)
    limits = attrs.evolve(deployment.limits, largest_invited=deployment.settings.body_cap)
    stop = trio.Event()
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_stop_at_signal, signals, stop)
            nursery.start_soon(_stop_when_told, pipe, stop)
            async with serving_on(listeners, front, limits, front.drain):
                pipe.send_bytes(_READY)
                await stop.wait()
            nursery.cancel_scope.cancel()


async def _stop_at_signal(signals: AsyncIterator[int], stop: trio.Event) -> None:
    async for _ in signals:
        stop.set()


async def _stop_when_told(pipe: Connection, stop: trio.Event) -> None:
    """The parent says so, or is gone."""
    await trio.lowlevel.wait_readable(pipe.fileno())
    stop.set()


def _as_inherited(listener: trio.SocketListener) -> socket.socket:
    """The listening socket as multiprocessing hands it on."""
    return socket.socket(fileno=os.dup(listener.socket.fileno()))


@contextmanager
def _shared_metrics() -> Iterator[None]:
    """A folder for the workers' metrics, unless the operator has named one."""
    if SHARED_FOLDER in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="horde-front-") as folder:
        os.environ[SHARED_FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[SHARED_FOLDER]
