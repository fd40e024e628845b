"""How requests arrive: regardless of others (open loop) or when others end (closed loop), and what stalls leave out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.latency.quantiles import Floats

FEWEST = 100
_CLOSE = 0.02
"""Part of the median latency within which a start follows an end."""
_STALL = 5.0
"""A stall lasts so many mean distances between arrivals, and three median latencies."""
_FEWEST_STALLS = 5

CLOSED, OPEN, NOT_SHOWN = "closed", "open", "not-shown"


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What starts and ends tell."""

    loop: str
    follow_ratio: float
    follow_expected: float
    rate: float
    dispersion: float | None
    omission: bool | None
    omitted_ratio: float | None
    concurrency_mean: float
    concurrency_p95: float
    concurrency_max: int
    backlog_ratio: float


def arrivals(starts: Floats, latencies: Floats) -> Arrivals | None:
    """Of ascending starts and the latency of each request; None where they span no time."""
    ends = np.sort(starts + latencies)
    span = float(starts[-1] - starts[0])
    if span <= 0.0:
        return None
    rate = len(starts) / span
    near = max(_CLOSE * float(np.median(latencies)), 1e-4)
    previous = np.searchsorted(ends, starts, side="right") - 1
    since = np.where(previous >= 0, starts - ends[np.maximum(previous, 0)], np.inf)
    follow = float(np.mean(since <= near))
    expected = 1.0 - math.exp(-rate * near)
    omission, omitted = _omission(starts, latencies, rate)
    concurrency = 1 + np.arange(len(starts)) - np.searchsorted(ends, starts, side="right")
    full = float(np.mean(concurrency >= concurrency.max() - max(1, round(0.05 * concurrency.max()))))
    loop = NOT_SHOWN
    if (follow > 0.7 and follow > expected + 0.4) or (full > 0.8 and follow > expected + 0.2):
        loop = CLOSED
    elif follow < expected + 0.1 and expected < 0.7:
        loop = OPEN
    ended = int(np.searchsorted(ends, starts[-1], side="right"))
    return Arrivals(
        loop, follow, expected, rate, _dispersion(starts, span), omission, omitted,
        float(np.sum(latencies, dtype=np.float64)) / span, float(np.quantile(concurrency, 0.95)),
        int(concurrency.max()), len(starts) / max(ended, 1),
    )  # fmt: skip


def _dispersion(starts: Floats, span: float) -> float | None:
    """Variance over mean of arrivals in a second; None below 30 seconds."""
    if span < 30.0:
        return None
    seconds = np.floor(starts - starts[0])
    whole = float(seconds[-1])
    # Only seconds with arrivals are counted one by one: a single false time can make a span of centuries.
    _, counts = np.unique(seconds[seconds < whole], return_counts=True)
    mean = float(counts.sum()) / whole
    return float(np.square(counts, dtype=np.float64).sum()) / whole / mean - mean if mean > 0 else None


def _omission(starts: Floats, latencies: Floats, rate: float) -> tuple[bool | None, float | None]:
    """Whether fewer requests begin during stalls than otherwise, and how many are missing of those expected there."""
    limit = max(_STALL / rate, 3.0 * float(np.median(latencies)))
    stalled = np.flatnonzero(latencies > limit)
    if len(stalled) < _FEWEST_STALLS:
        return None, None
    begun = np.searchsorted(starts, starts[stalled] + latencies[stalled]) - stalled - 1
    expected = rate * float(np.sum(latencies[stalled], dtype=np.float64))
    missing = max(0.0, 1.0 - float(begun.sum()) / expected)
    return missing > 0.5, missing


@dataclass(frozen=True, slots=True)
class ByLoad:
    """Latency by the number of requests under way at the start."""

    p50_low: float
    p50_high: float
    p99_low: float
    p99_high: float
    completions_ratio: float | None


def by_load(starts: Floats, latencies: Floats, values: Floats) -> ByLoad | None:
    """`values` of the thirds of the requests that met the fewest and the most others; None where all met alike."""
    ends = np.sort(starts + latencies)
    met = np.arange(len(starts)) - np.searchsorted(ends, starts, side="right")
    first, second = np.quantile(met, (1 / 3, 2 / 3))
    low, high = met <= first, met > second if second > first else met >= max(second, first + 1)
    if min(low.sum(), high.sum()) < FEWEST / 4:
        return None
    few, many = values[low & np.isfinite(values)], values[high & np.isfinite(values)]
    if min(len(few), len(many)) < FEWEST / 4:
        return None
    p50, p99 = ([float(np.quantile(part, level)) for part in (few, many)] for level in (0.5, 0.99))
    return ByLoad(p50[0], p50[1], p99[0], p99[1], _completions(starts, ends))


def _completions(starts: Floats, ends: NDArray[np.floating]) -> float | None:
    """Completions in the busiest third of the time over those in the middle third."""
    slots = min(600, len(starts) // 20)
    edges = np.linspace(float(starts[0]), float(starts[-1]), slots + 1)
    begun, done = np.searchsorted(starts, edges), np.searchsorted(ends, edges)
    order = np.argsort(0.5 * ((begun - done)[:-1] + (begun - done)[1:]), kind="stable")
    completions = np.diff(done)[order]
    middle = float(completions[slots // 3 : 2 * slots // 3].mean())
    return float(completions[2 * slots // 3 :].mean()) / middle if middle > 0 else None
