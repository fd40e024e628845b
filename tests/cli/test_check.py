from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulate.scenarios import NEEDS_LIBRARY


def diagnose(*arguments: str, limit_seconds: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "diagnose.cli.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=limit_seconds,
    )


@NEEDS_LIBRARY
@pytest.mark.parametrize(
    ("scenario", "code", "beginning", "named"),
    [
        ("hgx-h100", 0, "ok: hgx-01 (simulated): 8 GPUs, nothing found", ""),
        ("pcie-workstation", 0, "info: ws-02 (simulated): ", "p2p-unsupported"),
        ("thermal", 1, "warning: hgx-06 (simulated): ", "(gpu/4) [thermal-throttling, >99%]"),
        ("driver-mismatch", 1, "critical: hgx-10 (simulated): ", "[driver-library-mismatch, "),
        ("lost-gpu", 1, "critical: hgx-07 (simulated): ", "[gpu-fell-off-bus, "),
    ],
)
def test_the_verdict_is_one_line_and_an_exit_code(scenario: str, code: int, beginning: str, named: str) -> None:
    result = diagnose("--simulate", scenario, "check")

    assert (result.returncode, result.stderr) == (code, "")
    assert result.stdout.startswith(beginning)
    assert named in result.stdout
    assert result.stdout.count("\n") == 1


@NEEDS_LIBRARY
def test_the_severity_from_which_it_fails_can_be_chosen() -> None:
    assert diagnose("--simulate", "thermal", "check", "--fail-on", "critical").returncode == 0
    assert diagnose("--simulate", "pcie-workstation", "check", "--fail-on", "info").returncode == 1


@NEEDS_LIBRARY
def test_json_is_the_report_and_nothing_else() -> None:
    result = diagnose("--simulate", "nvlink-down", "check", "--format", "json")
    report = json.loads(result.stdout)

    assert result.returncode == 1
    assert report["schema"] == "diagnose.report/1"
    assert report["causes"][0]["id"] == "nvlink-inactive"
    assert report["causes"][0]["evidence"][0]["sources"][0]["path"].startswith("live/nvml/")
    assert report["simulated"] == ["nvlink-down"]
    assert result.stderr == "Simulated: nvlink-down\n"


@NEEDS_LIBRARY
def test_a_machine_that_does_not_answer_in_time_is_no_healthy_one() -> None:
    result = diagnose("--simulate", "hung-gpu", "check", "--time-limit", "1s", "--fail-on", "critical")

    assert result.returncode in (1, 3)
    assert result.stdout.startswith(("unknown: hgx-03", "critical: hgx-03"))


@NEEDS_LIBRARY
def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    diagnose("--simulate", "hgx-h100", "check")

    assert [*tmp_path.iterdir()] == []


def test_a_scenario_that_does_not_exist_is_answered_with_those_that_do() -> None:
    result = diagnose("--simulate", "hgx-h200", "check")

    assert (result.returncode, result.stdout) == (2, "")
    assert "hgx-h100" in result.stderr


def test_scenarios_can_be_listed_without_a_command() -> None:
    result = diagnose("--simulate", "list")

    assert result.returncode == 0
    assert "lost-gpu" in result.stdout


def test_commands_that_read_no_machine_refuse_a_scenario() -> None:
    result = diagnose("--simulate", "hgx-h100", "rules", "list")

    assert (result.returncode, result.stdout) == (2, "")
    assert "--simulate is for the commands that read a machine" in result.stderr


def test_files_are_not_analysed_with_a_scenario_that_would_not_be_read(tmp_path: Path) -> None:
    result = diagnose("--simulate", "hgx-h100", "analyze", str(tmp_path))

    assert (result.returncode, result.stdout) == (2, "")
    assert "needs --live" in result.stderr


def test_without_a_compiler_a_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler")

    result = diagnose("--simulate", "hgx-h100", "check")

    assert (result.returncode, result.stdout) == (2, "")
    assert "no-such-compiler" in result.stderr
    assert "Traceback" not in result.stderr
