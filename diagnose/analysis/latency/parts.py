"""Where the extra time of slow requests goes: each part's own excess over what it takes in a typical request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from diagnose.analysis.latency.quantiles import Floats, Quantile

FEWEST = 200
PARTS_OF = {"ttft": ("queue", "prefill", "network"), "e2e": ("queue", "prefill", "decode", "network", "client")}
"""Latency to the parts that it is the sum of."""
_SLOW = 0.01
_FEWEST_SLOW, _MOST_SLOW = 20, 20_000
_RESAMPLES = 200


@dataclass(frozen=True, slots=True)
class Parts:
    """Shares of the excess, by part."""

    slow: int
    excess: float
    shares: Mapping[str, Quantile]

    @property
    def dominant(self) -> str:
        """The part with the largest share."""
        return max(self.shares, key=lambda name: self.shares[name].value)

    @property
    def decided(self) -> bool:
        """Whether one part has more than half of the excess, by the lower end of its interval."""
        return self.shares[self.dominant].low > 0.5

    @property
    def unattributed(self) -> float:
        """What no measured part has."""
        return max(0.0, 1.0 - sum(share.value for share in self.shares.values()))


def parts(whole: Floats, by_part: Mapping[str, Floats]) -> Parts | None:
    """Of one latency and its parts, request by request; None where too few requests have all of them."""
    known = np.isfinite(whole)
    for column in by_part.values():
        known &= np.isfinite(column)
    total = whole[known]
    if len(total) < FEWEST or not by_part:
        return None
    number = min(_MOST_SLOW, max(_FEWEST_SLOW, int(_SLOW * len(total))))
    slow = np.sort(np.argpartition(total, len(total) - number)[-number:])
    low, middle, high = np.quantile(total, (0.25, 0.5, 0.75))
    typical = (total >= low) & (total <= high)
    excess = total[slow].astype(np.float64) - middle
    own = {name: column[known][slow].astype(np.float64) - float(np.median(column[known][typical]))
           for name, column in by_part.items()}  # fmt: skip
    if excess.sum() <= 0.0:
        return None
    # Slow requests that are neighbours share their reason: they are drawn together.
    groups = np.array_split(np.arange(number), min(40, number // 5))
    sums = np.array([[excess[group].sum(), *(values[group].sum() for values in own.values())] for group in groups])
    generator = np.random.default_rng([number, len(total)])
    drawn = generator.multinomial(len(groups), np.full(len(groups), 1.0 / len(groups)), size=_RESAMPLES) @ sums
    shares = {}
    for place, name in enumerate(own, 1):
        ends = np.quantile(drawn[:, place] / np.maximum(drawn[:, 0], 1e-12), (0.025, 0.975))
        value = sums[:, place].sum() / sums[:, 0].sum()
        shares[name] = Quantile(*(float(np.clip(item, 0.0, 1.0)) for item in (value, *ends)))
    return Parts(number, float(excess.mean()), shares)
