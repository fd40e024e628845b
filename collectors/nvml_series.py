"""What a recording of a GPU's NVML calls says over time."""

from __future__ import annotations

from itertools import pairwise

from collectors.base import Block
from collectors.gpu_series import GPU_METRICS, LIMITED, LIMITED_SECONDS
from collectors.nvml_calls import Call, Calls
from collectors.nvml_fields import FIELDS, Field
from collectors.series_columns import SeriesColumns
from diagnose.facts import Subject
from diagnose.facts.gpu import GpuClockReasons
from diagnose.facts.series import Clock, Series

_CLOSEST_SECONDS = 0.05


def gpu_series(calls: Calls, subject: Subject, block: Block) -> list[Series]:
    """Gauges as they were read; shares of time that clocks were held down, by counters where the driver has them."""
    columns = SeriesColumns(Clock.UTC)
    counted: set[str] = set()
    for field in FIELDS:
        metric = LIMITED_SECONDS.get((field.kind, field.name))
        if metric is not None and _rates(metric, field, calls, subject, block, columns):
            counted.add(metric)
    reasons: dict[tuple[str, float], tuple[float, Call]] = {}
    for field in FIELDS:
        if (gauge := GPU_METRICS.get((field.kind, field.name))) is not None:
            for seconds, value, call in _values(field, calls):
                columns.put(gauge, subject, seconds, value, block.source(call.line))
        elif field.kind is GpuClockReasons and (flag := LIMITED.get(field.name)) is not None and flag not in counted:
            # Several reasons fill one metric: it is 1 where any holds.
            for seconds, value, call in _values(field, calls):
                known = reasons.get((flag, seconds), (0.0, call))
                reasons[flag, seconds] = (max(known[0], value), call)
    for (flag, seconds), (value, call) in reasons.items():
        columns.put(flag, subject, seconds, value, block.source(call.line))
    return columns.series()


def _values(field: Field, calls: Calls) -> list[tuple[float, float, Call]]:
    """Time and value of every reading, of the first call that gives any."""
    for key, convert in field.sources:
        found = [
            (call.seconds, float(value), call)
            for call in calls.of(*key)
            if call.error is None and call.seconds is not None and isinstance(value := convert(call.value), int | float)
        ]
        if found:
            return found
    return []


def _rates(metric: str, field: Field, calls: Calls, subject: Subject, block: Block, columns: SeriesColumns) -> bool:
    """The share of the time by which a counter of seconds rose; false where there is no counter."""
    values = _values(field, calls)
    for (before, first, _), (seconds, last, call) in pairwise(values):
        step = seconds - before
        if step >= _CLOSEST_SECONDS and last >= first:
            columns.put(metric, subject, seconds, min(1.0, (last - first) / step), block.source(call.line))
    return len(values) > 1
