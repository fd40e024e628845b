"""What goes wrong: parts that hang, no privilege, nothing found, files that cannot be read, kills, small terminals."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from diagnose.sessions.store import SessionStore
from diagnose.tui.jobs.told import Reading
from diagnose.tui.model.events import Moved, Origin, OriginKind, Outcome, PartState, Place, StepMarked, StepState
from tests.tui.driving import notices, opened, screen_text, scripted, simulated, take_to, until, until_shown
from tests.tui.made import INPUTS, NOW, events

MACHINE = Origin(kind=OriginKind.MACHINE)
DONE = PartState(name="host", title="the host", state="done", seconds=0.2, found=7)
HUNG = PartState(name="nvml-gpu-3", title="a GPU 3", state="running")
DENIED = PartState(name="kernel-log", title="the kernel log", state="no-privilege", lacked=("dmesg needs root",))


def files(*paths: Path) -> Origin:
    return Origin(kind=OriginKind.FILES, paths=tuple(map(str, paths)))


async def test_a_part_that_hangs_is_pointed_out_and_skipped_and_the_rest_is_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diagnose.tui.screens.collection._SLOW_SECONDS", 0.3)
    async with opened(tmp_path, gather=scripted([DONE, HUNG]), origin=MACHINE) as (app, pilot):
        await pilot.press("3")
        await until_shown(pilot, "it may hang: s skips it")
        assert app.conductor.gathers
        await pilot.press("j", "s")
        await until(pilot, lambda: app.conductor.walk.report is not None)
        assert app.conductor.gathering.skipped == ["nvml-gpu-3"]
        await until_shown(pilot, "skipped")
        assert not app.conductor.walk.before.complete


async def test_a_part_can_be_read_again(tmp_path: Path) -> None:
    async with opened(tmp_path, gather=scripted([DONE, HUNG]), origin=MACHINE) as (app, pilot):
        await pilot.press("3")
        await until_shown(pilot, "the host")
        await pilot.press("a")
        assert app.conductor.gathering.repeated == ["host"]
        await pilot.press("j", "a")
        assert app.conductor.gathering.repeated == ["host"]


async def test_what_a_part_was_not_allowed_to_read_is_named(tmp_path: Path) -> None:
    async with opened(tmp_path, gather=scripted([DONE, DENIED]), origin=MACHINE) as (_, pilot):
        await pilot.press("3")
        await until_shown(pilot, "no right")
        await until_shown(pilot, "not allowed: dmesg needs root")


async def test_an_empty_result_says_so_and_leads_on(tmp_path: Path) -> None:
    reading = Reading(inputs=INPUTS)
    async with opened(tmp_path, gather=scripted([DONE], reading), origin=MACHINE) as (app, pilot):
        await until(pilot, lambda: app.conductor.walk.report is not None)
        await pilot.press("4")
        await until_shown(pilot, "Nothing found: nothing that was read speaks for a known cause.")
        await until(pilot, lambda: "p Picture" not in screen_text(app) and "f Fix" not in screen_text(app))
        await pilot.press("6")
        await until(pilot, lambda: "There is nothing to show there yet" in notices(app))
        await pilot.press("8")
        await until(pilot, lambda: app.screen.place is Place.REPORT)


async def test_files_that_cannot_be_read_are_named_and_others_are_read(tmp_path: Path) -> None:
    broken = tmp_path / "bundle.tar.zst"
    broken.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(40))
    log = tmp_path / "dmesg.txt"
    log.write_text("[ 12.3] NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.\n", encoding="utf-8")
    async with opened(tmp_path, origin=files(broken, tmp_path / "missing.txt", log)) as (app, pilot):
        await until(pilot, lambda: app.conductor.walk.report is not None)
        await pilot.press("3")
        await until_shown(pilot, "No such file or directory")
        states = {Path(part.name).name: part.state for part in app.conductor.parts}
        assert states["missing.txt"] == "unreadable"
        assert states["bundle.tar.zst"] in ("unreadable", "partial", "skipped")
        assert states["dmesg.txt"] == "parsed"
        assert app.conductor.walk.report.causes[0].id == "gpu-fell-off-bus"


async def test_a_file_that_hangs_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "lscpu.txt"
    log.write_text("Architecture: x86_64\n", encoding="utf-8")
    never = threading.Event()
    monkeypatch.setattr("diagnose.tui.jobs.file_gathering.read_inputs", lambda *_, **__: never.wait())
    async with opened(tmp_path, origin=files(log)) as (app, pilot):
        await pilot.press("3")
        await until_shown(pilot, "running")
        await pilot.press("s")
        await until(pilot, lambda: app.conductor.walk.before is not None)
        assert app.conductor.parts[0].state == "left-out"


async def test_an_exported_session_that_is_damaged_is_refused_with_a_reason(tmp_path: Path) -> None:
    sent = tmp_path / "x.diagnose-session"
    sent.write_bytes(b"no session")
    async with opened(tmp_path) as (app, pilot):
        app.begin_with_paths([str(sent)])
        await until(pilot, lambda: "is no exported session" in notices(app))
        assert app.screen.place is Place.START


@pytest.mark.parametrize("place", Place)
async def test_every_screen_fits_when_the_terminal_becomes_80_by_24(place: Place, at_place: Any) -> None:
    async with at_place(place, size=(160, 50)) as (app, pilot):
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        text = screen_text(app)
        assert len(text.splitlines()) == 24
        assert "8 Report" in text.splitlines()[1]
        assert "? Help" in text.splitlines()[-1]
        # The hint stands in the line or two above the keys.
        assert text.splitlines()[-2].strip()


async def test_cancelling_works_while_it_is_read_and_keeps_what_there_is(tmp_path: Path) -> None:
    async with opened(tmp_path, gather=scripted([DONE, HUNG]), origin=MACHINE) as (app, pilot):
        await pilot.press("3")
        await until_shown(pilot, "running")
        await pilot.press("c")
        await until(pilot, lambda: app.conductor.walk.before is not None)
        await until_shown(pilot, "Stopped before it was done")


async def test_cancelling_a_verification_leaves_it_open(at_place: Any) -> None:
    marked = [StepMarked(at=NOW, cause="narrow-link", fix=0, step=0, state=StepState.DONE)]
    gather = scripted([DONE, HUNG])
    async with at_place(Place.VERIFY, [*events(), *marked], gather=gather) as (app, pilot):
        await pilot.press("enter")
        await until_shown(pilot, "Reading again, to compare")
        await pilot.press("c")
        await until(pilot, lambda: not app.conductor.gathers)
        verdict = app.conductor.walk.verdicts.get("narrow-link")
        assert verdict is None or verdict.outcome is Outcome.NOT_SHOWN


@pytest.mark.parametrize("key", ["escape", "q"])
async def test_dialogs_close_without_doing_anything(key: str, at_place: Any) -> None:
    async with at_place(Place.CAUSES) as (app, pilot):
        await pilot.press("f1")
        await until_shown(pilot, "Keys that work here")
        await pilot.press(key)
        await until(pilot, lambda: getattr(app.screen, "place", None) is Place.CAUSES)


async def test_quitting_while_it_is_read_ends_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path, gather=scripted([DONE, HUNG]), origin=MACHINE) as (app, pilot):
        await until(pilot, lambda: app.conductor.gathers)
        begin = time.monotonic()
        await pilot.press("q")
    assert time.monotonic() - begin < 10
    assert app.conductor.gathering is None


async def test_a_killed_walk_goes_on_where_it_stood(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys, pathlib\n"
        "from diagnose.sessions.store import SessionStore\n"
        "from diagnose.tui.saving import Saving\n"
        "from tests.tui.made import NOW, events\n"
        "from diagnose.tui.model.events import *\n"
        "saving = Saving(SessionStore(pathlib.Path(sys.argv[1])))\n"
        "saving.create()\n"
        "for event in [*events(), StepMarked(at=NOW, cause='narrow-link', fix=0, step=0, state=StepState.DONE),\n"
        "              Moved(at=NOW, place=Place.FIX)]:\n"
        "    saving.append(event)\n"
        "saving.flush()\n"
        "print(saving.session_id, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "sessions")], capture_output=True, text=True, cwd=root
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    async with opened(tmp_path, session=ended.stdout.strip()) as (app, pilot):
        await until(pilot, lambda: app.screen.place is Place.FIX)
        await until_shown(pilot, "Step 2 of 3")
        assert app.conductor.walk.step_state("narrow-link", 0, 0) is StepState.DONE


async def test_a_walk_that_was_killed_while_it_was_read_is_read_again(tmp_path: Path) -> None:
    async with opened(tmp_path, gather=scripted([DONE, HUNG]), origin=MACHINE) as (app, pilot):
        await until(pilot, lambda: app.conductor.gathers)
        app.conductor.write_down()
        session = app.conductor.session_id
    store = SessionStore(tmp_path / "sessions")
    path = store.folder / session / "events.jsonl"
    begun = [line for line in path.read_bytes().splitlines(keepends=True) if b'"collected"' not in line]
    path.write_bytes(b"".join(begun))
    async with opened(tmp_path, gather=scripted([DONE]), session=session) as (app, pilot):
        await until(pilot, lambda: app.conductor.walk.report is not None)
        assert app.conductor.parts == (DONE,)


async def test_a_colleague_opens_an_exported_session_without_the_files(tmp_path: Path, at_place: Any) -> None:
    async with at_place(Place.START, []) as (app, pilot):
        app.conductor.problem = app.conductor._saving.create()
        for event in [*events(), Moved(at=NOW, place=Place.CAUSES)]:
            app.conductor.happened(event)
        app.export_session(app.conductor.session_id)
        await pilot.pause()
    (sent,) = (tmp_path / "reports").iterdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with opened(elsewhere) as (app, pilot):
        app.begin_with_paths([str(sent)])
        await until_shown(pilot, "A PCIe link runs below its width")
        await pilot.press("e", "j", "j", "enter")
        await until(pilot, lambda: "q.txt is not here. Put it back at /data/q.txt" in notices(app))


async def test_a_folder_that_cannot_be_written_does_not_stop_the_walk(tmp_path: Path) -> None:
    blocked = tmp_path / "sessions"
    blocked.write_text("a file where the folder should be", encoding="utf-8")
    async with opened(tmp_path, gather=scripted([DONE]), origin=MACHINE) as (app, pilot):
        await until(pilot, lambda: app.conductor.walk.report is not None)
        assert app.conductor.session_id is None


async def test_a_scenario_that_does_not_exist_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path, origin=simulated("no-such")) as (_, pilot):
        await until_shown(pilot, "no scenario is called 'no-such'")


async def test_walks_do_not_mix_when_a_new_one_begins(at_place: Any) -> None:
    async with at_place(Place.CAUSES) as (app, pilot):
        await take_to(app, pilot, Place.START, [])
        assert app.conductor.walk.report is None
        assert "narrow" not in screen_text(app)
