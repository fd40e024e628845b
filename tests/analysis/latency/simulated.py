"""Latencies and telemetry with a known truth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from diagnose.facts.base import Source, Subject
from diagnose.facts.series import Clock, Requests, Series

BEGIN = 1_760_000_040.0
"""A full minute, in UTC."""
SOURCES = (Source(path="made-up.csv"),)

Floats = NDArray[np.float64]


def autocorrelated(numbers: np.random.Generator, count: int, phi: float) -> Floats:
    """Gaussian noise of variance 1 whose neighbours correlate by phi."""
    noise = numbers.standard_normal(count) * np.sqrt(1.0 - phi * phi)
    value = float(numbers.standard_normal())
    found = np.empty(count)
    for at in range(count):
        value = phi * value + noise[at]
        found[at] = value
    return found


def arrival_times(numbers: np.random.Generator, rate: float | Floats, seconds: int) -> Floats:
    """Arrivals at random, at a rate that may differ from second to second."""
    counts = numbers.poisson(np.broadcast_to(rate, (seconds,)))
    return np.sort(np.repeat(np.arange(seconds), counts) + numbers.random(int(counts.sum())))


def requests(starts: Floats, clock: Clock = Clock.UTC, begin: float = BEGIN, **columns: Floats) -> Requests:
    """A table of one host, `ttft` standing for `ttft_seconds` and so on."""
    named: Mapping[str, NDArray[np.floating]] = {
        name if name.endswith(("_tokens", "succeeded")) else f"{name}_seconds": np.asarray(values, dtype=np.float32)
        for name, values in columns.items()
    }
    return Requests(Subject(host="node01"), {"start_seconds": starts + begin, **named}, clock, SOURCES)


def series(
    metric: str, values: Floats, clock: Clock = Clock.UTC, begin: float = BEGIN, path: str = "telemetry.csv",
    **subject: str | int,
) -> Series:  # fmt: skip
    """A metric of the same host at 1 Hz."""
    times = begin + np.arange(len(values), dtype=float)
    about = Subject.model_validate({"host": "node01", **subject})
    return Series(metric, about, times, values.astype(np.float32), clock, (Source(path=path),))
