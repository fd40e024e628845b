"""Periods with which values are high, found in the spectrum and judged against the noise beside them.

Short pulses put little power into each of many harmonics, and a period that wanders smears its lines: so power is added
over 1 to 16 harmonics, and over 1, 8 or 32 stretches of time. The noise under each line is that of its neighbourhood
(the median of the power there), so that slow wandering makes no periods.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.latency.quantiles import Floats

LEVEL = 0.001
"""False-alarm probability that is let through, over all periods tried."""
FEWEST_CYCLES = 6
_MOST_BINS = 1 << 20
_HARMONICS = {1: (1, 2, 4, 8, 16), 8: (1, 2, 4), 32: (1, 2)}
"""By stretches of time: a period that wanders has no sharp harmonics."""
_STRETCHES = tuple(_HARMONICS)
_MOST_PERIODS = 3
_WANDERING = 100.0
"""Factor on the false-alarm probability of periods that wander: their sums hang more on the noise level."""
_SURE = 1e-8
_CAUTION = {1: 0.9, 8: 0.85, 32: 0.85}
"""On power, by stretches: the noise beside a line is known to a tenth or so, which counts more the more is added."""
_PHASES = 48
_REFINED_WITH = 20_000

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Period:
    """A period that is more than noise."""

    seconds: float
    error_seconds: float
    p_value: float
    fold: Fold | None
    """Where in the period values are high; None where the period wanders too much for a common phase."""


@dataclass(frozen=True, slots=True)
class Fold:
    """The part of the period in which values are high."""

    begin: float
    """Seconds after the first time, below one period."""
    length: float

    def inside(self, times: Floats, period: float) -> NDArray[np.bool_]:
        """Which times, counted from the first, fall into it."""
        return np.asarray((times - self.begin) % period < self.length)


@dataclass(frozen=True, slots=True)
class Search:
    """What was looked for and what was found."""

    shortest_seconds: float
    longest_seconds: float
    periods: tuple[Period, ...]


def periods(times: Floats, scores: NDArray[np.floating]) -> Search | None:
    """Of centred scores at their times; None where those are too few or too short for any period."""
    times = (times - times.min()).astype(np.float64)
    span, count = float(times.max()), len(times)
    if span <= 0.0 or count < 100:
        return None
    shortest, longest = max(4.0 * span / count, 4.0 * span / _MOST_BINS), span / FEWEST_CYCLES
    if longest < 2.0 * shortest:
        return None
    bins = min(_MOST_BINS, 1 << int(8.0 * span / shortest - 1).bit_length())
    width = span * (1.0 + 1e-9) / bins
    at = (times / width).astype(np.int64)
    summed = np.bincount(at, weights=scores, minlength=bins).astype(np.float64)
    spectra = [_whitened(summed, parts) for parts in _STRETCHES if span / parts > 2.0 * FEWEST_CYCLES * shortest]
    found: list[Period] = []
    for _ in range(_MOST_PERIODS):
        line = _strongest(spectra, span, shortest)
        if line is None or line.p_value > LEVEL:
            break
        line = _fundamental(spectra, line, span)
        found.append(_described(line, times, scores, summed, width, span))
        for spectrum in spectra:
            spectrum.strike_out(line.frequency, span)
    return Search(shortest, longest, tuple(found))


@dataclass(slots=True)
class _Spectrum:
    parts: int
    power: Values
    """Sum over the parts of power in units of the noise beside; index is cycles in a part."""

    def lowest(self) -> int:
        return FEWEST_CYCLES

    def summed(self, harmonics: int, highest: int) -> Values:
        """Power over harmonics of each frequency up to the highest."""
        last = min(highest, (len(self.power) - 1) // harmonics)
        places = np.arange(self.lowest(), last + 1)
        total = np.zeros(len(places))
        for harmonic in range(1, harmonics + 1):
            total += self.power[places * harmonic]
        return total

    def strike_out(self, frequency: float, span: float) -> None:
        """Take a line and its harmonics out."""
        cycles = frequency * span / self.parts
        reach = 2
        for harmonic in range(1, int((len(self.power) - 1) / cycles) + 1):
            centre = cycles * harmonic
            wide = reach + int(centre * 0.002)
            self.power[max(0, int(centre) - wide) : int(centre) + wide + 2] = self.parts * 0.7


@dataclass(frozen=True, slots=True)
class _Line:
    frequency: float
    parts: int
    harmonics: int
    p_value: float


def _whitened(summed: Values, parts: int) -> _Spectrum:
    length = len(summed) // parts
    pieces = summed[: length * parts].reshape(parts, length)
    # Without a taper the wandering of the lowest frequencies leaks into all others.
    taper = np.hanning(length)
    power = np.zeros(length // 2 + 1)
    for piece in pieces:
        own = np.abs(np.fft.rfft((piece - piece.mean()) * taper)) ** 2
        # Each counts the same: otherwise a loud hour is all that is seen.
        power += own / max(float(np.median(own[len(own) // 2 :])), 1e-30)
    return _Spectrum(parts, parts * power / np.maximum(_noise(power, parts), 1e-12))


def _noise(power: Values, parts: int) -> Values:
    """Mean power of the noise at each frequency: medians of stretches that widen with frequency, joined by lines."""
    bounds = [1]
    while bounds[-1] < len(power):
        bounds.append(max(bounds[-1] + (16 if parts == 1 else 6), int(bounds[-1] * 1.15)))
    bounds[-1] = len(power)
    middles, levels = [], []
    for first, last in pairwise(bounds):
        if last - first >= 6:
            middles.append(math.log(0.5 * (first + last)))
            levels.append(math.log(max(float(np.median(power[first:last])), 1e-30)))
    if not levels:
        return np.full(len(power), float(np.median(power)))
    places = np.log(np.maximum(np.arange(len(power)), 1))
    # Median over mean of a chi-squared variable with two degrees of freedom for each part.
    median_over_mean = (1.0 - 1.0 / (9.0 * parts)) ** 3 if parts > 1 else math.log(2.0)
    return np.asarray(np.exp(np.interp(places, middles, levels)) / median_over_mean)


def _strongest(spectra: list[_Spectrum], span: float, shortest: float) -> _Line | None:
    best: _Line | None = None
    sure = math.log(_SURE)
    tried = sum(len(_HARMONICS[spectrum.parts]) * span / spectrum.parts / shortest for spectrum in spectra)
    for spectrum in spectra:
        part = span / spectrum.parts
        for harmonics in _HARMONICS[spectrum.parts]:
            total = spectrum.summed(harmonics, int(part / shortest))
            if not len(total):
                continue
            place = int(np.argmax(total))
            chance = _log_tail(spectrum.parts * harmonics, float(total[place]) * _CAUTION[spectrum.parts])
            chance += math.log(tried) + (math.log(_WANDERING) if spectrum.parts > 1 else 0.0)
            frequency = (place + spectrum.lowest()) / part
            if best is None or chance < math.log(max(best.p_value, 1e-300)):
                best = _Line(frequency, spectrum.parts, harmonics, math.exp(min(0.0, max(chance, -690.0))))
        if best is not None and math.log(best.p_value) < sure:
            # Longer stretches tell the period more exactly.
            break
    return best


def _log_tail(shape: int, value: float) -> float:
    """Logarithm of the chance that a gamma variable of whole shape exceeds the value."""
    if value <= shape:
        return 0.0
    terms = np.arange(shape)
    logs = terms * math.log(value) - np.array([math.lgamma(term + 1) for term in terms]) - value
    return float(np.logaddexp.reduce(logs))


def _fundamental(spectra: list[_Spectrum], line: _Line, span: float) -> _Line:
    """The line whose harmonics include this one's, where those between have power too."""
    spectrum = next(item for item in spectra if item.parts == line.parts)
    cycles = line.frequency * span / line.parts
    for divisor in (2, 3, 5):
        lower = cycles / divisor
        if lower < spectrum.lowest():
            continue
        between = [k for k in range(1, 4 * divisor) if k % divisor and round(lower * k) + 1 < len(spectrum.power)]
        power = sum(
            float(spectrum.power[round(lower * k) - (divisor > 1 and k > divisor) : round(lower * k) + 2].max())
            for k in between
        )
        if _log_tail(line.parts * len(between), 0.5 * power) < math.log(1e-6):
            return _fundamental(spectra, _Line(lower * line.parts / span, line.parts, 16, line.p_value), span)
    return line


