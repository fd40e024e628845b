"""Small checkpoints in the formats of the field, written straight from the formats' descriptions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
_NAMES = {
    "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int32": "I32", "int8": "I8", "uint8": "U8",
    "int64": "I64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e4m3fnuz": "F8_E4M3FNUZ",
}  # fmt: skip


def save(path: Path, tensors: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> None:
    """A safetensors file."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at, parts = 0, []
    for name, array in tensors.items():
        data = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [at, at + len(data)],
        }
        at += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def original(layers: int = 3, width: int = 256, wide: int = 512, seed: int = 0) -> dict[str, Array]:
    """Weights of a small transformer in bfloat16, of channels with different sizes."""
    rng = np.random.default_rng(seed)

    def matrix(high: int, inputs: int) -> Array:
        sizes = np.exp(rng.normal(0, 0.5, (high, 1)))
        return (rng.standard_normal((high, inputs)) * sizes * 0.02).astype(ml_dtypes.bfloat16)

    found = {"model.embed_tokens.weight": matrix(1000, width)}
    for layer in range(layers):
        base = f"model.layers.{layer}"
        found[f"{base}.input_layernorm.weight"] = np.ones(width, ml_dtypes.bfloat16)
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            found[f"{base}.self_attn.{name}.weight"] = matrix(width, width)
        found[f"{base}.post_attention_layernorm.weight"] = np.ones(width, ml_dtypes.bfloat16)
        for name in ("gate_proj", "up_proj"):
            found[f"{base}.mlp.{name}.weight"] = matrix(wide, width)
        found[f"{base}.mlp.down_proj.weight"] = matrix(width, wide)
    found["model.norm.weight"] = np.ones(width, ml_dtypes.bfloat16)
    return found


def is_projection(name: str) -> bool:
    return "_proj.weight" in name


def steps(weight: Array, group: int, bits: int = 4, symmetric: bool = False) -> tuple[Array, Array, Array]:
    """Codes from 0 on (outputs, inputs), scales and zero points (outputs, groups)."""
    values = weight.astype(np.float32).reshape(len(weight), -1, group)
    most = (1 << bits) - 1
    if symmetric:
        scales = np.abs(values).max(axis=2) / ((1 << bits - 1) - 1)
        zeros = np.full(scales.shape, 1 << bits - 1)
    else:
        scales = (values.max(axis=2) - values.min(axis=2)) / most
        zeros = np.clip(np.rint(-values.min(axis=2) / scales), 1, most)
    scales = scales.astype(np.float16).astype(np.float32)
    codes = np.clip(np.rint(values / scales[..., None]) + zeros[..., None], 0, most)
    return codes.reshape(len(weight), -1).astype(np.uint32), scales, zeros.astype(np.uint32)


def pack(codes: Array, axis: int, order: tuple[int, ...] | None = None, bits: int = 4) -> Array:
    """Consecutive codes along an axis to words of 32 bits; `order` is the place of each in its word."""
    per = 32 // bits
    order = order or tuple(range(per))
    moved = np.moveaxis(codes, axis, -1)
    parts = moved.reshape(*moved.shape[:-1], -1, per).astype(np.uint32)
    words = np.zeros(parts.shape[:-1], np.uint32)
    for at, place in enumerate(order):
        words |= parts[..., at] << np.uint32(place * bits)
    return np.ascontiguousarray(np.moveaxis(words, -1, axis)).view(np.int32)


