"""How two tensors differ: in one pass over chunks, so that their size is no matter.

SQNR, cosine and relative L2 are those of `torch.ao.ns.fx.utils` and of ONNX Runtime's
`quantization.qdq_loss_debug`; the tests compare with both. Elements of which either side is NaN or infinite are
counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, inf, isfinite, log10, sqrt
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from diagnose.lowbit.tensors import Array, Floats, as_floats

_CHUNK_ELEMENTS = 1 << 20
_ULP_SAMPLE = 1 << 16
_SMALL = 1e-3
"""Relative errors are taken of values above this part of the RMS; below, they tell of rounding to zero only."""
_BEYOND = 1.1
"""A value is clipped where the reference is beyond the limit by more than this: no format rounds a value that far."""
_OUTLIER = 20.0
"""Channels this many times over the median channel are outliers (knowledge: LLM.int8 and SmoothQuant's figures)."""
_FEWEST_AT_LIMIT = 3
"""Fewer elements at the limit are the largest values themselves."""

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Metrics:
    """The measures of `tensor-error`; those that make no sense for the tensor are None."""

    elements: int
    equal: bool
    nan_count: int
    inf_count: int
    reference_nan_count: int
    reference_inf_count: int
    sqnr_db: float | None = None
    cosine: float | None = None
    relative_l2_ratio: float | None = None
    max_absolute_error: float | None = None
    max_relative_error_ratio: float | None = None
    median_ulp: float | None = None
    over_one_ulp_ratio: float | None = None
    gain_ratio: float | None = None
    slope: float | None = None
    bias_sigma: float | None = None
    clipping_ratio: float | None = None
    zero_ratio: float | None = None
    reference_max: float | None = None
    reference_rms: float | None = None
    error_signal_correlation: float | None = None
    channel_concentration_ratio: float | None = None
    token_concentration_ratio: float | None = None
    token_trend: float | None = None
    channels: int | None = None
    outlier_channels: int | None = None
    outlier_ratio: float | None = None
    normal_channels_sqnr_db: float | None = None
    outliers_error_ratio: float | None = None


class _Sums:
    """Everything that adds up over chunks."""

    def __init__(self, channels: int) -> None:
        self.count = self.low_nan = self.low_inf = self.reference_nan = self.reference_inf = 0
        self.rr = self.ll = self.rl = self.dd = self.r = self.d = 0.0
        self.largest_error = self.largest_relative = self.largest_reference = 0.0
        self.at_limit = self.clipped = self.vanished = 0
        self.same = True
        self.channel_errors = np.zeros(channels)
        self.channel_signal = np.zeros(channels)
        self.channel_largest = np.zeros(channels, np.float32)
        self.token_errors: list[Doubles] = []
        self.token_signal: list[Doubles] = []

    def add(self, reference: Floats, low: Floats, limits: tuple[float, float], small: float) -> None:
        """Count a chunk of rows. `limits` are the low tensor's least and largest value."""
        self.same = self.same and bool(((reference == low) | ((reference != reference) & (low != low))).all())
        finite = np.isfinite(reference) & np.isfinite(low)
        if not finite.all():
            self.low_nan += int(np.isnan(low).sum())
            self.low_inf += int(np.isinf(low).sum())
            self.reference_nan += int(np.isnan(reference).sum())
            self.reference_inf += int(np.isinf(reference).sum())
            reference, low = np.where(finite, reference, 0), np.where(finite, low, 0)
        self.count += int(finite.sum())
        error = low - reference
        squares, signal = np.square(error, dtype=np.float64), np.square(reference, dtype=np.float64)
        magnitude, distance = np.abs(reference), np.abs(error)
        self.dd += float(squares.sum())
        self.rr += float(signal.sum())
        self.ll += float(np.square(low, dtype=np.float64).sum())
        self.rl += float((reference.astype(np.float64) * low).sum())
        self.r += float(reference.sum(dtype=np.float64))
        self.d += float(error.sum(dtype=np.float64))
        self.largest_error = max(self.largest_error, float(distance.max(initial=0)))
        self.largest_reference = max(self.largest_reference, float(magnitude.max(initial=0)))
        told = magnitude > small
        if told.any():
            self.largest_relative = max(self.largest_relative, float((distance[told] / magnitude[told]).max()))
        least, most = limits
        upper, lower = low >= most, low <= least
        self.at_limit += int(upper.sum()) + int(lower.sum())
        self.clipped += int((upper & (reference > _BEYOND * most) & (most > 0)).sum())
        self.clipped += int((lower & (reference < _BEYOND * least) & (least < 0)).sum())
        self.vanished += int(((low == 0) & (reference != 0)).sum())
        self.channel_errors += squares.sum(axis=0)
        self.channel_signal += signal.sum(axis=0)
        np.maximum(self.channel_largest, magnitude.max(axis=0, initial=0), out=self.channel_largest)
        self.token_errors.append(squares.sum(axis=1))
        self.token_signal.append(signal.sum(axis=1))


def compare(reference: Array, low: Array) -> Metrics:
    """Measures of two matrices of equal shape (tokens, channels), of any numeric types."""
    if reference.shape != low.shape:
        raise ValueError(f"shapes differ: {reference.shape} and {low.shape}")
    sums = _Sums(reference.shape[1])
    # Values near the end of float32's range pass it in differences and quotients.
    with np.errstate(over="ignore", invalid="ignore"):
        limits, small = _ranges(reference, low)
        for first, second in _chunks(reference, low):
            sums.add(first, second, limits, small)
        return _metrics(sums, reference, low)


def _chunks(*matrices: Array) -> Iterator[tuple[Floats, ...]]:
    rows, columns = matrices[0].shape
    step = max(_CHUNK_ELEMENTS // max(columns, 1), 1)
    for first in range(0, rows, step):
        yield tuple(as_floats(matrix[first : first + step]) for matrix in matrices)


def _ranges(reference: Array, low: Array) -> tuple[tuple[float, float], float]:
    """Finite range of the low tensor, and what counts as a small value of the reference."""
    least, most, squares, count = inf, -inf, 0.0, 0
    for first, second in _chunks(reference, low):
        finite = second[np.isfinite(second)]
        if finite.size:
            least, most = min(least, float(finite.min())), max(most, float(finite.max()))
        told = first[np.isfinite(first)]
        squares, count = squares + float(np.square(told, dtype=np.float64).sum()), count + told.size
    return (least, most), _SMALL * sqrt(squares / count) if count else inf


def _metrics(sums: _Sums, reference: Array, low: Array) -> Metrics:
    counted: dict[str, Any] = {
        "elements": reference.size,
        "equal": sums.same,
        "nan_count": sums.low_nan,
        "inf_count": sums.low_inf,
        "reference_nan_count": sums.reference_nan,
        "reference_inf_count": sums.reference_inf,
    }
    if not sums.count or sums.rr == 0.0:
        return Metrics(**counted)
    mean_r, mean_d = sums.r / sums.count, sums.d / sums.count
    deviation = sqrt(max(sums.rr / sums.count - mean_r**2, 0.0))
    spread = sqrt(max(sums.dd / sums.count - mean_d**2, 0.0))
    together = (sums.rl - sums.rr) / sums.count - mean_r * mean_d
    ulps, over = _ulps(reference, low)
    return Metrics(
        **counted,
        sqnr_db=_db(sums.rr, sums.dd),
        cosine=min(sums.rl / sqrt(sums.rr * sums.ll), 1.0) if sums.ll > 0.0 else 0.0,
        relative_l2_ratio=sqrt(sums.dd / sums.rr),
        max_absolute_error=sums.largest_error,
        max_relative_error_ratio=sums.largest_relative,
        median_ulp=ulps,
        over_one_ulp_ratio=over,
        gain_ratio=sqrt(sums.ll / sums.rr),
        slope=sums.rl / sums.rr,
        bias_sigma=mean_d / deviation if deviation > 0.0 else None,
        clipping_ratio=sums.clipped / sums.count if sums.at_limit >= _FEWEST_AT_LIMIT else 0.0,
        zero_ratio=sums.vanished / sums.count,
        reference_max=sums.largest_reference,
        reference_rms=sqrt(sums.rr / sums.count),
        error_signal_correlation=together / (deviation * spread) if deviation * spread > 0.0 else None,
        **_by_channel(sums),
        **_by_token(sums),
    )


def _db(signal: float, noise: float) -> float | None:
    """None where there is no error; minus infinity where it is beyond all numbers."""
    if noise == 0.0:
        return None
    return 10 * (log10(signal) - log10(noise)) if isfinite(noise) else -inf


def _top_share(parts: Doubles) -> float | None:
    """Share of the sum in the largest hundredth."""
    total = float(parts.sum())
    if len(parts) < 2 or total == 0.0:
        return None
    count = ceil(len(parts) / 100)
    return float(np.partition(parts, -count)[-count:].sum()) / total


def _by_channel(sums: _Sums) -> dict[str, Any]:
    found: dict[str, Any] = {"channels": len(sums.channel_errors)}
    found["channel_concentration_ratio"] = _top_share(sums.channel_errors)
    typical = float(np.median(sums.channel_largest))
    if len(sums.channel_errors) < 8 or typical == 0.0:
        return found
    outlying = sums.channel_largest > _OUTLIER * typical
    found["outlier_channels"] = int(outlying.sum())
    found["outlier_ratio"] = float(sums.channel_largest.max()) / typical
    if outlying.any() and sums.dd > 0.0:
        signal, noise = float(sums.channel_signal[~outlying].sum()), float(sums.channel_errors[~outlying].sum())
        found["normal_channels_sqnr_db"] = _db(signal, noise) if signal > 0.0 else None
        found["outliers_error_ratio"] = 1 - noise / sums.dd
    return found


def _by_token(sums: _Sums) -> dict[str, Any]:
    errors, signal = np.concatenate(sums.token_errors), np.concatenate(sums.token_signal)
    found: dict[str, Any] = {"token_concentration_ratio": _top_share(errors), "token_trend": None}
    told = signal > 0.0
    if told.sum() >= 16 and sums.dd > 0.0:
        ranks = np.argsort(np.argsort(errors[told] / signal[told]))
        found["token_trend"] = float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])
    return found


