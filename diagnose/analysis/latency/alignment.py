"""The times of series against those of requests: by the same clock, or by an offset of hours that the data prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diagnose.analysis.latency.candidates import from_series
from diagnose.analysis.latency.permutation import (
    block_windows,
    high_pass_windows,
    high_passed,
    savage,
    standardised,
    test,
)
from diagnose.analysis.latency.target import Target
from diagnose.facts.base import Subject
from diagnose.facts.series import Clock, Series

SAME, OFFSET, NOT_ALIGNABLE, NO_OVERLAP = "same-clock", "offset", "not-alignable", "no-overlap"

_ZONES_SECONDS = tuple(hour * 3600.0 for hour in range(-14, 15))
LEVEL = 0.001
_UNIQUE = 0.6
"""The second best offset may reach this part of the best one's strength at most."""
_FEWEST_OVERLAP = 0.3
_MOST_SERIES = 24


@dataclass(frozen=True, slots=True)
class Alignment:
    """How the series of one origin relate to the requests."""

    origin: str
    series: tuple[Series, ...]
    verdict: str
    reason: str | None = None
    offset_seconds: float | None = None
    overlap_seconds: float | None = None
    p_value: float | None = None


def origins(series: Sequence[Series]) -> dict[tuple[str, Clock], list[Series]]:
    """Series by where they were read and the clock of their times."""
    found: dict[tuple[str, Clock], list[Series]] = {}
    for item in series:
        if len(item):
            found.setdefault((item.sources[0].path or str(item.sources[0]), item.clock), []).append(item)
    return found


def align(
    target: Target, clock: Clock, subject: Subject, path: str, origin: str, series: Sequence[Series]
) -> Alignment:
    """Series of one origin and clock against the latency of requests read from `path`."""
    told = series[0].clock
    same_file = origin == path
    hosts = {item.subject.host for item in series}
    same_host = hosts == {subject.host} or None in hosts or subject.host is None
    if told is clock and (clock is Clock.UTC or same_file or (clock is Clock.LOCAL and same_host)):
        return _overlapping(target, origin, series, 0.0, SAME)
    if Clock.RELATIVE in (told, clock):
        reason = "times count from the beginning of a measurement, and nothing tells when that was"
        return Alignment(origin, tuple(series), NOT_ALIGNABLE, reason)
    return _by_offset(target, origin, series)


def _overlap(target: Target, series: Sequence[Series], offset: float) -> float:
    first = min(float(item.times_seconds[0]) for item in series) + offset
    last = max(float(item.times_seconds[-1]) for item in series) + offset
    begin = target.grid.start_seconds
    return max(0.0, min(last, begin + target.grid.count * target.grid.width_seconds) - max(first, begin))


def _overlapping(
    target: Target, origin: str, series: Sequence[Series], offset: float, verdict: str, p_value: float | None = None
) -> Alignment:
    overlap = _overlap(target, series, offset)
    if overlap <= 0.0:
        return Alignment(origin, tuple(series), NO_OVERLAP, "the times do not overlap", overlap_seconds=0.0)
    return Alignment(origin, tuple(series), verdict, None, offset, overlap, p_value)


def _by_offset(target: Target, origin: str, series: Sequence[Series]) -> Alignment:
    """The one offset of whole hours at which some series goes along with latency, if there is just one."""
    span = target.grid.count * target.grid.width_seconds
    offsets = [zone for zone in _ZONES_SECONDS if _overlap(target, series, zone) >= _FEWEST_OVERLAP * span]
    if not offsets:
        return Alignment(origin, tuple(series), NO_OVERLAP, "no time zone makes the times overlap", overlap_seconds=0.0)
    length = high_pass_windows(target.grid.count, target.grid.width_seconds)
    goal = standardised(high_passed(savage(target.scores), length))
    block = block_windows(goal)
    if block is None:
        return _refused(origin, series, "the zone of one clock is not told, and the data are too short to find it")
    picked = series[:: max(1, len(series) // _MOST_SERIES)][:_MOST_SERIES]
    rows, owner = [], []
    for place, offset in enumerate(offsets):
        for item in from_series(picked, target.grid, [offset] * len(picked)):
            if item.varies:
                rows.append(standardised(high_passed(savage(item.values * item.sign), length)))
                owner.append(place)
    if not rows:
        return _refused(origin, series, "the zone of one clock is not told, and no series varies")
    generator = np.random.default_rng([target.grid.count, len(rows)])
    tested = test(goal, np.stack(rows), (0, 1), block, 999, generator)
    strengths = (tested.correlations / tested.deviations).max(axis=1)
    by_offset = [float(max((strengths[at] for at, of in enumerate(owner) if of == place), default=0.0))
                 for place in range(len(offsets))]  # fmt: skip
    best = int(np.argmax(by_offset))
    rival = max((value for place, value in enumerate(by_offset) if place != best), default=0.0)
    p_value = float(min(tested.p_adjusted[at] for at, of in enumerate(owner) if of == best))
    if p_value > LEVEL or rival > _UNIQUE * by_offset[best]:
        return _refused(
            origin, series, "the zone of one clock is not told, and no single offset of whole hours stands out"
        )
    return _overlapping(target, origin, series, offsets[best], OFFSET, p_value)


def _refused(origin: str, series: Sequence[Series], reason: str) -> Alignment:
    return Alignment(origin, tuple(series), NOT_ALIGNABLE, reason)
