from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.analysis.curve_fit import Noise, crossing, fit, profile_squares, spread, student_t


@pytest.mark.parametrize(
    ("freedom", "expected"), [(1, 12.706), (2, 4.3027), (4, 2.7764), (10, 2.2281), (30, 2.0423), (inf, 1.96)]
)
def test_quantiles_are_those_of_the_printed_tables(freedom: float, expected: float) -> None:
    assert student_t(freedom) == pytest.approx(expected, rel=2e-4)


def test_no_coefficient_is_negative() -> None:
    gpus = np.array([1.0, 2.0, 4.0, 8.0])
    falling = np.array([1.0, 0.9, 0.8, 0.7])
    found = fit(np.column_stack([np.ones(4), gpus]), falling, np.ones(4))
    assert found.coefficients == pytest.approx([0.85, 0.0])


@given(st.lists(st.floats(0.1, 10.0), min_size=12, max_size=12))
def test_the_profile_agrees_with_the_search_over_sets_of_terms(values: list[float]) -> None:
    first, second, target = (np.array(values[at : at + 4]) for at in (0, 4, 8))
    (squares,) = profile_squares(first[:, None], second[:, None], target)
    assert squares == pytest.approx(
        fit(np.column_stack([first, second]), target, np.ones(4)).squares, rel=1e-6, abs=1e-6
    )


@pytest.mark.parametrize(("inside", "outside", "expected"), [(0.0, 10.0, 2.0), (0.0, -10.0, -2.0), (0.0, 1.0, 1.0)])
def test_the_end_of_an_interval_is_where_the_profile_passes_the_limit(
    inside: float, outside: float, expected: float
) -> None:
    assert crossing(lambda values: values**2, 4.0, inside, outside) == pytest.approx(expected, abs=1e-6)


def test_measurements_outweigh_the_assumption_about_their_noise() -> None:
    few, many = (spread(count * 0.1**2, count + 2, 2, Noise(0.03, 4.0)) for count in (2, 200))
    assert few.ratio < many.ratio == pytest.approx(0.1, rel=0.01)
    assert few.freedom == 6.0


def test_known_noise_is_not_estimated() -> None:
    assert spread(1.0, 5, 2, Noise(0.02, inf)).ratio == 0.02
    assert spread(0.0, 4, 4, Noise(0.02, 4.0)).ratio == pytest.approx(sqrt(0.02**2))
