from __future__ import annotations

from pathlib import Path

import numpy as np
from click.testing import CliRunner

from diagnose.cli.main import cli
from diagnose.facts.lowbit import DepthProfile, NoiseFloor, QuantisationScales, WeightReading
from diagnose.intake.lowbit import tensor_findings
from diagnose.lowbit.formats import FORMATS, Scheme, quantised
from tests.lowbit import checkpoints as made
from tests.lowbit.activations import Array, model, reversed_sums, run, tokens, write

MODEL, TOKENS = model(layers=4, width=64), tokens()
FP8 = Scheme(FORMATS["fp8-e4m3"], (1, 0))


def fp8(_: str, inputs: Array, weight: Array) -> Array:
    return quantised(inputs, FP8) @ quantised(weight, FP8).T


def otherwise(_: str, inputs: Array, weight: Array) -> Array:
    return reversed_sums(inputs, weight)


def findings(path: Path) -> tuple[list[type], list[str]]:
    found = tensor_findings([str(path)], lambda _: None)
    return [type(fact) for fact in found.facts], [detail for _, detail in found.problems]


def test_captures_are_compared_by_the_roles_that_they_state(tmp_path: Path) -> None:
    write(tmp_path / "one", run(MODEL, TOKENS), "reference")
    write(tmp_path / "two", run(MODEL, TOKENS, fp8), "low-bit")
    write(tmp_path / "three", run(MODEL, TOKENS, otherwise), "second-reference")

    kinds, problems = findings(tmp_path)

    assert not problems
    assert {DepthProfile, NoiseFloor} <= set(kinds)


def test_two_low_runs_are_not_compared_and_that_is_said(tmp_path: Path) -> None:
    write(tmp_path / "one", run(MODEL, TOKENS), "reference")
    write(tmp_path / "two", run(MODEL, TOKENS, fp8), "low-bit")
    write(tmp_path / "three", run(MODEL, TOKENS, fp8), "low-bit")

    kinds, problems = findings(tmp_path)

    assert not kinds
    assert problems == ["1 captures of a reference and 2 of a low-bit run: one of each is compared"]


def checkpoint(folder: Path, tensors: dict[str, Array]) -> None:
    folder.mkdir()
    made.save(folder / "model.safetensors", tensors)


def test_a_checkpoint_and_its_original_are_told_by_what_they_hold(tmp_path: Path) -> None:
    weights = made.original(layers=1)
    checkpoint(tmp_path / "a", made.nvfp4(weights))
    checkpoint(tmp_path / "b", weights)
    wrong = {name: 1 / array if name.endswith("global_scale") else array for name, array in made.nvfp4(weights).items()}
    checkpoint(tmp_path / "c", wrong)

    both, _ = findings(tmp_path)
    (tmp_path / "a" / "model.safetensors").unlink()
    pair, _ = findings(tmp_path)

    assert WeightReading not in both
    assert WeightReading in pair


def test_a_quantised_checkpoint_alone_tells_of_its_scales(tmp_path: Path) -> None:
    low = made.fp8(made.original(layers=1))
    checkpoint(tmp_path / "a", low | {"model.layers.0.self_attn.q_proj.input_scale": np.ones(1, np.float32)})

    found = tensor_findings([str(tmp_path)], lambda _: None).facts

    assert {fact.role: fact.all_one for fact in found if isinstance(fact, QuantisationScales)} == {
        "weight": 0, "activation": 1,
    }  # fmt: skip


def test_analyze_diagnoses_a_folder_of_captures(tmp_path: Path) -> None:
    def bad(name: str, inputs: Array, weight: Array) -> Array:
        with np.errstate(all="ignore"):
            scale = 1e6 if name == "layers.2.mlp.down_proj" else 1.0
            return (fp8(name, inputs, weight) * scale).astype(np.float16).astype(np.float32) / scale

    write(tmp_path / "one", run(MODEL, TOKENS), "reference")
    with np.errstate(all="ignore"):
        write(tmp_path / "two", run(MODEL, TOKENS, bad), "low-bit")

    result = CliRunner().invoke(cli, ["analyze", str(tmp_path)], standalone_mode=False)

    assert result.return_value == 1
    assert "overflow-to-nan-inf" in result.stdout
