"""Answers of Prometheus as columns of numbers: floats, and native histograms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from collectors.json_text import items, mapping, real

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_END_OF_TIMES = 253_402_300_800.0
"""The year 10,000: dates end with 9999."""


@dataclass(frozen=True, slots=True)
class NativeHistogram:
    """One sample of a native histogram: all observations since its beginning."""

    seconds: float
    count: float
    buckets: Mapping[float, float]
    """Upper bound of a bucket to the observations in it."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One series of an answer."""

    labels: Mapping[str, str]
    times_seconds: NDArray[np.float64]
    values: NDArray[np.float64]
    histograms: tuple[NativeHistogram, ...] = field(default=())

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.labels.get("__name__", "")


def stream_of(item: Mapping[str, Any]) -> Stream | None:
    """One series of `data.result`: a vector's `value`, a matrix's `values`, or `histogram` and `histograms`."""
    import numpy as np

    labels = {str(name): str(value) for name, value in mapping(item.get("metric")).items()}
    pairs = item.get("values")
    rows = pairs if isinstance(pairs, list) else [item["value"]] if isinstance(item.get("value"), list) else []
    points = [(pair[0], pair[1]) for pair in rows if isinstance(pair, list) and len(pair) == 2]
    found = item.get("histograms")
    bare = found if isinstance(found, list) else [item["histogram"]] if isinstance(item.get("histogram"), list) else []
    histograms = tuple(one for row in bare if (one := _histogram(row)) is not None)
    if not points and not histograms:
        return None
    numbers = np.array([(_number(first), _number(second)) for first, second in points], dtype=np.float64)
    columns = numbers.reshape(len(points), 2)
    # What is no time of the calendar is none of a scrape either.
    columns = columns[(columns[:, 0] >= 0) & (columns[:, 0] < _END_OF_TIMES)]
    return Stream(labels, columns[:, 0], columns[:, 1], histograms)


def _number(value: object) -> float:
    """Prometheus writes values as texts, also `NaN` and `+Inf`."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _histogram(row: object) -> NativeHistogram | None:
    if not isinstance(row, list) or len(row) != 2:
        return None
    content = mapping(row[1])
    seconds, count = real(row[0]), real(content.get("count"))
    if seconds is None or count is None:
        return None
    buckets: dict[float, float] = {}
    for bucket in items(content.get("buckets"), list):
        if len(bucket) == 4:
            high, observed = real(bucket[2]), real(bucket[3])
            if high is not None and observed is not None:
                buckets[high] = buckets.get(high, 0.0) + observed
    return NativeHistogram(seconds, count, buckets)


def join(pieces: Iterable[Sequence[Stream]]) -> list[Stream]:
    """Series of successive pieces put together; of a sample at the border of two pieces one is kept."""
    import numpy as np

    found: dict[tuple[tuple[str, str], ...], list[Stream]] = {}
    for piece in pieces:
        for stream in piece:
            found.setdefault(tuple(sorted(stream.labels.items())), []).append(stream)
    joined = []
    for streams in found.values():
        times = np.concatenate([stream.times_seconds for stream in streams])
        values = np.concatenate([stream.values for stream in streams])
        times, places = np.unique(times, return_index=True)
        by_time = {one.seconds: one for stream in streams for one in stream.histograms}
        joined.append(Stream(streams[0].labels, times, values[places], tuple(by_time[at] for at in sorted(by_time))))
    return joined
