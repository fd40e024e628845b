"""The recorders run side by side; what hangs, crashes or is killed stops nothing and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.inputs import Status
from collectors.live.base import RecorderStatus, Window
from collectors.live.host import Host
from collectors.live.record import Machine, Record, RecorderReport
from collectors.live.run import Collection, passive_recorders
from collectors.scan import read_inputs
from diagnose.cli.live import window_of
from tests.live.trees import small_virtual_machine

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(small_virtual_machine(tmp_path / "root"), "a-test")


@pytest.fixture
def hanging(machine: Machine) -> Machine:
    """A machine with a file that never answers."""
    path = machine.root / "proc/loadavg"
    path.unlink()
    os.mkfifo(path)
    return machine


def collection(machine: Machine, folder: Path, seconds: float = 0.1) -> Collection:
    folder.mkdir()
    window = Window(seconds, 0.1)
    return Collection(Record(folder, machine, window, "0"), machine, window)


def processes_with(text: str) -> list[int]:
    """Processes whose command line holds the text, this one left out."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if text in command and int(path.parent.name) != os.getpid():
            found.append(int(path.parent.name))
    return found


def eventually(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether it comes true. Only a failure takes the whole time, which is long because machines may be busy."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def by_name(record: Record) -> dict[str, RecorderReport]:
    return {report.name: report for report in record.recorders}


def manifest(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return content


def test_all_passive_recorders_end_and_the_manifest_says_how(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    record = collection(machine, folder).run(["host", "pci", "commands"])
    assert {name: report.status for name, report in by_name(record).items()} == {
        "host": "done",
        "pci": "done",
        "commands": "absent",
    }
    content = manifest(folder)
    assert content["host"] == "vm-1"
    assert content["ended_at"] >= content["started_at"]
    assert content["recorders"][0]["files"] == ["host/tree.txt"]
    assert {report.status for report in read_inputs([str(folder)]).inputs} == {Status.PARSED}


def test_a_recorder_that_hangs_delays_by_its_limit_and_keeps_what_it_wrote(
    hanging: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Host, "time_limit_seconds", 2.0)
    folder = tmp_path / "recording"
    reports = by_name(collection(hanging, folder).run(["host", "pci"]))
    assert 2.0 < reports["host"].seconds < 6.0
    assert reports["pci"].status is RecorderStatus.DONE
    assert reports["host"].status is RecorderStatus.TIMED_OUT
    assert "vm-1" in manifest(folder)["host"]
    readings = read_inputs([str(folder)])
    assert {"numa-node", "memory-policy"} <= {fact.kind for fact in readings.facts}
    (statuses,) = [
        fact.values()["status"]
        for fact in readings.facts
        if fact.kind == "collector-status" and fact.values()["name"] == "host"
    ]
    assert statuses == "timed-out"
    assert eventually(lambda: processes_with(str(folder)) == [])


def test_a_recorder_that_is_killed_is_told_as_crashed(hanging: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    running = collection(hanging, folder)
    thread = threading.Thread(target=running.run, args=(["host"],))
    thread.start()
    assert eventually(lambda: (folder / "host/tree.txt").exists())
    for process in processes_with(str(folder)):
        os.kill(process, signal.SIGSEGV)
    thread.join(60)
    (report,) = running.record.recorders
    assert report.status is RecorderStatus.CRASHED
    assert "SIGSEGV" in (report.detail or "")


def test_stopping_keeps_what_there_is(hanging: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    running = collection(hanging, folder)
    thread = threading.Thread(target=running.run, args=(["host", "pci"],))
    thread.start()
    assert eventually(lambda: by_name(running.record).get("pci", RecorderReport("pci")).status == "done")
    running.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert running.stopped
    assert {item["name"]: item["status"] for item in manifest(folder)["recorders"]} == {
        "host": "partial",
        "pci": "done",
    }
    assert eventually(lambda: processes_with(str(folder)) == [])


def test_a_recorder_can_be_skipped_while_the_others_go_on(hanging: Machine, tmp_path: Path) -> None:
    made = collection(hanging, tmp_path / "recording")
    started = threading.Event()
    made._told_of_start = lambda report: started.set() if report.name == "host" else None
    thread = threading.Thread(target=made.run, args=(["host", "services"],))
    thread.start()
    assert started.wait(30)
    assert eventually(lambda: by_name(made.record)["host"].files != [])
    made.skip("host")
    thread.join(30)

    reports = by_name(made.record)
    assert not thread.is_alive()
    assert reports["host"].status is RecorderStatus.SKIPPED
    assert reports["host"].detail == "Skipped before it was done"
    assert reports["services"].status is RecorderStatus.DONE


def test_a_recorder_that_runs_again_replaces_what_it_wrote_before(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    first = collection(machine, folder)
    first.run(["host", "services"])
    before = (folder / "host/tree.txt").read_text(encoding="utf-8")
    Collection(first.record, machine, Window(0.1, 0.1)).run(["host"])
    after = (folder / "host/tree.txt").read_text(encoding="utf-8")

    assert [report.name for report in first.record.recorders] == ["services", "host"]
    assert [item["name"] for item in manifest(folder)["recorders"]] == ["services", "host"]
    assert after.count("=== recorded tree") == before.count("=== recorded tree") == 1


def test_a_window_of_years_can_be_stopped_too(hanging: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    running = collection(hanging, folder, seconds=4e9)
    thread = threading.Thread(target=running.run, args=(["host"],))
    thread.start()
    assert eventually(lambda: (folder / "host/tree.txt").exists())
    running.stop()
    thread.join(60)
    assert manifest(folder)["recorders"][0]["detail"] == "Stopped before it was done"


def test_only_passive_recorders_run_unasked() -> None:
    names = passive_recorders()
    assert {"host", "pci", "processes", "network", "kernel-log", "services", "commands"} <= set(names)
    assert "nvml-gpu" not in names


@pytest.mark.parametrize(("duration", "interval", "most"), [(0.1, 1.0, 2), (0.3, 0.1, 4), (0.0, 1.0, 1)])
def test_a_window_is_read_at_its_begin_and_at_its_end(duration: float, interval: float, most: int) -> None:
    window = window_of(duration, interval)
    begin = time.monotonic()
    # On a busy machine readings fall out, but never the first, nor all that follow.
    assert min(most, 2) <= len(list(window.ticks())) <= most
    assert time.monotonic() - begin >= duration - 0.001
