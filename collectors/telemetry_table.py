"""Long tables of telemetry: a row for each device and moment, read in pieces as columns of numbers.

Seven days of eight GPUs at one reading a second are five million rows. Nothing is done row by row; what is kept is four
bytes for each value and eight for each moment.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from collectors.base import Line
from collectors.series_columns import FEWEST, counter_rates, series_of
from diagnose.facts import Source, Subject
from diagnose.facts.series import Clock, Series

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

ABSENT = (
    *("-", "N/A", "[N/A]", "n/a", "[Not Supported]", "[Unknown Error]", "ERR!", "[Insufficient Permissions]"),
    *("[GPU is lost]", "[Requested functionality has been deprecated]", "[Function Not Found]"),
)


class Measure(NamedTuple):
    """What a column becomes: `factor` turns its unit into the metric's."""

    metric: str
    factor: float = 1.0
    counter: bool = False
    """The rate of the column's rise is the metric, not its value."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is laid out."""

    columns: Sequence[str]
    """Names in order; every row has as many cells."""
    separator: str
    keys: Sequence[str]
    """Columns that tell the device."""
    measures: Mapping[str, Measure]
    clock: Clock
    seconds: Callable[[pd.DataFrame], NDArray[np.float64]] | None
    """Times of the rows of a piece, NaN where not readable; None where the table has none."""
    time_columns: Sequence[str] = ()
    interval_seconds: float = 1.0
    """Time between two readings of a device, for tables without times."""
    flags: Mapping[str, float] = field(default_factory=dict)
    """Words that stand for numbers, such as `Active`."""


class TelemetryTable:
    """Take the pieces of a table in order, then ask for its series."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._times: dict[str, list[NDArray[np.float64]]] = {}
        self._values: dict[str, dict[str, list[NDArray[np.floating[Any]]]]] = {}
        self._rows: dict[str, int] = {}
        self.rows = 0

    def take(self, text: bytes) -> None:
        """Rows of whole lines; rows of another form are left out."""
        import numpy as np
        import pandas as pd

        layout = self._layout
        wanted = [*dict.fromkeys((*layout.keys, *layout.time_columns, *layout.measures))]
        try:
            frame = pd.read_csv(
                io.BytesIO(text),
                sep=layout.separator,
                names=list(layout.columns),
                usecols=wanted,
                header=None,
                comment="#" if layout.separator != "," else None,
                dtype=dict.fromkeys((*layout.keys, *layout.time_columns), str),
                na_values=list(ABSENT),
                skipinitialspace=True,
                on_bad_lines="skip",
                encoding_errors="replace",
                engine="c",
                low_memory=False,
                quoting=3,
            )
        except (ValueError, pd.errors.ParserError):
            return
        frame = frame.dropna(subset=[name for name in layout.keys if name in frame])
        if frame.empty:
            return
        numbers = {
            name: (_numbers(frame[name], layout.flags) * measure.factor) for name, measure in layout.measures.items()
        }
        keys = frame[list(layout.keys)].agg("\x1f".join, axis=1) if len(layout.keys) > 1 else None
        codes, names = pd.factorize(keys if keys is not None else frame[layout.keys[0]])
        times = layout.seconds(frame) if layout.seconds is not None else None
        for code, name in enumerate(names):
            mine = np.flatnonzero(codes == code)
            known = self._rows.get(name, 0)
            seconds = times[mine] if times is not None else (known + np.arange(len(mine))) * layout.interval_seconds
            self._rows[name] = known + len(mine)
            self._times.setdefault(name, []).append(seconds.astype(np.float64))
            columns = self._values.setdefault(name, {})
            for column, values in numbers.items():
                # Counters need all their digits for small rises.
                kept = values[mine] if layout.measures[column].counter else values[mine].astype(np.float32)
                columns.setdefault(column, []).append(kept)
        self.rows += len(frame)

    def series(self, subject_of: Callable[[str], Subject], source: Source) -> list[Series]:
        """Every series; what was gathered is given up on the way, so that nothing is held twice."""
        import numpy as np

        found: list[Series] = []
        for name, pieces in self._times.items():
            times = np.concatenate(pieces)
            pieces.clear()
            subject = subject_of(name)
            limited: dict[str, Series] = {}
            for column in list(self._values[name]):
                values = np.concatenate(self._values[name].pop(column))
                measure = self._layout.measures[column]
                if np.isfinite(values).sum() < FEWEST:
                    continue
                at: NDArray[np.floating[Any]] = times
                if measure.counter:
                    at, values = counter_rates(times, values)
                for one in series_of(measure.metric, subject, at, values, self._layout.clock, (source,)):
                    before = limited.get(measure.metric)
                    limited[measure.metric] = one if before is None else _longest(before, one)
            found += limited.values()
        return found


def _longest(first: Series, second: Series) -> Series:
    """Of two columns that fill one metric (two reasons for low clocks) the higher value of each moment."""
    import numpy as np

    if len(first) != len(second) or not np.array_equal(first.times_seconds, second.times_seconds):
        return first if len(first) >= len(second) else second
    return Series(
        first.metric,
        first.subject,
        first.times_seconds,
        np.maximum(first.values, second.values),
        first.clock,
        first.sources,
    )


def _numbers(column: pd.Series[Any], flags: Mapping[str, float]) -> NDArray[np.float64]:
    """Numbers of a column, NaN where a text is none."""
    import numpy as np
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(np.float64)
    words = column.map(flags).to_numpy(np.float64) if flags else np.full(len(column), np.nan)
    if np.isnan(words).any():
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
        words = np.where(np.isnan(words), numbers, words)
    return words.astype(np.float64, copy=False)


def moments(texts: pd.Series[Any], form: str) -> NDArray[np.float64]:
    """Seconds since 1970 of dates and times in one form, NaN where they are in another; equal texts are read once."""
    import numpy as np
    import pandas as pd

    codes, unique = pd.factorize(texts)
    read = pd.to_datetime(pd.Series(unique), format=form, errors="coerce")
    seconds = np.where(read.isna(), np.nan, read.to_numpy("datetime64[us]").astype(np.int64).astype(np.float64) / 1e6)
    return np.where(codes >= 0, np.append(seconds, np.nan)[codes], np.nan)


SAMPLED_ROWS = 4096
_THINNED = 7
"""Lines are thinned to every seventh: hosts do not have seven GPUs, so that no GPU is left out of turn."""


class Sample:
    """Lines of a file in equal distances, enough for what a table says as a whole: medians, last values, names."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.total = 0
        self._every = 1

    def take(self, text: bytes) -> None:
        """The next whole lines in order; when they become too many, most are given up."""
        lines = text.split(b"\n")
        lines.pop()
        first = -self.total % self._every
        for offset, line in enumerate(lines[first :: self._every]):
            number = self.total + first + offset * self._every + 1
            self.lines.append(Line(number, line.decode("utf-8", "replace")))
        self.total += len(lines)
        while len(self.lines) > _THINNED * SAMPLED_ROWS:
            self.lines = self.lines[::_THINNED]
            self._every *= _THINNED
