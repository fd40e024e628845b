"""Earlier sessions: reopen, hand over, bring in, delete."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from diagnose.sessions.errors import SessionError
from diagnose.sessions.store import EXPORT_ENDING, SessionInfo
from diagnose.tui.say import lines, text
from diagnose.tui.screens.dialog import LineDialog, PickDialog
from diagnose.tui.widgets.choices import Choices, Row
from diagnose.tui.widgets.filter_line import FilterLine
from diagnose.tui.widgets.frame import Heading, Hint

if TYPE_CHECKING:
    from diagnose.tui.app import DiagnoseApp


class SessionsScreen(Screen[None]):
    """The list of sessions, above whatever was shown."""

    HELP: ClassVar[str] = (
        "Every walk is saved as it goes, also when the program is killed. Enter goes on where it stood. x writes one "
        "as a file to send to a colleague; b brings in such a file; Delete removes one with its recordings."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Back", key_display="Esc", id="sessions.close"),
        Binding("slash", "filter", "Filter", key_display="/", id="sessions.filter"),
        Binding("x", "export", "Export", id="sessions.export"),
        Binding("b", "bring_in", "Bring in", id="sessions.bring-in"),
        Binding("delete,d", "delete", "Delete", id="sessions.delete"),
    ]

    @property
    def program(self) -> DiagnoseApp:
        """The application, by its own type."""
        return cast("DiagnoseApp", self.app)

    def compose(self) -> ComposeResult:
        """The list."""
        yield Heading("diagnose  ·  sessions")
        with Container(id="body"):
            yield Static("Which session do you want to go on with?", classes="question")
            yield Choices(enter_does="Go on", id="sessions")
        yield FilterLine()
        yield Hint("Enter goes on where the session stood. Escape closes this list.")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Fill in."""
        self.refresh_all()
        self.query_one(Choices).focus()

    def refresh_all(self) -> None:
        """The list as it is now."""
        rows = [Row(info.id, _row(info)) for info in self.program.conductor.store.list()]
        nothing = Row(
            "none", Content.styled("There is none yet. b brings in a file from a colleague.", "$text-muted"), True
        )
        self.query_one(Choices).show(rows or [nothing])

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        """Go on with it."""
        if event.option_id is not None:
            self.program.resume(event.option_id)

    def action_close(self) -> None:
        """Back."""
        _ = self.dismiss()

    def action_filter(self) -> None:
        """Filter the list."""
        self.query_one(FilterLine).open_for(self.query_one(Choices))

    def action_export(self) -> None:
        """Write it as a file."""
        self.program.export_session(self.query_one(Choices).chosen)

    def action_bring_in(self) -> None:
        """Open a file that a colleague sent."""
        title = f"Path of a file that ends in {EXPORT_ENDING} (Right completes)"
        self.program.open(LineDialog(title, completes_paths=True), self._bring_in)

    def action_delete(self) -> None:
        """Delete it, once that is confirmed."""
        session = self.query_one(Choices).chosen
        if session is None or session == "none":
            return
        rows = [Row("no", Content("Keep it")), Row("yes", Content("Delete it, with its recordings"))]

        def take(answer: str | None) -> None:
            if answer == "yes":
                self._delete(session)

        self.program.open(PickDialog(f"Delete session {session}?", rows), take)

    def _delete(self, session: str) -> None:
        try:
            self.program.conductor.store.delete(session)
        except (SessionError, OSError) as error:
            self.notify(str(error), severity="error", markup=False)
        self.refresh_all()

    def _bring_in(self, path: str | None) -> None:
        if path and path.strip():
            self.program.bring_in(path.strip())


def _row(info: SessionInfo) -> Content:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.changed_at))
    summary = {name: str(value) for name, value in info.summary.items()}
    outcome = f", {summary['outcome']}" if summary.get("outcome") else ""
    return lines(
        Content.assemble((when, "bold"), "  ", text(summary.get("origin", "")), f"  at: {summary.get('place', '?')}"),
        text(f"    {summary.get('cause') or 'no cause found yet'}{outcome}", "$text-muted"),
    )
