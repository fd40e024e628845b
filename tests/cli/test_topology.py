from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from diagnose.cli.main import cli

MATRIX = """\
\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tPIX\t0-15\t0
GPU1\tPIX\t X \t0-15\t0
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["topology", *arguments])


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    path = tmp_path / "topo.txt"
    path.write_text(MATRIX)
    return path


def test_a_matrix_is_drawn(matrix: Path, tmp_path: Path) -> None:
    result = run(str(matrix), "--svg", str(tmp_path / "t.svg"))
    assert result.exit_code == 0, result.output
    assert "unnamed: 2 GPUs" in result.output
    assert "shared by 2 GPUs" in result.output
    ElementTree.fromstring((tmp_path / "t.svg").read_text())


def test_each_host_is_drawn_and_one_can_be_chosen(tmp_path: Path) -> None:
    both = tmp_path / "both.txt"
    both.write_text(f"=== n1 ===\n{MATRIX}\n=== n2 ===\n{MATRIX}")
    assert "n1: 2 GPUs" in run(str(both)).output
    assert "n2: 2 GPUs" in run(str(both)).output
    assert "n1: 2 GPUs" not in run(str(both), "--host", "n2").output
    result = run(str(both), "--svg", str(tmp_path / "t.svg"))
    assert (result.exit_code, "n1, n2" in result.output) == (2, True)


@pytest.mark.parametrize(("text", "words"), [("nothing here\n", "no input shows"), (None, "No such file")])
def test_what_cannot_be_drawn_is_said(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "x.txt"
    if text is not None:
        path.write_text(text)
    result = run(str(path))
    assert result.exit_code == 2
    assert words in result.output
