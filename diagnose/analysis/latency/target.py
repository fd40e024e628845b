"""One latency on a grid of windows: a score of how slow each window is, and a histogram for conditional quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.latency.grid import Grid
from diagnose.analysis.latency.quantiles import Floats
from diagnose.analysis.latency.stream import Stream

_RANKS = 1024
_BODY, _TAIL = 36, 64
_LENGTH_BINS = 16
_FEWEST_A_BIN = 30
_OWN_LENGTH = {"ttft": ("input_tokens",), "e2e": ("output_tokens", "input_tokens")}
"""What of a request itself its latency grows with: allowed for before requests are compared with each other."""


@dataclass(frozen=True, slots=True)
class Target:
    """A latency by window."""

    metric: str
    grid: Grid
    requests: NDArray[np.int32]
    """Requests of each window."""
    scores: NDArray[np.float32]
    """Mean exponential score of the requests of each window, their own lengths allowed for; NaN where it has none."""
    edges: NDArray[np.float64]
    """Upper edges of the histogram's bins, in seconds, with the smallest value before them."""
    histogram: NDArray[np.float32]
    """Requests by window and bin."""

    def quantile(self, counts: NDArray[np.floating], level: float) -> NDArray[np.float64]:
        """Quantile of each row of counts by bin; NaN for an empty row."""
        rows = np.atleast_2d(counts).astype(np.float64)
        below = np.cumsum(rows, axis=1)
        total = below[:, -1]
        wanted = level * total
        at = np.minimum(np.sum(below < wanted[:, np.newaxis], axis=1), rows.shape[1] - 1)
        places = np.arange(len(rows))
        inside = rows[places, at]
        share = (wanted - (below[places, at] - inside)) / np.maximum(inside, 1e-9)
        low, high = np.log(self.edges[at]), np.log(self.edges[at + 1])
        return np.where(total > 0, np.exp(low + np.clip(share, 0.0, 1.0) * (high - low)), np.nan)

    def by_group(self, groups: NDArray[np.intp], count: int) -> NDArray[np.float64]:
        """Histograms of groups of windows; -1 leaves a window out."""
        sums = np.zeros((count, self.histogram.shape[1]))
        inside = groups >= 0
        np.add.at(sums, groups[inside], self.histogram[inside])
        return sums

    def stretches(self, parts: int) -> NDArray[np.float64]:
        """Histograms of so many equal stretches of time."""
        starts = np.linspace(0, self.grid.count, parts + 1).astype(np.intp)[:-1]
        return np.add.reduceat(self.histogram.astype(np.float64), starts, axis=0)


def target_of(stream: Stream, metric: str, grid: Grid) -> Target | None:
    """The latency of a stream by window; None where no value of it is positive."""
    values = stream.latency(metric)
    known = np.isfinite(values) & (values > 0)
    if not known.any():
        return None
    at = grid.windows(stream.times(metric))
    known &= at >= 0
    at, values = at[known], values[known]
    if len(values) < 2:
        return None
    requests = np.bincount(at, minlength=grid.count)
    scores = request_scores(own_length_allowed_for(stream, metric, known, values))
    totals = np.bincount(at, weights=scores, minlength=grid.count)
    means = np.where(requests > 0, totals / np.maximum(requests, 1), np.nan).astype(np.float32)
    edges = _edges(values)
    bins = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, len(edges) - 2)
    flat = np.bincount(at * np.int64(len(edges) - 1) + bins, minlength=grid.count * (len(edges) - 1))
    histogram = flat.reshape(grid.count, len(edges) - 1).astype(np.float32)
    return Target(metric, grid, requests.astype(np.int32), means, edges, histogram)


def _edges(values: Floats) -> NDArray[np.float64]:
    levels = np.concatenate(
        (np.linspace(0.0, 0.9, _BODY + 1), 1.0 - np.geomspace(0.1, 1.0 / len(values), _TAIL + 1)[1:], [1.0])
    )
    edges = np.unique(np.quantile(values, levels, method="inverted_cdf").astype(np.float64))
    if len(edges) == 1:
        return np.array([edges[0] * 0.999, edges[0]])
    # What equals the smallest value falls into the first bin.
    return np.concatenate(([edges[0] * 0.999], edges))


def request_scores(values: Floats) -> NDArray[np.float32]:
    """Exponential scores of ranks among some thousand quantiles, centred."""
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, _RANKS + 1)[1:-1]))
    at = np.searchsorted(edges, values, side="left")
    counts = np.bincount(at, minlength=len(edges) + 1)
    middle = (np.cumsum(counts) - counts / 2.0) / len(values)
    of_bin = -np.log1p(-np.minimum(middle, 1.0 - 0.5 / len(values)))
    return np.asarray((of_bin - np.average(of_bin, weights=counts))[at], dtype=np.float32)


def own_length_allowed_for(stream: Stream, metric: str, known: NDArray[np.bool_], values: Floats) -> Floats:
    """Latencies over the median of requests of about the same length."""
    left = values
    for name in _OWN_LENGTH.get(metric, ()):
        column = stream.columns.get(name)
        if column is None or len(values) < _LENGTH_BINS * _FEWEST_A_BIN:
            continue
        lengths = np.nan_to_num(column[known], nan=-1.0)
        edges = np.unique(np.quantile(lengths, np.linspace(0.0, 1.0, _LENGTH_BINS + 1)[1:-1]))
        at = np.searchsorted(edges, lengths, side="left")
        typical = np.array([np.median(part) if len(part := left[at == place]) else 1.0
                            for place in range(len(edges) + 1)])  # fmt: skip
        left = left / typical[at].astype(values.dtype)
    return left
