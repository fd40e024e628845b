from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from diagnose.facts import lowbit as facts
from diagnose.lowbit.compare import compare_inputs
from diagnose.lowbit.comparison import Comparison
from diagnose.lowbit.tensors import TensorError
from tests.lowbit import checkpoints as made
from tests.lowbit.checkpoints import Array
from tests.lowbit.test_weights import FORMATS

WEIGHTS = made.original(layers=4)


def compared(
    folder: Path, low: dict[str, Array], weights: dict[str, Array] = WEIGHTS, every: bool = False
) -> Comparison:
    made.save(folder / "original.safetensors", weights)
    made.save(folder / "low.safetensors", low)
    return compare_inputs(folder / "original.safetensors", folder / "low.safetensors", every_element=every)


def readings(found: Comparison) -> list[facts.WeightReading]:
    return [fact for fact in found.features if isinstance(fact, facts.WeightReading)]


def checks(found: Comparison) -> dict[str, facts.WeightCheck]:
    return {fact.scheme: fact for fact in found.features if isinstance(fact, facts.WeightCheck)}


def test_one_reading_over_several_layers_is_said_once(tmp_path: Path) -> None:
    low = made.gptq(WEIGHTS)
    for layer in (1, 2, 3):
        low[f"model.layers.{layer}.self_attn.k_proj.qzeros"] += 0x11111111

    [reading] = readings(compared(tmp_path, low))

    assert reading.pattern == "layers 1..3 self_attn.k_proj"
    assert (reading.family, reading.tensors, reading.tensors_total) == ("zero-point", 3, 28)
    assert reading.at_floor
    assert reading.gain_db > 8


def test_swapped_layers_are_told_by_the_weights_that_they_hold(tmp_path: Path) -> None:
    low = made.compressed_int8(WEIGHTS)
    for ending in ("weight", "weight_scale"):
        one, other = (f"model.layers.{layer}.mlp.up_proj.{ending}" for layer in (0, 3))
        low[one], low[other] = low[other], low[one]

    [reading] = readings(compared(tmp_path, low))

    assert reading.family == "other-layer"
    assert reading.pattern == "layers 0, 3 mlp.up_proj"


def test_weights_that_nothing_explains_are_counted(tmp_path: Path) -> None:
    low = made.compressed_int8(WEIGHTS)
    name = "model.layers.2.mlp.down_proj.weight"
    low[name] = np.random.default_rng(0).permutation(low[name].reshape(-1)).reshape(low[name].shape)

    found = compared(tmp_path, low)

    assert not readings(found)
    assert checks(found)["int8"].unexplained == 1
    assert checks(found)["int8"].worst_unexplained == name


def test_every_element_is_looked_at_on_demand(tmp_path: Path) -> None:
    low = made.compressed_int8(WEIGHTS)
    name = "model.layers.2.mlp.down_proj.weight"
    sample, every = (
        next(fact for fact in compared(tmp_path, low, every=whole).errors if fact.tensor == name)
        for whole in (False, True)
    )

    assert every.elements == WEIGHTS[name].size
    assert sample.elements < every.elements
    assert sample.sqnr_db is not None
    assert every.sqnr_db == pytest.approx(sample.sqnr_db, abs=0.5)


def test_merged_projections_are_compared_with_their_parts(tmp_path: Path) -> None:
    merged: dict[str, Array] = {}
    for layer in range(4):
        base = f"model.layers.{layer}"
        parts = [WEIGHTS[f"{base}.self_attn.{name}_proj.weight"] for name in "qkv"]
        merged[f"{base}.self_attn.qkv_proj.weight"] = np.concatenate(parts)
        merged[f"{base}.mlp.down_proj.weight"] = WEIGHTS[f"{base}.mlp.down_proj.weight"]
    separate = made.compressed_int8(WEIGHTS)

    low_merged = compared(tmp_path, made.compressed_int8(merged))
    reference_merged = compared(tmp_path, separate, merged)

    assert (checks(low_merged)["int8"].tensors, checks(low_merged)["int8"].at_floor) == (8, 8)
    assert (checks(reference_merged)["int8"].tensors, checks(reference_merged)["int8"].at_floor) == (16, 16)


