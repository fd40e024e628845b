"""How the host supplies a GPU with work: launches, how far they are ahead, and how often the GPU waited for them."""

from __future__ import annotations

import numpy as np

from diagnose.analysis.trace_device import TracedDevice
from diagnose.analysis.trace_intervals import Floats
from diagnose.facts.trace import TraceLaunch
from diagnose.facts.trace_columns import Launch, Spans, Work


def launch_statistics(device: TracedDevice) -> TraceLaunch | None:
    """Of one device; None where no launch is known."""
    launched = device.launched
    kernels = (device.work != Work.COPY) & ~np.isnan(launched)
    if not kernels.any():
        return None
    trace = device.trace
    # Ends of all that began before: the GPU is idle at the call where all of it had ended by then.
    done = np.concatenate(([-np.inf], np.maximum.accumulate(device.end)[:-1]))
    used = np.unique(trace.gpu.launch[device.at[kernels]])
    calls = Spans(
        *(
            column[used]
            for column in (
                trace.launches.start_seconds,
                trace.launches.duration_seconds,
                trace.launches.thread,
                trace.launches.code,
            )
        )
    )
    interval = _interval(calls)
    computing = device.duration[kernels & (device.work == Work.COMPUTE)]
    waits = len(trace.waits_for_gpu)
    return TraceLaunch(
        subject=trace.subject,
        sources=trace.sources,
        trace=device.label,
        launches=len(calls),
        graph_launches=int((calls.code == Launch.GRAPH).sum()),
        call_seconds=float(np.median(calls.duration_seconds)),
        interval_seconds=interval,
        delay_seconds=float(np.median((device.start - launched)[kernels])),
        queue_empty_ratio=float((launched >= done)[kernels].mean()),
        short_kernels_ratio=float((computing < interval).mean()) if interval is not None and len(computing) else None,
        synchronisations=waits,
        synchronisations_per_step=waits / len(trace.steps) if len(trace.steps) else None,
        python_stacks=trace.python_stacks,
        kernels_per_launch=int(kernels.sum()) / len(calls),
    )


def _interval(calls: Spans) -> float | None:
    """Median time from one call to the next on the same thread."""
    order = np.lexsort((calls.start_seconds, calls.thread))
    start, thread = calls.start_seconds[order], calls.thread[order]
    steps: Floats = np.diff(start)[np.diff(thread) == 0]
    return float(np.median(steps)) if len(steps) else None
