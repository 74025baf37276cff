"""Where each setting's value comes from: a flag, else the environment, else a TOML file.

Anything unknown or wrong stops the start: a setting that was misspelt and passed over would be
found by its users.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

import attrs
import orjson

from horde_adapters.setting import PREFIX, Setting
from horde_adapters.settings import Deployment
from horde_adapters.settings_table import SETTINGS, default

FILE_VARIABLE = f"{PREFIX}CONFIG"
DEFAULT = "default"

_ORDERED = (
    ("ready_age", "pool_age", ", as the Horde isn't read more often than that"),
    ("slowest_poll", "poll_interval", ""),
    ("slowest_retry", "poll_interval", ""),
    ("fast_pace", "slow_pace", ""),
)


class WrongSetting(Exception):  # noqa: N818 - what an operator reads
    """A setting that can't be: its name, its value, where it was said and what is allowed."""


@attrs.frozen(eq=False, repr=False)
class Configuration:
    """The deployment, and where each of its settings was said."""

    deployment: Deployment
    values: Mapping[str, object]
    """By the settings' names."""
    origins: Mapping[str, str]

    def page(self) -> str:
        """All of it as TOML that can be given back as a file; secrets stay hidden."""
        lines = []
        for name, value in self.values.items():
            if SETTINGS[name].secret and value:
                lines.append(f'# {name} = "(hidden)"  # {self.origins[name]}')
            else:
                lines.append(f"{name} = {toml(value)}  # {self.origins[name]}")
        return "\n".join(lines) + "\n"


def gather(flags: Mapping[str, str], environment: Mapping[str, str]) -> Configuration:
    """Reads every setting; `flags` are those given, by setting name, and `config`, the file.

    Raises WrongSetting.
    """
    variables = _variables(environment)
    named = flags.get("config") or environment.get(FILE_VARIABLE)
    file = _read_file(named) if named else {}
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for name, setting in SETTINGS.items():
        if name in flags:
            origins[name] = f"flag {setting.flag}"
            values[name] = _from_text(setting, flags[name], origins[name])
        elif name in variables:
            origins[name] = f"environment {setting.variable}"
            values[name] = _from_text(setting, variables[name], origins[name])
        elif name in file:
            origins[name] = f"file {named}"
            values[name] = _checked(setting, file[name], file[name], origins[name])
        else:
            origins[name] = DEFAULT
            values[name] = default(setting)
    _check_together(values)
    return Configuration(_deployment(values), values, origins)


def toml(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, tuple):
        return f"[{', '.join(toml(entry) for entry in value)}]"
    if isinstance(value, IPv4Network | IPv6Network):
        value = str(value)
    # Of what settings hold, TOML writes everything as JSON does.
    return orjson.dumps(value).decode()


def _variables(environment: Mapping[str, str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for variable, value in environment.items():
        if not variable.startswith(PREFIX) or variable == FILE_VARIABLE:
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name not in SETTINGS or SETTINGS[name].variable != variable:
            meant = _meant(name, SETTINGS, lambda near: SETTINGS[near].variable)
            raise WrongSetting(f"the environment's {variable} is no setting{meant}")
        found[name] = value
    return found


def _read_file(named: str) -> Mapping[str, Any]:
    try:
        document = tomllib.loads(Path(named).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WrongSetting(f"can't read the settings file {named}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise WrongSetting(f"the settings file {named} is no TOML: {error}") from error
    for name in document:
        if name not in SETTINGS:
            raise WrongSetting(f"{name} in file {named} is no setting{_meant(name, SETTINGS)}")
    return document


def _from_text(setting: Setting, value: str, origin: str) -> object:
    try:
        parsed = setting.kind.parse(value)
    except (ValueError, KeyError) as error:
        raise _wrong(setting, value, origin) from error
    return _checked(setting, parsed, value, origin)


def _checked(setting: Setting, parsed: object, said: object, origin: str) -> object:
    try:
        return setting.kind.check(parsed)
    except ValueError as error:
        raise _wrong(setting, said, origin) from error


def _wrong(setting: Setting, said: object, origin: str) -> WrongSetting:
    shown = "(hidden)" if setting.secret else repr(said)
    return WrongSetting(f"{setting.name} is {shown} ({origin}): must be {setting.kind.allowed}")


def _meant(name: str, known: Iterable[str], said: Callable[[str], str] = str) -> str:
    import difflib  # only now: for a start that fails

    near = difflib.get_close_matches(name, list(known), n=1)
    return f": did you mean {said(near[0])}?" if near else ""


def _check_together(values: Mapping[str, object]) -> None:
    for larger, smaller, why in _ORDERED:
        high, low = values[larger], values[smaller]
        assert isinstance(high, float)
        assert isinstance(low, float)
        if high < low:
            raise WrongSetting(
                f"{larger} is {high:g}: must be no less than {smaller}, which is {low:g}{why}"
            )


def _deployment(values: Mapping[str, object]) -> Deployment:
    deployment = Deployment()
    for name, value in values.items():
        deployment = _with(deployment, SETTINGS[name].target.split("."), value)
    on = deployment.metrics == "on"
    return attrs.evolve(deployment, settings=attrs.evolve(deployment.settings, serve_metrics=on))


def _with(value: Any, path: list[str], new: object) -> Any:
    """The frozen value with one leaf changed."""
    head, *rest = path
    return attrs.evolve(value, **{head: _with(getattr(value, head), rest, new) if rest else new})
