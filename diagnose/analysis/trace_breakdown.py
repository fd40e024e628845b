"""How a GPU spent its time, and why it was idle. The definitions are those of the kinds in `diagnose.facts.trace`.

The shares of compute, idle and the rest agree with HolisticTraceAnalysis's temporal breakdown, and the overlap with
its communication-computation overlap, where both take the same kernels for communication.
"""

from __future__ import annotations

import numpy as np

from diagnose.analysis.trace_device import TracedDevice, merged_spans
from diagnose.analysis.trace_intervals import Floats, covered_within, gaps, measure, merge, subtract, union
from diagnose.facts.trace import TraceIdle, TraceSummary
from diagnose.facts.trace_columns import Trace, Work

_KERNEL_GAP_SECONDS = 20e-6
"""judgement: between kernels that are all launched a GPU stands for a few microseconds; HolisticTraceAnalysis takes
gaps under 30 ns for back-to-back, which shows only in graphs."""


def summary(device: TracedDevice) -> TraceSummary:
    """The breakdown of one device."""
    computing = device.duration[device.work == Work.COMPUTE]
    kernels = int((device.work != Work.COPY).sum())
    talking = measure(device.communication)
    exposed = measure(device.exposed_communication)
    return TraceSummary(
        subject=device.trace.subject,
        sources=device.trace.sources,
        trace=device.label,
        window_seconds=device.window_seconds,
        compute_ratio=device.ratio(device.compute),
        exposed_communication_ratio=exposed / device.window_seconds,
        exposed_copy_ratio=device.ratio(subtract(device.copies, union(device.compute, device.communication))),
        idle_ratio=1 - device.ratio(device.busy),
        communication_ratio=device.ratio(device.communication),
        copy_ratio=device.ratio(device.copies),
        overlap_ratio=1 - exposed / talking if talking else None,
        kernels=kernels,
        kernels_per_second=kernels / device.window_seconds,
        median_kernel_seconds=float(np.median(computing)) if len(computing) else None,
        pageable_copy_ratio=_pageable(device) / device.window_seconds,
        steps=len(device.trace.steps),
        step_seconds=step_seconds(device.trace),
    )


def step_seconds(trace: Trace) -> float | None:
    """Median step as the profiler marked them."""
    return float(np.median(trace.steps.duration_seconds)) if len(trace.steps) else None


def _pageable(device: TracedDevice) -> float:
    names = device.trace.names
    copies = np.flatnonzero(device.work == Work.COPY)
    codes = device.trace.gpu.name[device.at[copies]]
    pageable = [code for code in np.unique(codes) if "pageable" in names[code].lower()]
    return float(device.duration[copies][np.isin(codes, pageable)].sum())


def idle(device: TracedDevice) -> TraceIdle:
    """The reasons for which the device was idle."""
    free = gaps(device.busy, *device.window)
    starts, ends = free[:, 0], free[:, 1]
    following = np.searchsorted(device.start, ends, side="left")
    launched = device.launched[np.minimum(following, len(device.start) - 1)]
    known = ~np.isnan(launched)
    called = np.clip(np.where(known, launched, ends), starts, ends)
    host = np.column_stack((starts, called))[known]
    host_idle = host[host[:, 1] > host[:, 0]]
    loading = loader_waits(device.trace)
    busy = subtract(merged_spans(device.trace.operators), loading)
    in_loader = _within(loading, host_idle)
    in_operators = _within(busy, host_idle)
    after_call = (ends - called)[known]
    short = (ends - starts)[known] <= _KERNEL_GAP_SECONDS
    window = device.window_seconds
    return TraceIdle(
        subject=device.trace.subject,
        sources=device.trace.sources,
        trace=device.label,
        idle_ratio=measure(free) / window,
        data_loader_ratio=in_loader / window,
        host_busy_ratio=in_operators / window,
        host_other_ratio=max(0.0, measure(host_idle) - in_loader - in_operators) / window,
        kernel_gap_ratio=float(after_call[short].sum()) / window,
        queued_ratio=float(after_call[~short].sum()) / window,
        unexplained_ratio=float((ends - starts)[~known].sum()) / window,
    )


def _within(merged: Floats, stretches: Floats) -> float:
    return float(covered_within(merged, stretches[:, 0], stretches[:, 1]).sum())


def loader_waits(trace: Trace) -> Floats:
    """While a thread that drives the GPU waits for a batch, as a merged set.

    Threads that load ahead wait most of the time and hold nobody up. Those that drive the GPU launch work or carry the
    marks of steps; where none is known all count.
    """
    driving = np.union1d(trace.launches.thread, trace.steps.thread)
    loader = trace.loader
    held = np.isin(loader.thread, driving) if len(driving) else np.ones(len(loader), bool)
    return merge(loader.start_seconds[held], (loader.start_seconds + loader.duration_seconds)[held])
