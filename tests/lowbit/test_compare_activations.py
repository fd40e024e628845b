from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from diagnose.facts import Fact
from diagnose.facts import lowbit as facts
from diagnose.lowbit.compare import compare_inputs
from diagnose.lowbit.compare_activations import compare_activations
from diagnose.lowbit.comparison import Comparison
from diagnose.lowbit.formats import FORMATS, Scheme, quantised
from diagnose.lowbit.products import accumulation_profile, product_checks
from diagnose.lowbit.readers.open import open_tensors
from diagnose.lowbit.tensors import TensorError
from tests.lowbit.activations import Array, Product, exact, model, reversed_sums, run, tokens, write
from tests.lowbit.checkpoints import fp8 as made_fp8
from tests.lowbit.checkpoints import save

MODEL, TOKENS = model(layers=8, width=96), tokens()
FP8, INT8, INT2 = (Scheme(FORMATS[name], (1, 0)) for name in ("fp8-e4m3", "int8", "int2"))
GROUPS = Scheme(FORMATS["int4"], (1, 32))


def fp8(_: str, inputs: Array, weight: Array) -> Array:
    return quantised(inputs, FP8) @ quantised(weight, FP8).T


def int4(_: str, inputs: Array, weight: Array) -> Array:
    return inputs @ quantised(weight, GROUPS).T


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("capture") / "reference", run(MODEL, TOKENS), "reference")


def compared(reference: Path, folder: Path, product: Product, name: str | None, **others: Any) -> Comparison:
    stated = {} if name is None else {"format": name}
    low = write(folder / "low", run(MODEL, others.pop("tokens", TOKENS), product), "low-bit", **stated)
    return compare_inputs(reference, low, **others)


F = TypeVar("F", bound=Fact)


def one(found: Comparison, kind: type[F]) -> F:
    [fact] = [fact for fact in found.features if isinstance(fact, kind)]
    return fact


@pytest.mark.parametrize(("product", "name"), [(fp8, "fp8"), (int4, "w4a16")])
def test_a_sound_model_is_at_what_its_format_costs_and_its_error_saturates(
    product: Product, name: str, reference: Path, tmp_path: Path
) -> None:
    found = compared(reference, tmp_path, product, name)
    summary, profile = one(found, facts.LowbitComparison), one(found, facts.DepthProfile)

    assert summary.inputs_equal is True
    assert summary.over_gap == 0
    assert summary.median_gap_db == pytest.approx(0, abs=1.5)
    assert profile.shape in ("saturation", "steady", "flat")
    assert profile.first_diverging_layer is None
    assert not [fact for fact in found.features if isinstance(fact, facts.NanOnset | facts.ErrorConcentration)]


def test_one_bad_layer_is_a_jump_and_is_named(reference: Path, tmp_path: Path) -> None:
    def bad(name: str, inputs: Array, weight: Array) -> Array:
        return int4(name, inputs, weight) * (2.5 if name == "layers.4.mlp.up_proj" else 1.0)

    found = compared(reference, tmp_path, bad, "int4")
    profile, concentration = one(found, facts.DepthProfile), one(found, facts.ErrorConcentration)

    assert (profile.shape, profile.step_layer, profile.first_diverging_layer) == ("jump", 4, 4)
    assert profile.first_diverging_tensor == "model.layers.4.mlp.up_proj.output"
    assert concentration.pattern == "layer 4 mlp.up_proj"
    local = [fact for fact in found.features if isinstance(fact, facts.LayerLocalError) and (fact.gap_db or 0) > 6]
    assert [(fact.layer, fact.module, fact.origin) for fact in local] == [(4, "mlp.up_proj", "local")]


def test_a_damaged_head_shows_at_the_output_alone(reference: Path, tmp_path: Path) -> None:
    def coarse(name: str, inputs: Array, weight: Array) -> Array:
        return inputs @ quantised(weight, INT2).T if name == "lm_head" else fp8(name, inputs, weight)

    found = compared(reference, tmp_path, coarse, "fp8")

    assert one(found, facts.DepthProfile).shape == "at-output"
    assert one(found, facts.ErrorConcentration).category == "head"


def test_other_tokens_are_no_matter_of_precision(reference: Path, tmp_path: Path) -> None:
    found = compared(reference, tmp_path, fp8, "fp8", tokens=tokens(seed=2))
    summary = one(found, facts.LowbitComparison)

    assert summary.inputs_equal is False
    assert summary.input_sqnr_db is not None
    assert summary.input_sqnr_db < 10
    assert one(found, facts.DepthProfile).shape == "from-input"


def test_overflow_is_found_where_it_begins(reference: Path, tmp_path: Path) -> None:
    def half(name: str, inputs: Array, weight: Array) -> Array:
        scale = 1e6 if name == "layers.5.mlp.down_proj" else 1.0
        with np.errstate(all="ignore"):
            return (exact(name, inputs, weight) * scale).astype(np.float16).astype(np.float32) / scale

    with np.errstate(all="ignore"):
        found = compared(reference, tmp_path, half, "fp16")
    onset = one(found, facts.NanOnset)

    assert (onset.layer, onset.module, onset.value) == (5, "mlp.down_proj", "inf")
    assert onset.reference_finite


def test_a_second_run_sets_the_floor_of_noise(reference: Path, tmp_path: Path) -> None:
    def otherwise(_: str, inputs: Array, weight: Array) -> Array:
        return reversed_sums(inputs, weight)

    noise = write(tmp_path / "noise", run(MODEL, TOKENS, otherwise), "second-reference")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()

    low = one(compared(reference, tmp_path / "a", fp8, "fp8", noise=noise), facts.NoiseFloor)
    same = one(compared(reference, tmp_path / "b", otherwise, None, noise=noise), facts.NoiseFloor)

    assert low.within_noise_ratio < 0.1
    assert low.median_margin_db is not None
    assert low.median_margin_db > 80
    assert same.within_noise_ratio == 1.0