def gptq(weights: Mapping[str, Array], group: int = 128) -> dict[str, Array]:
    """The first GPTQ format: zero points are stored less one."""
    found: dict[str, Array] = {}
    for name, weight in weights.items():
        if not is_projection(name):
            found[name] = weight
            continue
        codes, scales, zeros = steps(weight, group)
        base = name.removesuffix(".weight")
        found[f"{base}.qweight"] = pack(codes.T, 0)
        found[f"{base}.qzeros"] = pack(zeros.T - 1, 1)
        found[f"{base}.scales"] = scales.T.astype(np.float16)
        found[f"{base}.g_idx"] = (np.arange(weight.shape[1]) // group).astype(np.int32)
    return found


def awq(weights: Mapping[str, Array], group: int = 128) -> dict[str, Array]:
    found: dict[str, Array] = {}
    place = (0, 4, 1, 5, 2, 6, 3, 7)
    for name, weight in weights.items():
        if not is_projection(name):
            found[name] = weight
            continue
        codes, scales, zeros = steps(weight, group)
        base = name.removesuffix(".weight")
        found[f"{base}.qweight"] = pack(codes.T, 1, place)
        found[f"{base}.qzeros"] = pack(zeros.T, 1, place)
        found[f"{base}.scales"] = scales.T.astype(np.float16)
    return found


def compressed_int4(weights: Mapping[str, Array], group: int = 128) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, weight in weights.items():
        if not is_projection(name):
            found[name] = weight
            continue
        codes, scales, _ = steps(weight, group, symmetric=True)
        base = name.removesuffix(".weight")
        found[f"{base}.weight_packed"] = pack(codes, 1)
        found[f"{base}.weight_scale"] = scales.astype(ml_dtypes.bfloat16)
        found[f"{base}.weight_shape"] = np.array(weight.shape, np.int64)
    return found


def compressed_int8(weights: Mapping[str, Array]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, weight in weights.items():
        found[name] = weight
        if is_projection(name):
            values = weight.astype(np.float32)
            scales = np.abs(values).max(axis=1, keepdims=True) / 127
            found[name] = np.clip(np.rint(values / scales), -128, 127).astype(np.int8)
            found[f"{name}_scale"] = scales.astype(np.float32)
    return found


def fp8(weights: Mapping[str, Array], block: int = 0, channels: bool = False) -> dict[str, Array]:
    """E4M3 with a scale for the tensor, for each output, or for each square block."""
    found: dict[str, Array] = {}
    for name, weight in weights.items():
        found[name] = weight
        if not is_projection(name):
            continue
        values = weight.astype(np.float32)
        if block:
            high, wide = values.shape
            tiles = values.reshape(high // block, block, wide // block, block)
            scales = np.abs(tiles).max(axis=(1, 3)) / 448
            spread = scales.repeat(block, 0).repeat(block, 1)
            found[f"{name}_scale_inv"] = scales.astype(np.float32)
        elif channels:
            scales = np.abs(values).max(axis=1, keepdims=True) / 448
            spread, found[f"{name}_scale"] = scales, scales.astype(np.float32)
        else:
            scales = np.abs(values).max(keepdims=True).reshape(1) / 448
            spread, found[f"{name}_scale"] = scales, scales.astype(np.float32)
        found[name] = np.clip(values / spread, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    return found


def _e2m1(values: Array) -> Array:
    codes = values.astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15
    return codes[:, 0::2] | codes[:, 1::2] << 4


def nvfp4(weights: Mapping[str, Array], divides: bool = True) -> dict[str, Array]:
    """As compressed-tensors stores it (the global scale divides) or as Model Optimizer does."""
    found: dict[str, Array] = {}
    for name, weight in weights.items():
        if not is_projection(name):
            found[name] = weight
            continue
        values = weight.astype(np.float32).reshape(len(weight), -1, 16)
        overall = np.float32(np.abs(values).max() / (448 * 6))
        scales = (np.abs(values).max(axis=2) / 6 / overall).astype(ml_dtypes.float8_e4m3fn)
        packed = _e2m1((values / (scales.astype(np.float32)[..., None] * overall)).reshape(len(weight), -1))
        base = name.removesuffix(".weight")
        found[f"{base}.weight_packed" if divides else name] = packed
        found[f"{base}.weight_scale"] = scales
        key = "weight_global_scale" if divides else "weight_scale_2"
        found[f"{base}.{key}"] = np.array([1 / overall if divides else overall], np.float32)
    return found


def mxfp4(weights: Mapping[str, Array]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, weight in weights.items():
        if not is_projection(name):
            found[name] = weight
            continue
        values = weight.astype(np.float32).reshape(len(weight), -1, 32)
        exponent = np.floor(np.log2(np.abs(values).max(axis=2))) - 2
        scaled = np.clip(values / np.exp2(exponent)[..., None], -6, 6)
        base = name.removesuffix(".weight")
        found[f"{base}.weight_packed"] = _e2m1(scaled.reshape(len(weight), -1))
        found[f"{base}.weight_scale"] = (exponent + 127).astype(np.uint8)
    return found


def mxfp8(weights: Mapping[str, Array]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, weight in weights.items():
        found[name] = weight
        if is_projection(name):
            values = weight.astype(np.float32).reshape(len(weight), -1, 32)
            exponent = np.floor(np.log2(np.abs(values).max(axis=2))) - 8
            scaled = np.clip(values / np.exp2(exponent)[..., None], -448, 448)
            found[name] = scaled.reshape(weight.shape).astype(ml_dtypes.float8_e4m3fn)
            found[f"{name}_scale"] = (exponent + 127).astype(np.uint8)
    return found


NF4 = np.array([
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
], np.float32)  # fmt: skip


def nf4(weights: Mapping[str, Array], block: int = 64) -> dict[str, Array]:
    """bitsandbytes: the first of two codes in the high nibble."""
    found: dict[str, Array] = {}
    for name, weight in weights.items():
        found[name] = weight
        if not is_projection(name):
            continue
        values = weight.astype(np.float32).reshape(-1, block)
        largest = np.abs(values).max(axis=1, keepdims=True)
        codes = np.abs((values / largest)[..., None] - NF4).argmin(axis=2).reshape(-1).astype(np.uint8)
        found[name] = (codes[0::2] << 4 | codes[1::2]).reshape(-1, 1)
        found[f"{name}.absmax"] = largest.reshape(-1).astype(np.float32)
        found[f"{name}.quant_map"] = NF4
        state = {"quant_type": "nf4", "blocksize": block, "dtype": "bfloat16", "shape": list(weight.shape)}
        found[f"{name}.quant_state.bitsandbytes__nf4"] = np.frombuffer(json.dumps(state).encode(), np.uint8)
    return found


def llm_int8(weights: Mapping[str, Array]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, weight in weights.items():
        found[name] = weight
        if is_projection(name):
            values = weight.astype(np.float32)
            largest = np.abs(values).max(axis=1)
            found[name] = np.rint(values / largest[:, None] * 127).astype(np.int8)
            found[f"{name.removesuffix('.weight')}.SCB"] = largest.astype(np.float32)
    return found
