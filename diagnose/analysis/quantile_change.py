"""Whether a quantile of a latency changed between two runs, by a bootstrap over blocks of time.

Requests near in time are alike: a test that takes each for itself finds changes everywhere. Whole blocks of consecutive
requests are drawn instead, so that the interval is as wide as the run's own ups and downs make it. Each block is a
histogram with bins of 1 %, which keeps millions of requests cheap; a quantile is then known to within half a bin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

BIN = 1.01
"""Ratio of the edges of a bin."""
_BLOCKS = (8, 16, 64)
"""Long blocks see waves that last long, many blocks are less noisy: the widest of these counts."""
_STUDENT = 1.2
"""What 8 blocks leave unknown of their own variance: Student's 97.5 % quantile over that of the Gaussian."""
_FEWEST_IN_BLOCK = 20
_DRAWS = 1000
_SEED = 20260203


@dataclass(frozen=True, slots=True)
class QuantileChange:
    """A quantile before and after, and the interval of the ratio; None where the runs are too short for one."""

    before: float
    after: float
    low: float | None
    high: float | None

    @property
    def ratio(self) -> float:
        """After over before."""
        return self.after / self.before


def quantile_change(before: Floats, after: Floats, level: float, tests: int = 1) -> QuantileChange | None:
    """Of latencies in the order in which requests were sent; None where one side cannot have this quantile.

    `tests` is the number of such comparisons made together: the interval covers with 1 - 0.05 / tests, so that chance
    alone shows a change among all of them in one run of twenty.
    """
    import numpy as np

    sides = [values[np.isfinite(values) & (values > 0)] for values in (before, after)]
    if min(len(values) for values in sides) * (1 - level) < 5:
        return None
    exact = [float(np.quantile(values, level)) for values in sides]
    low_edge = math.log(min(float(values.min()) for values in sides))
    bins = math.ceil((math.log(max(float(values.max()) for values in sides)) - low_edge) / math.log(BIN)) + 1
    draws = [_draws(values, level, low_edge, bins, seed) for seed, values in enumerate(sides)]
    if draws[0] is None or draws[1] is None:
        return QuantileChange(exact[0], exact[1], None, None)
    outside = 0.05 / tests / 2
    difference = draws[1] - draws[0]
    middle = float(np.median(difference))
    low, high = middle + _STUDENT * (np.quantile(difference, [outside, 1 - outside]) - middle)
    half_bin = math.log(BIN) / 2
    return QuantileChange(exact[0], exact[1], math.exp(float(low) - half_bin), math.exp(float(high) + half_bin))


def _draws(values: Floats, level: float, low_edge: float, bins: int, seed: int) -> NDArray[np.float64] | None:
    """Logarithms of the quantile in draws of blocks, of the sort of block that lets it vary most; None for too few."""
    import numpy as np

    places = np.minimum(((np.log(values) - low_edge) / math.log(BIN)).astype(np.int64), bins - 1)
    found = []
    for blocks in _BLOCKS:
        if len(values) < blocks * _FEWEST_IN_BLOCK:
            break
        owner = np.arange(len(values)) * blocks // len(values)
        counts = np.bincount(owner * bins + places, minlength=blocks * bins).reshape(blocks, bins)
        random = np.random.default_rng((_SEED, seed, blocks))
        weights = random.multinomial(blocks, np.full(blocks, 1 / blocks), size=_DRAWS)
        below = np.cumsum(weights.astype(np.float32) @ counts.astype(np.float32), axis=1, dtype=np.float64)
        place = (below < level * below[:, -1:]).sum(axis=1)
        found.append(low_edge + (place + 0.5) * math.log(BIN))
    return max(found, key=lambda draws: float(np.var(draws))) if found else None
