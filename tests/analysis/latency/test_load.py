from __future__ import annotations

import numpy as np
import pytest

from diagnose.analysis.latency.load import arrivals


def test_arrivals_at_random_are_as_dispersed_as_chance_has_it_and_bursts_more() -> None:
    numbers = np.random.default_rng(3)
    even = np.arange(600) / 10
    random = np.cumsum(numbers.exponential(0.1, 6000))
    bursts = np.repeat(np.arange(600) * 10.0, 10)
    found = [arrivals(starts, np.full(len(starts), 0.01)) for starts in (even, random, bursts)]
    assert all(one is not None for one in found)
    dispersions = [one.dispersion for one in found if one is not None]
    assert dispersions == pytest.approx([0.0, 1.0, 9.0], abs=0.2)


def test_one_false_time_centuries_away_takes_no_memory() -> None:
    starts = np.append(np.arange(600) / 10, 2.5e11)
    found = arrivals(starts, np.full(len(starts), 0.01))
    assert found is not None
    assert found.rate < 1e-6
