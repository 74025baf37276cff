"""Texts for a JSON schema's string rules: pattern, format, length, else what is plausible."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from horde_simulator.brains.patterns import UnsupportedPattern, text_matching
from horde_simulator.brains.plausible import Plausible


def _date(random: Random) -> str:
    return f"{random.randint(2024, 2027)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"


def _time(random: Random) -> str:
    return f"{random.randint(0, 23):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}"


def _uuid(random: Random) -> str:
    """A UUID of version 4 (RFC 9562: version and variant bits are fixed)."""
    digits = f"{random.getrandbits(128):032x}"
    fixed = f"4{digits[13:16]}-{random.choice('89ab')}{digits[17:20]}"
    return f"{digits[:8]}-{digits[8:12]}-{fixed}-{digits[20:]}"


def _host(random: Random) -> str:
    return f"{random.choice(('harbour', 'garden', 'library', 'station'))}.example.org"


FORMATS: Final[Mapping[str, Callable[[Random], str]]] = {
    "date": _date,
    "time": lambda random: f"{_time(random)}Z",
    "date-time": lambda random: f"{_date(random)}T{_time(random)}Z",
    "duration": lambda random: f"PT{random.randint(1, 90)}M",
    "email": lambda random: f"{random.choice(('ada', 'jonas', 'mei'))}@{_host(random)}",
    "hostname": _host,
    "ipv4": lambda random: f"192.0.2.{random.randint(1, 254)}",
    "ipv6": lambda random: f"2001:db8::{random.randint(1, 0xFFFF):x}",
    "uri": lambda random: f"https://{_host(random)}/{random.randint(1, 999)}",
    "uri-reference": lambda random: f"/pages/{random.randint(1, 999)}",
    "url": lambda random: f"https://{_host(random)}/{random.randint(1, 999)}",
    "uuid": _uuid,
    "json-pointer": lambda random: f"/items/{random.randint(0, 9)}",
    "regex": lambda random: f"^[a-z]{{{random.randint(1, 9)}}}$",
}
"""A writer for each `format` that has a fixed form."""


def string_for(schema: Mapping[str, Any], name: str, plausible: Plausible, random: Random) -> str:
    """A text that the schema's string rules allow, as far as they can be written towards.

    A pattern goes before a format, both before what is plausible; lengths are kept last, by
    padding with letters or by cutting.
    """
    low, high = int(schema.get("minLength", 0)), schema.get("maxLength")
    if "pattern" in schema:
        text = _for_pattern(schema["pattern"], low, high, random)
        if text is not None:
            return text
    kind = schema.get("format")
    if isinstance(kind, str) and kind in FORMATS:
        return plausible.of_format(kind) or FORMATS[kind](random)
    text = plausible.text(name, str(schema.get("description", "")), random)
    while len(text) < low:
        text += f" {plausible.text('', '', random)}"
    return text if high is None else text[: int(high)]


def _for_pattern(pattern: str, low: int, high: int | None, random: Random) -> str | None:
    """A matching text within the lengths, from few repeats to many; None where that fails.

    A pattern without an end anchor may be followed by anything, which makes up the length.
    """
    for more in (random.randint(0, 6), 0, 2, 10, max(low, 1)):
        try:
            text = text_matching(pattern, random, more)
        except UnsupportedPattern:
            return None
        if len(text) < low and not pattern.endswith("$"):
            text += "".join(random.choices("abcdefghij", k=low - len(text)))
        if low <= len(text) and (high is None or len(text) <= high):
            return text
    return None
