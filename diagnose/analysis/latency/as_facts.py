"""What was found of latency, as facts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np

from diagnose.analysis.latency import bursts, load, modes, parts, trend
from diagnose.analysis.latency.alignment import NOT_ALIGNABLE
from diagnose.analysis.latency.association import ASSOCIATED, EXPLAINED, Association
from diagnose.analysis.latency.periods import Period
from diagnose.analysis.latency.quantiles import Quantile
from diagnose.analysis.latency.study import StreamStudy, Study
from diagnose.analysis.latency.wall_clock import named, phase
from diagnose.facts.base import Fact
from diagnose.facts.latency import (
    LatencyAssociation,
    LatencyBurst,
    LatencyChange,
    LatencyDrift,
    LatencyLoad,
    LatencyModes,
    LatencyParts,
    LatencyPeriod,
    LatencySummary,
    TelemetryAlignment,
)
from diagnose.facts.metrics import METRICS
from diagnose.facts.series import Clock, Series

FOUND, NOT_FOUND, TOO_FEW = "found", "not-found", "too-few"
_NAMES = {0.5: "p50", 0.9: "p90", 0.95: "p95", 0.99: "p99", 0.999: "p999"}


def facts_of(found: StreamStudy) -> Iterator[Fact]:
    """Of one stream."""
    for study in found.latencies:
        yield _summary(study)
        if study.stream.quantile is None and study.metric in ("ttft", "itl", "e2e"):
            yield _modes(study)
            yield _burst(study)
        if study.target is not None or study.metric in ("ttft", "itl", "e2e"):
            yield from _over_time(study)
            yield from _associations(study)
    yield from _loads(found)
    yield from _parts(found)
    yield from _alignments(found)


def _about(study: Study) -> dict[str, Any]:
    stream = study.stream
    return {"subject": stream.subject, "sources": stream.sources, "stream": stream.name, "metric": study.metric}


def _interval(name: str, unit: str, quantile: Quantile | None) -> dict[str, float]:
    if quantile is None:
        return {}
    fields = {f"{name}{unit}": quantile.value}
    if quantile.low > 0.0:
        fields[f"{name}_low{unit}"] = quantile.low
    if math.isfinite(quantile.high):
        fields[f"{name}_high{unit}"] = quantile.high
    return fields


def _summary(study: Study) -> LatencySummary:
    told, times = study.quantiles, study.times
    fields: dict[str, Any] = {}
    for level, name in _NAMES.items():
        fields |= _interval(name, "_seconds", told.by_level.get(level))
    return LatencySummary(
        **_about(study), **fields, **_interval("tail_ratio", "", told.tail_ratio()),
        requests=told.count, effective_requests=told.effective, failed_requests=study.stream.failed,
        duration_seconds=None if times is None else float(times.max() - times.min()),
        resolution_seconds=study.resolution or None, resolvable_quantile=told.resolvable,
        mean_seconds=told.mean, max_seconds=told.largest,
        coefficient_of_variation=told.deviation / told.mean if told.mean > 0 else None,
    )  # fmt: skip


def _too_few(study: Study, needed: int) -> str:
    return f"{study.quantiles.count} values; {needed} are needed"


def _modes(study: Study) -> LatencyModes:
    found = study.modes
    if found is None:
        return LatencyModes(**_about(study), verdict=TOO_FEW, reason=_too_few(study, modes.FEWEST))
    if not found.found:
        return LatencyModes(**_about(study), verdict=NOT_FOUND, modes=1, p_value=found.p_value)
    first, second = found.modes[0], max(found.modes[1:], key=lambda mode: mode.share)
    return LatencyModes(
        **_about(study), verdict=FOUND, modes=len(found.modes),
        first_seconds=first.centre, first_share_ratio=first.share,
        second_seconds=second.centre, second_share_ratio=second.share, centre_ratio=second.centre / first.centre,
        valley_ratio=found.valley, p_value=found.p_value,
    )  # fmt: skip


def _burst(study: Study) -> LatencyBurst:
    found = study.bursts
    if found is None:
        return LatencyBurst(**_about(study), verdict=TOO_FEW, reason=_too_few(study, bursts.FEWEST))
    limit = found.limit if np.isfinite(found.limit) else None
    if not found.found:
        return LatencyBurst(**_about(study), verdict=NOT_FOUND, outliers=len(found.outliers), limit_seconds=limit)
    fields: dict[str, Any] = {}
    if found.groups:
        inside = sum(int(np.sum((found.outliers >= first) & (found.outliers <= last))) for first, last in found.groups)
        fields = {"bursts": len(found.groups), "burst_ratio": inside / len(found.outliers)}
        if study.times is not None:
            begins = np.array([study.times[first] for first, _ in found.groups])
            ends = np.array([study.times[last] for _, last in found.groups])
            fields["burst_seconds"] = float(np.median(ends - begins))
            if len(begins) > 1:
                fields["gap_seconds"] = float(np.median(np.diff(begins)))
    return LatencyBurst(
        **_about(study), **fields, verdict=FOUND, outliers=len(found.outliers),
        outlier_ratio=len(found.outliers) / study.quantiles.count, limit_seconds=limit,
        excess_seconds=float(np.median(found.excess)), excess_spread_ratio=found.spread,
        max_excess_seconds=float(found.excess.max()), retransmission_like_ratio=found.retransmission_like,
        together_p_value=found.p_value,
    )  # fmt: skip


def _over_time(study: Study) -> Iterator[Fact]:
    if not study.trends:
        reason = "no times" if study.times is None else _too_few(study, trend.FEWEST * 50)
        yield LatencyChange(**_about(study), verdict=TOO_FEW, reason=reason)
        yield LatencyDrift(**_about(study), verdict=TOO_FEW, reason=reason)
    else:
        yield from _changes(study)
        yield from _drifts(study)
    search = study.search
    if search is None:
        reason = "no times" if study.times is None else "too few requests, or too short a time, for any period"
        yield LatencyPeriod(**_about(study), verdict=TOO_FEW, reason=reason)
        return
    if not search.periods:
        yield LatencyPeriod(
            **_about(study), verdict=NOT_FOUND,
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
            **_about(study), verdict=FOUND, quantile=level, at_seconds=at,
            at=_clock_time(study.stream.clock, grid.start_seconds + at), window_seconds=window,
            before_seconds=change.before, after_seconds=change.after, ratio=change.after / change.before,
            ratio_low=change.low, ratio_high=change.high, p_value=change.p_value,
        )  # fmt: skip
    if not found:
        yield LatencyChange(
            **_about(study), verdict=NOT_FOUND, p_value=min(trends.change.p_value for trends in study.trends.values())
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
            **_about(study), verdict=FOUND, quantile=level, change_ratio=drift.ratio, change_low=drift.low,
            change_high=drift.high, duration_seconds=duration, p_value=drift.p_value,
        )  # fmt: skip
    if not standing:
        yield LatencyDrift(
            **_about(study), verdict=NOT_FOUND, duration_seconds=duration,
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
        **_about(study), **fields, verdict=FOUND, period_seconds=period.seconds,
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


def _associations(study: Study) -> Iterator[Fact]:
    for found in study.associations:
        yield _association(study, found)
    seen = set()
    for series, reason in study.unaligned:
        if (key := (METRICS[series.metric].driver, series.subject.path())) not in seen:
            seen.add(key)
            yield LatencyAssociation(
                **_about(study) | {"subject": series.subject, "sources": (*study.stream.sources, *series.sources)},
                driver=series.metric, driver_class=METRICS[series.metric].driver, verdict=NOT_ALIGNABLE, reason=reason,
            )  # fmt: skip


def _association(study: Study, found: Association) -> LatencyAssociation:
    assert study.target is not None
    candidate, width = found.candidate, study.target.grid.width_seconds
    fields: dict[str, Any] = {}
    if found.tails is not None:
        told = found.tails
        fields |= {
            "p50_low_seconds": told.p50_low, "p50_high_seconds": told.p50_high, "p99_low_seconds": told.p99_low,
            "p99_high_seconds": told.p99_high, "tail_share_ratio": told.tail_share, "time_share_ratio": told.time_share,
            "p50_ratio": told.p50_high / told.p50_low,
        }  # fmt: skip
    if found.verdict in (ASSOCIATED, EXPLAINED):
        fields["lag_seconds"] = found.lag * width
    if found.explained_by is not None:
        other = found.explained_by
        fields |= {
            "explained_by": other.metric, "explained_by_class": other.driver,
            "explained_by_subject": other.subject.path(),
        }  # fmt: skip
    sources = study.stream.sources
    if candidate.sources != sources:
        sources = (*sources, *candidate.sources)
    return LatencyAssociation(
        **_about(study) | {"subject": candidate.subject, "sources": sources}, **fields,
        **_interval("ratio", "", found.ratio), driver=candidate.metric, driver_class=candidate.driver,
        verdict=found.verdict, reason=found.reason, rank=found.rank, windows=study.target.grid.count,
        window_seconds=width, driver_low=found.driver_low, driver_high=found.driver_high,
        direction="low" if candidate.sign < 0 else "high", correlation=found.correlation, p_value=found.p_value,
        p_adjusted=found.p_adjusted, candidates=len(study.associations), remaining_correlation=found.remaining,
        remaining_p_value=found.remaining_p_value,
    )  # fmt: skip


def _loads(found: StreamStudy) -> Iterator[Fact]:
    for study in found.latencies:
        if study.metric not in ("ttft", "itl", "e2e") or study.stream.quantile is not None:
            continue
        told = found.arrivals
        if told is None:
            reason = f"no start and end of requests, or fewer than {load.FEWEST}"
            yield LatencyLoad(**_about(study), verdict=TOO_FEW, reason=reason)
            continue
        grown = next((item for item in study.associations if item.candidate.metric == "requests_under_way"), None)
        fields: dict[str, Any] = {"verdict": TOO_FEW, "reason": "too short for windows of time"}
        if grown is not None and grown.p_adjusted is not None:
            grows = grown.verdict in (ASSOCIATED, EXPLAINED)
            fields = {
                "verdict": FOUND if grows else NOT_FOUND,
                "load_correlation": grown.correlation, "p_value": grown.p_adjusted,
            }  # fmt: skip
        if (thirds := found.by_load.get(study.metric)) is not None:
            fields |= {
                "p50_low_load_seconds": thirds.p50_low, "p50_high_load_seconds": thirds.p50_high,
                "p99_low_load_seconds": thirds.p99_low, "p99_high_load_seconds": thirds.p99_high,
                "completions_high_load_ratio": thirds.completions_ratio,
            }  # fmt: skip
        yield LatencyLoad(
            **_about(study), **fields, loop=told.loop, closed_ratio=told.follow_ratio,
            closed_expected_ratio=told.follow_expected, coordinated_omission=told.omission,
            omitted_ratio=told.omitted_ratio, arrivals_per_second=told.rate, arrival_dispersion=told.dispersion,
            concurrency_mean=told.concurrency_mean, concurrency_p95=told.concurrency_p95,
            concurrency_max=told.concurrency_max, backlog_growth_ratio=told.backlog_ratio,
        )  # fmt: skip


def _parts(found: StreamStudy) -> Iterator[Fact]:
    for study in found.latencies:
        if study.metric not in parts.PARTS_OF or study.stream.quantile is not None:
            continue
        taken = found.parts.get(study.metric)
        if taken is None:
            reason = f"no parts of it were measured, or of fewer than {parts.FEWEST} requests"
            yield LatencyParts(**_about(study), verdict=TOO_FEW, reason=reason)
            continue
        fields: dict[str, Any] = {}
        for name, share in taken.shares.items():
            fields |= {f"{name}_ratio": share.value, f"{name}_low": share.low, f"{name}_high": share.high}
        yield LatencyParts(
            **_about(study), **fields, verdict=FOUND if taken.decided else NOT_FOUND, slow_requests=taken.slow,
            excess_seconds=taken.excess, dominant=taken.dominant, unattributed_ratio=taken.unattributed,
        )  # fmt: skip


def _alignments(found: StreamStudy) -> Iterator[Fact]:
    for item in found.alignments:
        steps = [step for series in item.series if (step := _step(series)) is not None]
        yield TelemetryAlignment(
            subject=found.stream.subject, sources=(*found.stream.sources, *item.series[0].sources),
            stream=found.stream.name, origin=item.origin, series=len(item.series), clock=item.series[0].clock,
            requests_clock=found.stream.clock, verdict=item.verdict, reason=item.reason,
            offset_seconds=item.offset_seconds, overlap_seconds=item.overlap_seconds,
            step_seconds=float(np.median(steps)) if steps else None, p_value=item.p_value,
        )  # fmt: skip


def _step(series: Series) -> float | None:
    from diagnose.analysis.latency.grid import typical_step

    return typical_step(series.times_seconds)
