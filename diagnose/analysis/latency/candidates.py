"""What may drive a latency, on the grid of its windows: series of the machine, and what the requests tell of load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.latency.grid import Grid, mean_by_window
from diagnose.analysis.latency.stream import Stream
from diagnose.facts.base import Source, Subject
from diagnose.facts.metrics import METRICS, Driver
from diagnose.facts.series import Series

CONSEQUENCES = frozenset(
    {
        *(Driver.CONCURRENCY, Driver.QUEUE_LENGTH, Driver.BATCH_SIZE, Driver.KV_CACHE_USE, Driver.PREEMPTIONS),
        *(Driver.GPU_COMPUTE, Driver.POWER, Driver.TEMPERATURE),
    }
)
"""They rise when requests take longer, whatever the reason: nothing outside the server is explained away by them.

The share of time with kernels counts the server's own, which fill more of it when they are held up. Power and heat
follow from work, and act on latency through clocks alone, which are drivers of their own.
"""
_LOST = (Driver.NIC_EGRESS, Driver.NIC_INGRESS)
FOLLOWS_FROM: Mapping[Driver, tuple[Driver, ...]] = {
    Driver.RETRANSMITS: _LOST,
    Driver.PACKET_DROPS: _LOST,
    Driver.PAUSE_FRAMES: _LOST,
    Driver.SM_CLOCK: (Driver.CLOCK_LIMIT_POWER, Driver.CLOCK_LIMIT_THERMAL, Driver.IDLE_BEFORE),
    Driver.STORAGE_PRESSURE: (Driver.MEMORY_PRESSURE, Driver.PAGE_FAULTS),
    Driver.STORAGE_READS: (Driver.MEMORY_PRESSURE, Driver.PAGE_FAULTS),
}
"""Driver to those that bring it about, which it therefore explains nothing of.

A full link drops and pauses, clocks fall by their limits and in pauses, and what was swapped out is read from a disk.
"""
FROM_OUTSIDE = frozenset({Driver.ARRIVAL_RATE, Driver.PREFILL_TOKENS})
"""What clients send is no consequence of what the machine does: it explains whatever it cannot be told apart from."""
_SMOOTHED = (4, 16)
"""Windows over which arrivals are summed up beside their own: a queue remembers what came before."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One series that latency may follow."""

    metric: str
    subject: Subject
    sources: tuple[Source, ...]
    values: NDArray[np.float32]
    """Mean in each window, NaN where unknown."""

    @property
    def driver(self) -> Driver:
        """Sort of the driver."""
        return METRICS[self.metric].driver

    @property
    def sign(self) -> float:
        """-1 where low values are the suspicious ones."""
        return -1.0 if METRICS[self.metric].lower_is_worse else 1.0

    @property
    def varies(self) -> bool:
        """Whether there is anything to go along with."""
        known = self.values[np.isfinite(self.values)]
        return len(known) > 0.2 * len(self.values) and float(np.ptp(known)) > 1e-6 * abs(float(known.max()))

    @property
    def group(self) -> tuple[Driver, str]:
        """Candidates of one group are alternatives: the same driver of the same subject."""
        return self.driver, self.subject.path()


def from_series(series: Iterable[Series], grid: Grid, offsets: Iterable[float]) -> Iterator[Candidate]:
    """Series of known metrics by window; `offsets` are added to the times of each."""
    for item, offset in zip(series, offsets, strict=True):
        known = np.isfinite(item.values)
        times, values = (item.times_seconds, item.values) if known.all() else (
            item.times_seconds[known], item.values[known])  # fmt: skip
        yield Candidate(item.metric, item.subject, item.sources, mean_by_window(times, values, grid, offset))


def from_requests(stream: Stream, metric: str, grid: Grid) -> Iterator[Candidate]:
    """Arrivals, prompt tokens, lengths, requests under way and idle times, as far as the table has them."""
    if stream.quantile is not None:
        return
    starts = stream.columns["start_seconds"]
    at = grid.windows(starts)
    inside = at >= 0
    at = at[inside]
    counts = np.bincount(at, minlength=grid.count).astype(np.float32)

    def candidate(name: str, values: NDArray[np.floating]) -> Candidate:
        return Candidate(name, stream.subject, stream.sources, values.astype(np.float32))

    yield from (candidate("requests_arrivals_per_second", rate) for rate in _with_memory(counts / grid.width_seconds))
    prompts, answers = stream.columns.get("input_tokens"), stream.columns.get("output_tokens")
    if prompts is not None:
        tokens = np.bincount(at, weights=np.nan_to_num(prompts[inside]), minlength=grid.count)
        yield from (
            candidate("requests_input_tokens_per_second", rate) for rate in _with_memory(tokens / grid.width_seconds)
        )
        # Of the latencies that grow with a request's own length that share is taken out already.
        if metric == "itl":
            yield candidate("requests_input_tokens", _mean(tokens, counts))
    if answers is not None and metric == "ttft":
        totals = np.bincount(at, weights=np.nan_to_num(answers[inside]), minlength=grid.count)
        yield candidate("requests_output_tokens", _mean(totals, counts))
    whole = stream.columns.get("end_to_end_seconds")
    if whole is not None:
        ends = starts + np.nan_to_num(whole)
        yield candidate("requests_under_way", under_way(starts, ends, grid))
        idle = starts[1:] - np.maximum.accumulate(ends)[:-1]
        if np.mean(idle > 0) > 0.01:
            totals = np.bincount(at, weights=np.maximum(np.concatenate(([0.0], idle)), 0.0)[inside],
                                 minlength=grid.count)  # fmt: skip
            yield candidate("requests_idle_before_seconds", _mean(totals, counts))


def under_way(starts: NDArray[np.floating], ends: NDArray[np.floating], grid: Grid) -> NDArray[np.float64]:
    """Requests under way in the middle of each window."""
    centres = grid.centres()
    return (np.searchsorted(starts, centres, side="right") - np.searchsorted(np.sort(ends), centres)).astype(np.float64)


def _mean(totals: NDArray[np.number], counts: NDArray[np.floating]) -> NDArray[np.floating]:
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


def _with_memory(rate: NDArray[np.floating]) -> Iterator[NDArray[np.floating]]:
    """The rate itself, and its mean over some windows up to each."""
    yield rate
    total = np.concatenate(([0.0], np.cumsum(rate, dtype=np.float64)))
    places = np.arange(1, len(rate) + 1)
    for length in _SMOOTHED:
        first = np.maximum(places - length, 0)
        yield (total[places] - total[first]) / (places - first)
