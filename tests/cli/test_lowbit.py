from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from diagnose.cli.main import cli
from tests.lowbit import checkpoints as made
from tests.lowbit.activations import exact, model, run, tokens, write


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A checkpoint and its GPTQ form, whose zero points are stored as in the second format."""
    folder = tmp_path_factory.mktemp("pair")
    weights = made.original(layers=2)
    low = made.gptq(weights)
    low = {name: array + 0x11111111 if name.endswith("qzeros") else array for name, array in low.items()}
    made.save(folder / "original.safetensors", weights)
    (folder / "low").mkdir()
    made.save(folder / "low" / "model.safetensors", low)
    return folder / "original.safetensors", folder / "low"


def test_the_verdict_comes_first_then_picture_and_table(pair: tuple[Path, Path]) -> None:
    result = CliRunner().invoke(cli, ["lowbit", "compare", *map(str, pair)], standalone_mode=False)

    assert result.return_value == 1
    assert result.stdout.startswith("Most likely: Zero points are missing, doubled or off by one")
    assert "relative L2 error" in result.output
    assert "model.layers.0.self_attn.k_proj.weight" in result.output
    assert "zero points are one less; read so, the error falls by" in result.output


def test_json_holds_table_features_and_diagnosis(pair: tuple[Path, Path], tmp_path: Path) -> None:
    svg = tmp_path / "depth.svg"
    arguments = ["lowbit", "compare", *map(str, pair), "--format", "json", "--svg", str(svg)]

    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    answer = json.loads(result.stdout)

    assert answer["schema"] == "diagnose.lowbit/1"
    assert answer["report"]["causes"][0]["id"] == "weight-conversion-zero-point"
    assert {fact["kind"] for fact in answer["features"]} >= {"weight-reading", "weight-check", "lowbit-comparison"}
    assert len(answer["tensors"]) == 20
    ElementTree.fromstring(svg.read_text())


def test_a_sound_run_is_said_to_be_what_its_format_costs(tmp_path: Path) -> None:
    weights, ids = model(layers=4, width=64), tokens()
    reference = write(tmp_path / "reference", run(weights, ids), "reference")

    def bfloat(name: str, inputs: made.Array, weight: made.Array) -> made.Array:
        import ml_dtypes

        return exact(name, inputs.astype(ml_dtypes.bfloat16).astype(np.float32), weight)

    low = write(tmp_path / "low", run(weights, ids, bfloat), "low-bit")
    arguments = ["lowbit", "compare", str(reference), str(low), "--low-format", "bf16"]

    result = CliRunner().invoke(cli, arguments, standalone_mode=False)

    assert result.return_value == 0
    assert "WARNING" not in result.output
    assert "CRITICAL" not in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--low-format", "fp5"], "the format 'fp5' is unknown"),
        (["--noise", "{low}"], "go with recorded activations"),
        (["--mapping", "{mapping}"], "the mapping names 'nothing'"),
    ],
)
def test_wrong_usage_is_answered_with_a_sentence(
    arguments: list[str], words: str, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "mapping.txt").write_text("nothing here\n")
    filled = [word.format(low=pair[1], mapping=tmp_path / "mapping.txt") for word in arguments]

    result = CliRunner().invoke(cli, ["lowbit", "compare", *map(str, pair), *filled])

    assert result.exit_code == 2
    assert words in result.output


def test_a_file_without_tensors_is_answered_with_a_sentence(pair: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no tensors\n")

    result = CliRunner().invoke(cli, ["lowbit", "compare", str(pair[0]), str(tmp_path / "notes.txt")])

    assert result.exit_code == 2
    assert "no format of tensors that is known here" in result.output
