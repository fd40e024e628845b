from __future__ import annotations

import math

import numpy as np
import pytest

from diagnose.analysis.outlier import outlier_p_value, robust_z


@pytest.mark.parametrize("count", [4, 8, 32])
def test_equal_values_stand_out_as_rarely_as_stated(count: int) -> None:
    generator = np.random.default_rng(1)
    rows = generator.normal(100, 2, size=(2000, count))
    share = np.mean([outlier_p_value(row.tolist(), "low") <= 0.05 for row in rows])
    assert 0.035 < share < 0.065


@pytest.mark.parametrize(("count", "least"), [(4, 0.6), (8, 0.95), (64, 0.99)])
def test_a_value_ten_deviations_off_is_found(count: int, least: float) -> None:
    generator = np.random.default_rng(2)
    rows = generator.normal(100, 1, size=(400, count))
    rows[:, 1] += 10
    share = np.mean([outlier_p_value(row.tolist(), "high") <= 0.05 for row in rows])
    assert share >= least


def test_the_other_side_does_not_count() -> None:
    values = [10.0, 10.1, 9.9, 10.05, 20.0]
    assert outlier_p_value(values, "high") < 0.01
    assert outlier_p_value(values, "low") > 0.3


def test_two_values_and_equal_ones_never_stand_out() -> None:
    assert outlier_p_value([1.0, 9.0], "high") == 1.0
    assert outlier_p_value([5.0] * 6, "high") > 0.9


def test_many_values_with_two_outliers_still_show_one() -> None:
    values = [100 + 0.1 * at for at in range(20)] + [150.0, 151.0]
    assert outlier_p_value(values, "high") < 0.001


def test_robust_z_counts_deviations_and_copes_without_scatter() -> None:
    assert robust_z(13.0, [9.0, 10.0, 11.0]) == pytest.approx(3 / 1.4826)
    assert robust_z(13.0, [10.0, 10.0]) == math.inf
    assert robust_z(10.0, [10.0, 10.0]) == 0.0
