"""Fits of the Universal Scalability Law to throughput by number of GPUs, of Amdahl's law as its special case.

USL: X(N) = rate N / (1 + a (N - 1) + b N (N - 1)) (Gunther, Guerrilla Capacity Planning, chapter 4). The cost of work,
N / X, is linear in its terms, so `curve_fit` applies: with p + s N + k N (N - 1), rate = 1 / (p + s), a = s / (p + s),
b = k / (p + s), and throughput is highest at N = sqrt(p / k). Without k it is Amdahl's law, and a is the share of the
work that is done one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from diagnose.analysis.curve_fit import (
    Array,
    Interval,
    Noise,
    Spread,
    crossing,
    fit,
    profile_squares,
    spread,
    weights_of,
)

_WIDEST = 100.0
"""Coherency is looked for up to where it makes work on the smallest group this many times as dear."""

_Profile = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Peak:
    """GPUs at the highest throughput, with its interval."""

    estimate: float | None
    """None where the best fit has no peak."""
    low: float
    high: float | None
    """None where the points do not exclude that throughput rises for ever."""


@dataclass(frozen=True, slots=True)
class UslFit:
    """Coefficients with 95 % intervals."""

    rate: float
    """Throughput of one GPU, in the unit of the measurements."""
    contention: Interval
    coherency: Interval
    peak: Peak | None
    """None where every curve of the interval rises for ever."""
    spread: Spread

    def throughput(self, gpus: float) -> float:
        """Fitted throughput."""
        cost = 1.0 + self.contention.estimate * (gpus - 1) + self.coherency.estimate * gpus * (gpus - 1)
        return self.rate * gpus / cost


@dataclass(frozen=True, slots=True)
class AmdahlFit:
    """Amdahl's law with a 95 % interval of the serial share."""

    rate: float
    serial: Interval
    spread: Spread

    @property
    def largest_speedup(self) -> float | None:
        """Speed-up that no number of GPUs passes; None without a serial share."""
        return 1.0 / self.serial.estimate if self.serial.estimate > 0.0 else None


def fit_usl(gpus: Array, throughput: Array, noise: Noise) -> UslFit:
    """Fit to points, of which at least three have different numbers of GPUs; repeated ones count each.

    Raises ValueError for fewer.
    """
    points = _Points(gpus, throughput, 3)
    parallel, serial, pairs = points.coefficients
    widest = _WIDEST / float(points.pairs[points.pairs > 0.0].min())
    base = max(parallel + serial, pairs / widest)
    found = spread(points.squares, len(gpus), 3, noise)
    limit = points.squares + (found.quantile * found.ratio) ** 2
    peak = sqrt(parallel / pairs) if parallel > pairs > 0.0 else None
    return UslFit(
        rate=1.0 / base,
        contention=_interval(points.by_contention, limit, serial / base, 1.0),
        coherency=_interval(points.by_coherency, limit, pairs / base, widest),
        peak=_peak(points.by_inverse_peak, limit, peak, bool(pairs > 0.0)),
        spread=found,
    )


def fit_amdahl(gpus: Array, throughput: Array, noise: Noise) -> AmdahlFit:
    """Fit to points, of which at least two have different numbers of GPUs; repeated ones count each.

    Raises ValueError for fewer.
    """
    points = _Points(gpus, throughput, 2)
    parallel, serial = points.coefficients
    found = spread(points.squares, len(gpus), 2, noise)
    limit = points.squares + (found.quantile * found.ratio) ** 2
    share = serial / (parallel + serial)
    return AmdahlFit(
        rate=1.0 / (parallel + serial),
        serial=_interval(points.by_serial_share, limit, share, 1.0),
        spread=found,
    )


class _Points:
    """Measured points, weighted, with the best fit of the first `count` terms."""

    def __init__(self, gpus: Array, throughput: Array, count: int) -> None:
        if len(np.unique(gpus)) < count:
            raise ValueError(f"at least {count} different numbers of GPUs are needed")
        self.gpus = gpus
        self.pairs = gpus * (gpus - 1.0)
        costs = gpus / throughput
        terms = np.column_stack([np.ones_like(gpus), gpus, self.pairs][:count])
        self._weights = weights_of(costs, terms)
        self._target = costs * self._weights
        best = fit(terms, costs, self._weights)
        self.squares = best.squares
        self.coefficients = [float(value) for value in best.coefficients]

    def _profile(self, first: Array, second: Array) -> Array:
        return profile_squares(first * self._weights[:, None], second * self._weights[:, None], self._target)

    def by_contention(self, values: Array) -> Array:
        """Sum of squares with the contention held at each of the values."""
        return self._profile(1.0 + np.outer(self.gpus - 1.0, values), np.outer(self.pairs, np.ones_like(values)))

    def by_serial_share(self, values: Array) -> Array:
        """The same without coherency."""
        return self._profile(1.0 + np.outer(self.gpus - 1.0, values), np.zeros((len(self.gpus), len(values))))

    def by_coherency(self, values: Array) -> Array:
        """With the coherency held, and contention between 0 and 1."""
        extra = np.outer(self.pairs, values)
        return self._profile(1.0 + extra, self.gpus[:, None] + extra)

    def by_inverse_peak(self, values: Array) -> Array:
        """With the peak held at 1 / value; 0 for none."""
        return self._profile(1.0 + np.outer(self.pairs, values**2), np.outer(self.gpus, np.ones_like(values)))


def _interval(profile: _Profile, limit: float, estimate: float, highest: float) -> Interval:
    return Interval(
        estimate, crossing(profile, limit, estimate, 0.0), crossing(profile, limit, estimate, max(highest, estimate))
    )


def _peak(profile: _Profile, limit: float, estimate: float | None, falls: bool) -> Peak | None:
    """The profile runs over one over the peak, so that no peak at all is 0 and stands beside very large ones."""
    inverse = 1.0 / estimate if estimate is not None else float(falls)
    nearest = crossing(profile, limit, inverse, 1.0)
    farthest = crossing(profile, limit, inverse, 0.0)
    if nearest <= 0.0:
        return None
    return Peak(estimate or (1.0 if falls else None), 1.0 / nearest, 1.0 / farthest if farthest > 0.0 else None)
