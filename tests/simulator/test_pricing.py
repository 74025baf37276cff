"""Prices worked by hand from the contract's formulas (section 5)."""

import pytest

from horde_simulator import pricing

# ctx(c) = 1.2 + 2.2^log2(c/1024): 1024 -> 1.2 + 1; 2048 -> 1.2 + 2.2; 4096 -> 1.2 + 2.2^2 = 4.84;
# 8192 -> 1.2 + 10.648; 16384 -> 1.2 + 23.4256; 32768 -> 52.7, above the most of 30;
# 512 -> 1.2 + 1/2.2 = 0.454545; 256 -> 1.2 + 1/4.84 = 0.206612.
CONTEXTS = [
    (256, 1.406612),
    (512, 1.654545),
    (1024, 2.2),
    (2048, 3.4),
    (4096, 6.04),
    (8192, 11.848),
    (16384, 24.6256),
    (32768, 30.0),
    (1048576, 30.0),
]


@pytest.mark.parametrize("tokens, factor", CONTEXTS)
def test_context_factor(tokens: int, factor: float) -> None:
    assert pricing.context_factor(tokens) == pytest.approx(factor, abs=1e-6)


def test_context_factor_of_nothing_is_that_of_almost_nothing() -> None:
    """2.2^log2(1/1024) = 2.2^-10 = 0.00038; an empty prompt divides by nothing."""
    assert (
        pricing.context_factor(0) == pricing.context_factor(1) == pytest.approx(1.20038, abs=1e-5)
    )


@pytest.mark.parametrize(
    "size, bonus",
    [
        (3, 1.0),
        (13, 1.0),
        (26, 1.148698),  # 2^0.2
        (416, 2.0),  # 416 / 13 = 32 = 2^5, and 32^0.2 = 2
    ],
)
def test_bonus_is_for_models_above_thirteen_billion(size: float, bonus: float) -> None:
    assert pricing.bonus(size) == pytest.approx(bonus, abs=1e-6)


QUOTES = [
    # 512 x 8 x 6.04 / 100 = 247.3984; + 1 + 1 = 249.3984
    (512, 4096, 8, 1, 0, 250),
    # 512 x 3 x 2.2 / 100 = 33.792; + 2 = 35.792
    (512, 1024, 3, 1, 0, 36),
    # 200 x 3 x 6.04 / 100 = 36.24; + 2 = 38.24
    (200, 4096, 3, 1, 0, 39),
    # (33.792 + 1) x 3 + 1 = 105.376
    (512, 1024, 3, 3, 0, 106),
    # 35.792 + 2 images x 5 = 45.792
    (512, 1024, 3, 1, 2, 46),
    # (33.792 + 1) x 2 + 1 + 5 = 75.584: images count once, whatever n is
    (512, 1024, 3, 2, 1, 76),
    # 100 x 13 x 2.2 / 100 = 28.6; + 2 = 30.6
    (100, 1024, 13, 1, 0, 31),
    # 100 x 1.148698 x 26 x 2.2 / 100 = 65.7055; + 2 = 67.7055
    (100, 1024, 26, 1, 0, 68),
    # 16 x 2 x 416 x 2.2 / 100 = 292.864; + 2 = 294.864
    (16, 1024, 416, 1, 0, 295),
    # 1024 x 8 x 24.6256 / 100 = 2017.329; + 2 = 2019.329
    (1024, 16384, 8, 1, 0, 2020),
    # 100 x 8 x 30 / 100 = 240; + 2 = 242, a whole number is not rounded up
    (100, 32768, 8, 1, 0, 242),
    # 512 x (35/13)^0.2 x 35 x 6.04 / 100: (2.692308)^0.2 = 1.219063; 512 x 35 = 17920;
    # x 1.219063 = 21845.6; x 0.0604 = 1319.47; + 2 = 1321.47
    (512, 4096, 35, 1, 0, 1322),
]


@pytest.mark.parametrize("length, context, size, jobs, images, quote", QUOTES)
def test_quote(length: int, context: int, size: float, jobs: int, images: int, quote: int) -> None:
    job = pricing.estimate(length, context, size)
    assert pricing.quote(job, jobs, images) == quote


def test_an_unknown_size_is_priced_as_thirteen_billion() -> None:
    assert pricing.size_of(None) == 13.0
    assert pricing.size_of(7.5) == 7.5


@pytest.mark.parametrize(
    "characters, max_length, tokens",
    [
        (0, 512, 20),
        (3, 512, 20),
        (80, 512, 20),
        (81, 512, 21),  # ceil(20.25)
        (800, 512, 200),
        (9000, 512, 512),
        (3, 16, 16),  # never above max_length, not even the least of 20
    ],
)
def test_billed_tokens(characters: int, max_length: int, tokens: int) -> None:
    assert pricing.billed_tokens(characters, max_length) == tokens


REWARDS = [
    # 200 x 8 x 2.2 / 125 = 28.16
    (200, 8, 1024, 28.16),
    # 200 x 8 x 3.4 / 125 = 43.52
    (200, 8, 2048, 43.52),
    # 20 x 3 x 2.2 / 125 = 1.056
    (20, 3, 1024, 1.056),
    # 20 x 2 x 416 x 2.2 / 125 = 292.864
    (20, 416, 1024, 292.864),
    # 100 x 8 x 1.654545 / 125 = 10.589091
    (100, 8, 512, 10.589091),
    # log2(40 / 1024) = -4.678072; 2.2^that = 0.025011; 200 x 8 x 1.225011 / 125 = 15.68014
    (200, 8, 40, 15.68014),
]


@pytest.mark.parametrize("tokens, size, prompt, kudos", REWARDS)
def test_reward(tokens: int, size: float, prompt: int, kudos: float) -> None:
    assert pricing.kudos(pricing.reward(tokens, size, prompt)) == pytest.approx(kudos, abs=1e-5)


def test_activation_is_one_and_five_for_each_image() -> None:
    assert pricing.kudos(pricing.activation(0)) == 1.0
    assert pricing.kudos(pricing.activation(3)) == 16.0


@pytest.mark.parametrize(
    "tokens_ahead, threads, speed, allowance",
    [
        (0, 2, 20.0, 4096),
        (1200, 2, 20.0, 2304),  # 1200 / (2 x 60 x 20) = 0.5; 512 + 3584 / 2
        (600, 2, 20.0, 3200),  # a quarter full; 512 + 3584 x 0.75
        (2400, 2, 20.0, 512),
        (99999, 2, 20.0, 512),
        (0, 0, 0.0, 512),  # without an eligible thread
    ],
)
def test_free_allowance(tokens_ahead: int, threads: int, speed: float, allowance: int) -> None:
    load = pricing.load(tokens_ahead, threads, speed)
    assert pricing.free_allowance(load) == allowance


def test_upfront_rounds_each_job_to_hundredths() -> None:
    """1024 x 8 / 21 = 390.095238, so 390.10 a job."""
    assert pricing.kudos(pricing.upfront(1024, 8, 1)) == 390.10
    assert pricing.kudos(pricing.upfront(1024, 8, 2)) == 780.20
