"""`collect` and `analyze --live` as programs: exit codes, signals, kills, memory, and that both say the same."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from collectors.inputs import Status
from collectors.scan import read_inputs
from tests.live.test_run import eventually, manifest, processes_with

ROOT = Path(__file__).resolve().parents[2]
MEMORY_LIMIT_KILOBYTES = 150 << 10
LIMIT_SECONDS = 300
"""Far more than is needed: tests run beside others on busy machines."""
SCENARIOS = ("degraded-link", "lost-gpu")


def program(
    *arguments: str, temporary: Path, before: tuple[str, ...] = (), folder: Path = ROOT
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, sys.executable, "-m", "diagnose.cli.main", *arguments],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    path = tmp_path / "temporary"
    path.mkdir()
    return path


@pytest.mark.parametrize("seed", range(10))
def test_killed_at_any_moment_it_leaves_no_process_and_a_readable_recording(
    seed: int, tmp_path: Path, temporary: Path
) -> None:
    folder = tmp_path / "recording"
    process = program("collect", "-o", str(folder), "--duration", "2", temporary=temporary)
    time.sleep(random.Random(seed).uniform(0.1, 2.5))
    process.kill()
    process.communicate()
    assert eventually(lambda: processes_with(str(folder)) == [])
    if (folder / "manifest.json").exists():
        assert manifest(folder)["schema"] == "diagnose.bundle/1"
        assert all(report.status is not Status.UNREADABLE for report in read_inputs([str(folder)]).inputs)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("seconds", [0.6, 1.2, 2.0])
def test_a_live_analysis_that_is_killed_leaves_no_process_and_no_folder(seconds: float, temporary: Path) -> None:
    process = program("analyze", "--live", "--duration", "2", temporary=temporary)
    time.sleep(seconds)
    folders = list(temporary.iterdir())
    process.kill()
    process.communicate()
    assert eventually(lambda: not any(processes_with(str(folder)) for folder in folders))
    # Only now: a worker that lived on could have made the folder anew.
    assert eventually(lambda: list(temporary.iterdir()) == [])


def test_a_signal_ends_collect_early_with_what_there_is(tmp_path: Path, temporary: Path) -> None:
    folder = tmp_path / "recording"
    process = program("collect", "-o", str(folder), "--duration", "60", temporary=temporary)
    assert eventually(lambda: (folder / "host/tree.txt").exists())
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 130
    assert output.strip() == str(folder)
    assert "Traceback" not in errors
    assert manifest(folder)["ended_at"] is not None
    assert eventually(lambda: processes_with(str(folder)) == [])


def test_collect_does_not_mix_a_new_recording_with_an_old_one(tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "old.txt").write_text("x")
    process = program("collect", "-o", str(tmp_path), temporary=temporary)
    _, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 2
    assert "exists already" in errors


def test_a_live_analysis_of_this_machine_ends_with_an_exit_code_of_the_contract(temporary: Path) -> None:
    process = program("analyze", "--live", "--format", "json", "--duration", "0.2", temporary=temporary)
    output, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode in (0, 1, 3), errors
    assert "Traceback" not in errors
    report = json.loads(output)
    assert all(item["path"].startswith("live/") for item in report["inputs"])
    assert list(temporary.iterdir()) == []


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert "Traceback" not in errors
    return process.returncode, output, errors


def causes(*arguments: str, temporary: Path) -> list[tuple[str, float]]:
    code, output, errors = end(program(*arguments, "--format", "json", temporary=temporary))
    assert code in (0, 1, 3), errors
    return [(cause["id"], cause["probability"]) for cause in json.loads(output)["causes"]]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_live_and_by_way_of_a_bundle_redacted_or_not_the_causes_are_the_same(
    scenario: str, tmp_path: Path, temporary: Path
) -> None:
    simulated = ("--simulate", scenario)
    live = causes(*simulated, "analyze", "--live", temporary=temporary)
    assert live
    for options in ((), ("--no-redact",)):
        path = tmp_path / f"bundle{len(options)}.tar.zst"
        code, output, errors = end(program(*simulated, "collect", "-o", str(path), *options, temporary=temporary))
        assert (code, output.strip()) == (3 if scenario == "lost-gpu" else 0, str(path)), errors
        assert ("Not redacted" in errors) == bool(options)
        assert causes("analyze", str(path), temporary=temporary) == live
    assert sorted(path.suffix for path in tmp_path.iterdir() if path != temporary) == [".zst", ".zst"]


def test_killed_on_the_way_to_a_bundle_the_recording_lies_beside_it(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "node.tar.zst"
    partial = tmp_path / "node.tar.zst.partial"
    process = program("collect", "-o", str(path), "--duration", "30", temporary=temporary)
    assert eventually(lambda: (partial / "host/tree.txt").exists())
    process.kill()
    process.communicate()
    assert not path.exists()
    code, output, _ = end(program("analyze", str(partial), "--format", "json", temporary=temporary))
    assert code in (1, 3)
    (recording,) = [item for item in json.loads(output)["inputs"] if item["kind"] == "manifest"]
    assert recording["status"] == "partial"
    assert "was cut off" in recording["detail"]


def test_the_symptom_that_was_told_at_the_recording_is_asserted_by_the_diagnosis(
    tmp_path: Path, temporary: Path
) -> None:
    path = str(tmp_path / "node.tar.zst")
    end(program("collect", "-o", path, "--duration", "0.1", "--symptom", "job-hang", temporary=temporary))
    _, output, _ = end(program("analyze", path, "--format", "json", temporary=temporary))
    assert [item["id"] for item in json.loads(output)["symptoms"] if item["asserted"]] == ["job-hang"]


def test_a_symptom_that_does_not_exist_is_refused_before_anything_is_recorded(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "node"
    code, _, errors = end(program("collect", "-o", str(path), "--symptom", "hiccups", temporary=temporary))
    assert code == 2
    assert "no symptom is called 'hiccups'" in errors
    assert not path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="privileges can be given up by root only")
def test_without_privileges_it_says_what_it_could_not_read_and_calls_the_diagnosis_incomplete(temporary: Path) -> None:
    command = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
    code, output, _ = end(program("analyze", "--live", "--duration", "0.1", temporary=temporary, before=command))
    if code != 1:  # a machine may have a fault
        assert code == 3
    assert "lacked privileges" in output


def test_a_collection_without_any_gpu_says_by_its_exit_code_that_it_lacks_them(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "node.tar.zst"
    code, output, _ = end(program("--simulate", "no-driver", "collect", "-o", str(path), temporary=temporary))
    assert (code, output.strip()) == (3, str(path))
    assert path.is_file()


MEASURE = (
    "import os, sys; child = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:]); "
    "print('\\npeak', os.wait4(child, 0)[2].ru_maxrss)"
)
"""A process begins with the peak of the one that starts it, which must be a small one, not the tests' own."""


@pytest.mark.parametrize("arguments", [("collect", "-o", "recording"), ("analyze", "--live")], ids=lambda item: item[0])
def test_memory_stays_below_150_megabytes(arguments: tuple[str, ...], tmp_path: Path, temporary: Path) -> None:
    launcher = (sys.executable, "-I", "-S", "-c", MEASURE)
    process = program("--simulate", "hgx-h100", *arguments, temporary=temporary, before=launcher, folder=tmp_path)
    output, _ = process.communicate()
    assert int(output.rsplit("peak ", 1)[1]) < MEMORY_LIMIT_KILOBYTES


def test_programs_that_a_recorder_started_end_with_it(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    started = tmp_path / "started"
    hanging = tools / "ibstat"
    hanging.write_text(f"#!/bin/sh\ntouch {started}\nsleep 1000 </dev/null &\nwait\n", encoding="utf-8")
    hanging.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    process = program("collect", "-o", str(tmp_path / "node"), temporary=temporary)
    assert eventually(started.exists)
    assert processes_with(str(hanging))
    process.kill()
    process.communicate()
    assert eventually(lambda: processes_with(str(hanging)) == [])
