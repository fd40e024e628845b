"""The file that evidence stands in, at its line: to look around, search, and copy."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Footer, Input, Static

from diagnose.printable import printable
from diagnose.tui.jobs.line_file import LineFile
from diagnose.tui.jobs.line_search import find
from diagnose.tui.jobs.raw_source import Found, RawSourceError, open_lines
from diagnose.tui.screens.dialog import Dialog
from diagnose.tui.widgets.raw_text import RawText

if TYPE_CHECKING:
    from diagnose.tui.app import DiagnoseApp

_POLL_SECONDS = 0.05
_LOOKS_AFTER_SECONDS = 2.0


class RawPlace(NamedTuple):
    """A line of a file. `read_at` is when it was read, to tell whether the file changed since."""

    name: str
    line: int
    found: Found
    read_at: datetime | None = None


class Opened(Message):
    """A file is open, or why it is not."""

    def __init__(self, place: RawPlace, file: LineFile | None, problem: str | None = None) -> None:
        super().__init__()
        self.place, self.file, self.problem = place, file, problem


class SearchEnded(Message):
    """A search ended."""

    def __init__(self, offset: int | None, line: int | None, went_round: bool) -> None:
        super().__init__()
        self.offset, self.line, self.went_round = offset, line, went_round


class RawScreen(Dialog[None]):
    """One place after another; the file is opened and counted in a thread, and what is there already is shown."""

    DEFAULT_CSS = """
    RawScreen { layout: vertical; align: left top; background: $background; }
    #raw-tells { height: 1; background: $surface; color: $text-accent; padding: 0 1; text-wrap: nowrap; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", key_display="Esc", id="raw.back"),
        Binding("slash", "search", "Search", key_display="/", id="raw.search"),
        Binding("n", "next(1)", "Next", id="raw.next"),
        Binding("N", "next(-1)", "Previous", id="raw.previous"),
        Binding("colon", "line", "Line", key_display=":", id="raw.line"),
        Binding("y", "copy", "Copy line", id="raw.copy"),
        Binding("tab", "place(1)", "Next place", key_display="Tab", id="raw.place"),
        Binding("question_mark,f1", "help", "Help", key_display="?", show=False, id="raw.help"),
        Binding("r", "open_again", "Open again", show=False, id="raw.again"),
        Binding("q", "back", "Back", show=False),
    ]

    def __init__(self, places: Sequence[RawPlace]) -> None:
        super().__init__()
        self._places = places
        self._at = 0
        self._file: LineFile | None = None
        self._stop = threading.Event()
        self._search_stop = threading.Event()
        self._searches = False
        self._copied = 0
        self._arrived = False
        self._words = ""
        self._asked = ""
        self._from = 0
        self._says = ""

    @property
    def place(self) -> RawPlace:
        """The place that is shown."""
        return self._places[self._at]

    def compose(self) -> ComposeResult:
        """Title, lines, a line that tells, a line to type in, keys."""
        yield Static(classes="title", id="raw-title")
        yield RawText()
        yield Static(id="raw-tells")
        yield Input(id="raw-line", compact=True)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Open the first place."""
        self.query_one(Input).display = False
        self.query_one(RawText).focus()
        self.set_interval(_POLL_SECONDS, self._follow)
        self.set_interval(_LOOKS_AFTER_SECONDS, self._look_after)
        self._open()

    def on_unmount(self) -> None:
        """Let the threads end."""
        self._let_go()

    def _let_go(self) -> None:
        self._stop.set()
        self._search_stop.set()
        self._searches = False
        self._file = None

    def _open(self) -> None:
        self._let_go()
        self._stop = threading.Event()
        self.query_one(RawText).show(None, None)
        self._arrived, self._copied, self._says = False, 0, "Opening ..."
        where = f"   (place {self._at + 1} of {len(self._places)}, Tab for the next)" if len(self._places) > 1 else ""
        self.query_one("#raw-title", Static).update(Content(printable(f"{self.place.name}:{self.place.line}{where}")))
        threading.Thread(target=self._open_and_count, args=(self.place, self._stop), daemon=True).start()
        self._tell()

    def _open_and_count(self, place: RawPlace, stop: threading.Event) -> None:
        """In a thread: open, then count lines until nobody looks any more."""
        try:
            file = open_lines(place.found, stop, self._note_copied)
        except OSError as error:
            # The cure comes first: a long path must not push it off the line.
            why = error.strerror or str(error)
            problem = f"{why}: put it back or allow reading it, then press r ({place.found.path})"
            self.post_message(Opened(place, None, problem))
            return
        except RawSourceError as error:
            self.post_message(Opened(place, None, str(error)))
            return
        if stop.is_set():
            return
        file.index_more(1)
        self.post_message(Opened(place, file))
        while not stop.is_set() and file.index_more():
            pass

    def _note_copied(self, size: int) -> None:
        self._copied = size

    def on_opened(self, message: Opened) -> None:
        """Show it."""
        if message.place is not self.place:
            return
        if message.file is None:
            self._says = message.problem or ""
            self._arrived = True
        else:
            self._file = message.file
            self._says = self._aged()
            self.query_one(RawText).show(message.file, self.place.line - 1)
        self._follow()

    def _aged(self) -> str:
        """A warning where the file is younger than what was read of it."""
        at = self.place.read_at
        try:
            changed = at is not None and self.place.found.path.stat().st_mtime > at.timestamp() + 1
        except OSError:
            return ""
        return (
            "The file changed after it was read: the line may be another. Esc, then r reads it again" if changed else ""
        )

    def _follow(self) -> None:
        """Take in what was counted, and go to the line once it is known."""
        file = self._file
        if file is not None:
            view = self.query_one(RawText)
            view.grow()
            if not self._arrived and (file.lines >= self.place.line or file.complete):
                self._arrived = True
                if file.lines < self.place.line:
                    self._says = (
                        f"The file has only {file.lines:,} lines now, line {self.place.line:,} is gone. "
                        "Esc, then r reads it again"
                    )
                view.go(max(0, min(self.place.line, file.lines) - 1))
                self._from = 0
        self._tell()

    def on_raw_text_moved(self) -> None:
        """Tell the line."""
        self._tell()

    def _look_after(self) -> None:
        if self._file is not None and self._file.changed:
            self._says = "The file is being changed: r opens it again"
            self._tell()

    def _tell(self) -> None:
        parts = []
        file = self._file
        if file is None and not self._arrived:
            parts.append(f"Opening, {self._copied / 1e6:,.0f} MB expanded ..." if self._copied else "Opening ...")
        elif file is not None:
            counting = "" if file.complete else f" (counting, {file.share:.0%})"
            parts.append(f"line {self.query_one(RawText).cursor + 1:,} of {file.lines:,}{counting}")
        if self._searches:
            parts.append(f"searching for {self._words!r}, Esc stops it")
        if self._says and (file is not None or self._arrived):
            parts.append(self._says)
        words = printable("  ·  ".join(parts))
        tells = self.query_one("#raw-tells", Static)
        if str(tells.content) != words:
            tells.update(Content(words), layout=False)

    # Keys

    def action_back(self) -> None:
        """Stop a search, close the line to type in, else close."""
        line = self.query_one(Input)
        if self._searches:
            self._search_stop.set()
            self._searches = False
            self._says = "The search was stopped"
            self._tell()
        elif line.display:
            self._close_line()
        else:
            _ = self.dismiss(None)

    def action_search(self) -> None:
        """Ask for words."""
        self._ask("words to search for; small letters find capitals too", self._words, "search")

    def action_line(self) -> None:
        """Ask for a line's number."""
        self._ask("number of a line", "", "line")

    def _ask(self, placeholder: str, value: str, name: str) -> None:
        line = self.query_one(Input)
        line.placeholder, self._asked = placeholder, name
        line.value = value
        line.display = True
        line.focus()

    def _close_line(self) -> None:
        self.query_one(Input).display = False
        self.query_one(RawText).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search, or go to a line."""
        self._close_line()
        if self._asked == "line":
            self._go_to(event.value)
        elif event.value:
            self._words = event.value
            self.query_one(RawText).mark(event.value if any(map(str.isupper, event.value)) else event.value.lower())
            self._search(1, include_here=True)

    def _go_to(self, value: str) -> None:
        file = self._file
        if file is None or not value.strip():
            return
        digits = value.replace(",", "").strip()
        if not digits.isdecimal():
            self._says = f"{value!r} is no line number"
        elif int(digits) > file.lines or int(digits) < 1:
            so_far = "" if file.complete else " so far"
            self._says = f"There are {file.lines:,} lines{so_far}"
        else:
            self._says = ""
            self.query_one(RawText).go(int(digits) - 1)
        self._tell()

    def action_next(self, way: int) -> None:
        """The next or previous place of what was searched for."""
        if self._words:
            self._search(way)
        else:
            self.action_search()

    def _search(self, way: int, include_here: bool = False) -> None:
        file, view = self._file, self.query_one(RawText)
        span = None if file is None else file.span(view.cursor)
        if file is None or span is None:
            return
        here = self._from if span.start <= self._from <= span.end else span.start
        fresh = include_here or here != self._from
        start = here if way < 0 or fresh else here + 1
        self._search_stop.set()
        self._search_stop = threading.Event()
        self._searches, self._says = True, ""
        threading.Thread(
            target=self._find, args=(file, self._words, start, way > 0, self._search_stop), daemon=True
        ).start()
        self._tell()

    def _find(self, file: LineFile, words: str, start: int, forwards: bool, stop: threading.Event) -> None:
        """In a thread: search, and count up to what was found."""
        offset = find(file, words, start, forwards=forwards, cancelled=stop)
        line = None if offset is None else file.line_at(offset)
        if not stop.is_set():
            went_round = offset is not None and (offset < start if forwards else offset >= start)
            self.post_message(SearchEnded(offset, line, went_round))

    def on_search_ended(self, message: SearchEnded) -> None:
        """Go there."""
        self._searches = False
        if message.offset is None or message.line is None:
            self._says = f"{self._words!r} does not occur"
        else:
            self._says = "from the other end" if message.went_round else ""
            self._from = message.offset
            self.query_one(RawText).go(message.line, message.offset)
        self._tell()

    def action_copy(self) -> None:
        """Copy the line under the cursor."""
        view = self.query_one(RawText)
        if self._file is not None and self._file.lines:
            cast("DiagnoseApp", self.app).copy(view.text_at(view.cursor))

    def action_place(self, by: int) -> None:
        """The next place where the evidence stands."""
        self._at = (self._at + by) % len(self._places)
        self._open()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The next place only where there is one."""
        return action != "place" or len(self._places) > 1

    def action_open_again(self) -> None:
        """Open the file again, where it was changed or put back."""
        self._open()

    def action_help(self) -> None:
        """What the keys do."""
        from diagnose.tui.help import help_dialog

        _ = self.app.push_screen(help_dialog(cast("DiagnoseApp", self.app)))
