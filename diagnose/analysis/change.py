"""Whether a series rises at some point and stays up, tested by permutation against any other order of its values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_EXACT_UP_TO = 7
"""Up to so many values all orders are tried: 5,040 for seven."""
_PERMUTATIONS = 499
_MOST_VALUES = 48


@dataclass(frozen=True, slots=True)
class Rise:
    """Where a series rises, how far, and how easily chance does the same."""

    at: int
    """First value of the higher part."""
    ratio: float
    low: float
    high: float
    """95 % interval of the ratio, from the scatter of both parts."""
    p_value: float


def rise(values: Sequence[float]) -> Rise | None:
    """The rise that splits the series best; None for fewer than four values or where nothing rises.

    The test's statistic is the share of the variance that a never falling curve explains (Barlow's test against an
    ordered alternative), so that a step, several steps and a slope all count, and one slow value in the middle does
    not. Values must be positive; neighbours are taken together where there are more than 48.
    """
    series = np.asarray(values, dtype=float)
    if len(series) < 4 or not bool(np.all(series > 0)) or float(np.ptp(series)) == 0.0:
        return None
    ranks = _binned(series).argsort(kind="stable").argsort(kind="stable").astype(float)
    observed = float(explained_by_rising(ranks[np.newaxis])[0])
    null = explained_by_rising(_orders(ranks))
    exact = len(ranks) <= _EXACT_UP_TO
    at_least = int(np.sum(null >= observed - 1e-9))
    p_value = at_least / len(null) if exact else (1 + at_least) / (1 + len(null))
    at = _best_split(series)
    before, after = series[:at], series[at:]
    ratio = float(np.median(after) / np.median(before))
    if ratio <= 1:
        return None
    error = 1.96 * math.hypot(_relative_error(before), _relative_error(after))
    return Rise(at, ratio, ratio * math.exp(-error), ratio * math.exp(error), p_value)


def explained_by_rising(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row the share of its variance that the best never falling curve explains."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    total = np.sum(centred**2, axis=1)
    explained = np.array([_isotonic_square_sum(row) for row in centred])
    return np.asarray(explained / np.maximum(total, 1e-300))


def _isotonic_square_sum(row: NDArray[np.float64]) -> float:
    """Sum of squares of the isotonic fit, by pooling adjacent violators."""
    sums: list[float] = []
    counts: list[int] = []
    for value in row.tolist():
        total, count = value, 1
        while sums and sums[-1] * count >= total * counts[-1]:
            total += sums.pop()
            count += counts.pop()
        sums.append(total)
        counts.append(count)
    return sum(total * total / count for total, count in zip(sums, counts, strict=True))


def _orders(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(ranks) <= _EXACT_UP_TO:
        return np.array(list(itertools.permutations(ranks)))
    generator = np.random.default_rng(len(ranks))
    return generator.permuted(np.tile(ranks, (_PERMUTATIONS, 1)), axis=1)


def _best_split(series: NDArray[np.float64]) -> int:
    """The split with the largest drop in absolute deviations, at least two values or a tenth on either side."""
    edge = max(2, len(series) // 10)

    def left_over(at: int) -> float:
        return sum(float(np.sum(np.abs(part - np.median(part)))) for part in (series[:at], series[at:]))

    return min(range(edge, len(series) - edge + 1), key=left_over)


def _relative_error(part: NDArray[np.float64]) -> float:
    """Standard error of a part's median over its median."""
    centre = float(np.median(part))
    scatter = max(1.4826 * float(np.median(np.abs(part - centre))), float(np.ptp(part)) / (2 * math.sqrt(len(part))))
    return 1.2533 * scatter / math.sqrt(len(part)) / centre


def _binned(series: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(series) <= _MOST_VALUES:
        return series
    return np.array([np.median(part) for part in np.array_split(series, _MOST_VALUES)])
