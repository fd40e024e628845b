"""Causes, ranked, and what speaks for and against the one under the cursor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from diagnose.ranking.thresholds import ESTABLISHED
from diagnose.report.model import Report, ReportCause, ReportSource
from diagnose.report.numbers import percent
from diagnose.tui.model.events import CauseChosen, Place
from diagnose.tui.model.moved import moves
from diagnose.tui.say import cause_row, evidence_row, move_row, severity, subjects, text
from diagnose.tui.screens.base import StepScreen
from diagnose.tui.widgets.choices import Choices, Row

_EVIDENCE = "evidence:"


def beneath_roots(causes: Sequence[ReportCause]) -> list[tuple[ReportCause, int]]:
    """Causes with how deep they stand, consequences directly after the cause that explains them."""
    ids = {cause.id for cause in causes}
    placed: dict[str, tuple[ReportCause, int]] = {}

    def root_of(cause: ReportCause) -> str | None:
        return cause.explained_by.partition("@")[0] if cause.explained_by else None

    def place(cause: ReportCause, depth: int) -> None:
        if cause.id not in placed:
            placed[cause.id] = (cause, depth)
            for other in causes:
                if root_of(other) == cause.id:
                    place(other, depth + 1)

    for cause in [*(item for item in causes if root_of(item) not in ids), *causes]:
        place(cause, 0)
    return list(placed.values())


class CausesScreen(StepScreen):
    """The list on top or at the left, what speaks for the cause under the cursor beside it."""

    place: ClassVar[Place] = Place.CAUSES
    HELP: ClassVar[str] = (
        "The percentage is the probability that the cause is present. Several faults at once are normal, so "
        "percentages do not add up to 100. A consequence stands beneath its root: cure the root first. Below, `+ for` "
        "and `- against` are evidence with file and line; Enter on one opens the file there."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/", id="screen.filter"),
        Binding("f", "fix", "Fix", id="causes.fix"),
        Binding("c", "check", "Check", id="causes.check"),
        Binding("e", "evidence", "Evidence", id="causes.evidence"),
        Binding("p", "picture", "Picture", id="causes.picture"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[ReportCause | None, Report | None, Report | None] | None = None

    def middle(self) -> ComposeResult:
        """Causes and detail."""
        with Container(classes="split"):
            with Container(classes="first"):
                yield Static("Causes, most probable first", classes="title", id="causes-title")
                yield Choices(enter_does="Next", id="causes")
            with Container(classes="second"):
                yield Static("Evidence", classes="title", id="detail-title")
                yield Choices(enter_does="Open", id="detail")

    def on_mount(self) -> None:
        """Put the cursor on the cause that was turned to."""
        self.refresh_all()
        rows = self.query_one("#causes", Choices)
        rows.focus()
        if self.walk.cause is not None:
            rows.put_cursor(self.walk.cause)

    @property
    def report(self) -> Report | None:
        """The ranking, or what there is of it while more is read."""
        return self.walk.report or self.conductor.so_far

    def update(self) -> None:
        """Causes, with what the last answer moved."""
        report = self.report
        rows = self.query_one("#causes", Choices)
        if report is None:
            says = "Being ranked ..." if self.conductor.gathers or self.conductor.ranks else "Nothing was read yet"
            rows.show([Row("none", Content.styled(says, "$text-muted"), heading=True)])
        elif not report.causes:
            rows.show([Row("none", Content.styled(nothing_found(report), "bold"))])
        else:
            rows.show([Row(cause.id, cause_row(cause, depth)) for cause, depth in beneath_roots(report.causes)])
        title = "Causes so far, the reading goes on" if self.walk.report is None else "Causes, most probable first"
        self.query_one("#causes-title", Static).update(title)
        self._show_detail()

    def hint(self) -> str:
        """What to do, by how sure the answer is."""
        if self.report is None:
            return "The causes are being ranked."
        cause = self.under_cursor
        if cause is None:
            checks = bool(self.report.checks)
            return "Enter shows what to look at next." if checks else "Press 8 for the report, r to read again."
        if cause.probability >= ESTABLISHED or not self.report.checks:
            return "Enter shows how to fix the cause under the cursor. c makes surer first."
        return "Not sure yet. Enter shows the check that tells most; f shows the fix all the same."

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only keys that do something now."""
        if action in ("fix", "evidence", "picture"):
            return bool(self.query("#causes")) and self.under_cursor is not None
        if action == "check":
            return self.walk.report is not None
        return True

    @property
    def under_cursor(self) -> ReportCause | None:
        """The cause under the cursor."""
        name = self.query_one("#causes", Choices).chosen
        causes = self.report.causes if self.report is not None else ()
        return next((cause for cause in causes if cause.id == name), None)

    def on_option_list_option_highlighted(self, event: Choices.OptionHighlighted) -> None:
        """Show what speaks for it."""
        if event.option_list.id == "causes":
            self._show_detail()
            self.call_after_refresh(self.refresh_hint)

    def refresh_hint(self) -> None:
        """The hint follows the cursor."""
        self.refresh_all()

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        """Next for a cause; the file for a piece of evidence."""
        if event.option_list.id == "detail":
            self._open(event.option_id or "")
            return
        cause = self.under_cursor
        if cause is not None and (cause.probability >= ESTABLISHED or not (self.report and self.report.checks)):
            self.action_fix()
        else:
            self.action_check()

    def action_fix(self) -> None:
        """Turn to the fix of the cause under the cursor."""
        if self._turn():
            self.program.show(Place.FIX)
        else:
            self.notify("Not yet: it is still being read and ranked")

    def action_check(self) -> None:
        """Turn to what would make surer."""
        self._turn()
        self.program.action_go(Place.CHECK.value)

    def action_evidence(self) -> None:
        """Go to the evidence."""
        self.query_one("#detail", Choices).focus()

    def action_picture(self) -> None:
        """Show a picture of what speaks for the cause."""
        cause = self.under_cursor
        if cause is not None:
            self.program.show_pictures(cause)

    def _turn(self) -> bool:
        cause = self.under_cursor
        if cause is None or self.walk.ranked(cause.id) is None:
            return False
        if self.walk.cause != cause.id:
            self.conductor.happened(CauseChosen(at=self.conductor.now(), cause=cause.id))
        return True

    def _open(self, option: str) -> None:
        cause = self.under_cursor
        if cause is None:
            return
        places: list[ReportSource] = []
        if option.startswith(_EVIDENCE):
            evidence = cause.evidence[int(option.removeprefix(_EVIDENCE))]
            places = [item for item in evidence.sources if item.path is not None]
        if places:
            self.program.open_source(places)
        else:
            self.notify("No file stands behind this line; + for and - against name theirs")

    def _show_detail(self) -> None:
        cause = self.under_cursor
        shown = (cause, self.walk.previous, self.walk.report)
        # Rows of ten thousand pieces of evidence take a second to make; the report is never changed in place.
        if self._shown is None or any(now is not before for now, before in zip(shown, self._shown, strict=True)):
            self._shown = shown
            self.query_one("#detail", Choices).show([] if cause is None else list(self._detail(cause)))

    def _detail(self, cause: ReportCause) -> Iterator[Row]:
        for at, move in enumerate(moves(self.walk.previous, self.walk.report)):
            if at == 0:
                yield Row("moved", Content("What changed with what you said last"), heading=True)
            yield Row(f"moved:{move.cause.id}", move_row(move))
        on = f" on {subjects(cause)}"
        yield Row("title", text(cause.title), heading=True)
        yield Row("head", Content.assemble(severity(cause), f" {percent(cause.probability)}", text(on)), heading=True)
        if cause.explained_by is not None:
            root = self._title(cause.explained_by.partition("@")[0])
            yield Row("root", text(f"Follows from {root}: cure that first"), heading=True)
        yield Row("explanation", text(cause.explanation))
        for number, item in enumerate(cause.evidence):
            yield Row(f"{_EVIDENCE}{number}", evidence_row(item))
        if cause.root_of:
            yield Row("consequences", text(f"Explains: {'; '.join(map(self._title, cause.root_of))}"))
        for number, looked in enumerate(cause.looked_and_found_nothing):
            yield Row(f"looked:{number}", Content.styled("· looked, found nothing: ", "$text-muted") + text(looked))
        if cause.missing:
            kinds = sorted({kind for item in cause.missing for kind in item.kinds})
            spaced = ", ".join(kinds).replace("-", " ")
            yield Row("missing", Content.styled("? not read, would tell more: ", "$text-warning") + text(spaced))

    def _title(self, cause: str) -> str:
        """The title of a cause by its id."""
        causes = self.report.causes if self.report is not None else ()
        return next((item.title for item in causes if item.id == cause), cause)


def nothing_found(report: Report) -> str:
    """The answer where no cause is put forward."""
    if not any(item.kind for item in report.inputs):
        return "Nothing was recognised, so nothing can be said."
    if report.problems:
        return "Nothing found in what could be diagnosed: " + "; ".join(report.problems)
    seen = "; ".join(item.title for item in report.symptoms if item.detected)
    if seen:
        return f"It shows: {seen}. Nothing that was read says yet why."
    return "Nothing found: nothing that was read speaks for a known cause."
