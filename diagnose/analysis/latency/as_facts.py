"""What was found of latency, as facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from diagnose.analysis.latency import bursts, load, modes, parts
from diagnose.analysis.latency.alignment import NOT_ALIGNABLE
from diagnose.analysis.latency.association import ASSOCIATED, EXPLAINED, Association
from diagnose.analysis.latency.fact_fields import FOUND, NOT_FOUND, TOO_FEW, about, interval, too_few
from diagnose.analysis.latency.over_time_facts import over_time_facts
from diagnose.analysis.latency.study import StreamStudy, Study
from diagnose.facts.base import Fact
from diagnose.facts.latency import (
    LatencyAssociation,
    LatencyBurst,
    LatencyLoad,
    LatencyModes,
    LatencyParts,
    LatencySummary,
    TelemetryAlignment,
)
from diagnose.facts.metrics import METRICS
from diagnose.facts.series import Series

_NAMES = {0.5: "p50", 0.9: "p90", 0.95: "p95", 0.99: "p99", 0.999: "p999"}


def facts_of(found: StreamStudy) -> Iterator[Fact]:
    """Of one stream."""
    for study in found.latencies:
        yield _summary(study)
        if study.stream.quantile is None and study.metric in ("ttft", "itl", "e2e"):
            yield _modes(study)
            yield _burst(study)
        if study.target is not None or study.metric in ("ttft", "itl", "e2e"):
            yield from over_time_facts(study)
            yield from _associations(study)
    yield from _loads(found)
    yield from _parts(found)
    yield from _alignments(found)


def _summary(study: Study) -> LatencySummary:
    told, times = study.quantiles, study.times
    fields: dict[str, Any] = {}
    for level, name in _NAMES.items():
        fields |= interval(name, "_seconds", told.by_level.get(level))
    return LatencySummary(
        **about(study), **fields, **interval("tail_ratio", "", told.tail_ratio()),
        requests=told.count, effective_requests=told.effective, failed_requests=study.stream.failed,
        duration_seconds=None if times is None else float(times.max() - times.min()),
        resolution_seconds=study.resolution or None, resolvable_quantile=told.resolvable,
        mean_seconds=told.mean, max_seconds=told.largest,
        coefficient_of_variation=told.deviation / told.mean if told.mean > 0 else None,
    )  # fmt: skip


def _modes(study: Study) -> LatencyModes:
    found = study.modes
    if found is None:
        return LatencyModes(**about(study), verdict=TOO_FEW, reason=too_few(study, modes.FEWEST))
    if not found.found:
        return LatencyModes(**about(study), verdict=NOT_FOUND, modes=1, p_value=found.p_value)
    first, second = found.modes[0], max(found.modes[1:], key=lambda mode: mode.share)
    return LatencyModes(
        **about(study), verdict=FOUND, modes=len(found.modes),
        first_seconds=first.centre, first_share_ratio=first.share,
        second_seconds=second.centre, second_share_ratio=second.share, centre_ratio=second.centre / first.centre,
        valley_ratio=found.valley, p_value=found.p_value,
    )  # fmt: skip


def _burst(study: Study) -> LatencyBurst:
    found = study.bursts
    if found is None:
        return LatencyBurst(**about(study), verdict=TOO_FEW, reason=too_few(study, bursts.FEWEST))
    limit = found.limit if np.isfinite(found.limit) else None
    if not found.found:
        return LatencyBurst(**about(study), verdict=NOT_FOUND, outliers=len(found.outliers), limit_seconds=limit)
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
        **about(study), **fields, verdict=FOUND, outliers=len(found.outliers),
        outlier_ratio=len(found.outliers) / study.quantiles.count, limit_seconds=limit,
        excess_seconds=float(np.median(found.excess)), excess_spread_ratio=found.spread,
        max_excess_seconds=float(found.excess.max()), retransmission_like_ratio=found.retransmission_like,
        together_p_value=found.p_value,
    )  # fmt: skip


def _associations(study: Study) -> Iterator[Fact]:
    for found in study.associations:
        yield _association(study, found)
    seen = set()
    for series, reason in study.unaligned:
        if (key := (METRICS[series.metric].driver, series.subject.path())) not in seen:
            seen.add(key)
            yield LatencyAssociation(
                **about(study) | {"subject": series.subject, "sources": (*study.stream.sources, *series.sources)},
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
        **about(study) | {"subject": candidate.subject, "sources": sources}, **fields,
        **interval("ratio", "", found.ratio), driver=candidate.metric, driver_class=candidate.driver,
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
            yield LatencyLoad(**about(study), verdict=TOO_FEW, reason=reason)
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
            **about(study), **fields, loop=told.loop, closed_ratio=told.follow_ratio,
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
            yield LatencyParts(**about(study), verdict=TOO_FEW, reason=reason)
            continue
        fields: dict[str, Any] = {}
        for name, share in taken.shares.items():
            fields |= {f"{name}_ratio": share.value, f"{name}_low": share.low, f"{name}_high": share.high}
        yield LatencyParts(
            **about(study), **fields, verdict=FOUND if taken.decided else NOT_FOUND, slow_requests=taken.slow,
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
