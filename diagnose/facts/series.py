"""Measurements too many to be facts: columns of numbers, from which analysis makes features.

A `Series` is one metric of one subject over time, `Requests` is a table with one row a request. Both keep where they
were read, and neither is ever matched by a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from diagnose.facts.base import Source, Subject
from diagnose.facts.trace_columns import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column: TypeAlias = NDArray[np.floating[Any]]


class Clock(StrEnum):
    """What the times of a measurement count from."""

    UTC = "utc"
    """Seconds since 1970 in UTC, known to be so."""
    LOCAL = "local"
    """Seconds since 1970 as the machine's wall clock showed them; its zone is not told."""
    RELATIVE = "relative"
    """Seconds since the measurement began, whenever that was."""


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one subject over time; times ascend, and values that were not observed are left out.

    Attributes:
        metric: name in `diagnose.facts.metrics.METRICS`, which tells the unit and what the metric is a sign of.
        times_seconds: 1-D, float64, ascending; what they count from is told by `clock`.
        values: 1-D, of the same length; float32 is exact enough for everything but counters, which are stored as rates.
    """

    metric: str
    subject: Subject
    times_seconds: Column
    values: Column
    clock: Clock
    sources: tuple[Source, ...]

    def __post_init__(self) -> None:
        if self.times_seconds.ndim != 1 or self.times_seconds.shape != self.values.shape:
            raise ValueError(f"times {self.times_seconds.shape} and values {self.values.shape} of {self.metric} differ")

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of one client or server, a row each; columns that a source lacks are absent, unknown cells are NaN.

    Attributes:
        columns: name to 1-D array, all of one length. Names, with units: `start_seconds` (when the request was sent,
            counted as `clock` tells), `end_to_end_seconds`, `ttft_seconds` (until the first token), `itl_seconds`
            (mean between tokens), `queue_seconds`, `prefill_seconds`, `decode_seconds`, `network_seconds`,
            `client_seconds`, `input_tokens`, `output_tokens`, `succeeded` (0 or 1).
        inter_token_seconds: 1-D, the single gaps between tokens of all requests, where the source lists them.
    """

    subject: Subject
    columns: Mapping[str, Column]
    clock: Clock
    sources: tuple[Source, ...]
    inter_token_seconds: Column | None = field(default=None)

    def __post_init__(self) -> None:
        lengths = {name: column.shape for name, column in self.columns.items()}
        if len(set(lengths.values())) != 1 or any(len(shape) != 1 for shape in lengths.values()):
            raise ValueError(f"columns of requests differ in length: {lengths}")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


Measurement: TypeAlias = Series | Requests | Trace
"""What collectors give beside facts."""
