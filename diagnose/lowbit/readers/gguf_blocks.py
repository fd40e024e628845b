"""Block types of GGUF: bytes of a block to its values.

Source: the structures in ggml's `ggml-common.h` and the Python package `gguf`, which the tests compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from diagnose.lowbit.tensors import Floats

Bytes = NDArray[np.uint8]


class BlockType(NamedTuple):
    """How a type stores its values."""

    name: str
    values: int
    """Values of a block."""
    bytes: int
    """Bytes of a block."""
    decode: Callable[[Bytes], Floats]
    """Blocks, one a row, to their values."""


def _half(blocks: Bytes, at: int) -> Floats:
    """The float16 at an offset of each block, as a column."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view(np.float16).astype(np.float32)


def _nibbles(packed: Bytes) -> Bytes:
    """Low halves of all bytes, then the high ones."""
    return np.concatenate([packed & 15, packed >> 4], axis=1)


def _fifth_bits(blocks: Bytes, at: int) -> Bytes:
    """32 bits at an offset, one for each value, where they stand in the value."""
    bits: Bytes = np.unpackbits(blocks[:, at : at + 4], axis=1, bitorder="little") << np.uint8(4)
    return bits


def _q4_0(blocks: Bytes) -> Floats:
    return _half(blocks, 0) * (_nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def _q4_1(blocks: Bytes) -> Floats:
    return _half(blocks, 0) * _nibbles(blocks[:, 4:]) + _half(blocks, 2)


def _q5_0(blocks: Bytes) -> Floats:
    return _half(blocks, 0) * ((_nibbles(blocks[:, 6:]) | _fifth_bits(blocks, 2)).astype(np.float32) - 16)


def _q5_1(blocks: Bytes) -> Floats:
    return _half(blocks, 0) * (_nibbles(blocks[:, 8:]) | _fifth_bits(blocks, 4)) + _half(blocks, 2)


def _q8_0(blocks: Bytes) -> Floats:
    return _half(blocks, 0) * blocks[:, 2:].view(np.int8)


def _six_bit_scales(packed: Bytes) -> tuple[Floats, Floats]:
    """Scales and minima of the eight parts of a K block, from their twelve bytes."""
    low, middle, high = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = np.concatenate([low & 63, (high & 15) | (low >> 6 << 4)], axis=1)
    minima = np.concatenate([middle & 63, (high >> 4) | (middle >> 6 << 4)], axis=1)
    return scales.astype(np.float32), minima.astype(np.float32)


def _scaled_parts(blocks: Bytes, codes: Bytes) -> Floats:
    """Eight parts of 32 codes, each with its scale and minimum."""
    scales, minima = _six_bit_scales(blocks[:, 4:16])
    scales, minima = _half(blocks, 0) * scales, _half(blocks, 2) * minima
    values: Floats = scales[:, :, None] * codes.reshape(-1, 8, 32) - minima[:, :, None]
    return values.reshape(-1, 256)


def _paired_nibbles(packed: Bytes) -> Bytes:
    """For each 32 bytes their low halves, then their high ones."""
    parts = packed.reshape(-1, 4, 32)
    return np.stack([parts & 15, parts >> 4], axis=2).reshape(-1, 256)


def _q4_k(blocks: Bytes) -> Floats:
    return _scaled_parts(blocks, _paired_nibbles(blocks[:, 16:]))


def _q5_k(blocks: Bytes) -> Floats:
    high = np.unpackbits(blocks[:, 16:48, None], axis=2, bitorder="little").swapaxes(1, 2).reshape(-1, 256)
    return _scaled_parts(blocks, _paired_nibbles(blocks[:, 48:]) | (high << np.uint8(4)))


def _q6_k(blocks: Bytes) -> Floats:
    low = blocks[:, :128].reshape(-1, 2, 64)
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1) & 3
    nibbles = np.concatenate([low & 15, low >> 4], axis=2)
    codes = (nibbles | (high.reshape(-1, 2, 128) << 4)).astype(np.float32).reshape(-1, 16, 16) - 32
    scales = np.ascontiguousarray(blocks[:, 192:208]).view(np.int8).astype(np.float32) * _half(blocks, 208)
    values: Floats = (scales[:, :, None] * codes).reshape(-1, 256)
    return values


_E2M1 = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)


def _mxfp4(blocks: Bytes) -> Floats:
    scales = np.ldexp(np.float32(1), blocks[:, :1].astype(np.int32) - 127)
    values: Floats = _E2M1[_nibbles(blocks[:, 1:])] * scales
    return values


BLOCK_TYPES: Mapping[int, BlockType] = MappingProxyType(
    {
        2: BlockType("q4_0", 32, 18, _q4_0),
        3: BlockType("q4_1", 32, 20, _q4_1),
        6: BlockType("q5_0", 32, 22, _q5_0),
        7: BlockType("q5_1", 32, 24, _q5_1),
        8: BlockType("q8_0", 32, 34, _q8_0),
        12: BlockType("q4_k", 256, 144, _q4_k),
        13: BlockType("q5_k", 256, 176, _q5_k),
        14: BlockType("q6_k", 256, 210, _q6_k),
        39: BlockType("mxfp4", 32, 17, _mxfp4),
    }
)
"""By the number that `ggml_type` gives them."""

BY_NAME: Mapping[str, BlockType] = MappingProxyType({kind.name: kind for kind in BLOCK_TYPES.values()})


def decode_rows(name: str, rows: Bytes) -> Floats:
    """Rows of bytes to rows of values."""
    kind = BY_NAME[name]
    blocks = np.ascontiguousarray(rows).reshape(-1, kind.bytes)
    with np.errstate(over="ignore", invalid="ignore"):
        return kind.decode(blocks).reshape(len(rows), -1).astype(np.float32, copy=False)
