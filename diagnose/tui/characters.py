"""Terminals without Unicode get look-alikes of the characters that the screens are drawn with."""

from __future__ import annotations

import locale
import sys
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_LOOK_ALIKES = {
    "▲": "^", "▼": "v", "◆": "*", "●": "*", "○": "o", "►": ">", "✓": "+", "✗": "x", "→": ">", "←": "<", "↑": "^",
    "↓": "v", "└": "`", "├": "|", "│": "|", "─": "-", "…": "~", "\u203a": ">", "·": ".", "⏎": "<", "\u2013": "-",
    "—": "-", "┌": "+", "┐": "+", "┘": "+", "┤": "|", "┬": "+", "┴": "+", "┼": "+", "╭": "+", "╮": "+", "╰": "+",
    "╯": "+", "█": "#", "▉": "#", "▊": "|", "▋": "#", "▌": "|", "▍": "|", "▎": "|", "▏": "|", "▐": "|", "▕": "|",
    "▔": "-", "▁": "-", "▂": "-", "▃": "-", "▄": "-", "▅": "-", "▆": "-", "▇": "-", "░": ".", "▒": ":", "▓": "#",
    "━": "=", "┃": "|", "\u00d7": "x", "µ": "u", "°": "o",
}  # fmt: skip


def terminal_has_unicode() -> bool:
    """Whether the encoding of the terminal has the characters that the screens are drawn with."""
    encoding = getattr(sys.stdout, "encoding", None) or locale.getpreferredencoding(False)
    try:
        "▲✓└→".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@lru_cache(maxsize=4096)
def plain(words: str) -> str:
    """The words in ASCII, as wide as before."""
    if words.isascii():
        return words
    return "".join(
        letter if letter.isascii() else _LOOK_ALIKES.get(letter) or "?" * cell_len(letter) for letter in words
    )


class PlainCharacters(LineFilter):
    """Replaces all that is not ASCII on its way to the terminal."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Segments of one line, with look-alikes."""
        return [
            segment if segment.control or segment.text.isascii() else Segment(plain(segment.text), segment.style)
            for segment in segments
        ]
