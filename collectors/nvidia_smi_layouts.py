"""How the tables of `nvidia-smi dmon` and `nvidia-smi --query-gpu=... -l` are laid out, as series over time.

Both print local times, dmon only with `-o D` and `-o T`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from collectors.base import Block, Line
from collectors.gpu_series import GPU_METRICS, LIMITED, LIMITED_SECONDS
from collectors.nvidia_smi_columns import BUS_ID, COLUMNS, INDEX, UUID, Column
from collectors.nvidia_smi_values import Convert, uuid
from collectors.telemetry_table import Layout, Measure, TelemetryTable, moments
from diagnose.facts import Subject, normalise_bus_id
from diagnose.facts.gpu import GpuClockReasons
from diagnose.facts.series import Clock, Series

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

_TITLE_UNIT = re.compile(r"\[([A-Za-z%/]+)\]")
_CELL_UNIT = re.compile(rb" (?:%|W|MHz|MiB|us|C|Gbps|KB/s|MB/s)(?=\s*(?:,|\n|$))")
_INTERVAL = re.compile(r"\s-d\s*(\d{1,5})\b")
_ENOUGH_ROWS = 8
_FLAGS = {"Active": 1.0, "Not Active": 0.0}


def dmon_layout(titles: Sequence[str], columns: Mapping[str, Column], command: str | None) -> Layout | None:
    """Of the columns that a title line names; `columns` tells what they are."""
    if "gpu" not in titles:
        return None
    measures = {
        title: Measure(metric, _factor(column.convert, ""))
        for title, column in columns.items()
        if title in titles and (metric := GPU_METRICS.get((column.kind, column.name)))
    }
    interval = _INTERVAL.search(command or "")
    dated = "date" in titles and "time" in titles
    return Layout(
        columns=titles,
        separator=r"\s+",
        keys=["gpu"],
        measures=measures,
        clock=Clock.LOCAL if dated else Clock.RELATIVE,
        seconds=_dmon_seconds if dated else _TimeOfDay() if "time" in titles else None,
        time_columns=[name for name in ("date", "time") if name in titles],
        interval_seconds=float(interval[1]) if interval and interval[1] != "0" else 1.0,
    )


def _dmon_seconds(frame: pd.DataFrame) -> NDArray[np.float64]:
    return moments(frame["date"] + frame["time"], "%Y%m%d%H:%M:%S")


class _TimeOfDay:
    """Times without dates: a day is added whenever they fall back by hours."""

    def __init__(self) -> None:
        self._last = 0.0
        self._days = 0

    def __call__(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        import numpy as np

        seconds = moments("19700101" + frame["time"], "%Y%m%d%H:%M:%S")
        known = np.where(np.isnan(seconds), self._last, seconds)
        falls = np.diff(np.concatenate(([self._last], known))) < -43200
        days = self._days + np.cumsum(falls)
        self._last, self._days = float(known[-1]), int(days[-1])
        return np.asarray(seconds + days * 86400.0)


def query_layout(names: Sequence[str], titles: Sequence[str]) -> Layout | None:
    """Of a header's titles and the names that they stand for; None where it tells no time or no device."""
    if "timestamp" not in names:
        return None
    keys = [name for name in (INDEX, UUID, BUS_ID) if name in names][:1]
    measures: dict[str, Measure] = {}
    for name, title in zip(names, titles, strict=True):
        column = COLUMNS.get(name)
        if column is None:
            continue
        unit = match[1] if (match := _TITLE_UNIT.search(title)) else ""
        key = (column.kind, column.name)
        if metric := GPU_METRICS.get(key):
            measures.setdefault(name, Measure(metric, _factor(column.convert, unit)))
        elif metric := LIMITED_SECONDS.get(key):
            measures[name] = Measure(metric, _factor(column.convert, unit), counter=True)
        elif column.kind is GpuClockReasons and (metric := LIMITED.get(column.name)):
            measures[name] = Measure(metric)
    counted = {measure.metric for measure in measures.values() if measure.counter}
    # Where a counter tells the share of the time, the flag of one moment adds nothing.
    measures = {name: one for name, one in measures.items() if one.counter or one.metric not in counted}
    if not keys or not measures or len(set(names)) < len(names):
        return None
    return Layout(
        columns=names,
        separator=",",
        keys=keys,
        measures=measures,
        clock=Clock.LOCAL,
        seconds=_query_seconds,
        time_columns=["timestamp"],
        flags=_FLAGS,
    )


def _query_seconds(frame: pd.DataFrame) -> NDArray[np.float64]:
    return moments(frame["timestamp"].str.strip(), "%Y/%m/%d %H:%M:%S.%f")


def _factor(convert: Convert, unit: str) -> float:
    """What a converter makes of 1."""
    value = convert(f"1 {unit}")
    return float(value) if isinstance(value, int | float) else 1.0


def subject_namer(keys: Sequence[str], host: str | None) -> Callable[[str], Subject]:
    """Makes the subject of a device's name in the column that tells it."""

    def name(text: str) -> Subject:
        cleaned = text.strip()
        if keys[0] in ("gpu", INDEX):
            index = int(cleaned) if cleaned.isascii() and cleaned.isdecimal() and len(cleaned) < 5 else None
            return Subject(host=host, gpu_index=index)
        if keys[0] == UUID:
            return Subject(host=host, gpu_uuid=uuid(cleaned))
        return Subject(host=host, gpu_bus_id=normalise_bus_id(cleaned))

    return name


def block_series(block: Block, layout: Layout, lines: Iterable[Line]) -> list[Series]:
    """Series of a block's rows."""
    texts = [line.text for line in lines]
    if len(texts) < _ENOUGH_ROWS:
        return []
    table = TelemetryTable(layout)
    table.take(without_units(("\n".join(texts) + "\n").encode()))
    return table.series(subject_namer(layout.keys, block.host), block.source())


def without_units(text: bytes) -> bytes:
    """Numbers alone, so that columns are read as such."""
    return _CELL_UNIT.sub(b"", text)