def _described(
    line: _Line, times: Floats, scores: NDArray[np.floating], summed: Values, width: float, span: float
) -> Period:
    if line.parts > 1:
        # The line is as wide as the taper makes it: a cycle in a part or so.
        error = line.parts / span / line.frequency**2
        return Period(1.0 / line.frequency, error, line.p_value, None)
    frequency = _refined(line, summed, width, span)
    # A quarter of a cycle over the whole time, at the highest harmonic that has power.
    error = 0.25 / span / frequency**2 / max(1.0, line.harmonics / 2)
    period = 1.0 / frequency
    return Period(period, error, line.p_value, _folded(times, scores, period))


def _refined(line: _Line, summed: Values, width: float, span: float) -> float:
    """The frequency near a line with the most power, to a small part of a cycle over the whole time."""
    count = min(len(summed), _REFINED_WITH)
    places = np.argpartition(-np.abs(summed), count - 1)[:count]
    at = ((places + 0.5) * width).astype(np.float64)
    weights = summed[places]
    frequency, reach = line.frequency, 1.0 / span
    for _ in range(3):
        tried = frequency + reach * np.linspace(-1.0, 1.0, 17)
        power = [sum((_power(at, weights, harmonic * value) for harmonic in _below(line.harmonics)), 0.0)
                 for value in tried]  # fmt: skip
        frequency = float(tried[int(np.argmax(power))])
        reach /= 6.0
    return frequency


def _below(harmonics: int) -> Iterator[int]:
    return iter(range(1, min(harmonics, 8) + 1))


def _power(at: Values, weights: Values, frequency: float) -> float:
    return float(abs(np.sum(weights * np.exp(-2j * math.pi * frequency * at))) ** 2)


def _folded(times: Floats, scores: NDArray[np.floating], period: float) -> Fold | None:
    phase = ((times % period) * (_PHASES / period)).astype(np.int64) % _PHASES
    counts = np.bincount(phase, minlength=_PHASES)
    if counts.min() == 0:
        return None
    profile = np.bincount(phase, weights=scores, minlength=_PHASES) / counts
    rest, peak = float(np.median(profile)), int(np.argmax(profile))
    high = profile > rest + 0.5 * (profile[peak] - rest)
    first = last = peak
    while high[(first - 1) % _PHASES] and peak - first < _PHASES - 1:
        first -= 1
    while high[(last + 1) % _PHASES] and last - first < _PHASES - 1:
        last += 1
    step = period / _PHASES
    return Fold((first % _PHASES) * step, (last - first + 1) * step)
