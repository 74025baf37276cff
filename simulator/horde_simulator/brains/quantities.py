"""Numbers for a JSON schema's bounds and steps, plausible ones where there is a choice."""

import math
from collections.abc import Mapping
from random import Random
from typing import Any, Final

from horde_simulator.brains.plausible import Plausible
from horde_simulator.brains.schema_rules import Unwritable

_OPEN_SPAN: Final = 100
"""How far from its one bound a number may be whose other side is open."""


def number_for(
    kind: str, schema: Mapping[str, Any], name: str, plausible: Plausible, random: Random
) -> float:
    """A number (an `int` for the kind `integer`) that bounds and `multipleOf` allow.

    Raises:
        Unwritable: no number lies within the bounds, on the step.
    """
    low, high = _bounds(schema, kind)
    if low > high:
        raise Unwritable(name)
    wanted = plausible.number(name, str(schema.get("description", "")), random)
    if not low <= wanted <= high:
        start = low if math.isfinite(low) else high - _OPEN_SPAN
        wanted = random.uniform(start, high if math.isfinite(high) else low + _OPEN_SPAN)
    step = schema.get("multipleOf") or (1 if kind == "integer" else None)
    if step is None:
        rounded = round(wanted, 2)
        return rounded if low <= rounded <= high else wanted
    count = math.floor(wanted / step)
    on_step = (number * step for number in (count, count + 1))
    value = next((number for number in on_step if low <= number <= high), None)
    if value is None:
        raise Unwritable(name)
    return int(value) if kind == "integer" else value


def _bounds(schema: Mapping[str, Any], kind: str) -> tuple[float, float]:
    """The closed range that the bounds leave; open ends are moved in by the least step."""
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    whole = kind == "integer"
    if above is not None:
        low = max(low, math.floor(above) + 1 if whole else math.nextafter(above, math.inf))
    if below is not None:
        high = min(high, math.ceil(below) - 1 if whole else math.nextafter(below, -math.inf))
    return low, high
