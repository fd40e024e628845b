"""Plain text with wrapping and, on a terminal, colour."""

from __future__ import annotations

import shutil
import textwrap
from typing import TextIO

from rich.console import Console
from rich.text import Text

from diagnose.printable import printable, printable_lines

PIPE_WIDTH = 100
MAX_WIDTH = 120


class Paper:
    """Writes paragraphs to a stream; width and colour follow the terminal, `NO_COLOR` and `COLUMNS`."""

    def __init__(self, stream: TextIO) -> None:
        terminal = stream.isatty()
        self.width = min(shutil.get_terminal_size((PIPE_WIDTH, 24)).columns if terminal else PIPE_WIDTH, MAX_WIDTH)
        self._console = Console(
            file=stream, width=self.width, highlight=False, markup=False, emoji=False, force_terminal=terminal or None
        )

    def line(self, text: str = "", style: str = "") -> None:
        """One line, never wrapped: a command must stay in one piece. What does not print is escaped."""
        self._console.print(
            Text(printable(text), style=style), no_wrap=True, overflow="ignore", crop=False, soft_wrap=True
        )

    def paragraph(self, text: str, indent: str = "", first: str | None = None, style: str = "") -> None:
        """Wrapped text, in which line ends are blanks; `first` begins the first line and `indent` the others."""
        start = indent if first is None else first
        wrapped = textwrap.wrap(
            printable_lines(text),
            max(self.width, len(indent) + 20),
            initial_indent=start,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for row in wrapped or [start]:
            self.line(row, style)
