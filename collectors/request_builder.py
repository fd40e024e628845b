"""Builds a table of requests from pieces of any table with named columns; needs little more memory than the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from collectors.base import Parsed
from collectors.request_columns import DURATIONS, UNITS, Column, unit_of
from diagnose.facts import Source, Subject
from diagnose.facts.series import Clock, Requests

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

_EPOCHS = (("s", 1.0, 1e9, 1e10), ("ms", 1e-3, 1e12, 1e13), ("us", 1e-6, 1e15, 1e16), ("ns", 1e-9, 1e18, 1e19))
"""Units of seconds since 1970: name, seconds, and where values of the years 2001 to 2286 lie."""
_FAILED = frozenset({"false", "0", "no", "failed", "error"})
_NO_ERROR = frozenset({"", "none", "null", "nan", "0", "no error", "ok"})
_LEAST_SHARE = 0.5
_SAMPLE = 200_000
_LARGEST = 1e30
"""Beyond it numbers are nothing that was measured, and do not fit what keeps them."""


@dataclass(slots=True)
class RequestBuilder:
    """Takes frames of the columns that are understood, then makes the table."""

    columns: Sequence[Column]
    _parts: dict[str, list[NDArray[np.floating[Any]]]] = field(default_factory=dict)
    _zones: set[bool] = field(default_factory=set)
    """Whether stamps told their zone."""
    _epochs: set[str] = field(default_factory=set)
    _refused: Counter[str] = field(default_factory=Counter)
    """By column: cells that are not empty and hold no duration."""
    rows: int = 0

    def add(self, frame: pd.DataFrame) -> None:
        """Take some rows; columns that they lack are unknown."""
        import numpy as np

        self.rows += len(frame)
        for column in self.columns:
            if column.meaning == "id":
                continue
            if column.name not in frame.columns:
                values: NDArray[np.floating[Any]] = np.full(len(frame), np.nan, np.float32)
            else:
                values = self._convert(column, frame[column.name])
            self._parts.setdefault(column.meaning, []).append(values)

    def _convert(self, column: Column, cells: pd.Series[Any]) -> NDArray[np.floating[Any]]:
        import numpy as np

        if column.meaning in ("start_seconds", "end"):
            return self._stamps(cells)
        if column.meaning == "succeeded":
            succeeded: NDArray[np.floating[Any]] = (
                (~cells.astype(str).str.strip().str.lower().isin(_FAILED)).to_numpy(bool).astype(np.float32)
            )
            return succeeded
        if column.meaning == "error":
            return cells.isna().to_numpy(bool).astype(np.float32) + (
                cells.notna() & cells.astype(str).str.strip().str.lower().isin(_NO_ERROR)
            ).to_numpy(np.float32)
        if column.meaning == "status":
            numbers = _numbers(cells, 1.0)
            return np.where(np.isnan(numbers), np.nan, (numbers >= 200) & (numbers < 300)).astype(np.float32)
        numbers = _numbers(cells, column.scale).astype(np.float32)
        if column.meaning in DURATIONS:
            self._refused[column.name] += int((np.isnan(numbers) & _filled(cells)).sum())
        return numbers

    def _stamps(self, cells: pd.Series[Any]) -> NDArray[np.floating[Any]]:
        import numpy as np
        import pandas as pd

        numbers = pd.to_numeric(cells, errors="coerce")
        if pd.api.types.is_numeric_dtype(cells) or numbers.notna().mean() > _LEAST_SHARE:
            seconds = numbers.to_numpy(np.float64, copy=True)
            seconds[~np.isfinite(seconds)] = np.nan
            return seconds
        self._epochs.add("text")
        texts = cells.astype(str)
        self._zones.update(texts[cells.notna()].str.contains(r"(?:Z|[+-]\d\d:?\d\d)$", regex=True).unique().tolist())
        stamps = pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601")
        seconds = stamps.astype("int64").to_numpy(np.float64) / _per_second(stamps)
        return np.where(stamps.isna().to_numpy(bool), np.nan, seconds)

    def build(self, subject: Subject, source: Source) -> Parsed:
        """The table, or why there is none."""
        import numpy as np

        joined: dict[str, NDArray[np.floating[Any]]] = {}
        for meaning in list(self._parts):
            joined[meaning] = np.concatenate(self._parts.pop(meaning))
        parsed = Parsed()
        clock = self._times(joined, parsed.problems)
        self._durations(joined, parsed.problems)
        _outcome(joined)
        known = {name: values for name, values in joined.items() if not bool(np.isnan(values).all())}
        parsed.problems += self._left_out(known)
        parsed.problems += [
            f"column {column.name!r} holds no number"
            for column in self.columns
            if column.meaning in DURATIONS and column.meaning in joined and column.meaning not in known
        ]
        if any(name.endswith("_seconds") for name in known) and len(next(iter(known.values()))):
            parsed.series.append(Requests(subject, known, clock, (source,)))
        elif not parsed.problems:
            parsed.problems.append("the table holds no number where latencies should be")
        return parsed

    def _left_out(self, known: Mapping[str, NDArray[np.floating[Any]]]) -> Iterator[str]:
        """What of the columns that are known does not count."""
        import numpy as np

        for column in self.columns:
            if column.meaning in known and (refused := self._refused[column.name]):
                yield f"{refused:,} values of column {column.name!r} are negative or no numbers, and were left out"
            if column.meaning == "start_seconds" in known and (lacking := int(np.isnan(known["start_seconds"]).sum())):
                yield f"{lacking:,} rows tell no time in column {column.name!r}, and were left out"

    def _times(self, joined: dict[str, NDArray[np.floating[Any]]], problems: list[str]) -> Clock:
        """Bring start and end to seconds; derive what follows from them."""
        import numpy as np

        clock = Clock.RELATIVE
        for meaning in ("start_seconds", "end"):
            values = joined.get(meaning)
            if values is None:
                continue
            column = next(column for column in self.columns if column.meaning == meaning)
            lacks = self._lacks_order(values)
            if lacks is not None:
                del joined[meaning]
                problems.append(f"column {column.name!r} {lacks}")
                continue
            typical = float(np.nanmedian(values))
            epoch = next((row for row in _EPOCHS if row[2] <= typical < row[3]), None)
            if "text" in self._epochs:
                clock = Clock.UTC if self._zones == {True} else Clock.LOCAL
            elif epoch is not None:
                values *= epoch[1]
                clock = Clock.UTC
            elif column.scale is not None:
                values *= column.scale
            elif typical != 0.0 or bool(np.nanmax(np.nan_to_num(values)) > 0):
                del joined[meaning]
                problems.append(_question(column.name, "and does not count from 1970"))
        end = joined.pop("end", None)
        if end is not None and "start_seconds" in joined:
            if "end_to_end_seconds" not in joined:
                joined["end_to_end_seconds"] = (end - joined["start_seconds"]).astype(np.float32)
        elif end is not None and (
            taken := next((c for c in self.columns if c.meaning == "end_to_end_seconds" and c.scale), None)
        ):
            joined["start_seconds"] = end - joined[taken.meaning]
        return clock

    def _lacks_order(self, times: NDArray[np.floating[Any]]) -> str | None:
        """Why a column cannot tell when requests began or ended."""
        import numpy as np

        if np.isnan(times).all():
            return "holds no time that is understood: write seconds since 1970, or 2026-02-03T10:00:00Z"
        if len(self._zones) > 1:
            return "tells a time zone in some rows only, so that its times have no order"
        return None

    def _durations(self, joined: dict[str, NDArray[np.floating[Any]]], problems: list[str]) -> None:
        """Scale the columns whose name told no unit by what all their values allow."""
        import numpy as np

        open_ = [column for column in self.columns if column.scale is None and column.meaning in joined]
        open_ = [column for column in open_ if column.meaning in DURATIONS]
        medians = {
            column.meaning: float(np.nanmedian(values[:_SAMPLE]))
            for column in open_
            if not np.isnan((values := joined[column.meaning])[:_SAMPLE]).all()
        }
        if not medians:
            return
        scale, fitting = unit_of(medians)
        for column in open_:
            if column.meaning not in medians:
                continue
            if scale is not None:
                joined[column.meaning] *= scale
            else:
                del joined[column.meaning]
                median = medians[column.meaning]
                fit = "no unit" if not fitting else " as well as ".join(fitting)
                problems.append(_question(column.name, f"and its values (median {median:.6g}) fit {fit}"))


def _question(name: str, why: str) -> str:
    return f"column {name!r} does not tell its unit {why}: say it with `--unit '{name}=ms'` (or s, us, ns)"


def _per_second(stamps: pd.Series[Any]) -> float:
    unit = getattr(stamps.dtype, "unit", "ns")
    return {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]


def _numbers(cells: pd.Series[Any], scale: float | None) -> NDArray[np.floating[Any]]:
    """Numbers times the scale; cells with a unit of their own, `12.3ms`, by that one."""
    import numpy as np
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(cells):
        numbers = pd.to_numeric(cells, errors="coerce")
        if numbers.isna().mean() > _LEAST_SHARE and len(cells):
            split = cells.astype(str).str.extract(r"^\s*([\d.]+)\s*(s|ms|us|µs|μs|ns)\s*$")
            numbers = pd.to_numeric(split[0], errors="coerce") * split[1].map(UNITS)
            scale = 1.0
        cells = numbers
    values = cells.to_numpy(np.float64, copy=True)
    if scale is not None:
        values *= scale
    values[~((values >= 0) & (values < _LARGEST))] = np.nan
    return values


def _filled(cells: pd.Series[Any]) -> NDArray[np.bool_]:
    """Which cells hold anything."""
    import pandas as pd

    filled = cells.notna()
    if not pd.api.types.is_numeric_dtype(cells):
        filled &= cells.astype(str).str.strip() != ""
    return filled.to_numpy(bool)


def _outcome(joined: dict[str, NDArray[np.floating[Any]]]) -> None:
    """One column for whether a request succeeded: what says so first, then the status, then the absence of errors."""
    for name in ("status", "error"):
        values = joined.pop(name, None)
        if values is not None:
            joined.setdefault("succeeded", values)
