"""The file that evidence stands in, shown at its line."""

from __future__ import annotations

import gzip
import os
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from diagnose.report.model import ReportSource
from diagnose.tui.model.events import Collected, Origin, OriginKind, Place, Started
from diagnose.tui.screens.raw import RawScreen
from diagnose.tui.widgets.raw_text import LONG_BYTES, RawText
from tests.tui.driving import screen_text, until, until_shown
from tests.tui.made import NOW, events

LOG = "".join(f"line {number} of the log\n" for number in range(1, 5001))


@asynccontextmanager
async def raw(at_place: Any, folder: Path, *places: tuple[str, int], size: tuple[int, int] = (80, 24)) -> Any:
    """The viewer on files of a folder that were read just now."""
    happened = [event for event in events() if not isinstance(event, Started | Collected)]
    collected = next(event for event in events() if isinstance(event, Collected))
    origin = Origin(kind=OriginKind.FILES, paths=("log",), folder=str(folder))
    async with at_place(Place.CAUSES, [Started(at=NOW, origin=origin), collected, *happened], size=size) as (
        app,
        pilot,
    ):
        for path in folder.iterdir():
            if path.is_file():
                os.utime(path, (NOW.timestamp() - 60, NOW.timestamp() - 60))
        app.open_source([ReportSource(path=path, line=line) for path, line in places])
        await pilot.pause()
        yield app, pilot


def cursor(app: Any) -> int:
    return int(app.screen.query_one(RawText).cursor) + 1


async def test_the_file_opens_at_the_line_which_is_marked(at_place: Any, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG)
    async with raw(at_place, tmp_path, ("log", 3000)) as (app, pilot):
        await until_shown(pilot, "►3000 >line 3000 of the log")
        assert "line 3,000 of 5,000" in screen_text(app)
        await pilot.press("escape")
        assert not isinstance(app.screen, RawScreen)


async def test_words_are_searched_forwards_and_backwards_and_round_the_end(at_place: Any, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG.replace("line 4000", "Needle here").replace("line 20 ", "another needle "))
    async with raw(at_place, tmp_path, ("log", 3000)) as (app, pilot):
        await until(pilot, lambda: cursor(app) == 3000)
        await pilot.press("slash", *"needle", "enter")
        await until(pilot, lambda: cursor(app) == 4000)
        await pilot.press("n")
        await until(pilot, lambda: cursor(app) == 20)
        assert "from the other end" in screen_text(app)
        await pilot.press("N")
        await until(pilot, lambda: cursor(app) == 4000)
        await pilot.press("slash", *(["backspace"] * 6), *"Needles", "enter")
        await until_shown(pilot, "'Needles' does not occur")


async def test_a_line_is_gone_to_by_its_number(at_place: Any, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG)
    async with raw(at_place, tmp_path, ("log", 1)) as (app, pilot):
        await until_shown(pilot, "of 5,000")
        await pilot.press("colon", *"1234", "enter")
        assert cursor(app) == 1234
        await pilot.press("colon", *"9999", "enter")
        await until_shown(pilot, "There are 5,000 lines")
        await pilot.press("G")
        assert cursor(app) == 5000
        await pilot.press("g", "j", "j", "k")
        assert cursor(app) == 2


async def test_a_line_is_copied_as_it_is_shown(at_place: Any, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"first\n\x1b[31mred\x1b[0m \x07 \xff\n")
    async with raw(at_place, tmp_path, ("log", 2)) as (app, pilot):
        await until(pilot, lambda: cursor(app) == 2)
        await pilot.press("y")
        assert app.clipboard == "red \\x07 \\xff"


async def test_a_very_long_line_is_moved_along_and_searched(at_place: Any, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"short\n" + b"a" * 8_000_000 + b" needle " + b"b" * 1000 + b"\nlast\n")
    assert LONG_BYTES < 8_000_000
    async with raw(at_place, tmp_path, ("log", 2)) as (app, pilot):
        await until(pilot, lambda: cursor(app) == 2)
        await pilot.press("dollar_sign")
        await until_shown(pilot, "bbbbbbbb")
        await pilot.press("0")
        await until_shown(pilot, "2 >aaaaaaaa")
        await pilot.press("slash", *"needle", "enter")
        await until_shown(pilot, "aaa needle bbb")


async def test_the_places_of_a_piece_of_evidence_are_gone_through(at_place: Any, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(LOG.encode()))
    async with raw(at_place, tmp_path, ("log", 7), ("gone", 3), ("packed.gz", 4321)) as (app, pilot):
        await until_shown(pilot, "log:7 (place 1 of 2, Tab for the next)")
        await pilot.press("tab")
        await until(pilot, lambda: cursor(app) == 4321)
        assert "packed.gz:4321" in screen_text(app)


async def test_a_file_that_is_not_there_is_told_with_the_cure(at_place: Any, tmp_path: Path) -> None:
    async with raw(at_place, tmp_path, ("gone", 3), size=(140, 45)) as (app, _):
        assert not isinstance(app.screen, RawScreen)
        (note,) = app._notifications
        assert note.message == (
            f"gone is not here. Put it back at {tmp_path / 'gone'}, or press 1 and read it from where it lies now"
        )


async def test_a_file_that_may_not_be_read_is_told_with_the_cure(
    at_place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")  # root, as whom tests may run, would be let in

    monkeypatch.setattr("diagnose.tui.screens.raw.open_lines", refuse)
    (tmp_path / "log").write_text(LOG)
    async with raw(at_place, tmp_path, ("log", 3), size=(140, 45)) as (_, pilot):
        await until_shown(pilot, "Permission denied: put it back or allow reading it, then press r")


async def test_a_file_that_became_shorter_says_so(at_place: Any, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("one\ntwo\n")
    async with raw(at_place, tmp_path, ("log", 300), size=(140, 45)) as (app, pilot):
        await until_shown(pilot, "The file has only 2 lines now, line 300 is gone")
        assert cursor(app) == 2


async def test_a_file_that_changed_after_it_was_read_says_so(at_place: Any, tmp_path: Path) -> None:
    async with raw(at_place, tmp_path, ("gone", 1), size=(140, 45)) as (app, pilot):
        (tmp_path / "log").write_text(LOG)
        app.open_source([ReportSource(path="log", line=3)])
        await until_shown(pilot, "The file changed after it was read: the line may be another")


async def test_a_file_that_grows_is_opened_again(
    at_place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("diagnose.tui.screens.raw._LOOKS_AFTER_SECONDS", 0.05)
    (tmp_path / "log").write_text("one\n")
    async with raw(at_place, tmp_path, ("log", 1), size=(140, 45)) as (_, pilot):
        await until_shown(pilot, "line 1 of 1")
        (tmp_path / "log").write_text("one\ntwo\n")
        await until_shown(pilot, "The file is being changed: r opens it again")
        await pilot.press("r")
        await until_shown(pilot, "line 1 of 2")


async def test_help_tells_the_keys_of_the_viewer(at_place: Any, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG)
    async with raw(at_place, tmp_path, ("log", 1), size=(140, 45)) as (_, pilot):
        await until_shown(pilot, "line 1 of 5,000")
        await pilot.press("question_mark")
        await until_shown(pilot, "Long lines are not wrapped")
        await until_shown(pilot, "Copy line (raw.copy)")
