"""Faults of converters: what is stored is read otherwise than it was written."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np

from tests.lowbit import checkpoints
from tests.scenarios.lowbit.run import Runs
from tests.scenarios.lowbit.storage import SCHEMES, unpacked

Fault = Callable[[Runs, int], None]


def chosen(runs: Runs, severity: int, only: tuple[str, ...] = ()) -> list[str]:
    """Bases of the weights at fault: one weight, one projection in all layers, or all."""
    names = [name.removesuffix(".weight") for name in runs.projections()]
    names = [name for name in names if not only or name.endswith(only)]
    one = names[int(runs.rng.integers(len(names)))]
    if severity == 0:
        return [one]
    kind = one.rpartition(".")[2]
    return [name for name in names if severity == 2 or name.endswith(kind)]


_SQUARE = ("q_proj", "k_proj", "v_proj", "o_proj")


def _scale_key(runs: Runs, base: str) -> str:
    ending = {"gptq": "scales", "awq": "scales", "fp8-block": "weight_scale_inv"}.get(runs.scheme, "weight_scale")
    return f"{base}.{ending}"


def scale_reciprocal(runs: Runs, severity: int) -> None:
    for base in chosen(runs, severity):
        key = _scale_key(runs, base)
        scales = runs.stored[key]
        runs.stored[key] = (1 / scales.astype(np.float32)).astype(scales.dtype)


def scale_axis(runs: Runs, severity: int) -> None:
    """Square INT8 weights whose scales belong to the inputs."""
    for base in chosen(runs, severity, _SQUARE):
        # Inputs of different size make the two axes tell apart.
        sizes = np.exp(runs.rng.normal(0, 0.5, (1, runs.shape.width)))
        values = runs.weights[f"{base}.weight"].astype(np.float32) * sizes
        runs.weights[f"{base}.weight"] = values.astype(ml_dtypes.bfloat16)
        scales = np.abs(values).max(axis=0) / 127
        runs.stored[f"{base}.weight"] = np.clip(np.rint(values / scales), -128, 127).astype(np.int8)
        runs.stored[f"{base}.weight_scale"] = scales.astype(np.float32).reshape(-1, 1)


def scale_of_next_group(runs: Runs, severity: int) -> None:
    for base in chosen(runs, severity, ("down_proj",) if runs.shape.width == 128 else ()):
        key = _scale_key(runs, base)
        axis = 0 if runs.scheme == "gptq" else 1
        runs.stored[key] = np.ascontiguousarray(np.roll(runs.stored[key], 1, axis))


def scale_too_large(runs: Runs, severity: int) -> None:
    """The largest value is stored in place of the step."""
    for base in chosen(runs, severity):
        key = _scale_key(runs, base)
        runs.stored[key] = (runs.stored[key].astype(np.float32) * 448).astype(runs.stored[key].dtype)


def global_scale_inverted(runs: Runs, severity: int) -> None:
    for base in chosen(runs, severity):
        key = f"{base}.weight_global_scale"
        runs.stored[key] = 1 / runs.stored[key]


def scales_of_next_shard(runs: Runs, severity: int) -> None:
    for base in chosen(runs, severity):
        key = _scale_key(runs, base)
        scales = runs.stored[key]
        runs.stored[key] = np.ascontiguousarray(np.roll(scales, len(scales) // 4, axis=0))


def zeros_shifted(runs: Runs, severity: int) -> None:
    """GPTQ's second format under the name of the first; AWQ's zero points one too high."""
    for base in chosen(runs, severity):
        order = tuple(range(8)) if runs.scheme == "gptq" else (0, 4, 1, 5, 2, 6, 3, 7)
        zeros = unpacked(runs.stored[f"{base}.qzeros"], 1, order)
        runs.stored[f"{base}.qzeros"] = checkpoints.pack((zeros + 1) & 15, 1, order)


def zeros_of_symmetric(runs: Runs, severity: int) -> None:
    """Zero points are stored as the middle, though the codes have their own."""
    for base in chosen(runs, severity):
        zeros = unpacked(runs.stored[f"{base}.qzeros"], 1)
        runs.stored[f"{base}.qzeros"] = checkpoints.pack(np.full_like(zeros, 7), 1)


def nibbles_swapped(runs: Runs, severity: int) -> None:
    for base in chosen(runs, severity):
        key = f"{base}.qweight" if runs.scheme in ("gptq", "awq") else f"{base}.weight_packed"
        packed = runs.stored[key].view(np.uint8)
        runs.stored[key] = (packed >> 4 | packed << 4).view(runs.stored[key].dtype)


def other_order(runs: Runs, severity: int) -> None:
    """AWQ's order of nibbles in a GPTQ checkpoint."""
    for base in chosen(runs, severity):
        codes = unpacked(runs.stored[f"{base}.qweight"], 0)
        runs.stored[f"{base}.qweight"] = checkpoints.pack(codes, 0, (0, 4, 1, 5, 2, 6, 3, 7))


