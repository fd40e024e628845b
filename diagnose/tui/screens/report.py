"""The report, with the path taken, saved as Markdown, HTML or JSON."""

from __future__ import annotations

import re
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from diagnose.tui.model.events import Outcome, Place
from diagnose.tui.say import text
from diagnose.tui.screens.base import StepScreen

_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>#|~])")


def read_as_text(markdown: str) -> str:
    """Markdown without what keeps words of inputs from being taken for markup; commands stay as they are."""
    shown, code = [], False
    for line in markdown.split("\n"):
        code ^= line.lstrip().startswith("```")
        shown.append(line if code else _ESCAPED.sub(r"\1", line))
    return "\n".join(shown)


class ReportScreen(StepScreen):
    """What will be saved, to read before."""

    place: ClassVar[Place] = Place.REPORT
    HELP: ClassVar[str] = (
        "The report holds the causes with their evidence, the fix, and what you did on the way with your notes. It "
        "names hosts and files as they were read. m saves it as Markdown, w as a page for the browser, s as JSON. "
        "x writes the session itself as one file, with which a colleague goes on where you are."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "save('markdown')", "Markdown", id="report.markdown"),
        Binding("w", "save('html')", "HTML", id="report.html"),
        Binding("s", "save('json')", "JSON", id="report.json"),
        Binding("x", "hand_over", "Hand over", id="report.session"),
        Binding("j,down", "scroll('down')", show=False),
        Binding("k,up", "scroll('up')", show=False),
    ]

    def middle(self) -> ComposeResult:
        """The report as text."""
        with VerticalScroll(id="paper"):
            yield Static(id="text")

    def on_mount(self) -> None:
        """Fill in."""
        self.refresh_all()
        self.query_one("#paper").focus()

    def update(self) -> None:
        """The report as it would be saved now."""
        report = self.program.report()
        if report is None:
            self.query_one("#text", Static).update("Nothing was ranked yet.")
            return
        from diagnose.report.markdown import markdown

        self.query_one("#text", Static).update(text(read_as_text(markdown(report))))

    def hint(self) -> str:
        """What to do."""
        if self.walk.saved:
            return f"Saved: {self.walk.saved[-1]}. q quits; the session stays saved."
        cause = self.walk.chosen
        verified = None if cause is None else self.walk.verdicts.get(cause.id)
        gone = "The cause is gone. " if verified is not None and verified.outcome is Outcome.GONE else ""
        return f"{gone}m saves the report as Markdown, w as HTML. q quits; the session stays saved."

    def action_save(self, style: str) -> None:
        """Save it."""
        self.program.save_report(style)

    def action_hand_over(self) -> None:
        """Write the session as one file."""
        self.program.export_session(self.conductor.session_id)

    def action_scroll(self, way: str) -> None:
        """A line up or down."""
        paper = self.query_one("#paper", VerticalScroll)
        paper.scroll_down(animate=False) if way == "down" else paper.scroll_up(animate=False)
