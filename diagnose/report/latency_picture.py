"""What pictures of latency show, before anything is drawn: pure data, made from a study, for text, SVG and screens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from diagnose.analysis.latency.association import ASSOCIATED, EXPLAINED, Association
from diagnose.analysis.latency.candidates import Candidate
from diagnose.analysis.latency.study import Study
from diagnose.analysis.latency.tails import ranges
from diagnose.facts import UNNAMED_HOST
from diagnose.facts.metrics import METRICS
from diagnose.facts.series import Clock
from diagnose.report.answer import named

_TAIL_LEVELS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
_FEWEST_IN_TAIL = 10
"""Requests beyond a quantile that is drawn."""


@dataclass(frozen=True, slots=True)
class OverTime:
    """Latency by stretch of time, and the suspected driver on the same axis."""

    metric: str
    times_seconds: Sequence[float]
    """Middle of each stretch, from the beginning of the first."""
    typical: Sequence[float | None]
    """p50 in seconds; None where no request began."""
    slow: Sequence[float | None]
    """p99 in seconds."""
    begins: str
    ends: str
    driver: str | None = None
    driver_values: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True)
class Distribution:
    """Requests by latency, in bins that are equal on a logarithmic scale."""

    metric: str
    edges_seconds: Sequence[float]
    counts: Sequence[int]
    marks: Sequence[tuple[str, float]]
    """Percentiles, in seconds."""
    modes_seconds: Sequence[float]


@dataclass(frozen=True, slots=True)
class ConditionalTails:
    """Quantiles of latency while a driver is low and while it is high."""

    metric: str
    driver: str
    low: Sequence[tuple[float, float]]
    """Level and seconds, while it is in the range that goes with short latency."""
    high: Sequence[tuple[float, float]]
    low_means: str
    high_means: str


def suspect(study: Study) -> Association | None:
    """The driver that explains most, else one that others explain; None where nothing is associated."""
    for verdict in (ASSOCIATED, EXPLAINED):
        found = [item for item in study.associations if item.verdict == verdict]
        if found:
            return min(found, key=lambda item: (item.rank or 0, -(item.correlation or 0.0)))
    return None


def over_time(study: Study, stretches: int, association: Association | None = None) -> OverTime | None:
    """In so many stretches at most; None where the latency has no times, or too few."""
    target = study.target
    if target is None:
        return None
    parts = max(1, min(stretches, target.grid.count))
    histograms = target.stretches(parts)
    length = target.grid.count * target.grid.width_seconds / parts
    begin = target.grid.start_seconds
    driver, values = None, list[float | None]()
    if association is not None:
        driver = driver_name(association.candidate)
        starts = np.linspace(0, target.grid.count, parts + 1).astype(np.intp)[:-1]
        known = np.isfinite(association.candidate.values)
        totals = np.add.reduceat(np.where(known, association.candidate.values, 0.0).astype(np.float64), starts)
        counts = np.add.reduceat(known.astype(np.float64), starts)
        values = [float(total / count) if count else None for total, count in zip(totals, counts, strict=True)]
    typical, slow = (_known(target.quantile(histograms, level)) for level in (0.5, 0.99))
    clock = study.stream.clock
    return OverTime(
        study.metric, [length * (at + 0.5) for at in range(parts)], typical, slow,
        clock_label(clock, begin), clock_label(clock, begin + length * parts, begin), driver, values,
    )  # fmt: skip


def _known(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def clock_label(clock: Clock, seconds: float, since: float | None = None) -> str:
    """A time as people read it; of a relative clock the seconds after `since`, or after its beginning."""
    if clock is Clock.RELATIVE:
        return f"{seconds - (since or 0.0):.0f} s" if since is not None else "0 s"
    moment = datetime.fromtimestamp(seconds, UTC)
    words = f"{moment:%H:%M:%S}" if since is not None and seconds - since < 86_400 else f"{moment:%Y-%m-%d %H:%M:%S}"
    return f"{words} UTC" if clock is Clock.UTC else words


def distribution(study: Study, bins: int) -> Distribution | None:
    """In so many bins; None where no value is positive."""
    values = study.values[study.values > 0]
    if len(values) == 0:
        return None
    low, high = float(values.min()), float(values.max())
    if high / low < 1.01:
        low, high = low * 0.95, high * 1.05
    edges = np.geomspace(low * 0.9999, high * 1.0001, bins + 1)
    marks = [(f"p{100 * level:g}", told.value) for level, told in study.quantiles.by_level.items() if level != 0.95]
    modes = [mode.centre for mode in study.modes.modes] if study.modes is not None and study.modes.found else []
    return Distribution(study.metric, edges.tolist(), np.histogram(values, edges)[0].tolist(), marks, modes)


def conditional_tails(study: Study, association: Association) -> ConditionalTails | None:
    """Of a driver with both ranges; None where its requests are too few for them."""
    target = study.target
    if target is None or association.tails is None or association.driver_low is None or association.driver_high is None:
        return None
    low, high = ranges(association.candidate.values * association.candidate.sign)
    curves = []
    for mask in (low, high):
        counts = target.histogram[mask].sum(axis=0, dtype=np.float64)
        levels = [level for level in _TAIL_LEVELS if counts.sum() * (1.0 - level) >= _FEWEST_IN_TAIL]
        curves.append([(level, float(target.quantile(counts, level)[0])) for level in levels])
    name = association.candidate.metric
    return ConditionalTails(
        study.metric, driver_name(association.candidate), curves[0], curves[1],
        driver_value(name, association.driver_low), driver_value(name, association.driver_high),
    )  # fmt: skip


def driver_name(candidate: Candidate) -> str:
    """Metric and subject: `nic_transmit_bytes_per_second of node01/nic/eth0`; no subject where no input names one."""
    subject = candidate.subject.path()
    return candidate.metric if subject == UNNAMED_HOST else f"{candidate.metric} of {named(subject)}"


def driver_value(metric: str, value: float) -> str:
    """A value with the unit that its metric's name tells."""
    if metric.endswith("_bytes_per_second"):
        return f"{scaled(value)}B/s"
    if metric.endswith("_bytes"):
        return f"{scaled(value)}B"
    for ending, unit in (("_watts", " W"), ("_celsius", " °C"), ("_mhz", " MHz"), ("_seconds", " s"),
                         ("_per_second", "/s")):  # fmt: skip
        if metric.endswith(ending):
            return f"{figures(value)}{unit}"
    return figures(value) if metric in METRICS else str(value)


def scaled(value: float) -> str:
    """With a decimal prefix: 1.2e10 becomes `12 G`."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g} "


def figures(value: float) -> str:
    """To three figures, and whole below a million: 1,984 as `1984`, not `1.98e+03`."""
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Seconds, milliseconds or microseconds, to three figures."""
    if seconds >= 1.0:
        return f"{figures(seconds)} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
