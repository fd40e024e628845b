from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from diagnose.lowbit.checkpoint import Checkpoint, open_checkpoint
from diagnose.lowbit.codes import AWQ_ORDER
from diagnose.lowbit.readers.open import open_tensors
from diagnose.lowbit.tensors import TensorSet
from diagnose.lowbit.weights import Examiner, Original, WeightResult
from tests.lowbit import checkpoints as made
from tests.lowbit.checkpoints import Array

Tensors = dict[str, Array]
Writer = Callable[[Tensors], Tensors]
ORIGINAL = made.original(layers=2)
SMALL = made.original(layers=1)

FORMATS: dict[str, Writer] = {
    "gptq": made.gptq,
    "awq": made.awq,
    "compressed-int4": made.compressed_int4,
    "compressed-int8": made.compressed_int8,
    "fp8-tensor": made.fp8,
    "fp8-channel": lambda weights: made.fp8(weights, channels=True),
    "fp8-block": lambda weights: made.fp8(weights, block=128),
    "nvfp4-compressed": made.nvfp4,
    "nvfp4-model-optimizer": lambda weights: made.nvfp4(weights, divides=False),
    "mxfp4": made.mxfp4,
    "mxfp8": made.mxfp8,
    "nf4": made.nf4,
    "llm-int8": made.llm_int8,
}


def opened(folder: Path, tensors: Tensors, config: dict[str, object] | None = None) -> Checkpoint:
    made.save(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps({"quantization_config": config or {}}))
    return open_checkpoint(open_tensors(folder))


def reference(folder: Path, weights: Tensors = ORIGINAL) -> TensorSet:
    made.save(folder / "original.safetensors", weights)
    return open_tensors(folder / "original.safetensors")


def examined(checkpoint: Checkpoint, originals: TensorSet) -> Iterator[WeightResult]:
    check = Examiner()
    for name, encoded in checkpoint.encoded.items():
        others = [other for key, other in checkpoint.encoded.items() if key != name and key[-20:] == name[-20:]]
        yield check.examine(encoded, Original([originals[name]], encoded.shape), others)


