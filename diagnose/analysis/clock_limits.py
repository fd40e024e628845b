"""How much of the time power or heat held a GPU's clocks down, from series: more than one look at the flags tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnose.facts import Fact
from diagnose.facts.gpu import GpuClockLimit
from diagnose.facts.series import Measurement, Series

_REASONS = {"gpu_power_limited_ratio": "power", "gpu_thermal_limited_ratio": "thermal"}
_CLOCK = "gpu_sm_clock_mhz"
_FEWEST = 20
_HELD = 0.5
"""A reading counts as held down from this share of its interval on."""


def features(series: Sequence[Measurement], _: Sequence[Fact]) -> list[Fact]:
    """One fact for each GPU and reason that was followed."""
    clocks = {item.subject: item for item in series if isinstance(item, Series) and item.metric == _CLOCK}
    return [
        _limit(item, _REASONS[item.metric], clocks.get(item.subject))
        for item in series
        if isinstance(item, Series) and item.metric in _REASONS and len(item) >= _FEWEST
    ]


def _limit(item: Series, reason: str, clock: Series | None) -> GpuClockLimit:
    held, free = _clocks(item, clock)
    return GpuClockLimit(
        subject=item.subject,
        sources=item.sources,
        reason=reason,
        time_ratio=float(item.values.mean()),
        observed_seconds=float(item.times_seconds[-1] - item.times_seconds[0]),
        readings=len(item),
        sm_held_mhz=held,
        sm_free_mhz=free,
    )


def _clocks(item: Series, clock: Series | None) -> Iterator[float | None]:
    """Median clock while held down, and otherwise; None where either never was, or the clock was not followed."""
    import numpy as np

    if clock is None:
        yield from (None, None)
        return
    places = np.searchsorted(item.times_seconds, clock.times_seconds).clip(0, len(item) - 1)
    held = item.values[places] >= _HELD
    for chosen in (held, ~held):
        yield float(np.median(clock.values[chosen])) if chosen.any() else None
