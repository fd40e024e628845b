"""Low-precision formats, and quantisation by rounding: what a format costs at best for given values.

Theory of the formats: integer steps `amax / (2^(bits-1) - 1)`; floating types as ml_dtypes defines them; block scales
of the OCP Microscaling (MX) specification 1.0 (a power of two for 32 values) and of NVFP4 (E4M3 for 16 values, times
one float32 for the tensor, `amax / (448 * 6)`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, log10
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from diagnose.lowbit.tensors import Floats

_E4M3_MAX, _E2M1_MAX = 448.0, 6.0


@dataclass(frozen=True, slots=True)
class Format:
    """Numbers that a code can stand for."""

    name: str
    bits: int
    maximum: float
    """Largest magnitude; for asymmetric integers the number of steps."""
    dtype: np.dtype[Any] | None = None
    """Floating type; None for integers."""
    codebook: tuple[float, ...] = ()
    """Ascending values, for types that are tables."""

    def rounded(self, values: Floats) -> Floats:
        """The nearest number of the format, saturating."""
        if self.codebook:
            book = np.asarray(self.codebook, np.float32)
            return book[np.searchsorted((book[1:] + book[:-1]) / 2, values)]
        limited = np.clip(values, -self.maximum, self.maximum)
        if self.dtype is None:
            return np.rint(limited, out=limited)
        return limited.astype(self.dtype).astype(np.float32)


NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
"""NormalFloat of four bits by code: appendix E of the QLoRA paper (arXiv:2305.14314)."""


def _float(name: str, bits: int, dtype: Any) -> Format:
    most = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    return Format(name, bits, most, np.dtype(dtype))


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        found.name: found
        for found in (
            *(Format(f"int{bits}", bits, 2.0 ** (bits - 1) - 1) for bits in range(2, 9)),
            _float("fp8-e4m3", 8, ml_dtypes.float8_e4m3fn),
            _float("fp8-e5m2", 8, ml_dtypes.float8_e5m2),
            _float("fp8-e4m3fnuz", 8, ml_dtypes.float8_e4m3fnuz),
            _float("fp8-e5m2fnuz", 8, ml_dtypes.float8_e5m2fnuz),
            _float("fp6-e2m3", 6, ml_dtypes.float6_e2m3fn),
            _float("fp6-e3m2", 6, ml_dtypes.float6_e3m2fn),
            _float("fp4-e2m1", 4, ml_dtypes.float4_e2m1fn),
            _float("fp16", 16, np.float16),
            _float("bf16", 16, ml_dtypes.bfloat16),
            Format("nf4", 4, 1.0, codebook=NF4),
        )
    }
)

OF_DTYPE: Mapping[str, str] = MappingProxyType(
    {found.dtype.name: name for name, found in FORMATS.items() if found.dtype is not None} | {"int8": "int8"}
)
"""Name of a stored type to its format."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A format with its scales: which values share one, and what numbers scales may be."""

    format: Format
    block: tuple[int, int] = (0, 0)
    """Rows and columns that share a scale; 0 stands for all."""
    scale: str = "float32"
    """`float32`, `e8m0` (powers of two), `e4m3` (with a factor for the tensor), `none`."""
    symmetric: bool = True

    @property
    def granularity(self) -> str:
        """As facts name it."""
        rows, columns = self.block
        if self.scale == "none":
            return "none"
        if self.block == (0, 0):
            return "tensor"
        if rows == 1:
            return f"group-{columns}" if columns else "channel"
        return f"block-{rows}x{columns}"


def mx(name: str) -> Scheme:
    """MXFP8, MXFP6 or MXFP4 by the name of their elements' format."""
    return Scheme(FORMATS[name], (1, 32), "e8m0")


NVFP4 = Scheme(FORMATS["fp4-e2m1"], (1, 16), "e4m3")


def quantised(values: Floats, scheme: Scheme) -> Floats:
    """Values (rows, columns) rounded to the scheme, as numbers again. Finite values are expected."""
    if scheme.scale == "none":
        return scheme.format.rounded(values)
    rows, columns = values.shape
    high, wide = scheme.block[0] or rows, scheme.block[1] or columns
    padded = np.pad(values, ((0, -rows % high), (0, -columns % wide)))
    blocks = padded.reshape(padded.shape[0] // high, high, padded.shape[1] // wide, wide)
    if scheme.symmetric:
        scales = _scales(np.abs(blocks).max(axis=(1, 3), keepdims=True), scheme)
        result = scheme.format.rounded(blocks / scales) * scales
    else:
        # Zero is always representable, so that the zero point is a code.
        low = np.minimum(blocks.min(axis=(1, 3), keepdims=True), 0)
        high_end = np.maximum(blocks.max(axis=(1, 3), keepdims=True), 0)
        steps = 2.0**scheme.format.bits - 1
        scales = np.maximum((high_end - low) / steps, np.finfo(np.float32).tiny)
        zero = np.rint(-low / scales)
        result = (np.clip(np.rint(blocks / scales) + zero, 0, steps) - zero) * scales
    return result.reshape(padded.shape)[:rows, :columns].astype(np.float32, copy=False)


def _scales(largest: Floats, scheme: Scheme) -> Floats:
    tiny = np.finfo(np.float32).tiny
    if scheme.scale == "e8m0":
        # The specification's rule: the exponent of the largest value less that of the largest number.
        exponent = np.floor(np.log2(np.maximum(largest, tiny))) - np.floor(np.log2(scheme.format.maximum))
        powers: Floats = np.exp2(exponent, dtype=np.float32)
        return powers
    exact = largest / scheme.format.maximum
    if scheme.scale == "e4m3":
        overall = max(float(largest.max()) / (_E4M3_MAX * _E2M1_MAX), float(tiny))
        exact = (exact / overall).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * np.float32(overall)
    return np.where(exact > tiny, exact, 1.0).astype(np.float32)  # a block of zeros takes any scale


def expected_sqnr_db(values: Floats, scheme: Scheme) -> float | None:
    """SQNR that rounding these values to the scheme gives; None where it loses nothing."""
    return sqnr_db(values, quantised(values, scheme))


def sqnr_db(reference: Floats, low: Floats) -> float | None:
    """20 log10(|reference| / |reference - low|) in Euclidean norms; None for equal values, -inf for no signal."""
    noise = float(np.square(reference - low, dtype=np.float64).sum())
    signal = float(np.square(reference, dtype=np.float64).sum())
    if noise == 0.0:
        return None
    return 10 * log10(signal / noise) if signal > 0.0 and noise < inf else -inf


def combined_db(*parts: float | None) -> float | None:
    """SQNR of several independent errors together: their powers add. None stands for no error."""
    noise = sum(10 ** (-part / 10) for part in parts if part is not None)
    return -10 * log10(noise) if noise > 0.0 else None