@pytest.mark.parametrize("name", FORMATS)
def test_clean_checkpoints_are_at_their_floor_and_no_other_reading_is_put_forward(name: str, tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    results = list(examined(opened(tmp_path / "low", FORMATS[name](ORIGINAL)), reference(tmp_path)))

    assert len(results) == 14
    assert all(result.at_floor and result.found is None for result in results)


def changed(tensors: Tensors, ending: str, change: Callable[[Array], Array]) -> Tensors:
    """The tensors with those of one ending changed."""
    assert any(name.endswith(ending) for name in tensors)
    return {name: change(array) if name.endswith(ending) else array for name, array in tensors.items()}


def nibbles_swapped(words: Array) -> Array:
    low = words.view(np.uint8)
    return (low << 4 | low >> 4).view(words.dtype)


def repacked(words: Array, order: tuple[int, ...], axis: int) -> Array:
    """Words whose codes are packed in another order."""
    unsigned = np.moveaxis(words.view(np.uint32), axis, -1)
    codes = (unsigned[..., None] >> (np.arange(8, dtype=np.uint32) * np.uint32(4))) & np.uint32(15)
    flat = codes.reshape(*unsigned.shape[:-1], -1)
    return made.pack(np.moveaxis(flat, -1, axis), axis, order)


def unpacked(words: Array) -> Array:
    """Codes of words along the last axis, lowest bits first."""
    codes = (words.view(np.uint32)[..., None] >> (np.arange(8, dtype=np.uint32) * np.uint32(4))) & np.uint32(15)
    return codes.reshape(len(words), -1)


def only(tensors: Tensors, word: str) -> Tensors:
    return {name: array for name, array in tensors.items() if word in name}


def symmetric_awq(weights: Tensors) -> Tensors:
    """AWQ's layout with zero points in the middle of the codes."""
    found: Tensors = {}
    for name, weight in weights.items():
        base = name.removesuffix(".weight")
        if not made.is_projection(name):
            continue
        codes, scales, zeros = made.steps(weight, 128, symmetric=True)
        found[f"{base}.qweight"] = made.pack(codes.T, 1, AWQ_ORDER)
        found[f"{base}.qzeros"] = made.pack(zeros.T, 1, AWQ_ORDER)
        found[f"{base}.scales"] = scales.T.astype(np.float16)
    return found


def by_axis(weights: Tensors) -> Tensors:
    """INT8 whose codes belong to scales that lie along the inputs, stored as if along the outputs."""
    found = dict(weights)
    for name in [name for name in weights if "self_attn" in name]:
        values = weights[name].astype(np.float32)
        scales = np.abs(values).max(axis=0, keepdims=True) / 127
        found[name] = np.rint(values / scales).astype(np.int8)
        found[f"{name}_scale"] = scales.T.astype(np.float32)
    return found


def groups_by_output(weights: Tensors) -> Tensors:
    found: Tensors = {}
    for name, weight in weights.items():
        if "self_attn" not in name:
            found[name] = weight
            continue
        codes, scales, _ = made.steps(weight.T, 128, symmetric=True)
        base = name.removesuffix(".weight")
        found[f"{base}.weight_packed"] = made.pack(codes.T, 1)
        found[f"{base}.weight_scale"] = scales.T.reshape(len(weight), -1).astype(np.float32)
    return found


def reordered(weights: Tensors) -> Tensors:
    """Inputs in the order of their activations, without the order."""
    order = np.random.default_rng(5).permutation(256)
    square = {name: weight for name, weight in weights.items() if weight.shape == (256, 256)}
    groups = np.empty(256, np.int32)
    groups[order] = np.arange(256) // 128
    return changed(made.gptq(square), "g_idx", lambda _: groups)


FAULTS: dict[str, tuple[Writer, str]] = {
    "zero points stored as in the second format": (
        lambda weights: changed(made.gptq(weights), "qzeros", lambda zeros: zeros + 0x11111111), "zero-point-minus-one",
    ),
    "zero points of AWQ one too high": (
        lambda weights: changed(made.awq(weights, 64), "qzeros", lambda z: np.where(z == -1, z, z + 0x11111111)
                                if not (z.view(np.uint8) >= 0xF0).any() else z), "zero-point-minus-one",
    ),
    "nibbles swapped in NVFP4": (
        lambda weights: changed(made.nvfp4(weights), "packed", nibbles_swapped), "nibbles-swapped",
    ),
    "nibbles swapped in MXFP4": (
        lambda weights: changed(made.mxfp4(weights), "packed", nibbles_swapped), "nibbles-swapped",
    ),
    "nibbles swapped in NF4": (
        lambda weights: changed(made.nf4(weights), "proj.weight", nibbles_swapped), "order-linear",
    ),
    "nibbles swapped in words of GPTQ": (
        lambda weights: changed(made.gptq(weights), "qweight", nibbles_swapped), "nibbles-swapped-codes",
    ),
    "AWQ without its interleaving": (
        lambda weights: changed(changed(made.awq(weights), "qweight", lambda words: repacked(
            repacked(words, (0, 2, 4, 6, 1, 3, 5, 7), 1), tuple(range(8)), 1)), "qzeros", lambda words: repacked(
            repacked(words, (0, 2, 4, 6, 1, 3, 5, 7), 1), tuple(range(8)), 1)), "order-linear",
    ),
    "FP8 scales inverted": (
        lambda weights: changed(made.fp8(weights, block=128), "scale_inv", lambda scales: 1 / scales),
        "scale-reciprocal",
    ),
    "grid of block scales transposed": (
        lambda weights: changed({name: array for name, array in made.fp8(weights, block=128).items()
                                 if "mlp" not in name}, "scale_inv", lambda scales: scales.T * 1), "scale-axis",
    ),
    "E4M3 of OCP read as FNUZ": (
        lambda weights: {name: array.view(ml_dtypes.float8_e4m3fnuz).view(np.uint8).view(ml_dtypes.float8_e5m2)
                         if array.dtype == ml_dtypes.float8_e4m3fn else array
                         for name, array in made.fp8(weights).items()}, "element-e4m3fn",
    ),
    "exponents of MXFP8 one too high": (
        lambda weights: changed(made.mxfp8(weights), "weight_scale", lambda scales: scales + 1), "scale-exponent",
    ),
    "exponents of MXFP4 one too low": (
        lambda weights: changed(made.mxfp4(weights), "weight_scale", lambda scales: scales - 1), "scale-exponent",
    ),
    "global scale of NVFP4 inverted": (
        lambda weights: changed(made.nvfp4(weights), "global_scale", lambda scale: 1 / scale), "global-scale-inverted",
    ),
    "scales of channels along the other axis": (by_axis, "scale-axis"),
    "groups along the other axis": (groups_by_output, "scale-axis"),
    "weights transposed": (
        lambda weights: changed({name: array for name, array in made.fp8(weights).items() if "self_attn" in name},
                                ".weight", lambda weight: weight.T * np.float32(1) if weight.dtype == np.float32
                                else np.ascontiguousarray(weight.T)), "transposed",
    ),
    "scales rolled by half, as of another shard": (
        lambda weights: changed(made.fp8(weights, channels=True), "scale", lambda scales: np.roll(scales, 128, 0)
                                if len(scales) == 256 else np.roll(scales, 256, 0)), "scales-of-other-shard",
    ),
    "groups shifted by one": (
        lambda weights: changed(made.compressed_int4(weights, 32), "scale",
                                lambda scales: np.roll(scales, 1, 1)), "group-next",
    ),
    "order of activations with consecutive groups": (reordered, "activation-order-ignored"),
    "float16 scales taken for bfloat16": (
        lambda weights: changed(made.compressed_int4(weights), "weight_scale", lambda scales: scales.astype(np.float16)
                                .view(ml_dtypes.bfloat16)), "scale-type",
    ),
    "two's complement in place of offset codes": (
        lambda weights: changed(made.compressed_int4(weights), "packed", lambda words: (
            words.view(np.uint32) ^ np.uint32(0x88888888)).view(np.int32)), "signed-codes",
    ),
    "bits of OCP's E4M3 under the name of FNUZ": (
        lambda weights: changed(made.fp8(weights), "proj.weight", lambda codes: codes.view(np.uint8).view(
            ml_dtypes.float8_e4m3fnuz)), "element-e4m3fn",
    ),
    "scales of FNUZ's E4M3, whose bits stand for half of OCP's": (
        lambda weights: changed(made.fp8(weights), "_scale", lambda scales: scales * np.float32(2)), "element-e4m3fnuz",
    ),
    "scales stored in the order of the other axis": (
        lambda weights: changed(made.compressed_int4(weights, 32), "weight_scale", lambda scales: np.ascontiguousarray(
            scales.T).reshape(scales.shape)), "scale-order",
    ),
    "symmetric codes with zero points of nought": (
        lambda weights: changed(symmetric_awq(weights), "qzeros", lambda zeros: zeros * 0), "zero-point-symmetric",
    ),
    "buffer of the transposed matrix": (
        lambda weights: changed({name: array for name, array in made.fp8(weights).items() if "self_attn" not in name},
                                "proj.weight", lambda codes: np.ascontiguousarray(codes.T).reshape(codes.shape)),
        "buffer-transposed",
    ),
    "outputs of heads interleaved for rotary embedding": (
        lambda weights: changed(only(made.fp8(weights), "q_proj"), "proj.weight", lambda codes: np.ascontiguousarray(
            codes.reshape(4, 2, 32, -1).swapaxes(1, 2)).reshape(codes.shape)), "rotary-inverse-order",
    ),
    "codes packed along the outputs": (
        lambda weights: changed(made.compressed_int4(weights), "packed", lambda words: made.pack(
            unpacked(words), 0).reshape(words.shape)), "packed-axis",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_the_wrong_reading_is_named(fault: str, tmp_path: Path) -> None:
    writer, expected = FAULTS[fault]
    (tmp_path / "low").mkdir()

    results = list(examined(opened(tmp_path / "low", writer(SMALL)), reference(tmp_path, SMALL)))

    wrong = [result for result in results if not result.at_floor]
    assert len(wrong) * 2 > len(results)
    assert {result.found.id if result.found else None for result in wrong} == {expected}


def test_halves_of_a_merged_weight_that_were_exchanged_are_named(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    swapped = changed(made.compressed_int8(SMALL), "gate_proj.weight", lambda codes: np.roll(codes, 256, 0))
    low = changed(swapped, "gate_proj.weight_scale", lambda scales: np.roll(scales, 256, 0))

    results = {result.name: result for result in examined(opened(tmp_path / "low", low), reference(tmp_path, SMALL))}

    wrong = [result for result in results.values() if not result.at_floor]
    assert [result.name for result in wrong] == ["model.layers.0.mlp.gate_proj.weight"]
    assert wrong[0].found is not None
    assert wrong[0].found.id == "halves-swapped"


def test_scales_of_one_shard_for_all_are_told_from_scales_that_fit_nowhere(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()

    def first_shard(scales: Array) -> Array:
        return np.tile(scales[: len(scales) // 2], (2, 1))

    low = changed(made.compressed_int8(SMALL), "weight_scale", first_shard)

    results = list(examined(opened(tmp_path / "low", low), reference(tmp_path, SMALL)))

    assert {(result.found.id, result.found.family) for result in results if result.found} == {
        ("scales-of-one-shard", "parallel-scale")
    }
    assert all(result.found is not None for result in results)


def test_scales_of_another_layer_are_named(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    low = made.compressed_int8(ORIGINAL)
    key = "model.layers.{}.self_attn.k_proj.weight_scale"
    low[key.format(0)], low[key.format(1)] = low[key.format(1)], low[key.format(0)]

    results = [result for result in examined(opened(tmp_path / "low", low), reference(tmp_path)) if not result.at_floor]

    assert [result.name for result in results] == [f"model.layers.{layer}.self_attn.k_proj.weight" for layer in (0, 1)]
    assert {result.found.id for result in results if result.found} == {"scales-of-other-layer"}


def test_a_constant_factor_is_given_with_its_value(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    low = changed(made.compressed_int8(SMALL), "weight_scale", lambda scales: scales * np.float32(3))

    results = list(examined(opened(tmp_path / "low", low), reference(tmp_path, SMALL)))

    assert {result.found.says for result in results if result.found} == {"all scales are to be multiplied by 0.333"}


def test_input_channels_that_the_layer_before_makes_up_for_are_no_fault(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    factors = np.exp(np.random.default_rng(1).normal(0, 1, 256)).astype(np.float32)
    smooth = {
        name: (weight.astype(np.float32) * factors).astype(ml_dtypes.bfloat16) if weight.shape == (256, 256) else weight
        for name, weight in SMALL.items()
    }
    checkpoint, originals = opened(tmp_path / "low", made.awq(smooth)), reference(tmp_path, SMALL)
    name = "model.layers.0.self_attn.q_proj.weight"
    encoded, original = checkpoint.encoded[name], Original([originals[name]], (256, 256))

    assert Examiner().examine(encoded, original, smoothed=lambda: True).note == "smoothed"
    assert not Examiner().examine(encoded, original, smoothed=lambda: False).at_floor


def test_a_group_size_in_the_settings_that_the_scales_contradict_is_named(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    low = opened(tmp_path / "low", made.gptq(SMALL, 64), {"quant_method": "gptq", "bits": 4, "group_size": 128})

    results = list(examined(low, reference(tmp_path, SMALL)))

    assert {result.found.says for result in results if result.found} == {
        "groups are of 64, as the number of scales says, not of 128"
    }
    assert all(result.found is not None for result in results)
