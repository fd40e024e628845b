"""Follows prompts and headings through a captured terminal: which host and which command the lines below belong to."""

from __future__ import annotations

from dataclasses import dataclass

from collectors.commands import Command, understand
from collectors.marks import Mark, mark_of, under_ruler
from collectors.regions import Heading

_LINES_BELOW_RULER = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """What a line turned out to be."""

    taken: bool = False
    """It is a prompt, heading or ruler, not output; the state has changed."""
    command: Command | None = None
    """The command whose output follows."""
    soft: bool = False
    """A ruler, which says nothing right below a command: frames are drawn around commands."""
    waits: bool = False
    """It names a host if the next line confirms it."""
    confirms: bool = False
    """It confirms the line that waits."""


_OUTPUT = Seen()
_NO_COMMAND = understand("")


class Terminal:
    """Host and command that hold for the lines that follow.

    Attributes:
        heading: host and command line, as regions and blocks carry them.
        looking: whether the next line must be shown even if it contains none of the literals of a mark.
    """

    def __init__(self, host: str | None = None) -> None:
        self.heading = Heading(host, None)
        self.looking = False
        self._command: Command | None = None
        self._own_host = host
        """Host of the prompt or heading, without regard to `ssh` in the command."""
        self._ruler = ""
        self._below = 0
        self._waiting: str | None = None
        self._unfinished: str | None = None

    def look(self, text: str) -> Seen:
        """Take note of the next line, one that may be a prompt or heading."""
        seen = self._see(text)
        self.looking = self._below > 0 or self._unfinished is not None
        return seen

    def _see(self, text: str) -> Seen:
        if self._unfinished is not None:
            return self._typed_on(text)
        mark = mark_of(text)
        if self._waiting is not None:
            host, self._waiting = self._waiting, None
            if mark is not None and mark.ruler and text.startswith("-"):
                self._below = 0
                return self._take(Mark(host=host), confirms=True)
        if mark is not None and mark.ruler:
            self._ruler, self._below = text, _LINES_BELOW_RULER
            # Tables draw lines of dashes: those are output.
            if text.startswith("-"):
                return _OUTPUT
            return self._take(Mark(), soft=True)
        if mark is None and self._below:
            mark = self._under(text)
            if mark is not None and self._ruler.startswith("-"):
                self._waiting, self._below = mark.host, 1
                return Seen(waits=True)
        if mark is None:
            return _OUTPUT
        self._below = 0
        return self._take(mark)

    def _under(self, text: str) -> Mark | None:
        self._below -= 1
        if not text.strip():
            return None
        self._below = 0
        return under_ruler(self._ruler, text)

    def _typed_on(self, text: str) -> Seen:
        typed = f"{self._unfinished} {text.removeprefix('> ').strip()}"
        self._unfinished = None
        return self._take(Mark(command=understand(typed)))

    def _take(self, mark: Mark, *, soft: bool = False, confirms: bool = False) -> Seen:
        if mark.host is not None:
            self._own_host = mark.host
        if mark.command is not None and mark.command.text.endswith("\\"):
            self._unfinished = mark.command.text.rstrip("\\").strip()
            return Seen(taken=True, confirms=confirms)
        # Sections of several hosts follow one command (`pdsh ... | dshbak`): it holds until the next one.
        if not soft and (mark.command is not None or mark.host is None):
            self._command = mark.command
        command = self._command or _NO_COMMAND
        if command.program == "ssh" and command.host is not None:
            # A shell on the other host: prompts that follow need not name it.
            self._own_host = command.host
        self.heading = Heading(command.host or self._own_host, command.text or None)
        return Seen(taken=True, command=self._command if not soft else None, soft=soft, confirms=confirms)
