"""The fix: risk and privilege first, then its steps one at a time. Nothing is run by the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from diagnose.report.model import ReportCause, ReportFix, ReportStep
from diagnose.tui.model.events import CauseChosen, Noted, Place, StepMarked, StepState
from diagnose.tui.say import PRIVILEGES, RISKS, STEPS, command, lines, subject, text
from diagnose.tui.screens.base import StepScreen
from diagnose.tui.screens.dialog import LineDialog
from diagnose.tui.widgets.choices import Choices, Row


class FixScreen(StepScreen):
    """Steps of the chosen cause's fix."""

    place: ClassVar[Place] = Place.FIX
    HELP: ClassVar[str] = (
        "Read risk and privilege before you begin. The program runs nothing: y copies the command of the step under "
        "the cursor. Say of each step what became of it: d done, x failed, s skipped; u takes it back. m writes a "
        "note, w turns to another way to fix the cause. When all steps are dealt with, Enter verifies that the cause "
        "is gone; v does so at any time."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "mark('done')", "Done", id="fix.done"),
        Binding("x", "mark('failed')", "Failed", id="fix.failed"),
        Binding("s", "mark('skipped')", "Skip", id="fix.skip"),
        Binding("u", "mark('open')", "Take back", show=False, id="fix.take-back"),
        Binding("y", "copy", "Copy", id="fix.copy"),
        Binding("m", "note", "Note", id="fix.note"),
        Binding("w", "other", "Other", id="fix.other"),
        Binding("v", "verify", "Verify", show=False, id="fix.verify"),
    ]

    def middle(self) -> ComposeResult:
        """What it costs, the steps, and the one under the cursor."""
        yield Static(classes="warning-box", id="risk")
        with Container(classes="split"):
            with Container(classes="first"):
                yield Choices(enter_does="Next", id="steps")
            with Container(classes="second"), VerticalScroll(can_focus=False):
                yield Static(id="detail")

    def on_mount(self) -> None:
        """Put the cursor on the first step that is open."""
        cause = self.walk.chosen
        if cause is not None and self.walk.cause != cause.id:
            self.conductor.happened(CauseChosen(at=self.conductor.now(), cause=cause.id))
        self.refresh_all()
        self.query_one("#steps", Choices).focus()
        self._to_open_step()

    def update(self) -> None:
        """Risk, steps and detail."""
        cause, fix = self.walk.chosen, self.walk.chosen_fix
        if cause is None or fix is None:
            self.query_one("#risk", Static).update("No cause was found that could be fixed.")
            return
        self.query_one("#risk", Static).update(self._risk(cause, fix))
        rows = [Row(str(number), self._row(cause, number, step)) for number, step in enumerate(fix.steps)]
        choices = self.query_one("#steps", Choices)
        choices.show(rows)
        choices.say_enter("Next" if self._open_left else "Verify")
        self._show_detail()

    def hint(self) -> str:
        """What to do."""
        cause, fix = self.walk.chosen, self.walk.chosen_fix
        if cause is None or fix is None:
            return "4 goes to the causes."
        if not self._open_left:
            return "All steps are dealt with. Enter verifies that the cause is gone."
        return (
            "Do the step under the cursor yourself, then press d (done), x (failed) or s (skip: not needed here). "
            "y copies its command, u takes a mark back."
        )

    @property
    def _open_left(self) -> bool:
        """Whether a step of the fix is not dealt with yet."""
        cause, fix = self.walk.chosen, self.walk.chosen_fix
        if cause is None or fix is None:
            return False
        return StepState.OPEN in self.walk.fix_states(cause.id, self.walk.fix, len(fix.steps))

    @property
    def at(self) -> int:
        """Number of the step under the cursor, from 0."""
        chosen = self.query_one("#steps", Choices).chosen
        return int(chosen) if chosen is not None else 0

    def on_option_list_option_highlighted(self) -> None:
        """Show the step."""
        self._show_detail()

    def on_option_list_option_selected(self) -> None:
        """The next open step; with none left, verify."""
        if not self._to_open_step(after=self.at):
            self.action_verify()

    def action_mark(self, state: str) -> None:
        """Note what became of the step under the cursor, and go to the next one."""
        cause, fix = self.walk.chosen, self.walk.chosen_fix
        if cause is None or fix is None:
            return
        number = self.at
        new = StepState(state)
        self.conductor.happened(
            StepMarked(at=self.conductor.now(), cause=cause.id, fix=self.walk.fix, step=number, state=new)
        )
        self.refresh_all()
        if new is not StepState.OPEN:
            self._to_open_step(after=number)

    def action_copy(self) -> None:
        """Copy what the step under the cursor has to copy."""
        fix = self.walk.chosen_fix
        step = fix.steps[self.at] if fix is not None else None
        words = None if step is None else step.command or step.setting
        if words is None:
            self.notify("This step has no command")
        else:
            self.program.copy(words)

    def action_note(self) -> None:
        """Write something down about the step."""
        cause = self.walk.chosen
        if cause is None:
            return
        about = f"{cause.id}, step {self.at + 1}"
        before = next((note.text for note in self.walk.notes if note.about == about), "")

        def take(words: str | None) -> None:
            if words is not None:
                self.conductor.happened(Noted(at=self.conductor.now(), about=about, text=words.strip()))
                self.refresh_all()

        self.program.open(LineDialog(f"Note on {about}", before), take)

    def action_other(self) -> None:
        """Turn to the next way to fix the cause."""
        cause = self.walk.chosen
        if cause is not None and len(cause.fixes) > 1:
            number = (self.walk.fix + 1) % len(cause.fixes)
            self.conductor.happened(CauseChosen(at=self.conductor.now(), cause=cause.id, fix=number))
            self.refresh_all()

    def action_verify(self) -> None:
        """Go on to verify."""
        self.program.show(Place.VERIFY)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only keys that do something."""
        if action == "other":
            cause = self.walk.chosen
            return cause is not None and len(cause.fixes) > 1
        return True

    def _to_open_step(self, after: int = -1) -> bool:
        cause, fix = self.walk.chosen, self.walk.chosen_fix
        if cause is None or fix is None:
            return False
        states = self.walk.fix_states(cause.id, self.walk.fix, len(fix.steps))
        numbers = [*range(after + 1, len(states)), *range(after + 1)]
        number = next((number for number in numbers if states[number] is StepState.OPEN), None)
        if number is None:
            return False
        self.query_one("#steps", Choices).put_cursor(str(number))
        return bool(number != after)

    def _risk(self, cause: ReportCause, fix: ReportFix) -> Content:
        ways = f"  (way {self.walk.fix + 1} of {len(cause.fixes)}, w for the other)" if len(cause.fixes) > 1 else ""
        filled = f"  Written for {subject(fix.filled_for)}." if fix.filled_for and len(cause.subjects) > 1 else ""
        return lines(
            Content.assemble(text(fix.title, "bold"), ways),
            Content.assemble(
                ("Risk: ", "bold"),
                RISKS[fix.risk],
                ("  ·  To be done ", ""),
                (PRIVILEGES[fix.privilege], "bold"),
                text(filled),
            ),
        )

    def _row(self, cause: ReportCause, number: int, step: ReportStep) -> Content:
        symbol, word, style = STEPS[self.walk.step_state(cause.id, self.walk.fix, number)]
        noted = any(note.about == f"{cause.id}, step {number + 1}" for note in self.walk.notes)
        return Content.assemble(
            (f"{symbol} {number + 1}. ", style),
            text(step.do),
            (f"  [{word}]" if word else "", style),
            " (note)" * noted,
        )

    def _show_detail(self) -> None:
        fix, cause = self.walk.chosen_fix, self.walk.chosen
        if fix is not None and cause is not None and self.at < len(fix.steps):
            self.query_one("#detail", Static).update(lines(*self._detail(cause, fix)))

    def _detail(self, cause: ReportCause, fix: ReportFix) -> Iterator[Content]:
        step = fix.steps[self.at]
        yield Content.styled(f"Step {self.at + 1} of {len(fix.steps)}", "bold")
        yield text(step.do)
        if step.command:
            yield Content("")
            yield command(step.command)
        if step.setting:
            yield Content("")
            yield text(step.setting, "bold $text-accent")
        if step.expect:
            yield Content("")
            yield Content.assemble(("Expect: ", "bold"), text(step.expect))
        note = next((note.text for note in self.walk.notes if note.about == f"{cause.id}, step {self.at + 1}"), None)
        if note:
            yield Content("")
            yield Content.assemble(("Note: ", "bold"), text(note))