_DIGITS = {"float16": (11, -14), "bfloat16": (8, -126), "float32": (24, -126)}


def _ulps(reference: Array, low: Array) -> tuple[float | None, float | None]:
    """Median difference in units of the last place of the coarser type, and the share beyond one such unit.

    Taken of a sample, spread over the tensor; absent for integers and types of eight bits.
    """
    known = [_DIGITS[matrix.dtype.name] for matrix in (reference, low) if matrix.dtype.name in _DIGITS]
    if len(known) < 2:
        return None, None
    digits, least = min(known)
    step = max(reference.size // _ULP_SAMPLE, 1)
    first, second = (as_floats(matrix.reshape(-1)[::step]).astype(np.float64) for matrix in (reference, low))
    told = np.isfinite(first) & np.isfinite(second)
    if not told.any():
        return None, None
    _, exponent = np.frexp(first[told])
    unit = np.ldexp(1.0, np.maximum(exponent - 1, least) - digits + 1)
    distance = np.abs(first[told] - second[told]) / unit
    return float(np.median(distance)), float((distance > 1).mean())


def format_maximum(kind: str) -> float | None:
    """Largest finite number of a stored floating type."""
    try:
        return float(ml_dtypes.finfo(np.dtype(kind)).max)  # type: ignore[no-untyped-call]
    except (TypeError, ValueError):
        return None