def rotary_rows(runs: Runs, severity: int) -> None:
    """Rows of queries and keys in the order of the other convention of rotary embedding."""
    size = runs.shape.width // runs.shape.heads
    for base in chosen(runs, severity, ("q_proj", "k_proj")):
        for key in (f"{base}.weight", f"{base}.weight_scale"):
            values = runs.stored[key]
            heads = values.reshape(runs.shape.heads, 2, size // 2, -1)
            runs.stored[key] = np.ascontiguousarray(heads.swapaxes(1, 2)).reshape(values.shape)


def layers_swapped(runs: Runs, severity: int) -> None:
    """Weights of one layer stand at another's names."""
    for base in chosen(runs, severity):
        layer = int(base.split(".")[2])
        if layer % 2 and severity:
            continue
        other = base.replace(f".{layer}.", f".{(layer + 1) % runs.shape.layers}.")
        for key in [key for key in runs.stored if key.startswith(f"{base}.")]:
            there = key.replace(base, other)
            runs.stored[key], runs.stored[there] = runs.stored[there], runs.stored[key]


def transposed(runs: Runs, severity: int) -> None:
    names = {f"{base}.weight" for base in chosen(runs, severity, _SQUARE)}
    turned = {name: np.ascontiguousarray(runs.weights[name].T) for name in names}
    runs.stored |= SCHEMES[runs.scheme][0](turned)


def e5m2_as_e4m3(runs: Runs, severity: int) -> None:
    for base in chosen(runs, severity):
        values = runs.stored[f"{base}.weight"].astype(np.float32)
        runs.stored[f"{base}.weight"] = values.astype(ml_dtypes.float8_e5m2).view(ml_dtypes.float8_e4m3fn)


def fnuz_as_ocp(runs: Runs, severity: int) -> None:
    for base in chosen(runs, severity):
        values = np.clip(runs.stored[f"{base}.weight"].astype(np.float32) / 2, -240, 240)
        runs.stored[f"{base}.weight"] = values.astype(ml_dtypes.float8_e4m3fnuz).view(ml_dtypes.float8_e4m3fn)
        runs.stored[f"{base}.weight_scale"] = runs.stored[f"{base}.weight_scale"] * np.float32(2)


def exponent_off_by_one(runs: Runs, severity: int) -> None:
    for base in chosen(runs, severity):
        key = f"{base}.weight_scale"
        runs.stored[key] = runs.stored[key] + np.uint8(1)


def scale_for_the_tensor(runs: Runs, severity: int) -> None:
    """INT8 weights of very different outputs with one scale."""
    for name in runs.projections():
        weight = runs.weights[name].astype(np.float32)
        sizes = np.exp(runs.rng.normal(0, (0.8, 1.1, 1.5)[severity], (len(weight), 1)))
        values = weight * sizes / np.sqrt(np.square(sizes).mean())
        runs.weights[name] = values.astype(ml_dtypes.bfloat16)
        values = runs.weights[name].astype(np.float32)
        scale = np.abs(values).max() / 127
        runs.stored[name] = np.clip(np.rint(values / scale), -128, 127).astype(np.int8)
        runs.stored[f"{name}_scale"] = np.array([scale], np.float32)
    runs.config["config_groups"]["group_0"]["weights"]["strategy"] = "tensor"


WEIGHT_FAULTS: Mapping[str, tuple[tuple[str, str, Fault], ...]] = {
    "weight-conversion-scale": (
        ("reciprocal", "int8", scale_reciprocal),
        ("reciprocal", "fp8", scale_reciprocal),
        ("other axis", "int8", scale_axis),
        ("next group", "int4", scale_of_next_group),
        ("next group", "gptq", scale_of_next_group),
        ("largest for step", "fp8", scale_too_large),
        ("global inverted", "nvfp4", global_scale_inverted),
    ),
    "weight-conversion-zero-point": (
        ("shifted", "gptq", zeros_shifted),
        ("shifted", "awq", zeros_shifted),
        ("middle", "gptq", zeros_of_symmetric),
    ),
    "weight-conversion-packing": (
        ("nibbles", "int4", nibbles_swapped),
        ("nibbles", "nvfp4", nibbles_swapped),
        ("nibbles", "mxfp4", nibbles_swapped),
        ("AWQ order", "gptq", other_order),
        ("rotary rows", "int8", rotary_rows),
        ("layers swapped", "fp8", layers_swapped),
        ("layers swapped", "gptq", layers_swapped),
    ),
    "weight-conversion-transposed": (("square", "int8", transposed), ("square", "fp8", transposed)),
    "low-bit-format-mismatch": (
        ("E5M2 as E4M3", "fp8", e5m2_as_e4m3),
        ("FNUZ as OCP", "fp8", fnuz_as_ocp),
        ("exponent", "mxfp4", exponent_off_by_one),
        ("exponent", "mxfp8", exponent_off_by_one),
    ),
    "parallel-scale-mismatch": (("shards", "int8", scales_of_next_shard), ("shards", "int4", scales_of_next_shard)),
    "granularity-too-coarse": (("tensor", "int8", scale_for_the_tensor),),
}
"""Cause to its ways: name, scheme, and what it does."""
