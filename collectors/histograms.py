"""Classic histograms of Prometheus: counts of values up to each edge, and what they tell of quantiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Quantile:
    """Where a quantile lies: within a bucket, about whose inside nothing is known."""

    low: float
    high: float | None
    """None for the last bucket, which has no upper edge."""
    value: float | None
    """Interpolated within the bucket; None without an upper edge."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Upper edges in ascending order, the last one infinite, and the count up to each."""

    edges: Sequence[float]
    counts: Sequence[float]
    total: float | None = None
    """Sum of all values."""

    @property
    def count(self) -> float:
        """All values."""
        return self.counts[-1] if self.counts else 0.0

    @property
    def mean(self) -> float | None:
        """Sum over count."""
        return self.total / self.count if self.total is not None and self.count > 0 and self.total >= 0 else None

    @property
    def beyond(self) -> float:
        """Share of values beyond the largest finite edge."""
        finite = max((c for e, c in zip(self.edges, self.counts, strict=True) if math.isfinite(e)), default=0.0)
        return max(0.0, 1 - finite / self.count) if self.count > 0 else 0.0

    def quantile(self, share: float) -> Quantile | None:
        """Of 0 to 1; None for an empty histogram."""
        if self.count <= 0:
            return None
        rank, low, below = share * self.count, 0.0, 0.0
        for edge, count in zip(self.edges, self.counts, strict=True):
            if count >= rank and count > below:
                if not math.isfinite(edge):
                    return Quantile(low, None, None)
                return Quantile(low, edge, low + (edge - low) * (rank - below) / (count - below))
            low, below = edge, count
        return None

    def minus(self, earlier: Histogram) -> Histogram | None:
        """What came since; None where the server began anew in between, or the edges differ."""
        if list(self.edges) != list(earlier.edges):
            return None
        counts = [now - then for now, then in zip(self.counts, earlier.counts, strict=True)]
        if any(count < 0 for count in counts):
            return None
        total = self.total - earlier.total if self.total is not None and earlier.total is not None else None
        return Histogram(self.edges, counts, total)


def histogram(buckets: Mapping[float, float], total: float | None) -> Histogram | None:
    """Of counts by upper edge, as scraped; None where they are no histogram."""
    edges = sorted(buckets)
    counts = [buckets[edge] for edge in edges]
    if not edges or any(later < earlier for earlier, later in pairwise(counts)):
        return None
    return Histogram(edges, counts, total)


def joined(histograms: Sequence[Histogram]) -> Histogram | None:
    """The sum of histograms with the same edges: one for each replica or reason."""
    first = histograms[0]
    if any(list(other.edges) != list(first.edges) for other in histograms):
        return None
    counts = [sum(column) for column in zip(*(other.counts for other in histograms), strict=True)]
    totals = [other.total for other in histograms if other.total is not None]
    return Histogram(first.edges, counts, sum(totals) if len(totals) == len(histograms) else None)
