"""Whether the fix helped: read again, compare, say so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from diagnose.report.model import ReportCheck
from diagnose.report.numbers import percent
from diagnose.tui.conductor import Purpose
from diagnose.tui.model.events import OriginKind, Outcome, Place, Verified
from diagnose.tui.model.meaning import check_by_id
from diagnose.tui.model.moved import moves
from diagnose.tui.say import OUTCOMES, command, lines, move_row, text
from diagnose.tui.screens.answering import AnsweringScreen
from diagnose.tui.screens.collection import PartsList
from diagnose.tui.screens.dialog import LineDialog


class VerifyScreen(AnsweringScreen):
    """Reads the same again and compares the evidence."""

    place: ClassVar[Place] = Place.VERIFY
    purpose: ClassVar[Purpose] = "verify"
    HELP: ClassVar[str] = (
        "Enter reads the machine again, or the same files, and compares: `gone` means that what spoke for the cause "
        "was looked for and is not there any more; `still there` that it is; `not shown` that it was not read this "
        "time. For files that were written after the fix under other names, b names them. Checks "
        "whose output counted before are asked for again."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "read", "Read again", key_display="Enter", id="verify.read"),
        Binding("enter", "answer", "Give its output", key_display="Enter", id="verify.answer"),
        Binding("enter", "report", "To the report", key_display="Enter", id="verify.report"),
        Binding("b", "other_files", "Other files", id="verify.files"),
        Binding("s", "skip", "Skip part", id="verify.skip"),
        Binding("c", "cancel", "Cancel", id="verify.cancel"),
    ]

    def middle(self) -> ComposeResult:
        """The verdict, and the parts that are read."""
        yield Static(classes="verdict", id="verdict")
        with Container(classes="pane"), VerticalScroll(id="scroll"):
            yield Static(id="changes")
        yield PartsList()

    def on_mount(self) -> None:
        """Enter belongs to the screen here, so that it always goes on."""
        parts = self.query_one(PartsList)
        parts.can_focus = False
        parts.styles.max_height = "50%"
        self.refresh_all()
        self.query_one("#scroll").focus()
        self.set_interval(0.5, self._tick)

    @property
    def verified(self) -> Verified | None:
        """The verdict on the chosen cause, None while there is none."""
        cause = self.walk.chosen
        return None if cause is None else self.walk.verdicts.get(cause.id)

    @property
    def busy(self) -> bool:
        """Whether it is being read or compared."""
        return self.conductor.verifies

    @property
    def asked(self) -> ReportCheck | None:
        """A check to repeat, since what it printed before counted."""
        if self.busy or self.verified is None or self.verified.outcome is not Outcome.NOT_SHOWN:
            return None
        names = self.walk.to_repeat
        knowledge = self.conductor.ranker.knowledge()
        return check_by_id(names[0], knowledge) if names and knowledge is not None else None

    def update(self) -> None:
        """Verdict, changes, parts."""
        self.query_one("#verdict", Static).update(lines(*self._verdict()))
        self.query_one("#changes", Static).update(lines(*self._changes()))
        parts = self.query_one(PartsList)
        parts.display = self.busy
        parts.show_parts(self.conductor.parts if self.busy else ())

    def hint(self) -> str:
        """What to do."""
        if self.busy:
            return "Reading again, to compare."
        if self.walk.chosen is None:
            return "No cause was found that could be verified. 4 goes to the causes."
        if self.verified is None:
            return "When the fix is done, Enter reads again and compares. 6 goes back to the fix."
        if self.verified.outcome is Outcome.GONE:
            return "The fix helped. Enter goes to the report."
        if self.asked is not None:
            simulated = (
                "takes what it gives on the simulated machine" if self.simulated_answer() else "pastes its output"
            )
            return f"Run the check above once more: y copies it, Enter {simulated}."
        return "r reads again. 6 goes back to the fix, 4 to the other causes, 8 to the report."

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only keys that do something now."""
        if action in ("read", "answer", "report"):
            gone = self.verified is not None and self.verified.outcome is Outcome.GONE
            wanted = "report" if gone else "answer" if self.asked is not None else "read"
            return not self.busy and self.walk.chosen is not None and action == wanted
        if action in ("skip", "cancel"):
            return self.busy
        if action in ("copy", "paste", "file"):
            return self.asked is not None
        if action == "simulated":
            return self.asked is not None and self.simulated_answer() is not None
        if action == "other_files":
            origin = self.walk.origin
            return not self.busy and origin is not None and origin.kind is OriginKind.FILES
        return True

    def action_read(self) -> None:
        """Read again."""
        self.conductor.verify()
        self.refresh_all()

    def action_answer(self) -> None:
        """Take the output of the check that is to be repeated."""
        if self.simulated_answer() is not None:
            self.action_simulated()
        else:
            self.action_paste()

    def action_report(self) -> None:
        """Go on."""
        self.program.show(Place.REPORT)

    def action_other_files(self) -> None:
        """Compare with files that were written after the fix."""
        title = "File, folder or bundle that was made after the fix (Right completes)"

        def take(path: str | None) -> None:
            cause = self.walk.chosen
            if path and path.strip() and cause is not None:
                self.conductor.verify([path.strip()])
                self.refresh_all()

        self.program.open(LineDialog(title, completes_paths=True), take)

    def action_skip(self) -> None:
        """Skip the part that takes longest."""
        running = [part.name for part in self.conductor.parts if part.state in ("running", "waiting")]
        if running and self.conductor.gathering is not None:
            self.conductor.gathering.skip(running[0])

    def action_cancel(self) -> None:
        """Leave it."""
        self.conductor.cancel()
        self.refresh_all()

    def _tick(self) -> None:
        if self.busy:
            self.query_one(PartsList).show_parts(self.conductor.parts)

    def _verdict(self) -> Iterator[Content]:
        cause, fix = self.walk.chosen, self.walk.chosen_fix
        if cause is None:
            yield Content("Nothing to verify.")
            return
        yield text(f"{cause.title} ({percent(cause.probability)} before the fix)", "bold")
        if self.verified is not None and not self.busy:
            yield Content.styled(*OUTCOMES[self.verified.outcome])
            yield text(self.verified.why if self.asked is None else "It showed in what a check printed")
            if self.asked is not None:
                yield Content("")
                yield text(f"To be run again: {self.asked.text}", "bold")
                if self.asked.command is not None:
                    yield command(self.asked.command)
        elif fix is not None:
            yield Content.assemble(("How to see that it is gone: ", "bold"), text(fix.verify))

    def _changes(self) -> Iterator[Content]:
        if self.verified is None or self.busy:
            return
        others = moves(self.walk.report, self.walk.report_after)
        if others:
            yield Content.styled("All that changed", "bold")
        for move in others:
            yield Content("  ") + move_row(move)
        remaining = self.walk.report_after.causes if self.walk.report_after is not None else ()
        if remaining:
            yield Content("")
            yield Content.styled("What is found now", "bold")
        for cause in remaining:
            yield text(f"  {percent(cause.probability):>4}  {cause.title}")
