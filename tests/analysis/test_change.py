from __future__ import annotations

import numpy as np
import pytest

from diagnose.analysis.change import explained_by_rising, rise


def test_noise_alone_rises_as_rarely_as_stated() -> None:
    generator = np.random.default_rng(3)
    rows = generator.lognormal(0, 0.02, size=(120, 24))
    found = [rise(row.tolist()) for row in rows]
    share = np.mean([item is not None and item.p_value <= 0.05 for item in found])
    assert share < 0.1


def test_a_step_is_found_where_it_is_and_its_size_lies_in_the_interval() -> None:
    generator = np.random.default_rng(4)
    covered = near = 0
    trials = 60
    for _ in range(trials):
        series = generator.normal(100, 1, 60)
        series[40:] *= 1.05
        found = rise(series.tolist())
        assert found is not None
        assert found.p_value <= 0.01
        near += abs(found.at - 40) <= 2
        covered += found.low <= 1.05 <= found.high
    assert near >= 0.95 * trials
    assert covered >= 0.9 * trials


def test_five_values_that_climb_are_rarer_than_one_in_a_hundred_orders() -> None:
    found = rise([105.2, 105.3, 106.3, 110.2, 111.1])
    assert found is not None
    assert found.p_value == pytest.approx(1 / 120)
    assert found.at == 3
    assert found.low > 1.02


def test_one_slow_step_is_no_change() -> None:
    generator = np.random.default_rng(5)
    series = generator.normal(100, 1, 40)
    series[20] = 180
    found = rise(series.tolist())
    assert found is None or found.p_value > 0.05


@pytest.mark.parametrize("series", [[], [1.0, 2.0, 3.0], [5.0] * 20, [4.0, 3.0, 2.0, 1.0], [1.0, 0.0, 2.0, 3.0]])
def test_too_few_equal_falling_or_impossible_values_give_none(series: list[float]) -> None:
    assert rise(series) is None


def test_long_series_keep_the_place() -> None:
    generator = np.random.default_rng(6)
    series = generator.normal(100, 1, 1000)
    series[700:] += 10
    found = rise(series.tolist())
    assert found is not None
    assert 680 <= found.at <= 720


def test_share_explained_is_one_for_a_rising_row_and_none_for_a_falling_one() -> None:
    rows = np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]])
    assert explained_by_rising(rows) == pytest.approx([1.0, 0.0])
