"""Conditional tails: a latency while something is high against the same latency while it is low."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.latency.quantiles import Quantile
from diagnose.analysis.latency.target import Target

FEWEST = 50
"""Requests that either range needs."""
_LOWER, _UPPER = 0.5, 0.8
_STRETCHES = 96
_RESAMPLES = 400
_AT_ONCE = 32

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Tails:
    """Quantiles of both ranges."""

    p50_low: float
    p50_high: float
    p99_low: float
    p99_high: float
    time_share: float
    """Share of all requests that fall into the upper range."""
    tail_share: float
    """The same of the slowest hundredth."""


def ranges(values: NDArray[np.floating]) -> tuple[Mask, Mask]:
    """Windows in the lower range (lower half, or where it rests) and in the upper (upper fifth, or where it is on).

    A driver is at rest where half of the windows or more share its smallest value.
    """
    known = np.isfinite(values)
    seen = values[known]
    smallest = seen.min()
    resting = float(np.mean(seen <= smallest))
    middle, upper = np.quantile(seen, (_LOWER, _UPPER))
    if resting >= _LOWER:
        low, high = values <= smallest, values >= upper if upper > smallest else values > smallest
    else:
        low, high = values <= middle, values >= upper if upper > middle else values > middle
    return known & low, known & high


def tails(target: Target, pairs: Sequence[tuple[Mask, Mask]]) -> list[Tails | None]:
    """Quantiles of each pair of lower and upper range; None where either has too few requests."""
    whole = target.histogram.sum(axis=0, dtype=np.float64)
    from_top = np.cumsum(whole[::-1])[::-1]
    slowest = from_top <= max(0.01 * whole.sum(), from_top[-1])
    found: list[Tails | None] = []
    for first in range(0, len(pairs), _AT_ONCE):
        masks = np.stack([mask for pair in pairs[first : first + _AT_ONCE] for mask in pair])
        sums = masks.astype(np.float32) @ target.histogram
        middle, slow = target.quantile(sums, 0.5), target.quantile(sums, 0.99)
        counts, inside = sums.sum(axis=1), sums[:, slowest].sum(axis=1)
        for low, high in zip(range(0, len(masks), 2), range(1, len(masks), 2), strict=True):
            few = min(counts[low], counts[high]) < FEWEST
            found.append(
                None
                if few
                else Tails(
                    float(middle[low]), float(middle[high]), float(slow[low]), float(slow[high]),
                    float(counts[high] / whole.sum()), float(inside[high] / max(whole[slowest].sum(), 1.0)),
                )
            )  # fmt: skip
    return found


def tail_ratio(target: Target, low: Mask, high: Mask, generator: np.random.Generator) -> Quantile | None:
    """p99 in the upper range over p99 in the lower, with an interval by resampling stretches of time."""
    parts = min(_STRETCHES, target.grid.count // 2)
    starts = np.linspace(0, target.grid.count, parts + 1).astype(np.intp)[:-1]
    by_range = [np.add.reduceat(target.histogram * mask[:, np.newaxis], starts, axis=0) for mask in (low, high)]
    ratio = _ratio(target, *(part.sum(axis=0, keepdims=True) for part in by_range))[0]
    weights = generator.multinomial(parts, np.full(parts, 1.0 / parts), size=_RESAMPLES).astype(np.float32)
    drawn = _ratio(target, *(weights @ part for part in by_range))
    drawn = drawn[np.isfinite(drawn)]
    if not np.isfinite(ratio) or len(drawn) < _RESAMPLES // 2:
        return None
    low_end, high_end = np.quantile(drawn, (0.025, 0.975))
    return Quantile(float(ratio), float(min(low_end, ratio)), float(max(high_end, ratio)))


def _ratio(target: Target, low: NDArray[np.floating], high: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(target.quantile(high, 0.99) / target.quantile(low, 0.99))
