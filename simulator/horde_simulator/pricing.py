"""What a request and a reply cost (contract, section 5).

Amounts that move are whole millionths of a kudos: sums of them are exact, so that conservation
can be checked with `==`.
"""

from math import ceil, log2
from typing import Final

MICRO: Final = 1_000_000
FLAT: Final = 1.0
"""What each job and each activation costs besides its work."""
IMAGE: Final = 5.0
UNKNOWN_SIZE: Final = 13.0
"""Billions of parameters that a model counts with when the reference doesn't know it."""
FREE_LEAST: Final = 512
FREE_MOST: Final = 4096


def micro(kudos: float) -> int:
    """Kudos in whole millionths."""
    return round(kudos * MICRO)


def kudos(amount: int) -> float:
    """Millionths as the figure that answers carry."""
    return amount / MICRO


def size_of(parameters_billion: float | None) -> float:
    """The billions of parameters that a model is priced with."""
    return UNKNOWN_SIZE if parameters_billion is None else parameters_billion


def bonus(size: float) -> float:
    """The extra for models above 13 billion parameters."""
    return float((max(size, 13.0) / 13.0) ** 0.2)


def context_factor(tokens: int) -> float:
    """How the length of a context multiplies the price: 2.2 at 1,024, never above 30."""
    return min(30.0, max(0.1, 1.2 + float(2.2 ** log2(max(tokens, 1) / 1024))))


def estimate(max_length: int, max_context_length: int, size: float) -> float:
    """What one job may cost at most, were its whole length generated."""
    return max_length * bonus(size) * size * context_factor(max_context_length) / 100


def quote(job_estimate: float, jobs: int, images: int) -> int:
    """What the whole request may cost at most, in whole kudos."""
    # A product such as 1.1 × 100 may lie a hair above its whole number; that is no kudos more.
    return ceil(round((job_estimate + FLAT) * jobs + FLAT + IMAGE * images, 6))


def activation(images: int) -> int:
    """Millionths that starting a request costs, burnt at once."""
    return micro(FLAT + IMAGE * images)


def billed_tokens(characters: int, max_length: int) -> int:
    """The tokens that a reply of so many characters is settled for."""
    return min(max_length, max(20, ceil(characters / 4)))


def reward(tokens: int, size: float, prompt_tokens: int) -> int:
    """Millionths that a settled reply earns its worker."""
    return micro(tokens * bonus(size) * size * context_factor(prompt_tokens) / 125)


def free_allowance(load: float | None) -> int:
    """Tokens of output that need no kudos; `load` is None without an eligible thread."""
    if load is None:
        return FREE_LEAST
    free = FREE_LEAST + (FREE_MOST - FREE_LEAST) * (1 - min(1.0, load))
    return int(min(FREE_MOST, max(FREE_LEAST, free)))


def load(tokens_ahead: int, threads: int, mean_speed: float) -> float | None:
    """How full the eligible threads are, 0 to 1: a minute of queued work counts as full."""
    if threads == 0:
        return None
    capacity = threads * 60 * mean_speed
    return min(1.0, tokens_ahead / capacity) if capacity > 0 else 1.0


def upfront(max_length: int, largest_size: float, jobs: int) -> int:
    """Millionths that must be reserved for an output above the free allowance."""
    return micro(round(max_length * largest_size / 21, 2) * jobs)
