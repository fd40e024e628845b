"""Curves of cost by number of GPUs: bounded least squares with intervals, by linear algebra alone.

The cost of a unit of work, y = N / throughput, is a sum of terms with coefficients that are not negative: 1 for work
done in parallel, N for work done one after the other, N (N - 1) for keeping pairs in step. Run times vary in proportion
to themselves, so residuals are relative. The fit is then linear, has one minimum, and is found exactly by trying each
set of terms.

Intervals are profile-likelihood intervals: all values of a coefficient for which the best fit is not worse than the
best of all by more than t^2 times the variance, t being Student's quantile. For a linear model with normal errors that
is exact (for a ratio of coefficients it is Fieller's interval); the bounds cut it off.

Few points say little of their own noise. Its variance is estimated from the residuals together with an assumption that
counts as a few measurements (a scaled inverse chi-square distribution), which a known noise replaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import inf, pi, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CONFIDENCE = 0.95
_REWEIGHTINGS = 2
"""Weights are those of the observed costs, then those of the fitted: noise of some per cent settles at once."""
_ROUNDING = 1e-20
"""A further term that lowers the sum of squares by less fits rounding errors."""
_GRID = 64
_REFINEMENTS = 6


@dataclass(frozen=True, slots=True)
class Noise:
    """What is assumed of the relative standard deviation of a measurement."""

    ratio: float = 0.03
    """judgement: throughput of equal training runs differs by one to five per cent."""
    weight: float = 4.0
    """Measurements that the assumption counts for; infinite where it is known."""

    @property
    def known(self) -> bool:
        """Whether measurements change nothing about it."""
        return self.weight == inf


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the ends of its interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Estimated noise and the degrees of freedom behind it."""

    ratio: float
    freedom: float

    @property
    def quantile(self) -> float:
        """Student's quantile for an interval on both sides."""
        return student_t(self.freedom)


@lru_cache(maxsize=256)
def student_t(freedom: float, confidence: float = CONFIDENCE) -> float:
    """The t with P(|T| <= t) = confidence to five digits: with T = sqrt(v) tan(u), u has the density cos(u)^(v - 1)."""
    if freedom == inf:
        return NormalDist().inv_cdf((1.0 + confidence) / 2)
    edges = np.linspace(0.0, pi / 2, 200_001)
    area = np.concatenate(([0.0], np.cumsum(np.cos((edges[:-1] + edges[1:]) / 2) ** (freedom - 1.0))))
    return sqrt(freedom) * float(np.tan(np.interp(confidence, area / area[-1], edges)))


def spread(squares: float, measurements: int, coefficients: int, noise: Noise) -> Spread:
    """Noise from the sum of squared relative residuals of a fit, and the assumption."""
    if noise.known:
        return Spread(noise.ratio, inf)
    freedom = noise.weight + max(measurements - coefficients, 0)
    return Spread(sqrt((noise.weight * noise.ratio**2 + squares) / freedom), freedom)


@dataclass(frozen=True, slots=True)
class LinearFit:
    """Coefficients, none negative, of terms of the cost; sum of squared relative residuals."""

    coefficients: Array
    squares: float


def weights_of(costs: Array, terms: Array) -> Array:
    """One over the cost that the terms (points by terms) fit."""
    weights: Array = 1.0 / costs
    for _ in range(_REWEIGHTINGS):
        fitted = terms @ fit(terms, costs, weights).coefficients
        weights = 1.0 / np.where(fitted > 0.0, fitted, costs)
    return weights


def fit(terms: Array, costs: Array, weights: Array) -> LinearFit:
    """The best coefficients that are not negative: those of some set of terms by plain least squares."""
    weighted, target = terms * weights[:, None], costs * weights
    count = terms.shape[1]
    best = LinearFit(np.zeros(count), float(target @ target))
    for size in range(1, count + 1):
        for chosen in combinations(range(count), size):
            part = weighted[:, chosen]
            found = np.linalg.lstsq(part, target, rcond=None)[0]
            residuals = target - part @ found
            squares = float(residuals @ residuals)
            if np.all(found >= 0.0) and squares < best.squares - _ROUNDING:
                coefficients = np.zeros(count)
                coefficients[list(chosen)] = found
                best = LinearFit(coefficients, squares)
    return best


def profile_squares(first: Array, second: Array, target: Array) -> Array:
    """Smallest sums of squares of two terms with coefficients that are not negative, for many pairs of terms at once.

    `first` and `second` are of shape (points, pairs), weighted as `target`, of shape (points,), is.
    `first` is positive.
    """
    ff, fs, ss = (first * first).sum(0), (first * second).sum(0), (second * second).sum(0)
    ft, st = target @ first, target @ second
    total = float(target @ target)
    determinant = ff * ss - fs * fs
    solvable = determinant > 1e-12 * ff * ss
    safe = np.where(solvable, determinant, 1.0)
    one, two = (ss * ft - fs * st) / safe, (ff * st - fs * ft) / safe
    inside = solvable & (one >= 0.0) & (two >= 0.0)
    only_first = total - ft**2 / ff
    only_second = np.where(st > 0.0, total - st**2 / np.where(ss > 0.0, ss, 1.0), total)
    squares = np.where(inside, total - one * ft - two * st, np.minimum(only_first, only_second))
    clipped: Array = np.maximum(squares, 0.0)
    return clipped


def crossing(profile: Callable[[Array], Array], limit: float, inside: float, outside: float) -> float:
    """Where the profile passes the limit between a value inside and one outside; `outside` if it does not reach it.

    Values that are within the limit form one interval, since a convex set of coefficients maps to them.
    """
    for _ in range(_REFINEMENTS):
        grid = np.linspace(inside, outside, _GRID)
        beyond = np.flatnonzero(profile(grid) > limit)
        beyond = beyond[beyond > 0]
        if beyond.size == 0:
            return outside
        inside, outside = float(grid[beyond[0] - 1]), float(grid[beyond[0]])
    return (inside + outside) / 2
