from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest

from diagnose.analysis.curve_fit import Array, Interval, Noise
from diagnose.analysis.usl import fit_amdahl, fit_usl

SIZES = ((1, 2, 4, 8), (1, 2, 4, 6, 8), (8, 16, 32, 64), (1, 2, 4, 8, 16, 32), (1, 2, 4, 8, 16, 32, 64, 128))
STATED = 0.95
RUNS = 40
"""For each set of sizes and each noise; the fit is told neither."""


def usl(gpus: Array, contention: float, coherency: float, rate: float = 400.0) -> Array:
    return rate * gpus / (1 + contention * (gpus - 1) + coherency * gpus * (gpus - 1))


def holds(interval: Interval, truth: float) -> bool:
    return interval.low <= truth + 1e-12 and truth <= interval.high + 1e-12


def test_intervals_hold_the_known_coefficients_at_the_stated_rate() -> None:
    random = np.random.default_rng(20)
    held = {"contention": 0, "coherency": 0, "peak": 0, "serial share": 0}
    curves = 0
    for sizes in SIZES:
        gpus = np.array(sizes, dtype=np.float64)
        for noise in (0.01, 0.03, 0.05):
            for run in range(RUNS):
                contention = 0.0 if run % 4 == 0 else random.uniform(0.0, 0.15)
                peak = random.uniform(1.2, 4.0) * max(sizes)
                coherency = 0.0 if run % 4 == 1 else (1 - contention) / peak**2
                disturbed = np.exp(random.normal(0.0, noise, len(gpus)))
                found = fit_usl(gpus, usl(gpus, contention, coherency) * disturbed, Noise())
                curves += 1
                held["contention"] += holds(found.contention, contention)
                held["coherency"] += holds(found.coherency, coherency)
                if coherency:
                    high = inf if found.peak is None or found.peak.high is None else found.peak.high
                    held["peak"] += found.peak is not None and found.peak.low <= peak <= high
                else:
                    held["peak"] += found.peak is None or found.peak.high is None
                serial = fit_amdahl(gpus, usl(gpus, contention, 0.0) * disturbed, Noise()).serial
                held["serial share"] += holds(serial, contention)
    rates = {name: count / curves for name, count in held.items()}
    assert min(rates.values()) >= STATED, rates


@pytest.mark.parametrize(("contention", "coherency"), [(0.0, 0.0), (0.08, 0.0), (0.0, 0.002), (0.05, 0.001)])
def test_points_without_noise_give_the_coefficients_back(contention: float, coherency: float) -> None:
    gpus = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    found = fit_usl(gpus, usl(gpus, contention, coherency), Noise())
    assert found.rate == pytest.approx(400.0)
    assert found.contention.estimate == pytest.approx(contention, abs=1e-9)
    assert found.coherency.estimate == pytest.approx(coherency, abs=1e-9)
    assert found.throughput(12.0) == pytest.approx(usl(np.array([12.0]), contention, coherency)[0])
    if coherency:
        assert found.peak is not None
        assert found.peak.estimate == pytest.approx(sqrt((1 - contention) / coherency))


def test_a_curve_that_still_rises_leaves_the_peak_open() -> None:
    gpus = np.array([1.0, 2.0, 4.0, 8.0])
    peak = fit_usl(gpus, usl(gpus, 0.05, 0.0), Noise()).peak
    assert peak is not None
    assert (peak.estimate, peak.high) == (None, None)
    assert peak.low > 8.0


def test_a_curve_that_falls_has_its_peak_within_the_points() -> None:
    gpus = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    peak = fit_usl(gpus, usl(gpus, 0.02, 0.98 / 10.0**2), Noise()).peak
    assert peak is not None
    assert peak.estimate == pytest.approx(10.0)
    assert peak.high is not None
    assert 7.0 < peak.low < 10.0 < peak.high < 14.0


def test_fewer_points_and_more_noise_widen_the_interval() -> None:
    few, many = np.array([1.0, 2.0, 4.0, 8.0]), np.repeat([1.0, 2.0, 4.0, 8.0], 5)
    widths = [
        found.contention.high - found.contention.low
        for found in (
            fit_usl(few, usl(few, 0.1, 0.002), Noise(0.05, inf)),
            fit_usl(few, usl(few, 0.1, 0.002), Noise(0.01, inf)),
            fit_usl(many, usl(many, 0.1, 0.002), Noise(0.01, inf)),
        )
    ]
    assert widths == sorted(widths, reverse=True)


def test_the_largest_speedup_is_one_over_the_serial_share() -> None:
    gpus = np.array([1.0, 2.0, 4.0, 8.0])
    assert fit_amdahl(gpus, usl(gpus, 0.05, 0.0), Noise()).largest_speedup == pytest.approx(20.0)
    assert fit_amdahl(gpus, usl(gpus, 0.0, 0.0), Noise()).largest_speedup is None


@pytest.mark.parametrize("sizes", [[8, 16, 32], [2, 3, 4], [100, 200, 50]])
def test_throughput_that_falls_steeply_still_gives_finite_numbers(sizes: list[int]) -> None:
    gpus = np.array(sizes, dtype=np.float64)
    found = fit_usl(gpus, 1.0 / gpus**3, Noise())
    assert np.all(np.isfinite([found.rate, found.contention.high, found.coherency.low, found.coherency.high]))


def test_too_few_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        fit_usl(np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 2.0]), Noise())
