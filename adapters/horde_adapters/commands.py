"""The commands of `horde-front`: one line on stdout when ready, all else on stderr.

Status 0 after SIGTERM, Ctrl-C or the demo's end; 2, with a line for each reason, when it can't
start.
"""

import argparse
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

import horde_simulator
from horde_adapters import bench, log
from horde_adapters.configuration import WrongSetting, gather
from horde_adapters.listener import PortTaken
from horde_adapters.serve import Address, CommandFailed, Running, run_front
from horde_adapters.setting import FLAG, Setting
from horde_adapters.settings import Limits, Settings
from horde_adapters.settings_table import SECTIONS, SETTINGS, default
from horde_adapters.version import VERSION

if TYPE_CHECKING:
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


def run(arguments: Sequence[str] | None) -> int:
    """Runs a command; returns the process's exit status."""
    options = _parser().parse_args(arguments)
    if options.run == bench.run:
        return bench.run(options)
    log.log_to_stderr()
    status = 0
    try:
        trio.run(options.run, options)
    except* (CommandFailed, PortTaken, WrongSetting) as group:
        error = _first_leaf(group)
        for reason in str(error).splitlines():
            print(f"horde-front: {reason}", file=sys.stderr)
        status = error.status if isinstance(error, CommandFailed) else 2
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
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="command")

    command = _add_command(
        commands, "demo", "chat once with a simulated Horde and show what happens (some 15 seconds)"
    )
    command.set_defaults(run=_demo)

    command = _add_command(commands, "dev", "run the front on a simulated Horde")
    _add_address(command, port=8000)
    command.add_argument("--horde-port", type=_port, default=8001, help="the Horde's port")
    _add_scenario(command)
    command.set_defaults(run=_dev)

    command = _add_command(commands, "simulate", "run a simulated Horde alone")
    _add_address(command, port=8001)
    _add_scenario(command)
    command.set_defaults(run=_simulate)

    command = commands.add_parser(
        "serve",
        help="run the front for any Horde",
        description="Each setting is a flag here, else a variable HORDE_FRONT_… of the "
        "environment, else a key of the TOML file.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    command.add_argument("--config", metavar="FILE", help="a TOML file of settings")
    command.add_argument(
        "--print-config", action="store_true", help="show each setting and its origin, and end"
    )
    for section, settings in SECTIONS.items():
        group = command.add_argument_group(section)
        for setting in settings:
            _add_setting(group, setting)
    command.set_defaults(run=_serve)

    command = _add_command(
        commands, "bench", "measure what the front costs on this machine (some minutes; Linux)"
    )
    bench.add_options(command)
    command.set_defaults(run=bench.run)
    return parser


def _add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, what: str
) -> argparse.ArgumentParser:
    """Without abbreviated flags: those that are misspelt are refused, as settings are."""
    return commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        formatter_class=_Defaults,
        allow_abbrev=False,
    )


class _Defaults(argparse.ArgumentDefaultsHelpFormatter):
    """Says each option's default, where there is one."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default is None else super()._get_help_string(action)


def _add_address(command: argparse.ArgumentParser, *, port: int) -> None:
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    command.add_argument("--port", type=_port, default=port, help="0 takes a free one")


def _add_setting(group: argparse._ArgumentGroup, setting: Setting) -> None:
    if setting.secret:
        return
    meaning = f"{setting.meaning} (default: {_shown_default(setting)})".replace("%", "%%")
    if setting.kind is FLAG:
        group.add_argument(
            setting.flag,
            nargs="?",
            const="true",
            metavar="true|false",
            dest=setting.name,
            help=meaning,
        )
    else:
        metavar = setting.name.rpartition("_")[2].upper()
        group.add_argument(setting.flag, dest=setting.name, metavar=metavar, help=meaning)


def _shown_default(setting: Setting) -> str:
    value = default(setting)
    return "none" if value in ((), "") else str(value).lower()


def _add_scenario(command: argparse.ArgumentParser) -> None:
    folder = Path(horde_simulator.__file__).with_name("scenarios")
    shipped = sorted(file.stem for file in folder.iterdir() if file.suffix == ".toml")
    command.add_argument(
        "--scenario",
        default="default",
        metavar="NAME|FILE",
        help=f"a TOML file, or one of {', '.join(shipped)}",
    )
    command.add_argument(
        "--seed", type=int, default=argparse.SUPPRESS, help="in place of the scenario's own"
    )


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port: must be 0 to 65535")
    return int(text)


# The modules of the simulator are loaded only by the commands that run one.


async def _demo(_: argparse.Namespace) -> None:
    from horde_adapters import demo

    await demo.show()


async def _dev(options: argparse.Namespace) -> None:
    from horde_adapters.simulate import run_both

    world = _new_world(options)
    front = Address(options.host, options.port)
    horde = Address(options.host, options.horde_port)
    settings = Settings(playground=True)
    await _run_until_signal(partial(run_both, front, horde, world, settings, Limits()))


async def _simulate(options: argparse.Namespace) -> None:
    from horde_adapters.simulate import run_simulator

    world = _new_world(options)
    address = Address(options.host, options.port)
    await _run_until_signal(partial(run_simulator, address, world, Limits()))


def _new_world(options: argparse.Namespace) -> "World":
    """The scenario's world, with a word of warning where it would seem dead. Raises CannotStart."""
    from horde_adapters.simulate import new_world

    world = new_world(options.scenario, getattr(options, "seed", None))
    if world.scenario.clock == "manual":
        print(
            "horde-front: this scenario's clock is manual: no worker works until "
            "POST /_sim/advance moves it",
            file=sys.stderr,
        )
    return world


async def _serve(options: argparse.Namespace) -> None:
    given = {
        name: value for name, value in vars(options).items() if name == "config" or name in SETTINGS
    }
    configuration = gather(given, os.environ)
    if getattr(options, "print_config", False):
        print(configuration.page(), end="")
        return
    deployment = configuration.deployment
    log.log_to_stderr(deployment.log_format, deployment.log_level)
    metrics_at = _metrics_address(deployment.metrics)
    if deployment.settings.workers > 1:
        from horde_adapters.workers import run_workers

        await _run_until_signal(partial(run_workers, deployment, metrics_at=metrics_at))
        return
    address = Address(deployment.host, deployment.port)
    settings, limits = deployment.settings, deployment.limits
    await _run_until_signal(partial(run_front, address, settings, limits, metrics_at=metrics_at))


def _metrics_address(place: str) -> Address | None:
    """The address of their own, where the metrics have one."""
    host, colon, port = place.rpartition(":")
    return Address(host.strip("[]"), int(port)) if colon else None


async def _run_until_signal(start: Start) -> None:
    """The first SIGTERM or Ctrl-C asks for a graceful end, a second one for an end at once.

    So does the end of the terminal, which would leave jobs behind that nobody waits for: unless it
    is to be outlived (`nohup`).
    """
    ends = [signal.SIGTERM, signal.SIGINT]
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        ends.append(signal.SIGHUP)
    with trio.open_signal_receiver(*ends) as signals:
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
