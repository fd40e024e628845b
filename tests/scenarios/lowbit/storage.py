"""What an engine makes of a stored checkpoint: each scheme read as its description says, for whatever is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from tests.lowbit import checkpoints

Array = np.ndarray[Any, Any]
Stored = dict[str, Array]
_AWQ = (0, 4, 1, 5, 2, 6, 3, 7)


def unpacked(words: Array, axis: int, order: tuple[int, ...] = tuple(range(8))) -> Array:
    """4-bit codes of 32-bit words along an axis."""
    moved = np.moveaxis(words.view(np.uint32), axis, -1)
    codes = np.stack([moved >> np.uint32(4 * place) & np.uint32(15) for place in order], axis=-1)
    return np.moveaxis(codes.reshape(*moved.shape[:-1], -1), -1, axis)


def _gptq(stored: Stored, base: str) -> Array:
    codes = unpacked(stored[f"{base}.qweight"], 0).astype(np.int64)
    zeros = unpacked(stored[f"{base}.qzeros"], 1).astype(np.int64) + 1
    groups = stored[f"{base}.g_idx"]
    return ((codes - zeros[groups]) * stored[f"{base}.scales"].astype(np.float32)[groups]).T


def _awq(stored: Stored, base: str) -> Array:
    codes = unpacked(stored[f"{base}.qweight"], 1, _AWQ).astype(np.int64)
    zeros = unpacked(stored[f"{base}.qzeros"], 1, _AWQ).astype(np.int64)
    scales = stored[f"{base}.scales"].astype(np.float32)
    per = len(codes) // len(scales)
    return ((codes - zeros.repeat(per, 0)) * scales.repeat(per, 0)).T


def _compressed_int4(stored: Stored, base: str) -> Array:
    codes = unpacked(stored[f"{base}.weight_packed"], 1).astype(np.int64) - 8
    scales = stored[f"{base}.weight_scale"].astype(np.float32)
    return codes * scales.repeat(codes.shape[1] // scales.shape[1], 1)


def _scaled(stored: Stored, base: str) -> Array:
    """8-bit values with a scale for the tensor, each output, or square blocks."""
    values = stored[f"{base}.weight"].astype(np.float32)
    inverse = stored.get(f"{base}.weight_scale_inv")
    if inverse is not None:
        high, wide = (size // part for size, part in zip(values.shape, inverse.shape, strict=True))
        return values * inverse.repeat(high, 0).repeat(wide, 1)
    return values * stored[f"{base}.weight_scale"].astype(np.float32).reshape(-1, 1)


def _fp4(packed: Array) -> Array:
    codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1)
    values: Array = codes.astype(np.uint8).view(ml_dtypes.float4_e2m1fn)
    return values.astype(np.float32)


def _nvfp4(stored: Stored, base: str) -> Array:
    scales = stored[f"{base}.weight_scale"].astype(np.float32) / stored[f"{base}.weight_global_scale"]
    return _fp4(stored[f"{base}.weight_packed"]) * scales.repeat(16, 1)


def _mxfp4(stored: Stored, base: str) -> Array:
    scales = np.exp2(stored[f"{base}.weight_scale"].astype(np.float32) - 127)
    return _fp4(stored[f"{base}.weight_packed"]) * scales.repeat(32, 1)


def _mxfp8(stored: Stored, base: str) -> Array:
    scales = np.exp2(stored[f"{base}.weight_scale"].astype(np.float32) - 127)
    return stored[f"{base}.weight"].astype(np.float32) * scales.repeat(32, 1)


Writer = Callable[[Mapping[str, Array]], Stored]
Reader = Callable[[Stored, str], Array]
SCHEMES: Mapping[str, tuple[Writer, Reader, dict[str, Any]]] = {
    "gptq": (
        checkpoints.gptq, _gptq,
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": False, "checkpoint_format": "gptq"},
    ),
    "awq": (checkpoints.awq, _awq, {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}),
    "int4": (
        checkpoints.compressed_int4, _compressed_int4,
        {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0": {"weights": {
            "num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True}}},
            "ignore": ["lm_head"]},
    ),
    "int8": (
        checkpoints.compressed_int8, _scaled,
        {"quant_method": "compressed-tensors", "config_groups": {"group_0": {
            "weights": {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True},
            "input_activations": {"num_bits": 8, "type": "int", "strategy": "token", "dynamic": True}}},
            "ignore": ["lm_head"]},
    ),
    "fp8": (
        lambda weights: checkpoints.fp8(weights, channels=True), _scaled,
        {"quant_method": "compressed-tensors", "config_groups": {"group_0": {
            "weights": {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True},
            "input_activations": {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True}}},
            "ignore": ["lm_head"]},
    ),
    "fp8-block": (
        lambda weights: checkpoints.fp8(weights, block=128), _scaled,
        {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]},
    ),
    "nvfp4": (
        checkpoints.nvfp4, _nvfp4,
        {"quant_method": "compressed-tensors", "config_groups": {"group_0": {
            "weights": {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16},
            "input_activations": {"num_bits": 4, "type": "float", "group_size": 16, "dynamic": "local"}}},
            "ignore": ["lm_head"]},
    ),
    "mxfp4": (checkpoints.mxfp4, _mxfp4, {"quant_method": "mxfp4"}),
    "mxfp8": (
        checkpoints.mxfp8, _mxfp8,
        {"quant_method": "compressed-tensors", "config_groups": {"group_0": {
            "weights": {"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32},
            "input_activations": {"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32,
                                  "dynamic": True}}},
            "ignore": ["lm_head"]},
    ),
}  # fmt: skip
"""How weights are written, how an engine reads them, and the config that says so."""


def read_as_stored(scheme: str, stored: Stored, names: list[str]) -> dict[str, Array]:
    """The weights that an engine computes with."""
    found = {}
    for name in names:
        base = name.removesuffix(".weight")
        if not checkpoints.is_projection(name):
            found[name] = stored[name].astype(np.float32)
            continue
        # A checkpoint may mix schemes; integers of 4 bits beside those of 8 are told by their packing.
        mixed = scheme == "int8" and f"{base}.weight_packed" in stored
        found[name] = (_compressed_int4 if mixed else SCHEMES[scheme][1])(stored, base).astype(np.float32)
    return found
