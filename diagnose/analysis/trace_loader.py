"""What a rank waits for its data loader, and whether its GPU stands meanwhile."""

from __future__ import annotations

import numpy as np

from diagnose.analysis.trace_breakdown import loader_waits, step_seconds
from diagnose.analysis.trace_device import TracedDevice
from diagnose.analysis.trace_intervals import covered_within, gaps
from diagnose.facts.trace import TraceDataLoader
from diagnose.facts.trace_columns import Trace

_NOTICED_SECONDS = 1e-3


def data_loader(trace: Trace, device: TracedDevice | None) -> TraceDataLoader | None:
    """Of one trace; `device` is the GPU that it drives, None for a trace of the host alone. None without a loader."""
    waits = loader_waits(trace)
    if not len(waits):
        return None
    lengths = waits[:, 1] - waits[:, 0]
    idle = None
    if device is not None:
        start, end = device.window
        seen = waits[(waits[:, 1] > start) & (waits[:, 0] < end)]
        idle = covered_within(gaps(device.busy, start, end), seen[:, 0], seen[:, 1])
    step = step_seconds(trace)
    if step is None and len(waits) > 2:
        step = float(np.median(np.diff(waits[:, 0])))
    return TraceDataLoader(
        subject=trace.subject,
        sources=trace.sources,
        trace=trace.label,
        waits=len(waits),
        worker_processes=bool(trace.loader.code.any()),
        wait_seconds=float(lengths.sum()),
        median_wait_seconds=float(np.median(lengths)),
        longest_wait_seconds=float(lengths.max()),
        idle_ratio=float(idle.sum()) / device.window_seconds if idle is not None and device is not None else None,
        median_idle_seconds=float(np.median(idle)) if idle is not None and len(idle) else None,
        waits_with_idle_ratio=float((idle >= _NOTICED_SECONDS).mean()) if idle is not None and len(idle) else None,
        step_seconds=step,
    )
