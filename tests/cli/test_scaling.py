from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from diagnose.cli.main import cli

POINTS = ("1:412", "2:801", "4:1380", "8:2090")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["scaling", *arguments])


def answer(*arguments: str) -> list[dict[str, object]]:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["schema"] == "diagnose.scaling/1"
    curves: list[dict[str, object]] = found["curves"]
    return curves


def curve(*arguments: str) -> dict[str, object]:
    (only,) = answer(*arguments)
    fields = only["curve"]
    assert isinstance(fields, dict)
    return fields


def test_typed_points_are_explained() -> None:
    found = curve(*POINTS)
    assert (found["mode"], found["explanation"], found["measurements"]) == ("strong", "not-shown", 4)
    assert found["efficiency_ratio"] == pytest.approx(0.634, abs=0.001)


def test_repeated_measurements_stand_after_commas() -> None:
    assert curve("1:100,101,99", "8:600,620")["measurements"] == 5


def test_known_noise_makes_the_answer_sharper() -> None:
    assert curve(*POINTS, "--noise", "0.5")["noise_ratio"] == pytest.approx(0.005)
    assert curve(*POINTS, "--noise", "0.5")["explanation"] != "not-shown"


def test_weak_scaling_and_a_boundary_are_taken() -> None:
    points = [f"{size}:{size / (1 + 0.5 * (size > 4)):.4f}" for size in (1, 2, 4, 8, 16)]
    found = curve(*points, "--weak", "--boundary", "4")
    assert (found["mode"], found["explanation"], found["boundary_gpus"]) == ("weak", "step", 4)
    assert found["boundary_kind"] == "given"


def test_tables_are_read(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("gpus,precision,throughput\n1,bf16,10\n2,bf16,19\n1,fp8,15\n2,fp8,29\n")
    assert [item["curve"]["curve"] for item in answer(str(table))] == [  # type: ignore[index]
        "throughput (precision bf16)",
        "throughput (precision fp8)",
    ]


def test_the_plot_is_written_as_svg(tmp_path: Path) -> None:
    target = tmp_path / "curve.svg"
    assert run(*POINTS, "--svg", str(target)).exit_code == 0
    ElementTree.fromstring(target.read_text())


def test_communication_is_compared_when_all_of_it_is_given() -> None:
    (found,) = answer(*POINTS, "--model-parameters", "1e9", "--busbw", "10", "--batch-per-gpu", "32")
    communication = found["communication"]
    assert isinstance(communication, dict)
    assert communication["communication_seconds"] == pytest.approx(2e9 * 2 * 7 / 8 / 10e9)
    assert communication["compute_seconds"] == pytest.approx(32 / 412)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Missing argument"),
        (("8:100",), "two or more"),
        (("1:100", "2:x"), "not both"),
        (("1:100", "2:1,,2"), "no throughput"),
        (("1:100", "2:-5"), "positive"),
        (("0:100", "2:5"), "positive"),
        (("/no/such/file",), "No such file"),
        ((*POINTS, "--busbw", "10"), "together"),
    ],
)
def test_what_cannot_be_used_is_said(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output


def test_a_file_without_a_table_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("gpus,step_time_ms\n1,100\n2,60\n")
    result = run(str(tmp_path / "x.txt"))
    assert result.exit_code == 2
    assert "without the batch" in result.output
