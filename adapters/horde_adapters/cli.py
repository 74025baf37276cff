"""The command `horde-front`: one line on stdout when ready, all else on stderr.

Status 0 after SIGTERM, Ctrl-C or the demo's end; 2, with one line that says why, when it can't
start.
"""

import argparse
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import trio

from horde_adapters import demo, log
from horde_adapters.listener import PortTaken
from horde_adapters.serve import (
    Address,
    CannotStart,
    Running,
    run_both,
    run_front,
    run_simulator,
)
from horde_adapters.settings import DEFAULT_HORDE, Limits, Settings
from horde_simulator.document import SHIPPED, parse_scenario, shipped_scenario
from horde_simulator.readers import DocumentError
from horde_simulator.scenario import Scenario
from horde_simulator.world import World

Start = Callable[..., Awaitable[None]]

_EPILOG = """\
first steps:
  horde-front demo                    see a chat, nothing to set up
  horde-front dev                     a front and a Horde to develop against, offline
  curl -N localhost:8000/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{"model": "koboldcpp/Qwen3-8B", "stream": true,
         "messages": [{"role": "user", "content": "Hi"}]}'
"""

_SCENARIO_HELP = f"a TOML file, or one of {', '.join(SHIPPED)} (default: default)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the process's exit status."""
    options = _parser().parse_args(arguments)
    log.log_to_stderr()
    status = 0
    try:
        trio.run(options.run, options)
    except* (CannotStart, PortTaken, DocumentError) as group:
        print(f"horde-front: {_one_line(_first_leaf(group))}", file=sys.stderr)
        status = 2
    except* demo.DemoFailed as group:
        print(f"horde-front: {_one_line(_first_leaf(group))}", file=sys.stderr)
        status = 1
    except* KeyboardInterrupt:
        status = 0
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="horde-front",
        description="OpenAI chat completions over the AI Horde, "
        "with a simulated Horde to build and test against.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    command = commands.add_parser(
        "demo", help="chat once with a simulated Horde and show what happens (some 15 seconds)"
    )
    command.set_defaults(run=_demo)

    command = commands.add_parser(
        "dev", help="run the front on a simulated Horde", formatter_class=_Defaults
    )
    _add_address(command, port=8000)
    command.add_argument("--horde-port", type=_port, default=8001, help="the Horde's port")
    _add_scenario(command)
    command.set_defaults(run=_dev)

    command = commands.add_parser(
        "simulate", help="run a simulated Horde alone", formatter_class=_Defaults
    )
    _add_address(command, port=8001)
    _add_scenario(command)
    command.set_defaults(run=_simulate)

    command = commands.add_parser(
        "serve", help="run the front for any Horde", formatter_class=_Defaults
    )
    _add_address(command, port=8000)
    command.add_argument(
        "--horde",
        metavar="URL",
        default=DEFAULT_HORDE,
        help="the Horde's URL, with or without /api/v2",
    )
    command.add_argument("--playground", action="store_true", help="serve the chat page at /")
    command.set_defaults(run=_serve)
    return parser


class _Defaults(argparse.ArgumentDefaultsHelpFormatter):
    """Says each option's default, where there is one."""


def _add_address(command: argparse.ArgumentParser, *, port: int) -> None:
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    command.add_argument("--port", type=_port, default=port, help="0 takes a free one")


def _add_scenario(command: argparse.ArgumentParser) -> None:
    command.add_argument("--scenario", default="default", metavar="NAME|FILE", help=_SCENARIO_HELP)
    command.add_argument(
        "--seed", type=int, default=argparse.SUPPRESS, help="in place of the scenario's own"
    )


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port: 0 to 65535")
    return port


async def _demo(_: argparse.Namespace) -> None:
    await demo.show()


async def _dev(options: argparse.Namespace) -> None:
    front = Address(options.host, options.port)
    horde = Address(options.host, options.horde_port)
    settings = Settings(playground=True)
    await _run_until_signal(partial(run_both, front, horde, _world(options), settings, Limits()))


async def _simulate(options: argparse.Namespace) -> None:
    address = Address(options.host, options.port)
    await _run_until_signal(partial(run_simulator, address, _world(options), Limits()))


async def _serve(options: argparse.Namespace) -> None:
    address = Address(options.host, options.port)
    settings = Settings(horde_url=options.horde, playground=options.playground)
    await _run_until_signal(partial(run_front, address, settings, Limits()))


def _world(options: argparse.Namespace) -> World:
    return World(_scenario(options.scenario), seed=getattr(options, "seed", None))


def _scenario(name: str) -> Scenario:
    path = Path(name)
    if name in SHIPPED or not (path.suffix or path.exists()):
        return shipped_scenario(name)
    try:
        return parse_scenario(path.read_text(encoding="utf-8"), source=name)
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"can't read the scenario {name}: {error}") from error


async def _run_until_signal(start: Start) -> None:
    """The first SIGTERM or Ctrl-C asks for a graceful end, a second one for an end at once."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with trio.open_nursery() as nursery:
            stop = trio.Event()
            nursery.start_soon(_obey, signals, stop, nursery.cancel_scope)
            await start(until=stop.wait, ready=_announce)
            nursery.cancel_scope.cancel()


async def _obey(signals: AsyncIterator[int], stop: trio.Event, scope: trio.CancelScope) -> None:
    async for _ in signals:
        if stop.is_set():
            scope.cancel()
        stop.set()


def _announce(running: Running) -> None:
    print(running.line(), flush=True)


def _first_leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _one_line(error: BaseException) -> str:
    return "; ".join(str(error).split("\n"))
