"""The sorted line, against a plain list that is walked."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horde_simulator.line import Line, Place


def walked(amounts: dict[Place, tuple[int, int]], place: Place) -> tuple[int, int]:
    ahead = [amount for other, amount in amounts.items() if other < place]
    return sum(jobs for jobs, _ in ahead), sum(tokens for _, tokens in ahead)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 900))
def test_what_is_ahead(seed: int, steps: int) -> None:
    """Places come, grow, shrink and go; the sums are always those of a walk."""
    random, line = Random(seed), Line()
    amounts: dict[Place, tuple[int, int]] = {}
    for number in range(steps):
        if amounts and random.random() < 0.4:
            place = random.choice(sorted(amounts))
            jobs, tokens = amounts[place]
            if random.random() < 0.7:
                line.change(place, -jobs, -tokens)
                del amounts[place]
            else:
                line.change(place, 1, 64)
                amounts[place] = (jobs + 1, tokens + 64)
        else:
            place = (random.randrange(50) / 2, number)
            amounts[place] = (random.randrange(1, 5), random.randrange(16, 512))
            line.change(place, *amounts[place])
        asked = (random.randrange(-1, 52) / 2, random.randrange(steps))
        assert line.before(asked) == walked(amounts, asked)
    assert (line.jobs, line.tokens) == walked(amounts, (1e9, 0))
    assert line.head(7) == sorted(amounts)[:7]


@pytest.mark.parametrize("count", [255, 256, 257, 513, 2000])
def test_blocks_split_and_empty_without_a_trace(count: int) -> None:
    line = Line()
    for number in range(count):
        line.change((float(number * 7 % count), number), 1, 10)
    assert line.before((1e9, 0)) == (count, 10 * count)
    for number in range(count):
        line.change((float(number * 7 % count), number), -1, -10)
    assert (line.jobs, line.tokens, line.head(1)) == (0, 0, [])
    line.change((1.0, 1), 2, 20)
    assert line.before((2.0, 0)) == (2, 20)
