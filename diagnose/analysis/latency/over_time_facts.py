"""What was found of a latency over time, as facts: changes, drifts, periods."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np

from diagnose.analysis.latency import trend
from diagnose.analysis.latency.fact_fields import FOUND, NOT_FOUND, TOO_FEW, about, too_few
from diagnose.analysis.latency.periods import Period
from diagnose.analysis.latency.study import Study
from diagnose.analysis.latency.wall_clock import named, phase
from diagnose.facts.base import Fact
from diagnose.facts.latency import LatencyChange, LatencyDrift, LatencyPeriod
from diagnose.facts.series import Clock


def over_time_facts(study: Study) -> Iterator[Fact]:
    """One or more of each kind."""
    if not study.trends:
        reason = "no times" if study.times is None else too_few(study, trend.FEWEST * 50)
        yield LatencyChange(**about(study), verdict=TOO_FEW, reason=reason)
        yield LatencyDrift(**about(study), verdict=TOO_FEW, reason=reason)
    else:
        yield from _changes(study)
        yield from _drifts(study)
    search = study.search
    if search is None:
        reason = "no times" if study.times is None else "too few requests, or too short a time, for any period"
        yield LatencyPeriod(**about(study), verdict=TOO_FEW, reason=reason)
        return
    if not search.periods:
        yield LatencyPeriod(
            **about(study), verdict=NOT_FOUND,
            shortest_seconds=search.shortest_seconds, longest_seconds=search.longest_seconds,
        )  # fmt: skip
    for period in search.periods:
        yield _period(study, period)


def _changes(study: Study) -> Iterator[Fact]:
    assert study.target is not None
    grid, found = study.target.grid, False
    for level, trends in study.trends.items():
        change = trends.change
        if not change.stands:
            continue
        found = True
        window = grid.count * grid.width_seconds / trends.count
        at = change.at * window
        yield LatencyChange(
            **about(study), verdict=FOUND, quantile=level, at_seconds=at,
            at=_clock_time(study.stream.clock, grid.start_seconds + at), window_seconds=window,
            before_seconds=change.before, after_seconds=change.after, ratio=change.after / change.before,
            ratio_low=change.low, ratio_high=change.high, p_value=change.p_value,
        )  # fmt: skip
    if not found:
        yield LatencyChange(
            **about(study), verdict=NOT_FOUND, p_value=min(trends.change.p_value for trends in study.trends.values())
        )


def _clock_time(clock: Clock, seconds: float) -> str | None:
    if clock is Clock.RELATIVE:
        return None
    moment = datetime.fromtimestamp(round(seconds), UTC)
    return (moment if clock is Clock.UTC else moment.replace(tzinfo=None)).isoformat()


def _drifts(study: Study) -> Iterator[Fact]:
    assert study.times is not None
    duration = float(study.times.max() - study.times.min())
    standing = {level: trends.drift for level, trends in study.trends.items() if trends.drift.stands}
    for level, drift in standing.items():
        yield LatencyDrift(
            **about(study), verdict=FOUND, quantile=level, change_ratio=drift.ratio, change_low=drift.low,
            change_high=drift.high, duration_seconds=duration, p_value=drift.p_value,
        )  # fmt: skip
    if not standing:
        yield LatencyDrift(
            **about(study), verdict=NOT_FOUND, duration_seconds=duration,
            p_value=min(trends.drift.p_value for trends in study.trends.values()),
        )  # fmt: skip


def _period(study: Study, period: Period) -> LatencyPeriod:
    assert study.times is not None
    assert study.search is not None
    times = study.times
    span = float(times.max() - times.min())
    fields: dict[str, Any] = {}
    clock = None if study.stream.clock is Clock.RELATIVE else named(period.seconds, period.error_seconds)
    if clock is not None:
        fields["wall_clock"] = clock[1]
    if period.fold is not None:
        inside = period.fold.inside(times - times.min(), period.seconds)
        fields |= _slow_part(study, inside)
        fields["slow_part_ratio"] = period.fold.length / period.seconds
        if clock is not None:
            # The fold's resolution, and what the period's error makes of it over the whole time.
            resolution = period.fold.length / 4 + period.error_seconds * span / period.seconds / 4
            begin = phase(clock[0], float(times.min()) + period.fold.begin, min(resolution, clock[0]))
            fields |= {"phase_seconds": begin.seconds, "phase_error_seconds": begin.error_seconds}
            fields["on_the_minute"] = begin.on_the_minute
    return LatencyPeriod(
        **about(study), **fields, verdict=FOUND, period_seconds=period.seconds,
        period_error_seconds=period.error_seconds, shortest_seconds=study.search.shortest_seconds,
        longest_seconds=study.search.longest_seconds, cycles=span / period.seconds, p_value=period.p_value,
    )  # fmt: skip


def _slow_part(study: Study, inside: np.ndarray[Any, np.dtype[np.bool_]]) -> dict[str, float]:
    values = study.values
    share = float(inside.mean())
    if not 0.0 < share < 1.0:
        return {}
    slow, other = float(np.quantile(values[inside], 0.99)), float(np.quantile(values[~inside], 0.99))
    in_tail = float(inside[values >= np.quantile(values, 0.99)].mean())
    return {
        "slow_p99_seconds": slow, "other_p99_seconds": other, "excess_ratio": slow / other if other > 0 else 1.0,
        "tail_explained_ratio": max(0.0, (in_tail - share) / (1.0 - share)),
    }  # fmt: skip
