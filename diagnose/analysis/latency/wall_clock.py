"""Whether a period is one of the wall clock's, and where in it something begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_DAY_SECONDS = 86_400.0
_NAMED: Mapping[float, str] = {
    1.0: "divides-minute", 2.0: "divides-minute", 5.0: "divides-minute", 10.0: "divides-minute",
    15.0: "quarter-minute", 20.0: "divides-minute", 30.0: "half-minute", 60.0: "minute",
    120.0: "minutes", 180.0: "minutes", 300.0: "minutes", 600.0: "minutes", 900.0: "minutes", 1200.0: "minutes",
    1800.0: "minutes", 3600.0: "hour",
}  # fmt: skip
_CLOSE_RATIO = 0.01
"""A period this near to one of the clock, and within its error, is taken as it."""
_ON_THE_MINUTE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Phase:
    """Where the slow part begins."""

    seconds: float
    """After a multiple of the period since midnight."""
    error_seconds: float
    on_the_minute: bool | None
    """None where the period is no multiple of a minute or the beginning is not known well enough."""


def named(period: float, error: float) -> tuple[float, str] | None:
    """The clock's own period that this one is within its error, and its name."""
    for seconds, name in _NAMED.items():
        if abs(period - seconds) <= 2.0 * error and abs(period - seconds) <= _CLOSE_RATIO * seconds:
            return seconds, name
    return None


def phase(period: float, begin: float, resolution: float) -> Phase:
    """Of a period of the clock; `begin` is when a slow part begins, in seconds of the clock, told to `resolution`."""
    seconds = begin % _DAY_SECONDS % period
    if period % 60.0 or resolution > 0.25 * 60.0:
        return Phase(seconds, resolution, None)
    after = begin % 60.0
    away = min(after, 60.0 - after)
    return Phase(seconds, resolution, away <= max(_ON_THE_MINUTE_SECONDS, resolution))