def test_scales_for_a_tensor_are_set_against_scales_for_channels(tmp_path: Path) -> None:
    low: dict[str, Array] = dict(WEIGHTS)
    for name, weight in WEIGHTS.items():
        if made.is_projection(name):
            values = weight.astype(np.float32)
            scale = np.abs(values).max() / 127
            low[name] = np.rint(values / scale).astype(np.int8)
            low[f"{name}_scale"] = np.array([scale], np.float32)

    check = checks(compared(tmp_path, low))["int8"]

    assert check.at_floor == check.tensors
    assert (check.granularity, check.finer_granularity) == ("tensor", "channel")
    assert check.finer_gain_db is not None
    assert check.finer_gain_db > 6


def test_weights_in_another_floating_type_are_at_its_rounding(tmp_path: Path) -> None:
    weights = {name: weight.astype(np.float32) for name, weight in WEIGHTS.items()}
    weights = {name: weight * np.float32(1.0001) for name, weight in weights.items()}
    low = {name: array.astype(np.float16) for name, array in weights.items()}

    check = checks(compared(tmp_path, low, weights))["cast"]

    assert check.at_floor == check.tensors == 38


def test_scales_are_described_by_their_role(tmp_path: Path) -> None:
    low = made.fp8(WEIGHTS)
    for layer in range(4):
        low[f"model.layers.{layer}.self_attn.q_proj.input_scale"] = np.ones(1, np.float32)
        low[f"model.layers.{layer}.self_attn.k_scale"] = np.array([0.5, 0.0], np.float32)

    scales = {
        fact.role: fact for fact in compared(tmp_path, low).features if isinstance(fact, facts.QuantisationScales)
    }

    assert (scales["activation"].all_one, scales["activation"].all_same) == (4, True)
    assert (scales["kv-cache"].zero_count, scales["kv-cache"].all_one) == (4, 0)
    assert scales["weight"].tensors == 28


def _outliers(count: int, every: int) -> Array:
    return np.where(np.arange(count) % every, 0.02, 0.5)


HEAVY: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "laplace": lambda rng, shape: rng.laplace(0, 0.02, shape),
    "student": lambda rng, shape: rng.standard_t(3, shape) * 0.02,
    "outlier-rows": lambda rng, shape: rng.standard_normal(shape) * _outliers(shape[0], 37)[:, None],
    "outlier-columns": lambda rng, shape: rng.standard_normal(shape) * _outliers(shape[1], 61),
}


@pytest.mark.parametrize("values", HEAVY)
@pytest.mark.parametrize("name", ["gptq", "compressed-int8", "fp8-tensor", "fp8-block", "nvfp4-compressed", "mxfp4"])
def test_clean_checkpoints_of_other_distributions_give_no_reading(name: str, values: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    weights = {
        key: HEAVY[values](rng, weight.shape).astype(ml_dtypes.bfloat16) if made.is_projection(key) else weight
        for key, weight in made.original(layers=1).items()
    }

    found = compared(tmp_path, FORMATS[name](weights), weights)

    assert not readings(found)
    assert all(check.unexplained == 0 for check in checks(found).values())


def test_nothing_in_common_ends_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(TensorError, match="no weight of"):
        compared(tmp_path, {"other.weight": np.ones((3, 3), np.float32)}, {"model.norm.weight": np.ones(7, np.float32)})


def test_parts_that_do_not_fit_together_are_a_problem_and_the_rest_is_compared(tmp_path: Path) -> None:
    low = made.gptq(WEIGHTS)
    low["model.layers.1.mlp.up_proj.scales"] = np.ones((7, 3), np.float16)

    found = compared(tmp_path, low)

    assert checks(found)["gptq"].tensors == 27
    assert any("layers.1.mlp.up_proj" in problem for problem in found.problems)


def test_groups_without_scales_are_told(tmp_path: Path) -> None:
    low = made.gptq(WEIGHTS)
    low["model.layers.1.mlp.up_proj.g_idx"] = np.arange(256, dtype=np.int32) // 128 + 99

    [problem] = [text for text in compared(tmp_path, low).problems if "parts do not fit" in text]

    assert "model.layers.1.mlp.up_proj" in problem
    assert "names groups up to 100" in problem
