"""Rounding of activations, as the formats are described; apart from the code under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
Rounding = Callable[[Array], Array]


def integer(values: Array, axis: int | None = -1, bits: int = 8) -> Array:
    """Symmetric, one scale for each token, or one for all."""
    most = (1 << bits - 1) - 1
    scale = np.abs(values).max(axis=axis, keepdims=True) / most
    scale = np.where(scale == 0, 1, scale)
    return np.clip(np.rint(values / scale), -most, most) * scale


def float8(values: Array, axis: int | None = -1) -> Array:
    """E4M3, one scale for each token."""
    scale = np.abs(values).max(axis=axis, keepdims=True) / 448
    scale = np.where(scale == 0, 1, scale)
    return (values / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale


def _blocks(values: Array, size: int) -> Array:
    return values.reshape(*values.shape[:-1], -1, size)


def float8_block(values: Array) -> Array:
    """E4M3 in blocks of 128 channels."""
    return float8(_blocks(values, 128)).reshape(values.shape)


def mxfp8(values: Array) -> Array:
    """E4M3 in blocks of 32 with power-of-two scales."""
    parts = _blocks(values, 32)
    exponent = np.floor(np.log2(np.maximum(np.abs(parts).max(axis=-1, keepdims=True), 1e-30))) - 8
    scaled = np.clip(parts / np.exp2(exponent), -448, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    found: Array = (scaled * np.exp2(exponent)).reshape(values.shape)
    return found


def nvfp4(values: Array) -> Array:
    """E2M1 in blocks of 16 with E4M3 scales under one for all."""
    parts = _blocks(values, 16)
    overall = max(np.abs(values).max() / (448 * 6), 1e-30)
    scale = (np.abs(parts).max(axis=-1, keepdims=True) / 6 / overall).astype(ml_dtypes.float8_e4m3fn)
    spread = np.maximum(scale.astype(np.float32) * overall, 1e-30)
    found: Array = (parts / spread).astype(ml_dtypes.float4_e2m1fn).astype(np.float32) * spread
    return found.reshape(values.shape)


def unchanged(values: Array) -> Array:
    """Weights alone are quantised."""
    return values


def static_float8(scale: float) -> Rounding:
    """E4M3 with one fixed scale: what lies beyond 448 times it is cut off."""
    return lambda values: np.clip(values / scale, -448, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale


def static_integer(scale: float) -> Rounding:
    """INT8 with one fixed scale: what lies beyond 127 times it is cut off."""
    return lambda values: np.clip(np.rint(values / scale), -127, 127) * scale


OF_SCHEME: Mapping[str, Rounding] = {
    "gptq": unchanged, "awq": unchanged, "int4": unchanged, "mxfp4": unchanged, "int8": integer, "fp8": float8,
    "fp8-block": float8_block, "nvfp4": nvfp4, "mxfp8": mxfp8,
}  # fmt: skip
"""What each scheme does to the input of a product."""
