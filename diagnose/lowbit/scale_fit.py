"""Scales fitted to the original: whether the codes are right and only what multiplies them is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagnose.lowbit.encoded import Encoded, Reading
from diagnose.lowbit.formats import sqnr_db
from diagnose.lowbit.hypotheses import Hypothesis
from diagnose.lowbit.sampling import sample_rows
from diagnose.lowbit.tensors import Floats

_LEAST_VALUES = 16
"""A fitted scale for fewer values would explain noise."""
_EQUAL, _MOST, _FEW = 0.02, 0.9, 0.3
_PARTS = (2, 4, 8)
_ROUNDS = 4


@dataclass(frozen=True)
class Fit:
    """What fitted scales reach."""

    unsmoothed: Floats
    """The original with the factor that each of its inputs and outputs has in the checkpoint, as AWQ and SmoothQuant
    scale them before they quantise."""
    sqnr_db: float | None = None
    """With a factor for each scale of the checkpoint."""
    found: Hypothesis | None = None


def fitted(encoded: Encoded, reference: Floats, low: Floats) -> Fit:
    """Least-squares factors for a sample of rows and its reading as said."""
    with np.errstate(all="ignore"):
        smoothed = reference / _rank_one(reference, low)
        ratios, width = _ratios(encoded, reference, low)
    if ratios is None:
        return Fit(smoothed)
    spread = np.repeat(ratios, width, axis=1)[:, : low.shape[1]]
    reached = sqnr_db(reference, low * spread)
    usable = ratios[np.isfinite(ratios) & (ratios > 0)]
    if not len(usable):
        return Fit(smoothed)
    middle = float(np.median(usable))
    near = _EQUAL + 0.3 / width**0.5  # a factor that is fitted to few values is uncertain by their errors
    if float((np.abs(usable / middle - 1) < near).mean()) > _MOST:
        says = f"all scales are to be multiplied by {middle:.3g}"
        alike = Hypothesis("scale-factor", "scale", says, Reading(scale_factor=middle))
        return Fit(smoothed, sqnr_db(reference, low * np.float32(middle)), alike)
    return Fit(smoothed, reached, _shard(encoded, np.abs(ratios - 1) < near) or Hypothesis(
        "scale-values", "scale", "codes are those of this weight and scales are not", Reading()
    ))  # fmt: skip


def _rank_one(reference: Floats, low: Floats) -> Floats:
    """What the low values lack: a factor for each input and each output, fitted in turn."""
    rows, columns = np.ones((len(low), 1), np.float32), np.ones((1, low.shape[1]), np.float32)
    for _ in range(_ROUNDS):
        scaled = low * rows
        columns = _factors(reference, scaled, 0)
        scaled = low * columns
        rows = _factors(reference, scaled, 1)
    factors: Floats = rows * columns
    return np.where(factors != 0, factors, 1)


def _factors(reference: Floats, low: Floats, axis: int) -> Floats:
    power = np.square(low).sum(axis=axis, keepdims=True)
    return np.where(power > 0, (reference * low).sum(axis=axis, keepdims=True) / np.maximum(power, 1e-30), 1)


def _ratios(encoded: Encoded, reference: Floats, low: Floats) -> tuple[Floats | None, int]:
    """The factor that each row's scale lacks, by group of inputs; None where groups are too small to tell."""
    width = encoded.theory.block[1] or low.shape[1]
    if encoded.scales is None or width < _LEAST_VALUES or low.shape[1] % width or not np.isfinite(low).all():
        return None, width
    shape = (len(low), low.shape[1] // width, width)
    return _factors(reference.reshape(shape), low.reshape(shape), 2)[..., 0], width


def _shard(encoded: Encoded, fits: NDArray[np.bool_]) -> Hypothesis | None:
    """Whether the scales fit in one part of the outputs or inputs, as a parallel run splits them, and nowhere else."""
    place = sample_rows(*encoded.shape) / encoded.shape[0]
    for axis, fit, at in (
        ("outputs", _mostly(fits, 1), place),
        ("inputs", _mostly(fits, 0), (np.arange(fits.shape[1]) + 0.5) / fits.shape[1]),
    ):
        for parts in _PARTS:
            if len(at) < 2 * parts:
                continue
            for part in range(parts):
                inside = (at >= part / parts) & (at < (part + 1) / parts)
                if inside.any() and fit[inside].mean() > _MOST and fit[~inside].mean() < _FEW:
                    says = f"scales fit part {part + 1} of {parts} along the {axis} only: one shard's are used for all"
                    return Hypothesis("scales-of-one-shard", "parallel-scale", says, Reading())
    return None


def _mostly(fits: NDArray[np.bool_], axis: int) -> NDArray[np.bool_]:
    """Whether most scales fit, along an axis."""
    share: NDArray[np.bool_] = fits.mean(axis=axis) > 0.5
    return share
