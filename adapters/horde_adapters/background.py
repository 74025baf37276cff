"""A simulated Horde, or a front, in a thread of its own: for tests of any kind of code.

Whatever the test's own code runs on (no loop at all, asyncio, trio), what is here is called as
plain functions, which wait for the server's thread for an instant.
"""

import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

import attrs
import orjson
import trio

from horde_adapters.serve import Address, Running, run_front
from horde_adapters.settings import Limits, Settings
from horde_adapters.simulate import run_simulator
from horde_simulator import document
from horde_simulator.call import Answer, Call
from horde_simulator.scenario import Scenario
from horde_simulator.world import World

START_TIME = 30.0
"""Seconds that a start may take on a busy machine."""
CALL_TIME = 30.0
"""Seconds that the server's thread may take for one step: only a fault of ours takes longer."""

Result = TypeVar("Result")
Run = Callable[..., Awaitable[None]]


class Background:
    """Runs one of `horde_adapters.serve`'s in a thread, as long as the `with` block lasts."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._main, daemon=True)
        self._token: trio.lowlevel.TrioToken
        self._stop: trio.Event
        self._error: BaseException | None = None
        self.running = Running(None, None)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._started.wait(START_TIME):
            raise TimeoutError("the server didn't start")
        if self._error is not None:
            raise self._error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(trio.RunFinishedError):  # it has failed by itself
            self._token.run_sync_soon(self._stop.set)
        self._thread.join()
        if self._error is not None and error is None:
            raise self._error

    def call(self, function: Callable[[], Result]) -> Result:
        """Runs a function in the server's thread, between two of its steps.

        Raises what the function raises, and trio.RunFinishedError after the server's end.
        """
        # Not trio.from_thread: that refuses to be called from a thread with a trio loop of its own.
        future: Future[Result] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        self._token.run_sync_soon(run)
        return future.result(CALL_TIME)

    def _main(self) -> None:
        try:
            trio.run(self._serve)
        except BaseException as error:
            self._error = error
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._stop = trio.Event()
        await self._run(until=self._stop.wait, ready=self._ready)

    def _ready(self, running: Running) -> None:
        self.running = running
        self._started.set()


class SimulatedHordeServer(Background):
    """A simulated Horde on a free port, with its world at hand."""

    api_key = "rich-key"
    """A key with kudos enough for any test (that of the shipped scenarios)."""

    def __init__(self, scenario: str | Scenario = "default", *, seed: int | None = None) -> None:
        if isinstance(scenario, str):
            scenario = document.shipped_scenario(scenario)
        self.world = World(scenario, seed=seed)
        """Only to be touched by a function given to `call`."""
        super().__init__(partial(run_simulator, Address(), self.world, Limits()))

    def __repr__(self) -> str:
        """What pytest prints of a fixture when a test fails."""
        return f"<SimulatedHordeServer {self.url}>"

    @property
    def url(self) -> str:
        """The base URL, with `/api/v2`."""
        return str(self.running.horde)

    def fail(
        self,
        where: str,
        *,
        times: int | None = 1,
        chance: float | None = None,
        model: str | None = None,
        worker: str | None = None,
        after: float | None = None,
        **options: Any,
    ) -> None:
        """Plans a fault that strikes once, `times` times, or at each occasion with a `chance`.

        Args:
            where: a row of the faults' table, such as `status.error_500`.
            times: None with no chance either: always.
            chance: 0 to 1, in place of `times`.
            model: the only one that it strikes at. `worker` likewise, by name or id.
            worker: see `model`.
            after: the posts, polls, seconds or occasions that it spares.
            options: what the fault itself takes, such as `seconds`.

        Raises:
            ValueError: there is no such fault, or it takes no such option.
        """
        if chance is not None and times not in (1, None):
            raise ValueError("a fault strikes some times or by chance, not both")
        given = {
            "where": where,
            "times": None if chance is not None else times,
            "chance": chance,
            "model": model,
            "worker": worker,
            "after": after,
            **options,
        }
        self._post("/_sim/faults", given)

    def add_worker(self, **profile: Any) -> str:
        """Adds a built-in worker (the keys of a scenario's worker) and returns its id.

        Raises:
            ValueError: the profile is wrong, or there is a worker of that name.
        """
        return str(self._post("/_sim/workers", profile)["id"])

    def verdict(self) -> Mapping[str, Any]:
        """What the Horde thinks of its client: `ok` and `findings`."""
        return self._handle(Call("GET", "/_sim/verdict"))

    def journal(self) -> list[Mapping[str, Any]]:
        """The last calls that the Horde was asked."""
        calls: list[Mapping[str, Any]] = self._handle(Call("GET", "/_sim/journal"))["calls"]
        return calls

    def _post(self, path: str, keys: Mapping[str, Any]) -> Mapping[str, Any]:
        said = {name: value for name, value in keys.items() if value is not None}
        return self._handle(Call("POST", path, body=orjson.dumps(said)))

    def _handle(self, call: Call) -> Mapping[str, Any]:
        answer = self.call(partial(self.world.handle, call))
        assert isinstance(answer, Answer)
        content: Mapping[str, Any] = orjson.loads(answer.body)
        if answer.status >= 400:
            raise ValueError(content["message"])
        return content


class FrontServer(Background):
    """A front on a free port, for any Horde."""

    def __init__(
        self, horde_url: str, *, settings: Settings | None = None, limits: Limits | None = None
    ) -> None:
        settings = attrs.evolve(settings or Settings(), horde_url=horde_url)
        super().__init__(partial(run_front, Address(), settings, limits or Limits()))

    def __repr__(self) -> str:
        return f"<FrontServer {self.base_url}>"

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return str(self.running.front)
