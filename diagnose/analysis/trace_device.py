"""One GPU's work out of a trace, as merged sets of intervals that all the features of traces are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.trace_intervals import Floats, measure, merge, subtract, union
from diagnose.facts.trace_columns import Spans, Trace, Work


@dataclass(frozen=True)
class TracedDevice:
    """The work of one device. Columns are sorted by start."""

    trace: Trace
    label: str
    at: NDArray[np.intp]
    """Rows of the trace's GPU work."""

    @cached_property
    def start(self) -> Floats:
        """Starts in seconds, ascending."""
        return self.trace.gpu.start_seconds[self.at]

    @cached_property
    def end(self) -> Floats:
        """Ends in seconds."""
        return self.start + self.duration

    @cached_property
    def duration(self) -> Floats:
        """Durations in seconds."""
        return self.trace.gpu.duration_seconds[self.at]

    @cached_property
    def work(self) -> NDArray[np.int32]:
        """Members of `Work`."""
        return self.trace.gpu.work[self.at]

    @cached_property
    def launched(self) -> Floats:
        """When the host began the call that launched each piece of work; NaN where that is not in the trace."""
        launch = self.trace.gpu.launch[self.at]
        starts = np.append(self.trace.launches.start_seconds, np.nan)
        return starts[launch]

    @cached_property
    def compute(self) -> Floats:
        """While a kernel computes."""
        return self._merged(Work.COMPUTE)

    @cached_property
    def communication(self) -> Floats:
        """While a collective runs."""
        return self._merged(Work.COMMUNICATION)

    @cached_property
    def copies(self) -> Floats:
        """While memory is copied or filled."""
        return self._merged(Work.COPY)

    @cached_property
    def exposed_communication(self) -> Floats:
        """While a collective runs and nothing computes."""
        return subtract(self.communication, self.compute)

    @cached_property
    def busy(self) -> Floats:
        """While anything runs."""
        return union(self.compute, self.communication, self.copies)

    @property
    def window(self) -> tuple[float, float]:
        """First start and last end."""
        return float(self.busy[0, 0]), float(self.busy[-1, 1])

    @property
    def window_seconds(self) -> float:
        """Length of the window."""
        start, end = self.window
        return end - start

    def ratio(self, merged: Floats) -> float:
        """Share of the window that a set takes."""
        return measure(merged) / self.window_seconds

    def _merged(self, work: Work) -> Floats:
        wanted = self.work == work
        return merge(self.start[wanted], self.end[wanted])


def devices_of(trace: Trace) -> Iterator[TracedDevice]:
    """Every device of a trace that did anything."""
    devices = np.unique(trace.gpu.device)
    for device in devices:
        at = np.flatnonzero(trace.gpu.device == device)
        at = at[np.argsort(trace.gpu.start_seconds[at], kind="stable")]
        if (trace.gpu.duration_seconds[at] > 0).any():
            yield TracedDevice(trace, trace.label if len(devices) == 1 else f"{trace.label}, device {device}", at)


def merged_spans(spans: Spans) -> Floats:
    """Stretches of the host as a merged set."""
    return merge(spans.start_seconds, spans.start_seconds + spans.duration_seconds)
