"""Whether a level changes once, or drifts, over the whole time: tested against noise of the same autocorrelation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

FEWEST = 12
MOST = 240
LEVEL = 0.01
_SURROGATES = 499
_SEPARATED = 0.85
"""Chance that a value after a change is beyond one before: less is a wave or a burst, no new level."""
_WIDTH = 2.3
"""Of the interval of a ratio, in standard errors: the place of the step and the autocorrelation are estimates too."""
_MARGIN = 8.0
"""In Bayes's criterion, by which a step must fit better than a line and waves."""
_DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Change:
    """The step that fits best."""

    at: int
    """First value of the new level."""
    before: float
    after: float
    low: float
    high: float
    """95 % interval of the ratio."""
    p_value: float
    stands: bool
    """Whether it is more than noise and fits better than a line or waves."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The line that fits best."""

    ratio: float
    """End over beginning."""
    low: float
    high: float
    p_value: float
    stands: bool
    """Whether it is more than noise and fits better than a step or waves."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Both."""

    count: int
    """Levels that they were sought in."""
    change: Change
    drift: Drift


def trend(levels: Values, span_seconds: float) -> Trend:
    """Of at least twelve positive levels at equal distances."""
    logs = np.log(levels)
    count = len(logs)
    at, step_sum = _best_step(logs)
    fitted = np.where(np.arange(count) < at, logs[:at].mean(), logs[at:].mean())
    line = np.linspace(-1.0, 1.0, count)
    slope = float(np.sum(line * (logs - logs.mean())) / np.sum(line**2))
    straight = logs.mean() + slope * line
    line_sum, wave_sum, waves = _square_sum(logs - straight), *_waves(logs, span_seconds)
    criteria = {
        "step": _criterion(step_sum, count, 3),
        "line": _criterion(line_sum, count, 2),
        "wave": _criterion(wave_sum, count, waves),
    }
    clear = min(criteria.values()) + _MARGIN
    best = [name for name, value in criteria.items() if value <= clear]
    return Trend(
        count,
        _change(levels, logs, at, fitted, best == ["step"]),
        _drift(logs, slope, line, straight, "line" in best and "step" not in best),
    )


def _change(levels: Values, logs: Values, at: int, fitted: Values, best: bool) -> Change:
    before, after = float(np.median(levels[:at])), float(np.median(levels[at:]))
    phi, scatter = _noise(logs - fitted)
    total = _square_sum(logs - logs.mean())
    within = _square_sum(logs - fitted)
    p_value = _chance(total / max(within, 1e-12), phi, len(logs), _step_statistic)
    half = _WIDTH * scatter * math.sqrt((1 + phi) / (1 - phi) * (1 / at + 1 / (len(logs) - at)))
    ratio = after / before
    beyond = float(np.mean(levels[at:][:, np.newaxis] > levels[:at]))
    stands = best and p_value <= LEVEL and max(beyond, 1.0 - beyond) >= _SEPARATED
    return Change(at, before, after, ratio * math.exp(-half), ratio * math.exp(half), p_value, stands)


def _drift(logs: Values, slope: float, line: Values, straight: Values, best: bool) -> Drift:
    phi, scatter = _noise(logs - straight)
    total, within = _square_sum(logs - logs.mean()), _square_sum(logs - straight)
    p_value = _chance(total / max(within, 1e-12), phi, len(logs), _line_statistic)
    half = 2 * 1.96 * scatter * math.sqrt((1 + phi) / (1 - phi) / float(np.sum(line**2)))
    return Drift(
        math.exp(2 * slope), math.exp(2 * slope - half), math.exp(2 * slope + half), p_value, best and p_value <= LEVEL
    )


def _best_step(logs: Values) -> tuple[int, float]:
    sums = _step_sums(logs[np.newaxis])[0]
    place = int(np.argmin(sums))
    return place + _edge(len(logs)), float(sums[place])


def _edge(count: int) -> int:
    return max(3, count // 20)


def _step_sums(rows: Values) -> Values:
    """Squares left by a step at each place that is not too near the ends."""
    count, edge = rows.shape[1], _edge(rows.shape[1])
    centred = rows - rows.mean(axis=1, keepdims=True)
    before = np.cumsum(centred, axis=1)[:, edge - 1 : count - edge]
    sizes = np.arange(edge, count - edge + 1, dtype=float)
    gained = before**2 * (1 / sizes + 1 / (count - sizes))
    return np.asarray(np.sum(centred**2, axis=1, keepdims=True) - gained)


def _step_statistic(rows: Values) -> Values:
    total = np.sum((rows - rows.mean(axis=1, keepdims=True)) ** 2, axis=1)
    return np.asarray(total / np.maximum(_step_sums(rows).min(axis=1), 1e-12))


def _line_statistic(rows: Values) -> Values:
    centred = rows - rows.mean(axis=1, keepdims=True)
    line = np.linspace(-1.0, 1.0, rows.shape[1])
    total = np.sum(centred**2, axis=1)
    return np.asarray(total / np.maximum(total - (centred @ line) ** 2 / np.sum(line**2), 1e-12))


def _chance(observed: float, phi: float, count: int, statistic: Callable[[Values], Values]) -> float:
    """Share of noise with this autocorrelation whose statistic is as large."""
    generator = np.random.default_rng(count)
    noise = generator.standard_normal((_SURROGATES, count + 50))
    for place in range(1, count + 50):
        noise[:, place] += phi * noise[:, place - 1]
    return float((1 + np.sum(statistic(noise[:, 50:]) >= observed)) / (1 + _SURROGATES))


def _noise(residuals: Values) -> tuple[float, float]:
    """Autocorrelation of neighbours, corrected for its bias in short series, and standard deviation."""
    count, square = len(residuals), _square_sum(residuals)
    if square <= 1e-18:
        return 0.0, 0.0
    phi = float(np.sum(residuals[1:] * residuals[:-1])) / square
    return min(max(phi + (1 + 4 * phi) / count, 0.0), 0.97), math.sqrt(square / max(count - 3, 1))


def _waves(logs: Values, span_seconds: float) -> tuple[float, int]:
    """Squares left by slow waves (two and a half turns at most), and those of the day; and how many coefficients."""
    places = (np.arange(len(logs)) + 0.5) / len(logs)
    columns = [np.cos(math.pi * half * places) for half in range(6)]
    if (days := span_seconds / _DAY_SECONDS) > 2.0:
        columns += [np.cos(2 * math.pi * days * places), np.sin(2 * math.pi * days * places)]
    design = np.stack(columns, axis=1)
    coefficients = np.linalg.lstsq(design, logs, rcond=None)[0]
    return _square_sum(logs - design @ coefficients), design.shape[1]


def _square_sum(values: Values) -> float:
    return float(np.sum(values**2))


def _criterion(square_sum: float, count: int, parameters: int) -> float:
    """Bayes's information criterion."""
    return count * math.log(max(square_sum, 1e-12) / count) + parameters * math.log(count)
