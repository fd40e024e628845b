"""Whether values have several typical places: valleys of a smoothed density, tested by resampling one without them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from diagnose.analysis.latency.quantiles import Floats

FEWEST = 200
LEVEL = 0.005
_GRID = 512
_LEAST_SHARE = 0.03
_DEEPEST = 0.75
"""A valley is one where density falls below this part of its lower side."""
_RESAMPLES = 399
_WIDEST = 64.0
"""Factor on the bandwidth at which any density has one mode."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A typical value and the share of values about it."""

    centre: float
    share: float


@dataclass(frozen=True, slots=True)
class Modes:
    """What was found; a single mode has no p-value below 1."""

    modes: tuple[Mode, ...]
    valley: float
    """Density in the deepest valley over that of its lower side; 1 where there is none."""
    p_value: float

    @property
    def found(self) -> bool:
        """Whether there are two or more."""
        return len(self.modes) > 1 and self.p_value <= LEVEL


def modes(values: Floats, effective: float, resolution: float = 0.0) -> Modes:
    """Of positive values, on a logarithmic scale.

    `effective` is the number of independent values that they are worth, `resolution` the step they were recorded in:
    the bandwidth is at least as wide, so that steps are no modes.
    """
    logs = np.log(values.astype(np.float64))
    low, high = np.quantile(logs, (0.0005, 0.9995))
    if high - low < 1e-9:
        return Modes((Mode(float(np.exp(low)), 1.0),), 1.0, 1.0)
    pad = 0.1 * (high - low)
    edges = np.linspace(low - pad, high + pad, _GRID + 1)
    counts = np.histogram(logs, edges)[0].astype(np.float64)
    step = edges[1] - edges[0]
    quartiles = np.quantile(logs, (0.25, 0.75))
    scale = min(float(np.std(np.clip(logs, low, high))), float(quartiles[1] - quartiles[0]) / 1.34) or float(
        np.std(np.clip(logs, low, high))
    )
    typical = float(np.exp(np.median(logs)))
    bandwidth = max(0.9 * scale * max(effective, 2.0) ** -0.2, 1.5 * resolution / typical, 1.5 * step)
    density = _smoothed(counts, bandwidth / step)
    places, valley = _places(density)
    found = tuple(
        Mode(float(np.exp(_centre(edges, density, first, last))), float(counts[first:last].sum() / counts.sum()))
        for first, last in places
    )
    if len(places) < 2:
        return Modes(found, 1.0, 1.0)
    return Modes(found, valley, _chance(counts, bandwidth / step, valley, effective))


def _centre(edges: NDArray[np.float64], density: NDArray[np.float64], first: int, last: int) -> float:
    at = first + int(np.argmax(density[first:last]))
    return float(0.5 * (edges[at] + edges[at + 1]))


def _smoothed(counts: NDArray[np.float64], cells: float) -> NDArray[np.float64]:
    """Counts (last axis) convolved with a Gaussian of so many cells, by Fourier transform with room at the ends."""
    size = 4 * _GRID
    frequencies = np.fft.rfftfreq(size)
    kernel = np.exp(-2.0 * (math.pi * frequencies * cells) ** 2)
    smooth = np.fft.irfft(np.fft.rfft(counts, size, axis=-1) * kernel, size, axis=-1)[..., :_GRID]
    return np.maximum(smooth, 0.0)


def _places(density: NDArray[np.float64]) -> tuple[list[tuple[int, int]], float]:
    """Cells of each mode, cut at valleys that are deep enough between parts that hold enough; the deepest valley."""
    total = density.sum()
    peaks = [
        at
        for at in range(1, len(density) - 1)
        if density[at] >= density[at - 1] and density[at] > density[at + 1] and density[at] > 1e-9 * total
    ]
    cuts: list[tuple[int, float]] = []
    for left, right in pairwise(peaks):
        at = left + int(np.argmin(density[left : right + 1]))
        cuts.append((at, float(density[at])))
    while cuts:
        bounds = [0, *(at for at, _ in cuts), len(density)]
        depths = [
            lowest / min(density[bounds[place] : at].max(), density[at : bounds[place + 2]].max())
            for place, (at, lowest) in enumerate(cuts)
        ]
        shares = [density[first:last].sum() / total for first, last in pairwise(bounds)]
        shallowest = int(np.argmax(depths))
        smallest = int(np.argmin(shares))
        if shares[smallest] < _LEAST_SHARE:
            beside = [place for place in (smallest - 1, smallest) if 0 <= place < len(cuts)]
            cuts.pop(max(beside, key=lambda place: depths[place]))
        elif depths[shallowest] > _DEEPEST:
            cuts.pop(shallowest)
        else:
            return list(pairwise(bounds)), min(depths)
    return [(0, len(density))], 1.0


def _chance(counts: NDArray[np.float64], cells: float, valley: float, effective: float) -> float:
    """How often samples of the widest-smoothed density that just has one mode show as deep a valley."""
    low, high = 1.0, _WIDEST
    for _ in range(16):
        middle = math.sqrt(low * high)
        if len(_places(_smoothed(counts, cells * middle))[0]) > 1:
            low = middle
        else:
            high = middle
    single = _smoothed(counts, cells * high)
    size = max(30, int(effective))
    generator = np.random.default_rng([size, int(counts.sum())])
    drawn = generator.multinomial(size, single / single.sum(), size=_RESAMPLES).astype(np.float64)
    as_deep = sum(_places(density)[1] <= valley for density in _smoothed(drawn, cells))
    return (1.0 + as_deep) / (1.0 + _RESAMPLES)
