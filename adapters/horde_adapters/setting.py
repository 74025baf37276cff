"""One setting: its name, the values that it may have, and what it does.

A value comes as text (a flag, a variable) or as TOML has it; a `Kind` reads both.
"""

import ipaddress
import math
import re
from collections.abc import Callable, Sequence

import attrs

from horde_adapters.horde import InvalidUrl, horde_origin

PREFIX = "HORDE_FRONT_"


@attrs.frozen(eq=False, repr=False)
class Kind:
    """A type of values. Both functions raise ValueError, `check` for a value of any type."""

    allowed: str
    """In words, as the end of "must be"."""
    parse: Callable[[str], object]
    """Text to what a TOML file would hold."""
    check: Callable[[object], object]
    """What a TOML file holds to the value itself."""


@attrs.frozen(eq=False, repr=False)
class Setting:
    """A row of the table."""

    name: str
    kind: Kind
    target: str
    """Where the value goes in a `Deployment`, such as `settings.timing.grace`."""
    meaning: str
    secret: bool = False
    """Never shown, and no flag: anyone on the machine can read a process's arguments."""

    @property
    def flag(self) -> str:
        """The command's option, such as `--body-cap`."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment's name for it."""
        return PREFIX + self.name.upper()


def number(least: float, most: float, unit: str) -> Kind:
    """Any number in a range."""

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        if not (math.isfinite(value) and least <= value <= most):
            raise ValueError
        return float(value)

    return Kind(f"a number of {unit} from {least:g} to {most:g}", float, check)


def integer(least: int, most: int, unit: str = "") -> Kind:
    """A whole number in a range."""

    def check(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError
        return value

    of = f" of {unit}" if unit else ""
    return Kind(f"a whole number{of} from {least} to {most}", int, check)


def word(words: Sequence[str]) -> Kind:
    """One of some words."""

    def check(value: object) -> object:
        if value not in words:
            raise ValueError
        return value

    return Kind(" or ".join((", ".join(words[:-1]), words[-1])), str, check)


def text(allowed: str, pattern: str) -> Kind:
    """Text that a regular expression matches as a whole."""

    def check(value: object) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise ValueError
        return value

    return Kind(allowed, str, check)


def names(allowed: str, pattern: str) -> Kind:
    """Several names, in text with commas between them."""
    one = text(allowed, pattern)

    def check(value: object) -> tuple[object, ...]:
        if not isinstance(value, list):
            raise ValueError
        return tuple(one.check(entry) for entry in value)

    return Kind(allowed, _split, check)


def _split(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def _read_flag(value: str) -> bool:
    return {"true": True, "false": False}[value.lower()]


def _check_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _check_networks(value: object) -> tuple[object, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ValueError
    return tuple(ipaddress.ip_network(entry) for entry in value)


def _check_horde(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    try:
        origin = horde_origin(value)
    except InvalidUrl as error:
        raise ValueError(str(error)) from error
    if origin.userinfo or origin.query or origin.fragment:
        # None of them is sent to the Horde, and a password would be shown by `--print-config`.
        raise ValueError
    return value


FLAG = Kind("true or false", _read_flag, _check_flag)
NETWORKS = Kind(
    "a list of addresses or networks, such as 10.0.0.0/8 or ::1, none with bits beyond its prefix",
    _split,
    _check_networks,
)
HORDE = Kind(
    "the URL of a Horde alone, such as https://aihorde.net, with or without /api/v2",
    str,
    _check_horde,
)
HOST = text("a host name or an address", r"[A-Za-z0-9.:_%-]{1,255}")
SECRET = text("printable ASCII, as a header's value", r"[!-~](?:[ -~]{0,510}[!-~])?|")
PLACE = text(
    "on, off, or an address of its own such as 127.0.0.1:9090 or [::1]:9090",
    r"on|off|(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):\d{1,5}",
)
