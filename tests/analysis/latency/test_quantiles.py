from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from diagnose.analysis.latency.quantiles import LEVELS, quantiles, rank_interval
from tests.analysis.latency.simulated import autocorrelated

_TRIALS = 60


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_intervals_hold_their_rate_also_for_requests_that_are_alike(phi: float) -> None:
    held = dict.fromkeys([*LEVELS, "ratio"], 0)
    told = dict.fromkeys([*LEVELS, "ratio"], 0)
    for seed in range(_TRIALS):
        numbers = np.random.default_rng(seed)
        found = quantiles(np.exp(0.5 * autocorrelated(numbers, 4000, phi)))
        truth = {level: math.exp(0.5 * NormalDist().inv_cdf(level)) for level in LEVELS}
        for level, quantile in found.by_level.items():
            if not quantile.closed:
                continue
            told[level] += 1
            held[level] += quantile.low <= truth[level] <= quantile.high
        ratio = found.tail_ratio()
        if ratio is not None and ratio.closed:
            told["ratio"] += 1
            held["ratio"] += ratio.low <= truth[0.99] <= ratio.high
    assert told[0.5] == told[0.9] == _TRIALS
    # 95 % of 60, less three standard deviations.
    assert all(held[name] >= 0.86 * told[name] for name in told if told[name] >= 20)


@pytest.mark.parametrize(
    ("count", "highest"), [(20, 0), (60, 0.9), (200, 0.95), (360, 0.95), (400, 0.99), (5000, 0.999)]
)
def test_the_highest_quantile_that_the_sample_closes_is_named(count: int, highest: float) -> None:
    found = quantiles(np.random.default_rng(count).permutation(np.arange(1.0, count + 1.0)))
    assert found.resolvable <= max(highest, 0.0)
    assert found.resolvable >= {0: 0, 0.9: 0.5, 0.95: 0.9, 0.99: 0.95, 0.999: 0.99}[highest]


def test_ranks_are_those_of_the_binomial_distribution() -> None:
    # The textbook's interval of the median of 20 values: the 6th and the 15th.
    assert rank_interval(20, 0.5) == pytest.approx((5 / 20 + 0 / 20, 15 / 20), abs=0.051)
    assert rank_interval(300, 0.99)[1] is None
    assert rank_interval(1e6, 0.99) == pytest.approx((0.9898, 0.9902), abs=1e-4)


def test_equal_values_have_an_interval_without_width() -> None:
    found = quantiles(np.full(500, 0.25))
    assert found.by_level[0.5].low == found.by_level[0.5].high == 0.25
    ratio = found.tail_ratio()
    assert ratio is not None
    assert ratio.value == 1.0
