"""Time cut into equal windows, once, on which everything that follows is counted."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.latency.quantiles import Floats

MOST_WINDOWS = 1 << 16
FEWEST_WINDOWS = 60
"""Below so many nothing is compared over time."""
_REQUESTS_A_WINDOW = 4.0
_STEPS = (1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class Grid:
    """Windows of one width from a start, in the seconds of a clock."""

    start_seconds: float
    width_seconds: float
    count: int

    def windows(self, times: Floats) -> NDArray[np.int32]:
        """Window of each time; -1 outside."""
        at = np.floor((times - self.start_seconds) / self.width_seconds)
        return np.where((at >= 0) & (at < self.count), at, -1).astype(np.int32)

    def centres(self) -> NDArray[np.float64]:
        """Middle of each window."""
        return (self.start_seconds + self.width_seconds * (np.arange(self.count) + 0.5)).astype(np.float64)


def grid_for(first: float, last: float, values: int, steps: tuple[float, ...] = ()) -> Grid | None:
    """Windows of some requests each and no finer than the finest series; None where that leaves too few.

    `steps` are those of the series that will be compared, in seconds.
    """
    span = last - first
    if not span > 0.0:
        return None
    width = round_up(max(span / MOST_WINDOWS, _REQUESTS_A_WINDOW * span / max(values, 1), min(steps, default=0.0)))
    start = math.floor(first / width) * width
    count = math.floor((last - start) / width) + 1
    return Grid(start, width, count) if count >= FEWEST_WINDOWS else None


def round_up(seconds: float) -> float:
    """The next of 1, 2, 5, 10, ... that is no smaller; a hair above one counts as it."""
    power = 10.0 ** math.floor(math.log10(seconds))
    return next(
        (float(f"{step * power:.6g}") for step in _STEPS if step * power >= seconds * 0.999), float(f"{10 * power:.6g}")
    )


def mean_by_window(times: Floats, values: Floats, grid: Grid, offset_seconds: float = 0.0) -> NDArray[np.float32]:
    """Mean of a series in each window; where a coarse series has none, its last value, for a step and a half.

    NaN where nothing is known. `offset_seconds` is added to the times.
    """
    at = grid.windows(times + offset_seconds if offset_seconds else times)
    inside = at >= 0
    if not inside.all():
        at, values = at[inside], values[inside]
    means = np.full(grid.count, np.nan, dtype=np.float32)
    if len(at) == 0:
        return means
    counts = np.bincount(at, minlength=grid.count)
    totals = np.bincount(at, weights=values, minlength=grid.count)
    seen = counts > 0
    means[seen] = totals[seen] / counts[seen]
    step = typical_step(times)
    hold = int(1.5 * step / grid.width_seconds) if step is not None else 0
    return _held(means, seen, hold) if hold else means


def typical_step(times: Floats) -> float | None:
    """Median step of a series; None below two values."""
    if len(times) < 2:
        return None
    return float(np.median(np.diff(times[:10_001])))


def _held(means: NDArray[np.float32], seen: NDArray[np.bool_], hold: int) -> NDArray[np.float32]:
    places = np.arange(len(means))
    last = np.maximum.accumulate(np.where(seen, places, -1))
    usable = (last >= 0) & (places - last <= hold)
    return np.where(usable, means[np.maximum(last, 0)], np.float32(np.nan))
