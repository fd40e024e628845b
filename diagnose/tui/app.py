"""The application: screens over one walk, keys, themes, and the way between steps."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.filter import LineFilter, Monochrome
from textual.message import Message
from textual.screen import Screen

from diagnose.report.model import Report, ReportCause, ReportSource
from diagnose.sessions.errors import SessionError
from diagnose.sessions.store import EXPORT_ENDING
from diagnose.settings import Settings
from diagnose.tui.characters import PlainCharacters, terminal_has_unicode
from diagnose.tui.conductor import Conductor
from diagnose.tui.jobs.told import PartChanged, Told
from diagnose.tui.model.events import Origin, OriginKind, Place, Saved
from diagnose.tui.palette import Actions
from diagnose.tui.screens import screen_for
from diagnose.tui.screens.base import StepScreen
from diagnose.tui.themes import DARK, LIGHT

Result = TypeVar("Result")
_RULES_AFTER_SECONDS = 0.1
_REDRAW_SECONDS = 0.1
"""Parts that change together are drawn together."""


class JobTold(Message):
    """A job told something from its thread."""

    def __init__(self, told: Told) -> None:
        super().__init__()
        self.told = told


class DiagnoseApp(App[None]):
    """Shows one walk. `origin` or `session` begin it without the start screen.

    Attributes:
        begins: whether what was named when the program was started is being opened.
    """

    TITLE = "diagnose"
    CSS_PATH = "diagnose.tcss"
    COMMANDS: ClassVar[set[type[Provider]]] = {Actions}  # type: ignore[assignment]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - as Textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "step_back", "Back", key_display="Esc", id="app.back"),
        Binding("question_mark,f1", "help", "Help", key_display="?", id="app.help"),
        Binding("q", "quit", "Quit", id="app.quit"),
        Binding("r", "read_again", "Read again", show=False, id="app.read-again"),
        Binding("ctrl+s", "save_report", "Save the report", show=False, id="app.save"),
        Binding("ctrl+o", "sessions", "Sessions", show=False, id="app.sessions"),
        Binding("ctrl+t", "toggle_light", "Light or dark", show=False, id="app.light"),
        Binding("l,right", "next_part", "Next part of the screen", show=False, id="app.next-part"),
        Binding("h,left", "previous_part", "Previous part of the screen", show=False, id="app.previous-part"),
        *(
            Binding(str(number), f"go('{place.value}')", f"Go to {place.value}", show=False, id=f"app.go-{place.value}")
            for number, place in enumerate(Place, start=1)
        ),
    ]

    def __init__(
        self,
        settings: Settings,
        *,
        origin: Origin | None = None,
        session: str | None = None,
        symptoms: Sequence[str] = (),
        conductor: Conductor | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings
        self._origin = origin
        self._session = session
        self._symptoms = symptoms
        self._redraw_due = False
        self.begins = origin is not None or session is not None
        # Before there is anything to draw: a change of colours later has all styles parsed anew.
        for known in (DARK, LIGHT):
            self.register_theme(known)
        if settings.theme in self.available_themes:
            self.theme = settings.theme
        self._plain = PlainCharacters(settings.characters == "ascii")
        if settings.characters == "auto":
            self._plain.enabled = not terminal_has_unicode()
        self.conductor = conductor or Conductor(settings, self.told)
        if not settings.animation:
            self.animation_level = "none"

    def told(self, told: Told) -> None:
        """Take what a job tells; may be called from any thread."""
        self.post_message(JobTold(told))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters, and plain characters where the terminal has no others."""
        return [*super().get_line_filters(), *([self._plain] if self._plain.enabled else [])]

    @property
    def monochrome(self) -> bool:
        """Whether colours are left out, as NO_COLOR asks."""
        return any(isinstance(item, Monochrome) for item in self.get_line_filters())

    def on_mount(self) -> None:
        """Show the first screen, then load what takes longer."""
        self.set_keymap(self.settings.keymap)
        self.open(screen_for(Place.START))
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        gc.enable()
        # Loading the rules keeps the interpreter busy, and the screen is not painted yet when it was first refreshed.
        self.set_timer(_RULES_AFTER_SECONDS, self.conductor.ranker.start)
        if self._session is not None:
            self.resume(self._session)
        elif self._origin is not None:
            self.begin(self._origin, self._symptoms)
        if self.begins and self.conductor.walk.origin is None:
            self.begins = False
            self.redraw()

    def on_unmount(self) -> None:
        """End what runs, and write down what is left."""
        self.conductor.leave()

    def on_job_told(self, message: JobTold) -> None:
        """Take it into the walk, and show it."""
        self.conductor.heard(message.told)
        if isinstance(message.told, PartChanged):
            if not self._redraw_due:
                self._redraw_due = True
                self.set_timer(_REDRAW_SECONDS, self.redraw)
            return
        self.redraw()

    def redraw(self) -> None:
        """Show the walk as it is now."""
        self._redraw_due = False
        for screen in self.screen_stack:
            if isinstance(screen, StepScreen):
                screen.refresh_all()

    # The way between steps

    def reachable(self) -> frozenset[Place]:
        """Steps that have something to show."""
        walk = self.conductor.walk
        places = {Place.START}
        if walk.origin is not None:
            places |= {Place.SYMPTOM, Place.COLLECTION, Place.CAUSES, Place.REPORT}
        if walk.report is not None:
            places.add(Place.CHECK)
            if walk.report.causes:
                places |= {Place.FIX, Place.VERIFY}
        return frozenset(places)

    def show(self, place: Place) -> None:
        """Turn to a step."""
        self.conductor.go(place)
        self.run_worker(self._turn_to(place), exclusive=True, group="steps")

    async def _turn_to(self, place: Place) -> None:
        """Close what stands above the step, and put another step in its place."""
        while not isinstance(self.screen, StepScreen):
            await self.pop_screen()
        await self.switch_screen(screen_for(place))
        self.begins = False

    def action_go(self, place: str) -> None:
        """Turn to a step by its name, if it has something to show."""
        wanted = Place(place)
        if wanted in self.reachable():
            self.show(wanted)
        else:
            self.notify("There is nothing to show there yet")

    def action_step_back(self) -> None:
        """To the step before."""
        screen = self.screen
        if not isinstance(screen, StepScreen):
            return
        places = [place for place in Place if place in self.reachable()]
        at = places.index(screen.place) if screen.place in places else 0
        if at > 0:
            self.show(places[at - 1])

    def action_next_part(self) -> None:
        """To the next part of the screen."""
        self.screen.focus_next()

    def action_previous_part(self) -> None:
        """To the previous part of the screen."""
        self.screen.focus_previous()

    # What a walk begins with

    def begin(self, origin: Origin, symptoms: Sequence[str] = ()) -> None:
        """Begin a new walk."""
        self.conductor.begin(origin, symptoms)
        self.show(Place.COLLECTION if symptoms else Place.SYMPTOM)

    def begin_with_paths(self, paths: Sequence[str]) -> None:
        """Begin with files; a session that a colleague sent is opened as such."""
        if len(paths) == 1 and paths[0].endswith(EXPORT_ENDING):
            self.bring_in(paths[0])
            return
        expanded = tuple(str(Path(path).expanduser()) if path.startswith("~") else path for path in paths)
        self.begin(Origin(kind=OriginKind.FILES, paths=expanded, folder=str(Path.cwd())))

    def resume(self, session: str) -> None:
        """Go on with a session where it stood."""
        try:
            self.conductor.resume(session)
        except (SessionError, OSError, ValueError) as error:
            self.notify(sentence(error), severity="error", markup=False, timeout=10)
            return
        self.show(self.conductor.walk.place)

    def bring_in(self, path: str) -> None:
        """Open a session that a colleague sent."""
        try:
            session = self.conductor.store.bring_in(Path(path).expanduser())
            session.close()
        except (SessionError, OSError) as error:
            self.notify(sentence(error), severity="error", markup=False, timeout=10)
            return
        self.resume(session.id)

    async def action_quit(self) -> None:
        """Leave, and say on the terminal how to come back."""
        session = self.conductor.session_id
        saved = self.conductor.walk.origin is not None and session is not None
        self.exit(message=f"The session is saved. To go on: diagnose tui --resume {session}" if saved else None)

    def action_sessions(self) -> None:
        """The list of sessions."""
        from diagnose.tui.screens.sessions import SessionsScreen

        if not isinstance(self.screen, SessionsScreen):
            self.open(SessionsScreen())

    def action_read_again(self) -> None:
        """Read the origin again, for the verification where that is shown."""
        walk = self.conductor.walk
        if walk.origin is None or self.conductor.gathers:
            return
        if isinstance(self.screen, StepScreen) and self.screen.place is Place.VERIFY and walk.chosen is not None:
            self.conductor.verify()
            self.redraw()
        else:
            self.conductor.collect("diagnose")
            self.show(Place.COLLECTION)

    # What is saved and copied

    def report(self) -> Report | None:
        """The report of the walk, with the path taken."""
        from diagnose.tui.model.path_taken import path_taken

        walk = self.conductor.walk
        return None if walk.report is None else walk.report.model_copy(update={"path_taken": path_taken(walk)})

    def action_save_report(self) -> None:
        """Save the report as Markdown."""
        self.save_report("markdown")

    def save_report(self, style: str) -> None:
        """Save the report into the folder that the settings name."""
        from diagnose.tui.exports import write_report

        report = self.report()
        if report is None:
            self.notify("There is nothing to save yet: nothing was ranked")
            return
        try:
            path = write_report(report, style, self.settings.report_folder.expanduser().absolute())
        except OSError as error:
            self.notify(sentence(error), severity="error", markup=False)
            return
        self.conductor.happened(Saved(at=self.conductor.now(), path=str(path)))
        self.notify(f"Saved: {path}", markup=False)
        self.redraw()

    def export_session(self, session: str | None) -> None:
        """Write a session as one file for a colleague."""
        if session is None:
            self.notify("This walk is not saved, so that there is no session to hand over")
            return
        path = self.settings.report_folder.expanduser() / f"{session}{EXPORT_ENDING}"
        try:
            self.conductor.write_down()
            self.conductor.store.export(session, path)
        except (SessionError, OSError) as error:
            self.notify(sentence(error), severity="error", markup=False)
            return
        self.notify(f"Written: {path}. It holds the facts and names of files, not the files.", markup=False, timeout=8)

    def copy(self, words: str) -> None:
        """Copy by the terminal (OSC 52), and leave the words where they can be taken from where it cannot."""
        from diagnose.tui.exports import leave_copy

        self.copy_to_clipboard(words)
        path = leave_copy(words, self.conductor.folder)
        beside = f" (if your terminal does not take it: it stands in {path})" if path is not None else ""
        self.notify(f"Copied{beside}", markup=False)

    # What opens above a step

    def open(self, screen: Screen[Result], take: Callable[[Result | None], None] | None = None) -> None:
        """Open a screen above the one at hand; `take` gets what it is closed with."""
        _ = self.push_screen(screen, take)

    def action_help(self) -> None:
        """Help for what has the focus."""
        from diagnose.tui.help import help_dialog

        self.open(help_dialog(self))

    def action_toggle_light(self) -> None:
        """Light to dark and back."""
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name

    def show_pictures(self, cause: ReportCause) -> None:
        """Pictures of what speaks for a cause."""
        from diagnose.tui.pictures import picture_dialog

        self.open(picture_dialog(cause, self.conductor.walk, self.size.width))

    def open_source(self, places: Sequence[ReportSource]) -> None:
        """Open files where evidence stands."""
        from diagnose.tui.evidence import open_source

        open_source(self, places)


def sentence(error: Exception) -> str:
    """An error as people read it."""
    if isinstance(error, OSError):
        return f"{error.filename or 'reading or writing failed'}: {error.strerror}"
    return str(error)
