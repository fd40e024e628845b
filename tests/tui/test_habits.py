"""Habits of the hands: filter, help, palette, remapped keys, vi keys, mouse, copying, themes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnose.knowledge.loader import load_knowledge
from diagnose.report.model import Report, ReportSymptom
from diagnose.tui.jobs.ranker import Ranker
from diagnose.tui.model.events import Place, StepState
from diagnose.tui.screens.report import read_as_text
from tests.tui.driving import notices, screen_text, until, until_shown
from tests.tui.made import events, report


async def test_a_filter_leaves_the_rows_that_hold_all_words(at_place: Any) -> None:
    async with at_place(Place.CAUSES) as (app, pilot):
        await pilot.press("slash", *"memory rising", "enter")
        await pilot.pause()
        rows = app.screen.query_one("#causes")
        assert [option.id for option in rows.options] == ["memory-errors"]
        assert rows.has_focus
        await pilot.press("slash", "escape")
        await pilot.pause()
        assert len(rows.options) == 3


async def test_letters_that_are_typed_into_a_filter_are_no_commands(at_place: Any) -> None:
    async with at_place(Place.CAUSES) as (app, pilot):
        await pilot.press("slash", *"quit4")
        await pilot.pause()
        assert app.screen.place is Place.CAUSES
        assert app.screen.query_one("#filter").value == "quit4"


@pytest.mark.parametrize("key", ["question_mark", "f1"])
async def test_help_tells_of_the_screen_of_what_has_the_focus_and_of_the_keys(key: str, at_place: Any) -> None:
    async with at_place(Place.FIX, size=(120, 50)) as (app, pilot):
        await pilot.press(key)
        await until_shown(pilot, "Read risk and privilege before you begin.")
        text = screen_text(app)
        assert "Up and Down (or k and j) move" in text
        assert "Done  (fix.done)" in text
        assert "Keys that work everywhere" in text


async def test_help_within_help_changes_nothing(at_place: Any) -> None:
    async with at_place(Place.FIX) as (app, pilot):
        await pilot.press("f1", "f1")
        await pilot.pause()
        assert app.screen.place is Place.FIX


async def test_the_palette_finds_actions_of_the_screen_and_of_the_program(at_place: Any) -> None:
    async with at_place(Place.FIX, size=(120, 40)) as (app, pilot):
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press(*"done")
        await until_shown(pilot, "Key: d")
        await pilot.press("enter")
        await until(pilot, lambda: app.conductor.walk.step_state("narrow-link", 0, 0) is StepState.DONE)


async def test_a_remapped_key_takes_the_place_of_the_old_one(at_place: Any, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "diagnose"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[keymap]\n"fix.done" = "D"\n', encoding="utf-8")
    async with at_place(Place.FIX) as (app, pilot):
        await pilot.press("d")
        await pilot.pause()
        assert app.conductor.walk.step_state("narrow-link", 0, 0) is StepState.OPEN
        await pilot.press("D")
        await pilot.pause()
        assert app.conductor.walk.step_state("narrow-link", 0, 0) is StepState.DONE


async def test_vi_keys_move_in_lists_and_between_parts(at_place: Any) -> None:
    async with at_place(Place.CAUSES) as (app, pilot):
        await pilot.press("j", "j", "k")
        await pilot.pause()
        assert app.screen.under_cursor.id == "late-gpu"
        await pilot.press("l")
        await pilot.pause()
        assert app.focused.id == "detail"
        await pilot.press("h")
        await pilot.pause()
        assert app.focused.id == "causes"


async def test_a_click_on_a_step_goes_there_and_one_on_a_row_chooses_it(at_place: Any) -> None:
    async with at_place(Place.CAUSES) as (app, pilot):
        await pilot.click("#causes", offset=(10, 4))
        await pilot.pause()
        await pilot.click(app.screen.query("StepName").last())
        await until(pilot, lambda: app.screen.place is Place.REPORT)


async def test_the_command_of_a_step_is_copied_and_left_in_a_file(at_place: Any) -> None:
    async with at_place(Place.FIX, []) as (app, pilot):
        app.conductor.problem = app.conductor._saving.create()
        for event in events():
            app.conductor.happened(event)
        app.show(Place.FIX)
        await until_shown(pilot, "Restore the link")
        await pilot.press("y")
        await until(pilot, lambda: "Copied" in notices(app))
        command = "sudo lspci -vvv -s 0000:9b:00.0 | grep -E 'LnkCap:|LnkSta:'"
        assert app.clipboard == command
        assert (app.conductor.folder / "copied.txt").read_text(encoding="utf-8") == f"{command}\n"


async def test_a_step_without_a_command_says_so(at_place: Any) -> None:
    async with at_place(Place.FIX) as (app, pilot):
        await pilot.press("j", "y")
        await until(pilot, lambda: "no command" in notices(app))


async def test_light_and_dark_are_a_key_apart(at_place: Any) -> None:
    async with at_place(Place.CAUSES) as (app, pilot):
        assert app.current_theme.dark
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert not app.current_theme.dark


async def test_the_report_is_saved_from_every_screen_under_a_name_of_its_own(at_place: Any, tmp_path: Path) -> None:
    async with at_place(Place.CAUSES) as (app, pilot):
        await pilot.press("ctrl+s")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.conductor.walk.saved) == 2)
    names = sorted(path.name for path in (tmp_path / "reports").iterdir())
    assert names == ["diagnose-20260314-030700-2.md", "diagnose-20260314-030700.md"]


async def test_escape_goes_a_step_back(at_place: Any) -> None:
    async with at_place(Place.CHECK) as (app, pilot):
        await pilot.press("escape")
        await until(pilot, lambda: app.screen.place is Place.CAUSES)


async def test_notes_on_a_step_are_kept_and_shown(at_place: Any) -> None:
    async with at_place(Place.FIX) as (app, pilot):
        await pilot.press("m")
        await pilot.pause()
        await pilot.press(*"loose card", "enter")
        await until_shown(pilot, "Note: loose card")
        assert app.conductor.walk.notes[0].about == "narrow-link, step 1"


async def test_pressing_done_once_more_undoes_nothing_and_u_takes_it_back(at_place: Any) -> None:
    async with at_place(Place.FIX, size=(80, 24)) as (app, pilot):
        await pilot.press("d", "d", "d", "d", "d")
        assert app.conductor.walk.fix_states("narrow-link", 0, 3) == [StepState.DONE] * 3
        await pilot.press("u")
        assert app.conductor.walk.fix_states("narrow-link", 0, 3)[2] is StepState.OPEN


async def test_the_command_of_a_check_is_copied_by_the_key_that_its_hint_names(at_place: Any) -> None:
    async with at_place(Place.CHECK) as (app, pilot):
        await until_shown(pilot, "y copies the command")
        await pilot.press("y")
        await until(pilot, lambda: "Copied" in notices(app))
        assert app.clipboard == app.screen.asked.command


async def test_the_cursor_goes_to_a_symptom_that_shows_until_the_operator_moves_it(
    at_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = load_knowledge(examples=False)
    monkeypatch.setattr(Ranker, "knowledge", lambda _: rules)

    def detected(name: str) -> Report:
        found = ReportSymptom(id=name, title=name, detected=True, asserted=False)
        return report().model_copy(update={"symptoms": (found,)})

    async with at_place(Place.SYMPTOM, events()[:1]) as (app, pilot):
        rows = app.screen.query_one("#symptoms")
        for name in ("multi-node-scaling", "low-bit-divergence"):
            app.conductor.so_far = detected(name)
            app.redraw()
            await pilot.pause()
            assert rows.chosen == name
        await pilot.press("j")
        moved_to = rows.chosen
        app.conductor.so_far = detected("multi-node-scaling")
        app.redraw()
        await pilot.pause()
        assert rows.chosen == moved_to != "multi-node-scaling"


async def test_another_symptom_takes_the_place_of_the_one_taken_before(
    at_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = load_knowledge(examples=False)
    monkeypatch.setattr(Ranker, "knowledge", lambda _: rules)
    monkeypatch.setattr(Ranker, "ask", lambda *_: None)
    async with at_place(Place.SYMPTOM, events(symptoms=("multi-node-scaling",))) as (app, pilot):
        rows = app.screen.query_one("#symptoms")
        assert rows.chosen == "multi-node-scaling"
        await pilot.press("j")
        other = rows.chosen
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.place is not Place.SYMPTOM)
        assert app.conductor.walk.symptoms == (other,)


def test_the_report_is_read_without_the_marks_that_keep_words_from_being_markup() -> None:
    assert read_as_text("on mlx5\\_3\n```sh\ngrep 'a\\|b'\n```\n\\*") == "on mlx5_3\n```sh\ngrep 'a\\|b'\n```\n*"
