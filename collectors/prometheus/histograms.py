"""Quantiles over time from histograms, classic and native.

A histogram counts since its process began; what lies between two scrapes is the difference. Where a count fell, the
process began anew, and that interval is left out. A quantile is interpolated within its bucket, as Prometheus does;
beyond the last finite bound nothing is known and that bound is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from collectors.prometheus.samples import NativeHistogram, Stream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENOUGH = 50
"""Observations in an interval from which on its 99th percentile says something; intervals are joined to have them."""
_MOST_JOINED = 40
QUANTILES: Mapping[str, float] = {"p50": 0.5, "p99": 0.99}


class Increments:
    """Observations by interval and bucket."""

    def __init__(
        self, times: NDArray[np.float64], counts: NDArray[np.float64], bounds: NDArray[np.float64], gap: float
    ) -> None:
        """`counts` are cumulative over buckets and time: a row for each scrape. No interval spans more than `gap`."""
        import numpy as np

        rises = np.diff(counts, axis=0)
        step = np.diff(times)
        kept = (rises >= -1e-9).all(axis=1) & (step <= gap) & np.isfinite(rises).all(axis=1)
        self.times = times[1:][kept]
        self.rises = np.maximum(rises[kept], 0.0)
        self.bounds = bounds

    def joined(self) -> Increments:
        """Intervals put together so that a typical one has enough observations."""
        import numpy as np

        totals = self.rises[:, -1] if len(self.rises) else np.zeros(0)
        busy = totals[totals > 0]
        together = min(_MOST_JOINED, math.ceil(ENOUGH / float(np.median(busy)))) if len(busy) else 1
        rows = len(totals) // together * together
        if together > 1 and rows:
            self.rises = self.rises[:rows].reshape(-1, together, self.rises.shape[1]).sum(axis=1)
            self.times = self.times[:rows][together - 1 :: together]
        return self

    def quantile(self, level: float) -> NDArray[np.float64]:
        """One for each interval; NaN where too little was observed."""
        import numpy as np

        totals = self.rises[:, -1]
        wanted = totals * level
        place = np.argmax(self.rises >= wanted[:, np.newaxis], axis=1)
        rows = np.arange(len(totals))
        upper = self.bounds[place]
        lower = np.where(place > 0, self.bounds[np.maximum(place - 1, 0)], 0.0)
        below = np.where(place > 0, self.rises[rows, np.maximum(place - 1, 0)], 0.0)
        inside = np.maximum(self.rises[rows, place] - below, 1e-12)
        finite = np.where(np.isfinite(upper), lower + (upper - lower) * (wanted - below) / inside, lower)
        return np.where(totals >= max(5.0, 0.5 / (1 - level)), finite, np.nan)


def classic(streams: Sequence[Stream], gap: float) -> Increments | None:
    """Of the `_bucket` series of one histogram; None where its bounds are incomplete."""
    import numpy as np

    by_bound = {bound: stream for stream in streams if (bound := _bound(stream)) is not None}
    if len(by_bound) < 2 or math.inf not in by_bound:
        return None
    bounds = sorted(by_bound)
    times = np.unique(np.concatenate([stream.times_seconds for stream in by_bound.values()]))
    counts = np.full((len(times), len(bounds)), np.nan)
    for column, bound in enumerate(bounds):
        stream = by_bound[bound]
        counts[np.searchsorted(times, stream.times_seconds), column] = stream.values
    complete = np.isfinite(counts).all(axis=1)
    return Increments(times[complete], counts[complete], np.array(bounds), gap)


def _bound(stream: Stream) -> float | None:
    try:
        return float(stream.labels["le"])
    except (KeyError, ValueError):
        return None


def native(histograms: Iterable[NativeHistogram], gap: float) -> Increments | None:
    """Of the samples of one native histogram; its buckets may change from sample to sample."""
    import numpy as np

    samples = list(histograms)
    bounds = sorted({bound for sample in samples for bound in sample.buckets})
    if len(samples) < 2 or not bounds:
        return None
    times = np.array([sample.seconds for sample in samples])
    single = np.array([[sample.buckets.get(bound, 0.0) for bound in bounds] for sample in samples])
    # A bucket that vanishes was merged into a wider one: both rows then differ, and the interval is left out.
    return Increments(times, np.cumsum(single, axis=1), np.array(bounds), gap)


def grouped(streams: Iterable[Stream]) -> list[list[Stream]]:
    """The bucket series of each histogram."""
    found: dict[tuple[tuple[str, str], ...], list[Stream]] = {}
    for stream in streams:
        key = tuple(sorted((name, value) for name, value in stream.labels.items() if name != "le"))
        found.setdefault(key, []).append(stream)
    return list(found.values())
