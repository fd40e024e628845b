from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnose.cli.analyze import analyze
from diagnose.cli.compare import compare

TITLES = (
    "index, uuid, name, temperature.gpu, clocks_event_reasons.hw_thermal_slowdown, clocks.current.sm [MHz], "
    "clocks.max.sm [MHz], utilization.gpu [%], driver_version"
)


def folder(path: Path, hot: bool) -> Path:
    """A node's GPU, too hot or not."""
    path.mkdir()
    state = "91, Active, 1110" if hot else "60, Not Active, 1980"
    row = f"0, GPU-11111111-2222-3333-4444-555555555555, NVIDIA H100 80GB HBM3, {state} MHz, 1980 MHz, 99 %, 550.90.07"
    (path / "gpu.csv").write_text(f"{TITLES}\n{row}\n")
    return path


@pytest.fixture
def hot(tmp_path: Path) -> Path:
    return folder(tmp_path / "hot", True)


@pytest.fixture
def cool(tmp_path: Path) -> Path:
    return folder(tmp_path / "cool", False)


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(compare, [str(one) for one in arguments], standalone_mode=False)
    if done.exception is not None:
        return getattr(done.exception, "exit_code", -1), str(done.exception)
    return int(done.return_value), done.stdout


def test_a_fix_that_helped_and_one_that_harmed(hot: Path, cool: Path) -> None:
    code, text = run(hot, cool)
    assert code == 0
    assert "gone: thermal-throttling" in text.lower()
    code, text = run(cool, hot)
    assert code == 1
    assert "came: thermal-throttling" in text.lower()


def test_json_is_the_whole_comparison(hot: Path, cool: Path) -> None:
    code, text = run(hot, cool, "--format", "json")
    content = json.loads(text)
    assert (code, content["schema"]) == (0, "diagnose.comparison/1")
    assert {one["id"]: one["verdict"] for one in content["causes"]}["thermal-throttling"] == "gone"


def test_a_report_stands_for_what_it_was_made_of(hot: Path, cool: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(analyze, [str(hot), "--format", "json"], standalone_mode=False)
    (tmp_path / "before.json").write_text(done.stdout)
    code, text = run(tmp_path / "before.json", cool)
    assert code == 0
    assert "gone: thermal-throttling" in text.lower()
    assert "only causes can be compared" in text


def test_an_input_that_was_read_in_part_is_incomplete(hot: Path, cool: Path) -> None:
    (cool / "more.csv").write_text("index, name, temperature.gpu, power.draw [W], pstate\n0, X, 3\n")
    assert run(hot, cool)[0] == 3


def test_nothing_readable_and_damaged_reports_are_wrong_usage(hot: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("nothing that anybody knows\n")
    code, text = run(hot, tmp_path / "words.txt")
    assert code == 2
    assert "can be read" in text
    for content, words in (
        ('{"schema": "diagnose.report/1", "hosts": [', "damaged report"),
        ('{"schema": "diagnose.report/1", "hosts": 3}', "another version, or damaged"),
    ):
        (tmp_path / "report.json").write_text(content)
        code, text = run(tmp_path / "report.json", hot)
        assert code == 2
        assert words in text
    assert run(hot, tmp_path / "none")[0] == 2
