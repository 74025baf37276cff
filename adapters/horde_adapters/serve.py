"""Starting and stopping a front, or any other of our apps, in this process."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import attrs
import trio

from horde_adapters.app import Front
from horde_adapters.horde import HordeClient, InvalidUrl, Lost
from horde_adapters.listener import authority, listen, raise_descriptor_limit
from horde_adapters.metrics import Metrics
from horde_adapters.metrics_app import MetricsApp
from horde_adapters.server import App, serve
from horde_adapters.settings import Limits, Settings


class CommandFailed(Exception):  # noqa: N818 - what happened
    """Why the command ends, in one line for an operator, and with which status."""

    status = 2


class CannotStart(CommandFailed):
    """Something that is needed isn't there."""


@attrs.frozen(eq=False, repr=False)
class Address:
    """Where to listen; port 0 takes a free one."""

    host: str = "127.0.0.1"
    port: int = 0


@attrs.frozen(eq=False, repr=False)
class Running:
    """What runs now, and where: base URLs as clients take them."""

    front: str | None
    horde: str | None
    metrics: str | None = None

    def line(self) -> str:
        """The one line that says so."""
        parts = [("front", self.front), ("horde", self.horde), ("metrics", self.metrics)]
        return " ".join(["ready", *(f"{name}={url}" for name, url in parts if url)])


async def run_front(
    address: Address,
    settings: Settings,
    limits: Limits,
    *,
    until: Callable[[], Awaitable[None]],
    ready: Callable[[Running], None],
    metrics_at: Address | None = None,
) -> None:
    """Runs the front for any Horde, its metrics at an address of their own when there is one.

    Raises CannotStart, PortTaken.
    """
    await require_horde(settings.horde_url)
    metrics = Metrics()
    place = None
    async with AsyncExitStack() as stack:
        if metrics_at is not None:
            apart = MetricsApp(metrics)
            place = await stack.enter_async_context(serving(apart, metrics_at, limits, apart.drain))
        url = await stack.enter_async_context(serving_front(address, settings, limits, metrics))
        ready(Running(url, None, place and f"{place}/metrics"))
        await until()


@asynccontextmanager
async def serving_front(
    address: Address, settings: Settings, limits: Limits, metrics: Metrics | None = None
) -> AsyncIterator[str]:
    """Serves a front as long as the block runs, at the URL that it gets."""
    front = Front(settings, metrics=metrics)
    limits = attrs.evolve(limits, largest_invited=settings.body_cap)
    async with serving(front, address, limits, front.drain) as url:
        yield f"{url}/v1"


@asynccontextmanager
async def serving(
    app: App, address: Address, limits: Limits, drain: Callable[[], Awaitable[None]]
) -> AsyncIterator[str]:
    """Serves `app` as long as the block runs, and then until what is open has ended."""
    raise_descriptor_limit()
    listeners = await listen(address.host, address.port, limits)
    async with serving_on(listeners, app, limits, drain):
        yield f"http://{authority(listeners)}"


@asynccontextmanager
async def serving_on(
    listeners: Sequence[trio.SocketListener],
    app: App,
    limits: Limits,
    drain: Callable[[], Awaitable[None]],
) -> AsyncIterator[None]:
    """The same, on sockets that listen already."""
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(serve, app, listeners, limits, stop=stop.wait, drain=drain))
        yield
        stop.set()


async def require_horde(url: str) -> None:
    """Raises CannotStart unless the Horde answers."""
    try:
        horde = HordeClient(url, agent="horde-oai-front")
        await horde.pool()
        await horde.aclose()
    except InvalidUrl as error:
        raise CannotStart(str(error)) from error
    except Lost as lost:
        raise CannotStart(f"the Horde at {url} can't be reached: {lost.reason}") from lost
