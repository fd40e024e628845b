"""Whether series go together, tested by permuting blocks of time, so that slow wandering counts for what it is.

All series are on one grid of windows. Scores are exponential (Savage): ranks that weigh the upper tail. Slow
components are taken out by a running mean first: what repeats fewer than a dozen times in the data, or is slower than
four hours, is no evidence, and a daily cycle goes along with everything that has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Scores: TypeAlias = NDArray[np.float32]

_SLOWEST_SECONDS = 4 * 3600.0
_REPEATS = 12
_FEWEST_BLOCKS = 24
_BLOCK_TIMES = 8
"""Correlation times in a block: what is broken at its ends is then an eighth at most."""
_REACH_BLOCKS, _REACH_PART = 8.0, 8.0
"""Blocks, or part of all blocks, that a block moves over when they are permuted."""
_AT_ONCE = 40_000_000
"""Numbers in a matrix of permuted scores: 160 MB."""


@dataclass(frozen=True, slots=True)
class Test:
    """What permutation tells of candidates, in their order."""

    correlations: NDArray[np.float64]
    """Rows are candidates, columns lags."""
    deviations: NDArray[np.float64]
    """Standard deviation of each under permutation."""
    p_values: NDArray[np.float64]
    """Of the best lag of each, one-sided."""
    p_adjusted: NDArray[np.float64]
    """The same for the best of all candidates, step down (Westfall and Young)."""


def savage(values: NDArray[np.floating]) -> Scores:
    """Exponential scores of ranks, centred; ties share the mean of their ranks, absent values (NaN) get 0."""
    known = np.flatnonzero(np.isfinite(values))
    scores = np.zeros(len(values), dtype=np.float32)
    if len(known) < 2:
        return scores
    ordered, inverse, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    if len(ordered) < 2:
        return scores
    middle = (np.cumsum(counts) - counts / 2.0) / len(known)
    of_rank = -np.log1p(-middle)
    centred = of_rank[inverse]
    scores[known] = centred - centred.mean()
    return scores


def high_pass_windows(count: int, width_seconds: float) -> int:
    """Length of the running mean that is taken out, in windows: odd."""
    return 2 * int(min(count / _REPEATS, _SLOWEST_SECONDS / width_seconds) / 2) + 1


def high_passed(scores: Scores, length: int) -> Scores:
    """Scores less their running mean over `length` windows, and once more, since one mean lets slow waves through."""
    half = length // 2
    places = np.arange(len(scores))
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, len(scores))
    left = scores.astype(np.float64)
    for _ in range(2):
        total = np.concatenate(([0.0], np.cumsum(left)))
        left = left - (total[high] - total[low]) / (high - low)
    return left.astype(np.float32)


def standardised(scores: Scores) -> Scores:
    """Mean 0 and length 1; zeros where nothing varies."""
    centred = scores - scores.mean(dtype=np.float64)
    length = float(np.sqrt(np.sum(np.square(centred, dtype=np.float64))))
    return np.asarray(centred / length if length > 1e-9 else np.zeros_like(centred), dtype=np.float32)


def correlation_windows(scores: Scores) -> float:
    """Windows over which scores stay alike: sum of their autocorrelation until it first falls below 0.05."""
    size = 1 << int(2 * len(scores) - 1).bit_length()
    power = np.abs(np.fft.rfft(scores, size)) ** 2
    shape = np.fft.irfft(power, size)[: len(scores) // 4]
    if len(shape) == 0 or shape[0] <= 0.0:
        return 1.0
    shape = shape / shape[0]
    below = np.flatnonzero(shape < 0.05)
    return 1.0 + 2.0 * float(np.sum(shape[1 : below[0] if len(below) else len(shape)]))


def chance_deviation(one: Scores, other: Scores) -> float:
    """Standard deviation of the correlation of unrelated series that are as autocorrelated as these (Bartlett).

    Both are standardised.
    """
    count = len(one)
    most = max(1, count // _FEWEST_BLOCKS)
    product = _autocorrelation(one, most) * _autocorrelation(other, most)
    return float(np.sqrt(max(1.0, 1.0 + 2.0 * float(np.sum(product[1:]))) / count))


def _autocorrelation(scores: Scores, most: int) -> NDArray[np.float64]:
    """At lags below `most`."""
    size = 1 << int(len(scores) + most - 1).bit_length()
    shape = np.fft.irfft(np.abs(np.fft.rfft(scores, size)) ** 2, size)[:most]
    return np.asarray(shape / shape[0]) if shape[0] > 0.0 else np.zeros(most)


def block_windows(target: Scores) -> int | None:
    """Length of the blocks to permute; None where so few of them fit that permuting tells nothing."""
    alike = correlation_windows(target)
    most = len(target) // _FEWEST_BLOCKS
    if most < 1 or 2.0 * alike > most:
        return None
    return int(max(1, min(_BLOCK_TIMES * alike, most)))


def permuted(target: Scores, block: int, times: int, generator: np.random.Generator) -> Scores:
    """Rows of the target with its blocks in another order, cut at another place each.

    A block moves by an eighth of the data or so: what is left of slow waves, and of loud and quiet hours, stays where
    it was, and so counts as chance.
    """
    count = len(target)
    rows = np.empty((times, count), dtype=np.float32)
    for row in rows:
        cut = int(generator.integers(block))
        starts = np.arange(cut - block, count, block)
        reach = max(_REACH_BLOCKS, len(starts) / _REACH_PART)
        order = starts[np.argsort(np.arange(len(starts)) + generator.uniform(0.0, reach, len(starts)))]
        at = (order[:, np.newaxis] + np.arange(block)).ravel()
        np.take(target, at[(at >= 0) & (at < count)], out=row)
    return rows


def test(
    target: Scores, candidates: Scores, lags: tuple[int, ...], block: int, times: int, generator: np.random.Generator
) -> Test:
    """Test standardised candidates (rows) against a standardised target, high against high.

    With a lag of k windows the target of a window is set against the candidate k windows before.
    """
    correlations = np.stack([_products(target[np.newaxis], candidates, lag)[0] for lag in lags], axis=1)
    null = np.empty((times, len(candidates), len(lags)), dtype=np.float32)
    at_once = max(1, min(times, _AT_ONCE // len(target)))
    for start in range(0, times, at_once):
        rows = permuted(target, block, min(at_once, times - start), generator)
        for place, lag in enumerate(lags):
            null[start : start + len(rows), :, place] = _products(rows, candidates, lag)
    deviations = np.maximum(null.std(axis=0, dtype=np.float64), 1e-9)
    expected = null.mean(axis=0, dtype=np.float64)
    observed = ((correlations - expected) / deviations).max(axis=1)
    worst = ((null - expected) / deviations).max(axis=2)
    p_values = (1.0 + np.sum(worst >= observed, axis=0)) / (1.0 + times)
    return Test(correlations.astype(np.float64), deviations, p_values, _stepped(observed, worst))


def _products(rows: Scores, candidates: Scores, lag: int) -> Scores:
    if lag == 0:
        return rows @ candidates.T
    if lag > 0:
        return rows[:, lag:] @ candidates[:, :-lag].T
    return rows[:, :lag] @ candidates[:, -lag:].T


def lagged(scores: Scores, lag: int) -> Scores:
    """The candidate as it stands against the target of each window; zero where it would lie outside."""
    moved = np.roll(scores, lag)
    if lag > 0:
        moved[:lag] = 0.0
    elif lag < 0:
        moved[lag:] = 0.0
    return moved


def _stepped(observed: NDArray[np.float64], null: NDArray[np.float32]) -> NDArray[np.float64]:
    """Step-down p-values of the largest statistic."""
    adjusted = np.ones(len(observed))
    order = np.argsort(-observed)
    largest = np.full(len(null), -np.inf)
    exceeded = np.empty(len(observed))
    for place in reversed(range(len(order))):
        largest = np.maximum(largest, null[:, order[place]])
        exceeded[place] = (1.0 + np.sum(largest >= observed[order[place]])) / (1.0 + len(null))
    adjusted[order] = np.maximum.accumulate(exceeded)
    return adjusted


def without(scores: Scores, others: Scores, rounds: int = 3) -> Scores:
    """Scores less what bins of the others' values explain: a curve of any shape for each, fitted in turn.

    `others` has a row for each series that is allowed for.
    """
    bins = [_bins(other) for other in others]
    left = scores.astype(np.float64)
    for _ in range(rounds if len(bins) > 1 else 1):
        for at in bins:
            totals = np.bincount(at, weights=left)
            left = left - (totals / np.maximum(np.bincount(at), 1))[at]
    return left.astype(np.float32)


def _bins(values: Scores, most: int = 24) -> NDArray[np.intp]:
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, most + 1)[1:-1]))
    return np.searchsorted(edges, values, side="right")
