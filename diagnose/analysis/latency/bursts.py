"""Single stalls and bursts of them: values that the scatter of the rest does not reach."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.latency.quantiles import Floats

FEWEST = 200
_FEWEST_OUTLIERS = 3
_ALLOWANCE = 1.3
"""On the limit that a lognormal tail gives: real ones are a little heavier."""
_WITHOUT_LIMIT = 40.0
"""Exponent from which values scatter so widely that nothing is an outlier."""
_EXPECTED = 0.01
"""Values beyond the limit that a sample of noise may have."""
_RETRANSMISSION_SECONDS = (0.2, 0.4, 0.8, 1.6, 3.2)
_TOGETHER = 0.2
"""Outliers belong together when they are closer than this part of their mean distance, in requests."""
_CLUSTERED = 0.01


@dataclass(frozen=True, slots=True)
class Bursts:
    """What was found."""

    outliers: NDArray[np.intp]
    """Places of the outliers."""
    limit: float
    excess: Floats
    """By how much each exceeds the median."""
    groups: tuple[tuple[int, int], ...]
    """First and last place of each burst of several; none where they stand as chance has it."""
    p_value: float
    """Chance that outliers at random places are as close together."""

    @property
    def found(self) -> bool:
        """Whether there are enough of them to be more than a slip."""
        return len(self.outliers) >= _FEWEST_OUTLIERS

    @property
    def retransmission_like(self) -> float:
        """Share whose excess is about one of TCP's retransmission times."""
        times = np.array(_RETRANSMISSION_SECONDS)
        near = np.abs(self.excess[:, np.newaxis] / times - 1.0).min(axis=1) <= 0.1
        return float(np.mean(near)) if len(near) else 0.0

    @property
    def spread(self) -> float:
        """Scatter of the excess over its median."""
        middle = float(np.median(self.excess))
        return 1.4826 * float(np.median(np.abs(self.excess - middle))) / middle if middle > 0 else 0.0


def limit_of(values: Floats) -> float:
    """Seconds beyond which a sample of this body and size is not expected to reach."""
    middle, ninety, most = (float(value) for value in np.quantile(values, (0.5, 0.9, 0.95)))
    if middle <= 0.0:
        return math.inf
    body = NormalDist()
    scale = max(math.log(ninety / middle) / body.inv_cdf(0.9), math.log(most / middle) / body.inv_cdf(0.95), 0.005)
    reach = _ALLOWANCE * scale * body.inv_cdf(1.0 - _EXPECTED / len(values))
    return middle * math.exp(reach) if reach < _WITHOUT_LIMIT else math.inf


def bursts(values: Floats) -> Bursts:
    """Of values in the order of time."""
    limit = limit_of(values)
    places = np.flatnonzero(values > limit)
    excess = values[places] - np.median(values)
    count = len(places)
    if count < _FEWEST_OUTLIERS:
        return Bursts(places, limit, excess, (), 1.0)
    reach = max(1, int(_TOGETHER * len(values) / count))
    close = np.diff(places) <= reach
    p_value = _at_least(int(close.sum()), count - 1, 1.0 - (1.0 - count / len(values)) ** reach)
    groups: list[tuple[int, int]] = []
    if p_value <= _CLUSTERED:
        ends = np.concatenate((np.flatnonzero(~close), [count - 1]))
        starts = np.concatenate(([0], ends[:-1] + 1))
        groups = [(int(places[first]), int(places[last])) for first, last in zip(starts, ends, strict=True)
                  if last > first]  # fmt: skip
    return Bursts(places, limit, excess, tuple(groups), p_value)


def _at_least(successes: int, trials: int, chance: float) -> float:
    """Upper tail of the binomial distribution."""
    if successes == 0:
        return 1.0
    if trials > 2000:
        deviation = math.sqrt(trials * chance * (1.0 - chance))
        return 1.0 - NormalDist().cdf((successes - 0.5 - trials * chance) / max(deviation, 1e-12))
    logs = [
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        + k * math.log(chance) + (trials - k) * math.log1p(-chance)
        for k in range(successes, trials + 1)
    ]  # fmt: skip
    return min(1.0, sum(math.exp(value) for value in logs))
