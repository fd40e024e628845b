"""All that is found of the latencies of one table, as numbers that facts and pictures are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from diagnose.analysis.latency import bursts as _bursts
from diagnose.analysis.latency import load as _load
from diagnose.analysis.latency import modes as _modes
from diagnose.analysis.latency import parts as _parts
from diagnose.analysis.latency import trend as _trend
from diagnose.analysis.latency.alignment import NO_OVERLAP, NOT_ALIGNABLE, Alignment, align, origins
from diagnose.analysis.latency.association import Association, associations
from diagnose.analysis.latency.candidates import Candidate, from_requests, from_series
from diagnose.analysis.latency.grid import grid_for, typical_step
from diagnose.analysis.latency.periods import Search, periods
from diagnose.analysis.latency.quantiles import Floats, Quantiles, quantiles
from diagnose.analysis.latency.stream import COLUMN_OF, PRIMARY, Stream, streams_of, told_by_servers
from diagnose.analysis.latency.target import Target, own_length_allowed_for, request_scores, target_of
from diagnose.facts.metrics import METRICS, Driver
from diagnose.facts.series import Measurement, Requests, Series

_LEVELS = {0.5: 50, 0.99: 400}
"""Quantile that is followed over time to the requests that each stretch of time needs for it."""


@dataclass(slots=True)
class Study:
    """One latency of one stream. What the data are too few for is absent."""

    stream: Stream
    metric: str
    values: Floats
    """In the order of time, without gaps."""
    quantiles: Quantiles
    resolution: float
    """Step in which the values are recorded; 0 where none shows."""
    modes: _modes.Modes | None = None
    bursts: _bursts.Bursts | None = None
    times: Floats | None = None
    """When each value counts."""
    target: Target | None = None
    trends: Mapping[float, _trend.Trend] = field(default_factory=dict)
    search: Search | None = None
    associations: Sequence[Association] = ()
    unaligned: Sequence[tuple[Series, str]] = ()
    """Series that cannot be set against the requests, with the reason."""


@dataclass(slots=True)
class StreamStudy:
    """One stream: its latencies, and what is told of it as a whole."""

    stream: Stream
    latencies: Sequence[Study]
    arrivals: _load.Arrivals | None
    by_load: Mapping[str, _load.ByLoad]
    parts: Mapping[str, _parts.Parts]
    alignments: Sequence[Alignment]


def studies(measurements: Sequence[Measurement]) -> Iterator[StreamStudy]:
    """Every stream in turn."""
    series = [item for item in measurements if isinstance(item, Series) and item.metric in METRICS]
    streams = streams_of([item for item in measurements if isinstance(item, Requests)]) + told_by_servers(series)
    drivers = [item for item in series if METRICS[item.metric].driver is not Driver.LATENCY]
    return (study(stream, drivers) for stream in streams)


def study(stream: Stream, series: Sequence[Series]) -> StreamStudy:
    """One stream against the series of its host, or all where it is not known to be one of theirs."""
    series = _of_host(stream, series)
    latencies: list[Study] = []
    alignments: list[Alignment] = []
    aligned: Sequence[Alignment] | None = None
    for metric in (*stream.metrics(), *(["itl"] if stream.inter_token_seconds is not None else [])):
        if metric == "itl" and any(found.metric == "itl" for found in latencies):
            continue
        found = _distribution(stream, metric)
        if found is None:
            continue
        latencies.append(found)
        if metric not in PRIMARY or found.times is None or (stream.quantile is None and not stream.timed):
            continue
        _over_time(found, series)
        if found.target is None:
            continue
        if aligned is None:
            aligned = _aligned(found.target, stream, series)
            alignments = list(aligned)
        _associated(found, aligned)
    return StreamStudy(stream, latencies, *_as_a_whole(stream), alignments)


def _of_host(stream: Stream, series: Sequence[Series]) -> Sequence[Series]:
    host = stream.subject.host
    own = [item for item in series if item.subject.host in (host, None)]
    return own if host is not None and any(item.subject.host == host for item in own) else series


def _distribution(stream: Stream, metric: str) -> Study | None:
    single = metric == "itl" and stream.inter_token_seconds is not None
    values = stream.inter_token_seconds if single else stream.latency(metric)
    assert values is not None
    known = np.isfinite(values) & (values >= 0)
    if not known.any():
        return None
    kept = values if known.all() else values[known]
    resolution = _resolution(kept)
    found = Study(stream, metric, kept, quantiles(kept), resolution)
    if not single and stream.timed:
        times = stream.times(metric)
        found.times = times if known.all() else times[known]
    if metric in PRIMARY and stream.quantile is None:
        positive = kept[kept > 0]
        if len(positive) >= _modes.FEWEST:
            found.modes = _modes.modes(positive, found.quantiles.effective, resolution)
        if len(kept) >= _bursts.FEWEST:
            found.bursts = _bursts.bursts(kept)
    return found


def _resolution(values: Floats) -> float:
    """The step of which the first thousand values are multiples, of 1, 10 or 100 ms or a second; 0 for none."""
    some = values[:1000].astype(np.float64)
    for step in (1.0, 0.1, 0.01, 0.001):
        if np.all(np.abs(some / step - np.round(some / step)) < 1e-3 / max(step, 0.01) * 0.01) and some.max() > 0:
            return step
    return 0.0


def _over_time(found: Study, series: Sequence[Series]) -> None:
    times = found.times
    assert times is not None
    first, last = float(times.min()), float(times.max())
    steps = tuple(step for item in series if (step := typical_step(item.times_seconds)) is not None)
    grid = grid_for(first, last, len(times), steps) or grid_for(first, last, len(times))
    if grid is None:
        return
    found.target = target_of(found.stream, found.metric, grid)
    if found.target is None:
        return
    for level, needed in _LEVELS.items():
        count = min(_trend.MOST, grid.count // 2, int(found.target.requests.sum()) // needed)
        if found.stream.quantile is not None:
            count = min(_trend.MOST, grid.count // 2, len(times) // 5) if level == 0.5 else 0
        if count < _trend.FEWEST:
            continue
        levels = found.target.quantile(found.target.stretches(count), level)
        if np.isfinite(levels).all():
            found.trends = {**found.trends, level: _trend.trend(levels, last - first)}
    known = np.isfinite(found.stream.latency(found.metric)) & (found.stream.latency(found.metric) >= 0)
    scores = request_scores(own_length_allowed_for(found.stream, found.metric, known, found.values))
    found.search = periods(times, scores)


def _aligned(target: Target, stream: Stream, series: Sequence[Series]) -> list[Alignment]:
    path = stream.sources[0].path or str(stream.sources[0])
    return [
        align(target, stream.clock, stream.subject, path, origin, group)
        for (origin, _), group in origins(series).items()
    ]


def _associated(found: Study, aligned: Sequence[Alignment]) -> None:
    assert found.target is not None
    candidates: list[Candidate] = []
    left_out: list[tuple[Series, str]] = []
    for alignment in aligned:
        if alignment.verdict in (NOT_ALIGNABLE, NO_OVERLAP) or alignment.offset_seconds is None:
            left_out += [(item, alignment.reason or alignment.verdict) for item in alignment.series]
            continue
        offsets = [alignment.offset_seconds] * len(alignment.series)
        candidates += from_series(alignment.series, found.target.grid, offsets)
    candidates += from_requests(found.stream, found.metric, found.target.grid)
    found.associations = associations(found.target, candidates) if candidates else ()
    found.unaligned = left_out


def _as_a_whole(
    stream: Stream,
) -> tuple[_load.Arrivals | None, Mapping[str, _load.ByLoad], Mapping[str, _parts.Parts]]:
    columns = stream.columns
    found_parts = {}
    for metric, names in _parts.PARTS_OF.items():
        held = {name: columns[COLUMN_OF[name]] for name in names if COLUMN_OF[name] in columns}
        if COLUMN_OF[metric] in columns and held and (taken := _parts.parts(columns[COLUMN_OF[metric]], held)):
            found_parts[metric] = taken
    whole = columns.get("end_to_end_seconds")
    if whole is None or not stream.timed or stream.quantile is not None:
        return None, {}, found_parts
    known = np.isfinite(whole)
    starts, latencies = columns["start_seconds"][known], whole[known]
    if len(starts) < _load.FEWEST:
        return None, {}, found_parts
    by_load = {
        metric: found
        for metric in PRIMARY
        if COLUMN_OF[metric] in columns
        and (found := _load.by_load(starts, latencies, columns[COLUMN_OF[metric]][known])) is not None
    }
    return _load.arrivals(starts, latencies), by_load, found_parts
