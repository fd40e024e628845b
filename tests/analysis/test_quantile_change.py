from __future__ import annotations

import numpy as np
import pytest

from diagnose.analysis.quantile_change import quantile_change


def latencies(random: np.random.Generator, count: int, correlation: float = 0.0, scale: float = 1.0) -> np.ndarray:
    """Lognormal, with slow waves that make neighbours alike."""
    noise = random.normal(size=count)
    wave = np.zeros(count)
    if correlation:
        # Its neighbours are alike over some hundred requests.
        wave = np.convolve(random.normal(size=count + 199), np.full(200, 200**-0.5), "valid")
    return scale * 0.2 * np.exp(0.3 * noise + correlation * wave)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_a_slowdown_by_a_third_is_shown_with_an_interval_around_it(level: float) -> None:
    random = np.random.default_rng(1)
    change = quantile_change(latencies(random, 8000), latencies(random, 8000, scale=1.33), level, tests=9)
    assert change is not None
    assert change.low is not None
    assert change.high is not None
    assert 1.1 < change.low < 1.33 < change.high < 1.6


@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_equal_runs_are_rarely_told_apart(correlation: float) -> None:
    random = np.random.default_rng(2)
    shown = 0
    for _ in range(25):
        change = quantile_change(latencies(random, 3000, correlation), latencies(random, 3000, correlation), 0.9)
        assert change is not None
        assert change.low is not None
        assert change.high is not None
        shown += not change.low <= 1 <= change.high
    assert shown <= 4, "one in twenty expected; with waves that last as long as a block some more"


def test_short_runs_have_no_interval_or_no_quantile() -> None:
    random = np.random.default_rng(3)
    assert quantile_change(latencies(random, 400), latencies(random, 400), 0.99) is None
    change = quantile_change(latencies(random, 100), latencies(random, 100), 0.5)
    assert change is not None
    assert change.low is None


def test_what_is_no_latency_is_left_out() -> None:
    values = np.concatenate([np.full(300, 0.1), [np.nan, -1.0, 0.0]])
    change = quantile_change(values, values * 2, 0.5)
    assert change is not None
    assert (change.before, change.after) == (0.1, 0.2)


def test_the_same_inputs_give_the_same_interval() -> None:
    random = np.random.default_rng(4)
    first, second = latencies(random, 2000), latencies(random, 2000)
    assert quantile_change(first, second, 0.9) == quantile_change(first, second, 0.9)
