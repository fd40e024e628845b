from __future__ import annotations

import numpy as np
import pytest

from diagnose.analysis.latency.periods import periods
from diagnose.analysis.latency.trend import trend
from diagnose.analysis.latency.wall_clock import named, phase
from tests.analysis.latency.simulated import Floats, arrival_times, autocorrelated


def scores(values: Floats) -> Floats:
    ranks = values.argsort().argsort() / len(values)
    return -np.log1p(-ranks) - 1.0


def test_noise_and_daily_waves_are_no_changes_and_no_drifts() -> None:
    changes = drifts = 0
    for seed in range(150):
        numbers, count = np.random.default_rng(seed), (30, 100, 240)[seed % 3]
        wave = 0.2 * np.sin(np.arange(count) / count * 6.28 * (1, 2, 0.7)[seed % 3] + seed) if seed % 2 else 0.0
        levels = np.exp(0.1 * autocorrelated(numbers, count, (0.0, 0.5, 0.8, 0.9)[seed % 4]) + wave)
        found = trend(levels, 86_400.0)
        changes += found.change.stands
        drifts += found.drift.stands
    assert changes <= 3
    assert drifts <= 3


def test_a_change_is_found_where_it_is_and_its_size_is_in_the_interval() -> None:
    near = held = 0
    for seed in range(40):
        numbers = np.random.default_rng(seed)
        levels = np.exp(0.05 * autocorrelated(numbers, 100, 0.5) + 0.2 * (np.arange(100) >= 60))
        found = trend(levels, 3600.0).change
        near += found.stands and abs(found.at - 60) <= 2
        held += found.low <= np.exp(0.2) <= found.high
    assert near >= 33
    assert held >= 36


def test_a_drift_is_a_drift_and_no_change() -> None:
    found = []
    for seed in range(20):
        numbers = np.random.default_rng(seed)
        found.append(trend(np.exp(0.05 * autocorrelated(numbers, 100, 0.5) + 0.3 * np.arange(100) / 100), 3600.0))
    assert sum(item.drift.stands for item in found) >= 17
    assert sum(item.change.stands for item in found) <= 1
    assert sum(item.drift.low <= np.exp(0.3) <= item.drift.high for item in found) >= 17


def test_healthy_runs_have_no_periods() -> None:
    false = 0
    for seed in range(50):
        numbers, rate = np.random.default_rng(seed), (2, 8, 30)[seed % 3]
        times = arrival_times(numbers, float(rate), 1800)
        wander = autocorrelated(numbers, 1801, (0.0, 0.9, 0.99)[seed // 3 % 3])
        noise = np.exp(0.3 * np.interp(times, np.arange(1801), wander)) * numbers.lognormal(0, 0.3, len(times))
        found = periods(times, scores(noise * (1 + 0.4 * np.sin(times / 1800 * 6.28))))
        assert found is not None
        false += bool(found.periods)
    assert false == 0


@pytest.mark.parametrize(
    ("period", "duty", "slower", "wander"),
    [
        (60.0, 0.03, 2.0, 0.0),
        (15.0, 0.05, 1.0, 0.0),
        (10.0, 0.3, 0.5, 0.0),
        (9.83, 0.3, 0.5, 0.03),
        (2.7, 0.3, 0.5, 0.0),
    ],
)
def test_periods_are_found_with_their_length_and_place(
    period: float, duty: float, slower: float, wander: float
) -> None:
    found = []
    for seed in range(4):
        numbers = np.random.default_rng(seed)
        times = arrival_times(numbers, 8.0, 3600)
        gaps = period * (1.0 + wander * numbers.standard_normal(int(3600 / period) + 20))
        events = 3.0 + np.cumsum(gaps) - period
        since = times - events[np.maximum(np.searchsorted(events, times) - 1, 0)]
        on = (since >= 0) & (since < duty * period)
        values = 0.2 * numbers.lognormal(0, 0.3, len(times)) * np.where(on, 1.0 + slower, 1.0)
        search = periods(times, scores(values))
        assert search is not None
        found.append((search.periods, times[0]))
    near = [(told[0], first) for told, first in found if told and abs(told[0].seconds / period - 1.0) < 0.01]
    assert len(near) >= 3
    if wander == 0.0:
        for told, first in near:
            assert told.fold is not None
            off = (told.fold.begin + first - 3.0) % period
            assert min(off, period - off) < max(0.15 * period, 1.0)
            assert abs(told.seconds - period) <= 2.0 * told.error_seconds


def test_periods_of_the_clock_are_named_only_within_their_error() -> None:
    assert named(59.99, 0.03) == (60.0, "minute")
    assert named(15.001, 0.002) == (15.0, "quarter-minute")
    assert named(59.5, 0.03) is None
    assert named(61.0, 5.0) is None


@pytest.mark.parametrize(
    ("begin", "minute"), [(86_400.0 + 120.5, True), (86_400.0 + 119.0, True), (86_400.0 + 77.0, False)]
)
def test_cron_begins_with_the_minute(begin: float, minute: bool) -> None:
    assert phase(60.0, begin, 0.5).on_the_minute is minute


def test_a_phase_that_is_not_known_well_is_not_judged() -> None:
    assert phase(60.0, 120.0, 20.0).on_the_minute is None
    assert phase(15.0, 120.0, 0.5).on_the_minute is None
