from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.analysis.latency.bursts import bursts
from diagnose.analysis.latency.modes import modes


def test_shapes_with_one_mode_get_no_second_and_no_outliers() -> None:
    for seed in range(60):
        numbers, count = np.random.default_rng(seed), (300, 1000, 5000, 30_000)[seed % 4]
        values = (
            numbers.lognormal(0, 0.02, count), numbers.lognormal(0, 0.5, count), numbers.gamma(2, 1, count),
            numbers.exponential(1, count) + 0.1, np.round(numbers.lognormal(3, 0.02, count)),
        )[seed % 5]  # fmt: skip
        assert not modes(values, count, 1.0 if seed % 5 == 4 else 0.0).found, seed
        assert not bursts(values).found, seed


@pytest.mark.parametrize("count", [300, 3000, 30_000])
def test_two_modes_are_found_with_their_places_and_shares(count: int) -> None:
    numbers = np.random.default_rng(count)
    values = 0.020 * numbers.lognormal(0, 0.02, count)
    values[numbers.random(count) < 0.3] *= 1.5
    found = modes(values, count)
    assert found.found
    assert [mode.centre for mode in found.modes] == pytest.approx([0.020, 0.030], rel=0.03)
    assert [mode.share for mode in found.modes] == pytest.approx([0.7, 0.3], abs=0.07)


def test_a_few_stalls_are_outliers_and_no_mode() -> None:
    numbers = np.random.default_rng(1)
    values = 0.020 * numbers.lognormal(0, 0.02, 20_000)
    struck = numbers.random(20_000) < 0.005
    values[struck] += 0.1
    found = bursts(values)
    assert not modes(values, 20_000).found
    assert len(found.outliers) == struck.sum()
    assert np.median(found.excess) == pytest.approx(0.1, rel=0.05)
    assert found.spread < 0.05
    assert found.groups == ()


def test_stalls_that_come_together_are_bursts() -> None:
    numbers = np.random.default_rng(2)
    values = 0.020 * numbers.lognormal(0, 0.02, 20_000)
    for at in range(500, 19_500, 1000):
        values[at : at + 8] += 0.2
    found = bursts(values)
    assert len(found.groups) == 19
    assert found.p_value < 1e-6
    assert found.retransmission_like == 1.0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=300))
def test_any_positive_values_are_judged(values: list[float]) -> None:
    found = modes(np.array(values), len(values))
    assert sum(mode.share for mode in found.modes) == pytest.approx(1.0)
    assert len(bursts(np.array(values)).outliers) <= len(values)
