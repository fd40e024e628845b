"""Whether one of a few numbers stands out more than chance among equals explains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Side = Literal["high", "low"]

_GAP_UP_TO = 10
"""Up to so many values the gap beside the outermost is compared with the range of the rest (Dixon); beyond, its
distance from the median with the median absolute deviation, which several outliers cannot hide."""
_DRAWS = 20_000


def outlier_p_value(values: Sequence[float], side: Side) -> float:
    """Chance that the outermost of as many equal values with Gaussian noise stands off as far, by simulation.

    1.0 for fewer than three values, whose scatter is unknown. The smallest answer is one in the number of draws.
    """
    if len(values) < 3:
        return 1.0
    statistic = float(_statistic(np.array([values], dtype=float), side)[0])
    null = _null(len(values))
    larger = len(null) - int(np.searchsorted(null, statistic, side="left"))
    return max(1, larger) / len(null)


def robust_z(value: float, others: Sequence[float]) -> float:
    """Distance from the median of the others in their median absolute deviations, scaled to standard deviations."""
    centre = median(others)
    scale = 1.4826 * median([abs(other - centre) for other in others])
    distance = value - centre
    return distance / scale if scale else math.copysign(math.inf, distance) if distance else 0.0


@lru_cache(maxsize=64)
def _null(count: int) -> NDArray[np.float64]:
    draws = min(_DRAWS, 4_000_000 // count)
    sample = np.random.default_rng(count).standard_normal((max(draws, 200), count))
    return np.sort(_statistic(sample, "high"))


def _statistic(rows: NDArray[np.float64], side: Side) -> NDArray[np.float64]:
    ordered = np.sort(rows if side == "high" else -rows, axis=1)
    if ordered.shape[1] <= _GAP_UP_TO:
        gap, rest = ordered[:, -1] - ordered[:, -2], ordered[:, -2] - ordered[:, 0]
    else:
        centre = np.median(ordered, axis=1, keepdims=True)
        gap, rest = ordered[:, -1] - centre[:, 0], np.median(np.abs(ordered - centre), axis=1)
    # Values as printed are often equal: a gap over no scatter at all is as clear as it gets, no gap is none.
    floor = 1e-9 * np.maximum(np.abs(ordered).max(axis=1), 1e-300)
    return np.where(gap <= floor, 0.0, gap / np.maximum(rest, floor))
