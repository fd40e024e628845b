"""The next best check: a command to run or a question to answer, and what each answer would mean."""

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
from diagnose.tui.model.events import Place
from diagnose.tui.model.meaning import is_question, meanings
from diagnose.tui.model.moved import moves
from diagnose.tui.say import PRIVILEGES, RISKS, command, lines, move_row, text
from diagnose.tui.screens.answering import AnsweringScreen
from diagnose.tui.widgets.choices import Choices, Row


class CheckScreen(AnsweringScreen):
    """Checks, the most worthwhile first."""

    place: ClassVar[Place] = Place.CHECK
    HELP: ClassVar[str] = (
        "A check is something to run or to look at that is expected to change the ranking most for its cost. The "
        "program does not run it: y copies the command; run it, then p pastes what it printed, or o names a file that "
        "holds it. Whole output is best, what is not recognised is said. n says that it cannot be done here."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        # A key that is bound here hides what it does in the class above.
        Binding("y", "copy", "Copy", id="check.copy"),
        Binding("n", "cannot", "Cannot", id="check.cannot"),
        Binding("y", "say('yes')", "Yes", id="check.yes"),
        Binding("n", "say('no')", "No", id="check.no"),
        Binding("u", "say('unknown')", "Don't know", id="check.unknown"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._answered = -1

    def middle(self) -> ComposeResult:
        """Checks, and the one under the cursor."""
        with Container(classes="split"):
            with Container(classes="first"):
                yield Static("Checks, the one that tells most first", classes="title")
                yield Choices(enter_does="Paste output", id="checks")
            with Container(classes="second"), VerticalScroll(can_focus=False):
                yield Static(id="detail")

    def on_mount(self) -> None:
        """Remember what was answered before."""
        self._answered = len(self.walk.answers)
        self.refresh_all()
        self.query_one("#checks", Choices).focus()

    @property
    def checks(self) -> list[ReportCheck]:
        """Checks that were not answered by `cannot`."""
        given_up = {answer.check for answer in self.walk.answers if answer.answer in ("cannot", "unknown")}
        report = self.walk.report
        return [] if report is None else [check for check in report.checks if check.id not in given_up]

    @property
    def asked(self) -> ReportCheck | None:
        """The check under the cursor."""
        rows = next(iter(self.query("#checks").results(Choices)), None)
        name = None if rows is None else rows.chosen
        return next((check for check in self.checks if check.id == name), None)

    def update(self) -> None:
        """Checks and the detail."""
        rows = [Row(check.id, self._row(check)) for check in self.checks]
        nothing = Row("none", Content.styled("No check would tell more", "$text-muted"), heading=True)
        self.query_one("#checks", Choices).show(rows or [nothing])
        self._say_enter()
        self._show_detail()

    def hint(self) -> str:
        """What to do."""
        if self.conductor.ranks:
            return "Read; the causes are being ranked anew."
        if self._just_answered:
            return "Your answer was taken in, see what it moved. Enter goes to the causes."
        check = self.asked
        if check is None:
            return "Nothing left to check. 4 goes to the causes."
        if self._is_question(check):
            return "Answer with y (yes), n (no) or u (don't know). 4 goes back to the causes."
        if self.simulated_answer() is not None:
            return "Enter takes what it gives on the simulated machine. 4 goes back to the causes."
        if check.command is None:
            return "p pastes it, o names the file. 4 goes back to the causes."
        return "y copies the command. Run it elsewhere, then p pastes what it printed. 4 goes back to the causes."

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only keys that fit the check under the cursor."""
        if action not in ("copy", "paste", "file", "simulated", "cannot", "say"):
            return True
        check = self.asked
        if check is None:
            return False
        question = self._is_question(check)
        if action == "say":
            return question
        if action == "simulated":
            return not question and self.simulated_answer() is not None
        if action == "copy":
            return not question and check.command is not None
        return not question

    def on_option_list_option_highlighted(self) -> None:
        """Show the check."""
        self._show_detail()
        self.call_after_refresh(self.refresh_all)

    def on_option_list_option_selected(self) -> None:
        """Answer it; after an answer, go on to the causes."""
        check = self.asked
        if self._just_answered:
            self.program.show(Place.CAUSES)
            return
        if check is None or self._is_question(check):
            return
        if self.simulated_answer() is not None:
            self.action_simulated()
        else:
            self.action_paste()

    def action_cannot(self) -> None:
        """Put the check aside."""
        check = self.asked
        if check is not None:
            self.conductor.answer_in_a_word(check.id, "cannot")
            self.refresh_all()

    def action_say(self, word: str) -> None:
        """Answer a question."""
        check = self.asked
        if check is not None and word in ("yes", "no", "unknown"):
            self.conductor.answer_in_a_word(check.id, word)  # type: ignore[arg-type]
            self.refresh_all()

    @property
    def _just_answered(self) -> bool:
        """Whether an answer was given since the screen was opened."""
        return len(self.walk.answers) > self._answered >= 0

    def _say_enter(self) -> None:
        simulated = self.simulated_answer() is not None
        does = "To the causes" if self._just_answered else "Simulated" if simulated else "Paste output"
        self.query_one("#checks", Choices).say_enter(does)

    def _is_question(self, check: ReportCheck) -> bool:
        knowledge = self.conductor.ranker.knowledge()
        return knowledge is not None and is_question(check.id, knowledge)

    def _row(self, check: ReportCheck) -> Content:
        answered = {answer.check for answer in self.walk.answers if answer.answer == "output"}
        mark = "✓ " if check.id in answered else "  "
        return lines(
            Content.assemble((mark, "$text-success"), text(check.text, "bold")),
            text(
                f"    about {check.cost_seconds:.0f} s, {PRIVILEGES[check.privilege]}, {RISKS[check.risk]}",
                "$text-muted",
            ),
        )

    def _show_detail(self) -> None:
        check = self.asked
        parts = list(self._moved())
        if check is not None:
            parts += self._detail(check)
        self.query_one("#detail", Static).update(lines(*parts))

    def _moved(self) -> Iterator[Content]:
        if not self._just_answered or self.conductor.ranks:
            return
        answer = self.walk.answers[-1]
        yield Content.styled("What your answer moved", "bold")
        unknown = [item for item in answer.inputs if item.kind is None]
        if answer.answer == "output" and not answer.facts:
            why = f": {unknown[0].detail}" if unknown and unknown[0].detail else ""
            yield Content.styled(f"  Nothing: no known format was recognised in it{why}", "$text-warning")
        found = moves(self.walk.previous, self.walk.report)
        if answer.facts and not found:
            yield Content("  Nothing: the ranking stays as it was")
        for move in found:
            yield Content("  ") + move_row(move)
        yield Content("")

    def _detail(self, check: ReportCheck) -> Iterator[Content]:
        yield text(check.text, "bold")
        if check.command is not None:
            yield command(check.command)
        yield Content("")
        knowledge = self.conductor.ranker.knowledge()
        if knowledge is None or self.walk.report is None:
            return
        last = None
        for item in meanings(check, self.walk.report, knowledge):
            if last is None:
                yield Content.styled("What each answer would mean", "bold")
            if item.cause != last:
                yield Content.assemble(text(item.title, "bold"), f", now {percent(item.before)}")
                last = item.cause
            arrow = "▲" if item.after > item.before else "▼"
            yield Content.assemble(f"  {arrow} {percent(item.after)}  if it shows: ", text(item.text))
            if item.otherwise:
                yield text(f"         else it stays: {item.otherwise}", "$text-muted")
