"""Faults of calibration, kernels, inputs and engines: the checkpoint is right, and what is computed is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

import ml_dtypes
import numpy as np

from tests.lowbit import checkpoints
from tests.scenarios.lowbit import rounding
from tests.scenarios.lowbit.faults_weights import Fault, chosen
from tests.scenarios.lowbit.network import Array, Engine, Product, exact, forward, prompt
from tests.scenarios.lowbit.run import Runs, clean_runs


def _static(runs: Runs, factor: float) -> dict[str, float]:
    """Static input scales: the largest input of a calibration prompt, times a factor, over the format's largest."""
    most = 448.0 if runs.scheme == "fp8" else 127.0
    seen = forward(runs.weights, runs.shape, prompt(runs.seed + 77), exact(runs.weights))
    group = runs.config["config_groups"]["group_0"]
    group["input_activations"] |= {"strategy": "tensor", "dynamic": False}
    scales = {}
    for name in runs.projections():
        base = name.removesuffix(".weight")
        scales[base] = 1.15 * factor * float(np.abs(seen[f"{base}.input"]).max()) / most
    return scales


def _apply(runs: Runs, scales: Mapping[str, float], store: bool = True) -> None:
    make = rounding.static_float8 if runs.scheme == "fp8" else rounding.static_integer
    for base, scale in scales.items():
        runs.rounds[base] = make(scale)
        if store:
            runs.stored[f"{base}.input_scale"] = np.array([scale], np.float32)


def calibrated(runs: Runs) -> None:
    """Static scales that fit: no fault."""
    _apply(runs, _static(runs, 1.0))


def not_calibrated(runs: Runs, severity: int) -> None:
    """All scales are 1; with the mildest, the checkpoint holds none and the engine takes 1."""
    _apply(runs, dict.fromkeys(_static(runs, 1.0), 1.0), store=severity > 0)


def calibrated_on_small_inputs(runs: Runs, severity: int) -> None:
    _apply(runs, _static(runs, (0.4, 0.25, 0.1)[severity]))


def outliers_per_tensor(runs: Runs, severity: int) -> None:
    """INT8 activations with one scale a tensor, of a model with large channels."""
    loud = clean_runs(runs.shape, runs.scheme, runs.seed, outlier=(40.0, 80.0, 200.0)[severity])
    runs.weights, runs.stored = loud.weights, loud.stored
    runs.config["config_groups"]["group_0"]["input_activations"] |= {"strategy": "tensor"}
    for name in runs.projections():
        runs.rounds[name.removesuffix(".weight")] = lambda values: rounding.integer(values, axis=None)
    runs.said_format = "int8-tensor"


