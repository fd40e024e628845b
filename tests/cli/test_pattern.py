"""A training log of an own format, read by the pattern that the command line gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnose.cli.analyze import analyze

LOG = "step 1 took 250 ms\nstep 2 took 260 ms\n"


@pytest.mark.parametrize(("word", "matches"), [("took", True), ("needs", False)])
def test_whether_the_pattern_matched_anything_is_told(word: str, matches: bool, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(LOG)
    answer = CliRunner().invoke(analyze, [str(path), "--format", "json", "--pattern", word + r" (?P<ms>\d+)"])
    inputs = [(item["path"], item["status"]) for item in json.loads(answer.stdout)["inputs"]]
    unmatched = [(str(path), "unrecognised"), ("--pattern", "unreadable")]
    assert inputs == ([(str(path), "parsed")] if matches else unmatched)


@pytest.mark.parametrize("pattern", ["step (?P<ms>", "\udcffstep (?P<ms>.)", r"step (?P<ms>\d{99999999999})"])
def test_a_pattern_that_cannot_be_used_ends_in_a_sentence(pattern: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(LOG)
    answer = CliRunner().invoke(analyze, [str(path), "--pattern", pattern])
    assert answer.exit_code == 2
    assert "Error: --pattern: the pattern" in answer.stderr
