"""Collectives of a trace by sort and size: how long they took, and how much of it computation did not hide."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.trace_device import TracedDevice
from diagnose.analysis.trace_intervals import Floats, covered_within
from diagnose.facts.trace import TraceCollective

_SIZES: tuple[tuple[float, str], ...] = (
    (64 << 10, "up to 64 KiB"),
    (1 << 20, "up to 1 MiB"),
    (16 << 20, "up to 16 MiB"),
    (256 << 20, "up to 256 MiB"),
)
_LARGER = len(_SIZES)
_UNKNOWN = _LARGER + 1


def collectives(device: TracedDevice) -> Iterator[TraceCollective]:
    """One fact for each sort and class of sizes, those that take most time first."""
    table = device.trace.collectives
    here = np.flatnonzero(np.isin(table.at, device.at))
    if not len(here):
        return
    work = device.trace.gpu
    start, duration = work.start_seconds[table.at[here]], work.duration_seconds[table.at[here]]
    exposed = duration - covered_within(device.compute, start, start + duration)
    sizes = table.size_bytes[here]
    keys = table.kind[here].astype(np.int64) * (_UNKNOWN + 1) + _classes(sizes)
    totals = {int(key): float(duration[keys == key].sum()) for key in np.unique(keys)}
    for key in sorted(totals, key=lambda key: -totals[key]):
        chosen = keys == key
        yield _fact(device, key, duration[chosen], exposed[chosen], sizes[chosen])


def _classes(sizes: Floats) -> NDArray[np.int64]:
    bounds = [bound for bound, _ in _SIZES]
    return np.where(np.isnan(sizes), _UNKNOWN, np.searchsorted(bounds, sizes)).astype(np.int64)


def _fact(device: TracedDevice, key: int, duration: Floats, exposed: Floats, sizes: Floats) -> TraceCollective:
    kind, size = divmod(key, _UNKNOWN + 1)
    label = _SIZES[size][1] if size < _LARGER else "larger" if size == _LARGER else "unknown"
    told = size != _UNKNOWN
    fastest = float(duration.min())
    return TraceCollective(
        subject=device.trace.subject,
        sources=device.trace.sources,
        trace=device.label,
        collective=device.trace.names[kind],
        size=label,
        count=len(duration),
        total_seconds=float(duration.sum()),
        exposed_seconds=float(exposed.sum()),
        median_seconds=float(np.median(duration)),
        total_bytes=float(sizes.sum()) if told else None,
        median_bytes=float(np.median(sizes)) if told else None,
        fastest_bytes_per_second=float(np.median(sizes)) / fastest if told and fastest > 0 else None,
    )