def overflow(runs: Runs, severity: int) -> None:
    """A model whose hidden states pass 65504, run in FP16."""
    layer = (runs.shape.layers - 1, runs.shape.layers // 2, 0)[severity]
    name = f"model.layers.{layer}.mlp.down_proj.weight"
    runs.weights[name] = (runs.weights[name].astype(np.float32) * 1e5).astype(ml_dtypes.bfloat16)


def coarse_head(runs: Runs, severity: int) -> None:
    """The output projection in few bits, all else in INT8."""
    weight = runs.weights["lm_head.weight"].astype(np.float32)
    coarse = rounding.integer(weight, None if severity == 2 else -1, (4, 3, 3)[severity])
    runs.stored["lm_head.weight"] = coarse.astype(ml_dtypes.bfloat16)


def coarse_last_layer(runs: Runs, severity: int) -> None:
    """The last layer's feed-forward output in INT4, all else in INT8: with groups, for each channel, in two layers."""
    layers = range(runs.shape.layers - (2 if severity == 2 else 1), runs.shape.layers)
    names = [f"model.layers.{layer}.mlp.down_proj.weight" for layer in layers]
    for name in names:
        del runs.stored[name], runs.stored[f"{name}_scale"]
    group = 128 if severity == 0 else runs.shape.inner
    runs.stored |= checkpoints.compressed_int4({name: runs.weights[name] for name in names}, group)


def short_sums(runs: Runs, severity: int) -> None:
    """Sums in FP16, rounded after so many products."""
    every = (8, 4, 1)[severity]

    def multiplied(weights: Mapping[str, Array]) -> Product:
        full = {name: value.astype(np.float32) for name, value in weights.items()}

        def product(name: str, values: Array) -> Array:
            weight = full[f"{name}.weight"]
            total = np.zeros((len(values), len(weight)), np.float16)
            for at in range(0, values.shape[1], every):
                part = values[:, at : at + every] @ weight[:, at : at + every].T
                total = (total.astype(np.float32) + part).astype(np.float16)
            return total.astype(np.float32)

        return product

    runs.product = multiplied
    runs.low_engine = Engine(stream="float16")
    runs.said_format = "fp16"
    runs.stored, runs.with_checkpoint = dict(runs.weights), True


def wrong_tile(runs: Runs, severity: int) -> None:
    """A kernel that leaves its last columns out; of one product, of one sort of product, of all."""
    bases = set(chosen(runs, severity))

    def change(name: str, _: Array, result: Array) -> Array:
        if name in bases:
            result = result.copy()
            result[:, -(result.shape[1] // 4) :] = 0
        return result

    runs.changes.append(change)


def wrong_rows(runs: Runs, severity: int) -> None:
    """A kernel that writes tokens to each other's place."""
    bases = set(chosen(runs, severity))
    runs.changes.append(lambda name, _, result: np.roll(result, 1, axis=0) if name in bases else result)


def _split(parts: int) -> Callable[[Mapping[str, Array]], Product]:
    def multiplied(weights: Mapping[str, Array]) -> Product:
        full = {name: value.astype(np.float32) for name, value in weights.items()}

        def product(name: str, values: Array) -> Array:
            weight = full[f"{name}.weight"]
            edges = np.linspace(0, values.shape[1], parts + 1).astype(int)
            total = np.zeros((len(values), len(weight)), np.float32)
            for first, last in pairwise(edges):
                total += (values[:, first:last] @ weight[:, first:last].T).astype(ml_dtypes.bfloat16).astype(np.float32)
            return total

        return product

    return multiplied


def other_order_of_sums(runs: Runs, severity: int) -> None:
    """Three runs in bfloat16 whose sums are split differently."""
    runs.reference_engine = Engine(stream="bfloat16")
    runs.product, runs.second = _split((2, 4, 8)[severity]), _split((3, 6, 12)[severity])


def first_token_missing(runs: Runs, severity: int) -> None:
    """Another token, a missing first one, or other text."""
    if severity == 0:
        runs.low_ids = runs.ids.copy()
        runs.low_ids[len(runs.ids) // 2] += 1
    elif severity == 1:
        runs.low_ids = np.concatenate([runs.ids[1:], runs.ids[-1:]])
    else:
        runs.low_ids = prompt(runs.seed + 500)


def other_rotary_base(runs: Runs, severity: int) -> None:
    runs.low_engine = replace(runs.low_engine, rotary_base=(2_000.0, 500_000.0, 100.0)[severity])


def norms_left_out(runs: Runs, severity: int) -> None:
    """Before the feed-forward of the last layer, of the later half, of all."""
    first = (runs.shape.layers - 1, runs.shape.layers // 2, 0)[severity]
    runs.low_engine = replace(runs.low_engine, without_norm_from=first)


RUN_FAULTS: Mapping[str, tuple[tuple[str, str, Fault], ...]] = {
    "calibration-missing": (("scales of 1", "int8", not_calibrated), ("scales of 1", "fp8", not_calibrated)),
    "calibration-unrepresentative": (
        ("small inputs", "int8", calibrated_on_small_inputs),
        ("small inputs", "fp8", calibrated_on_small_inputs),
    ),
    "activation-outliers": (("per tensor", "int8", outliers_per_tensor),),
    "overflow-to-nan-inf": (("hidden state", "fp16", overflow),),
    "sensitive-layer-quantised": (("head", "int8", coarse_head), ("last layer", "int8", coarse_last_layer)),
    "accumulation-precision": (("sums in FP16", "bf16", short_sums),),
    "low-bit-kernel-defect": (
        ("last columns", "fp8", wrong_tile),
        ("last columns", "int4", wrong_tile),
        ("tokens moved", "int8", wrong_rows),
    ),
    "batch-variant-kernels": (("split sums", "bf16", other_order_of_sums),),
    "preprocessing-mismatch": (("tokens", "fp8", first_token_missing), ("tokens", "int4", first_token_missing)),
    "model-implementation-mismatch": (
        ("rotary base", "bf16", other_rotary_base),
        ("norm left out", "bf16", norms_left_out),
    ),
}
"""Cause to its ways: name, scheme, and what it does."""
