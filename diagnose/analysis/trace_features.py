"""All features of profiler traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnose.facts import Fact
from diagnose.facts.series import Measurement
from diagnose.facts.trace_columns import Trace


def features(series: Sequence[Measurement], _facts: Sequence[Fact]) -> list[Fact]:
    """Facts of each trace and device, and of the ranks together."""
    traces = [item for item in series if isinstance(item, Trace)]
    return list(_features(traces)) if traces else []


def _features(traces: Sequence[Trace]) -> Iterator[Fact]:
    from diagnose.analysis.trace_breakdown import idle, summary
    from diagnose.analysis.trace_collectives import collectives
    from diagnose.analysis.trace_device import devices_of
    from diagnose.analysis.trace_launch import launch_statistics
    from diagnose.analysis.trace_loader import data_loader
    from diagnose.analysis.trace_ranks import compare

    compared = []
    for trace in traces:
        devices = list(devices_of(trace))
        busiest = max(devices, key=lambda device: len(device.at), default=None)
        for device in devices:
            yield summary(device)
            yield idle(device)
            if (launch := launch_statistics(device)) is not None:
                yield launch
            yield from collectives(device)
        if (loader := data_loader(trace, busiest)) is not None:
            yield loader
        # What is missing behind a cut would look like work that the rank does not have.
        if busiest is not None and trace.complete:
            compared.append(busiest)
    yield from compare(compared)
