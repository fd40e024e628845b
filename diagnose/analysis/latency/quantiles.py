"""Quantiles with intervals by order statistics, widened for requests near in time being alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]

LEVELS = (0.5, 0.9, 0.95, 0.99, 0.999)
"""Quantiles that are told."""
_ALPHA = 0.05
_EXACT_UP_TO = 400.0
"""Up to so many expected exceedances their binomial distribution is summed; beyond, it is Gaussian enough."""
_BLOCKS = (16, 64)
_KEPT = 0.7
"""What is left of the effect of one level at the next at least: few exceedances tell little of how they cluster."""
_LEAST_EFFECTIVE = 25.0
"""Below so many independent values the sample does not tell its own correlation."""
_FEWEST_BEYOND = 5
"""Values beyond a quantile for it to be told at all."""
_STUDENT_15 = 1.09
"""Student's 97.5 % quantile with 15 degrees of freedom over that of the Gaussian: what 16 blocks tell of a variance."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile and its interval of 95 %, whose ends are 0 and infinite where the sample does not tell them."""

    value: float
    low: float
    high: float

    @property
    def closed(self) -> bool:
        """Whether the sample tells both ends."""
        return self.low > 0.0 and math.isfinite(self.high)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """The quantiles of a sample beyond which it has a few values."""

    count: int
    effective: float
    """Independent values that the sample is worth for its p90, or its median where that is fewer."""
    by_level: dict[float, Quantile]
    mean: float
    deviation: float
    largest: float

    @property
    def resolvable(self) -> float:
        """The highest level whose interval is closed; 0 where none is."""
        return max((level for level, quantile in self.by_level.items() if quantile.closed), default=0.0)

    def tail_ratio(self) -> Quantile | None:
        """p99 over p50, with the interval recovered from theirs (MOVER, of independent estimates)."""
        upper, middle = self.by_level.get(0.99), self.by_level.get(0.5)
        return ratio_of(upper, middle) if upper and middle else None


def ratio_of(upper: Quantile, lower: Quantile) -> Quantile | None:
    """The ratio of two quantiles; None where one is not positive."""
    if min(upper.value, lower.value) <= 0.0:
        return None
    ratio = upper.value / lower.value
    if not (upper.closed and lower.closed):
        return Quantile(ratio, 0.0, math.inf)
    below = math.hypot(math.log(upper.value / upper.low), math.log(lower.high / lower.value))
    above = math.hypot(math.log(upper.high / upper.value), math.log(lower.value / lower.low))
    return Quantile(ratio, ratio * math.exp(-below), ratio * math.exp(above))


def quantiles(values: Floats) -> Quantiles:
    """Of values in the order of time, at least one."""
    ordered = np.sort(values)
    count = len(ordered)
    found: dict[float, Quantile] = {}
    effective, effect = float(count), 1.0
    for level in LEVELS:
        value = float(ordered[min(count - 1, math.ceil(level * count) - 1)])
        effect = max(design_effect(values > value), _KEPT * effect)
        worth = count / effect
        effective = min(effective, worth) if level <= 0.9 else effective
        if count * (1.0 - level) < _FEWEST_BEYOND:
            continue
        low, high = rank_interval(worth, level) if effective >= _LEAST_EFFECTIVE else (None, None)
        found[level] = Quantile(value, _ranked(ordered, low, 0.0), _ranked(ordered, high, math.inf))
    mean = float(np.mean(values, dtype=np.float64))
    return Quantiles(count, effective, found, mean, float(np.std(values, dtype=np.float64)), float(ordered[-1]))


def design_effect(exceeds: NDArray[np.bool_]) -> float:
    """By how much the variance of a share is larger than if the values were independent; at least 1.

    The larger of what 16 and 64 blocks of time tell: longer blocks see longer correlation, more blocks are less noisy.
    """
    count = len(exceeds)
    share = float(np.mean(exceeds))
    if not 0.0 < share < 1.0:
        return 1.0
    effect = 1.0
    for blocks in _BLOCKS:
        length = count // blocks
        if length < 4:
            break
        shares = exceeds[: length * blocks].reshape(blocks, length).mean(axis=1)
        effect = max(effect, float(np.var(shares, ddof=1)) * length / (share * (1.0 - share)))
    return effect * _STUDENT_15**2 if effect > 1.5 else effect


def _ranked(ordered: Floats, level: float | None, unknown: float) -> float:
    if level is None:
        return unknown
    return float(ordered[min(len(ordered) - 1, max(0, math.ceil(level * len(ordered)) - 1))])


def rank_interval(count: float, level: float) -> tuple[float | None, float | None]:
    """Levels of the sample between which the quantile lies with 95 %; None where the sample does not close that end.

    `count` is the number of independent values, which need not be whole. Exceedances of the quantile are binomial.
    """
    share = 1.0 - level
    expected = count * share
    if expected > _EXACT_UP_TO:
        half = 1.96 * math.sqrt(expected * level)
        return 1.0 - (expected + half + 0.5) / count, 1.0 - (expected - half - 0.5) / count
    fewest, most, below = -1, -1, 0.0
    for number in range(int(count) + 1):
        mass = _binomial(count, share, number)
        if fewest < 0 and below + mass > _ALPHA / 2:
            fewest = number
        below += mass
        if below >= 1.0 - _ALPHA / 2:
            most = number
            break
    low = 1.0 - most / count if 0 <= most < count else None
    return low, min(1.0, 1.0 - (fewest - 1) / count) if fewest > 0 else None


def _binomial(count: float, share: float, number: int) -> float:
    return math.exp(
        math.lgamma(count + 1)
        - math.lgamma(number + 1)
        - math.lgamma(count - number + 1)
        + number * math.log(share)
        + (count - number) * math.log1p(-share)
    )
