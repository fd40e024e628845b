"""Gathers series in columns while a source is read, piece by piece or value by value."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diagnose.facts import Source, Subject
from diagnose.facts.series import Clock, Series

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.floating[Any]]

FEWEST = 3
"""Values from which on they are a series."""


class SeriesColumns:
    """Values by metric and subject."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._times: dict[tuple[str, Subject], array[float]] = {}
        self._values: dict[tuple[str, Subject], array[float]] = {}
        self._sources: dict[tuple[str, Subject], Source] = {}

    def put(self, metric: str, subject: Subject, seconds: float, value: float, source: Source) -> None:
        """Note one value; the source of the first one is kept."""
        key = (metric, subject)
        self._times.setdefault(key, array("d")).append(seconds)
        self._values.setdefault(key, array("d")).append(value)
        self._sources.setdefault(key, source)

    def series(self) -> list[Series]:
        """What became long enough, each in the order of time."""
        import numpy as np

        found = []
        for key, source in self._sources.items():
            made = series_of(
                key[0], key[1], np.array(self._times[key]), np.array(self._values[key]), self.clock, (source,)
            )
            found += made
        return found


def series_of(
    metric: str, subject: Subject, times: Numbers, values: Numbers, clock: Clock, sources: Sequence[Source]
) -> list[Series]:
    """The series of columns in any order with NaN where nothing was observed; none where too little is left.

    Of several values of one moment the last counts. Counters do not pass through here: see `counter_rates`.
    """
    import numpy as np

    observed = np.isfinite(values) & np.isfinite(times)
    if not observed.all():
        times, values = times[observed], values[observed]
    if len(times) < FEWEST:
        return []
    if not bool((np.diff(times) > 0).all()):
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[order]
        last = np.append(np.diff(times) > 0, True)
        times, values = times[last], values[last]
    return [Series(metric, subject, times, values, clock, tuple(sources))] if len(times) >= FEWEST else []


def counter_rates(times: Numbers, counts: Numbers, gap_seconds: float | None = None) -> tuple[Numbers, Numbers]:
    """What a counter rose by per second, each rate at the end of its interval.

    A fall is a reset (the exporter or the device started again): how much was counted before it is unknown, so that
    interval is left out, as is one longer than `gap_seconds`.
    """
    import numpy as np

    observed = np.isfinite(counts) & np.isfinite(times)
    times, counts = times[observed], counts[observed]
    if len(times) < 2:
        return times[:0], counts[:0].astype(np.float64)
    step, rise = np.diff(times), np.diff(counts.astype(np.float64))
    kept = (step > 0) & (rise >= 0)
    if gap_seconds is not None:
        kept &= step <= gap_seconds
    return times[1:][kept], rise[kept] / step[kept]