def outlying() -> dict[str, Array]:
    found = model(layers=1, width=512)
    found["embed_tokens"] = found["embed_tokens"].copy()
    found["embed_tokens"][:, 5] = 80
    return found


def test_outlier_channels_are_found_with_what_the_others_lose(tmp_path: Path) -> None:
    def int8(_: str, inputs: Array, weight: Array) -> Array:
        return quantised(inputs, INT8) @ quantised(weight, INT8).T

    one_run = write(tmp_path / "reference", run(outlying(), TOKENS), "reference")
    low = write(tmp_path / "low", run(outlying(), TOKENS, int8), "low-bit", format="int8")

    found = one(compare_inputs(one_run, low), facts.OutlierSummary)

    assert found.with_outliers > 0
    assert found.largest_ratio > 20
    assert found.median_normal_loss_db is not None
    assert found.median_normal_loss_db > 12


def test_products_computed_anew_tell_sums_of_too_few_bits(tmp_path: Path) -> None:
    def in_half(_: str, inputs: Array, weight: Array) -> Array:
        total = np.zeros((len(inputs), len(weight)), np.float16)
        for at in range(inputs.shape[1]):
            total = (total + np.outer(inputs[:, at], weight[:, at]).astype(np.float16)).astype(np.float16)
        return total.astype(np.float32)

    def recorded(product: Product) -> facts.AccumulationProfile:
        rng = np.random.default_rng(4)
        seen: dict[str, Array] = {}
        for layer, length in enumerate((64, 1024)):
            inputs, weight = rng.standard_normal((16, length)), rng.standard_normal((32, length))
            name = f"model.layers.{layer}.mlp.up_proj"
            seen |= {f"{name}.input": inputs.astype(np.float16), f"{name}.weight": weight.astype(np.float16)}
            halves = (seen[f"{name}.input"].astype(np.float32), seen[f"{name}.weight"].astype(np.float32))
            seen[f"{name}.output"] = product("", *halves)
        save(tmp_path / "low.safetensors", seen)
        profile = accumulation_profile(list(product_checks(open_tensors(tmp_path / "low.safetensors"), None, None)))
        assert profile is not None
        return profile

    right, wrong = recorded(exact), recorded(in_half)

    assert right.median_sqnr_db > 100
    assert right.inexact == 0
    assert right.longest == 1024
    assert wrong.longest_sqnr_db < 50
    assert wrong.db_per_quadrupling == pytest.approx(6, abs=2.5)
    assert wrong.inexact == 1


def test_inputs_that_are_cut_off_show_in_the_product(reference: Path, tmp_path: Path) -> None:
    def cut(_: str, inputs: Array, weight: Array) -> Array:
        limit = 0.3 * np.abs(inputs).max()
        return np.clip(inputs, -limit, limit) @ weight.T

    weights = {f"model.{name}.weight".replace("model.lm_head", "lm_head"): array for name, array in MODEL.items()}
    save(tmp_path / "weights.safetensors", weights)

    found = one(
        compared(reference, tmp_path, cut, None, weights=tmp_path / "weights.safetensors"), facts.CalibrationCoverage
    )

    assert found.exceeded == found.modules
    assert found.median_ratio == pytest.approx(1 / 0.3, rel=0.3)


def test_static_scales_are_set_against_recorded_inputs(reference: Path, tmp_path: Path) -> None:
    import ml_dtypes

    weights: dict[str, Array] = {}
    for name, array in MODEL.items():
        if name.startswith("layers"):
            weights[f"model.{name}.weight"] = array.astype(ml_dtypes.float8_e4m3fn)
            weights[f"model.{name}.weight_scale"] = np.ones(1, np.float32)
            weights[f"model.{name}.input_scale"] = np.full(1, 1 / 448, np.float32)
    save(tmp_path / "weights.safetensors", weights)

    found = one(
        compared(reference, tmp_path, fp8, None, weights=tmp_path / "weights.safetensors"), facts.CalibrationCoverage
    )

    assert found.modules == 32
    assert found.exceeded == 32
    assert found.worst_ratio > 2
    assert not found.all_default


def test_a_wrong_output_of_right_weights_speaks_for_the_kernel(reference: Path, tmp_path: Path) -> None:
    def defect(name: str, inputs: Array, weight: Array) -> Array:
        outputs = fp8(name, inputs, weight)
        return np.roll(outputs, 1, axis=1) if name == "layers.3.mlp.up_proj" else outputs

    original = {f"model.{name}.weight": array for name, array in MODEL.items() if name.startswith("layers")}
    save(tmp_path / "original.safetensors", original)
    save(tmp_path / "weights.safetensors", made_fp8(original))

    found = compared(
        reference, tmp_path, defect, "fp8",
        weights=tmp_path / "weights.safetensors", original=tmp_path / "original.safetensors",
    )  # fmt: skip
    wrong = [
        fact
        for fact in found.features
        if isinstance(fact, facts.LayerLocalError) and fact.origin == "local" and (fact.gap_db or 0) > 12
    ]

    assert [(fact.layer, fact.module, fact.weights_agree) for fact in wrong] == [(3, "mlp.up_proj", True)]


def test_nothing_in_common_ends_in_a_sentence(reference: Path, tmp_path: Path) -> None:
    save(tmp_path / "other.safetensors", {"something.output": np.ones((3, 3), np.float32)})

    with pytest.raises(TensorError, match="--mapping"):
        compare_activations(open_tensors(reference), open_tensors(tmp_path / "other.safetensors"))
