"""Lines of a file of any size: only those that are seen are read and drawn."""

from __future__ import annotations

from collections import OrderedDict
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from collectors.stream import clean
from diagnose.printable import printable
from diagnose.tui.jobs.line_file import LineFile, Span
from diagnose.tui.jobs.line_search import needle_of

LONG_BYTES = 1 << 16
"""Of a longer line only the bytes in view are decoded: a column is a byte there."""
_STRIPS_KEPT = 512
_ASIDE = 16


class Shown(NamedTuple):
    """Text of a line from a column on."""

    text: str
    column: int


class RawText(ScrollView, can_focus=True):
    """The lines, their numbers, a cursor, the line that matters, and what was searched for."""

    DEFAULT_CSS = """
    RawText { height: 1fr; background: $background; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    RawText > .raw--number { color: $text-muted; }
    RawText > .raw--cursor { background: $primary 35%; }
    RawText > .raw--evidence { text-style: bold; background: $warning 25%; }
    RawText > .raw--found { text-style: reverse; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"raw--number", "raw--cursor", "raw--evidence", "raw--found"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", show=False, id="raw.down"),
        Binding("up,k", "move(-1)", "Up", show=False, id="raw.up"),
        Binding("pagedown,space,ctrl+d,ctrl+f", "page(1)", "Page down", show=False, id="raw.page-down"),
        Binding("pageup,ctrl+u,ctrl+b", "page(-1)", "Page up", show=False, id="raw.page-up"),
        Binding("home,g", "first", "First line", show=False, id="raw.first"),
        Binding("end,G", "last", "Last line", show=False, id="raw.last"),
        Binding("right,l", "aside(1)", "Right", show=False, id="raw.right"),
        Binding("left,h", "aside(-1)", "Left", show=False, id="raw.left"),
        Binding("0,circumflex_accent", "begin", "Begin of lines", show=False, id="raw.begin"),
        Binding("dollar_sign", "end", "End of the line", show=False, id="raw.end"),
    ]
    HELP = (
        "The file as it is; the line that the evidence names is marked with ►. Long lines are not wrapped: Left and "
        "Right (h and l) move along them, 0 and $ go to their begin and end. g and G go to the first and last line."
    )
    cursor: reactive[int] = reactive(0, init=False, repaint=False)

    class Moved(Message):
        """The cursor stands on another line."""

    def __init__(self, file: LineFile | None = None) -> None:
        super().__init__()
        self._file = file
        self._evidence: int | None = None
        self._words = ""
        self._widest = 0
        self._strips: OrderedDict[tuple[int, int, int], Strip] = OrderedDict()

    def show(self, file: LineFile | None, evidence: int | None) -> None:
        """Show a file; `evidence` is the line that matters, from 0."""
        self._file, self._evidence, self._widest = file, evidence, 0
        self.set_reactive(RawText.cursor, 0)
        self._strips.clear()
        self.grow()
        self.refresh()

    def grow(self) -> None:
        """Take in the lines that were counted since."""
        lines = 0 if self._file is None else self._file.lines
        size = Size(self._margin + self._widest + 1, lines)
        if size != self.virtual_size:
            self.virtual_size = size

    def mark(self, words: str) -> None:
        """Mark these words in what is shown."""
        if words != self._words:
            self._words = words
            self._strips.clear()
            self.refresh()

    def go(self, line: int, offset: int | None = None) -> None:
        """Put the cursor on a line, a third down the screen where that scrolls, with a byte of it in view."""
        self.grow()
        height = max(1, self.size.height)
        if not self.scroll_offset.y <= line < self.scroll_offset.y + height:
            self.scroll_to(y=max(0, line - height // 3), animate=False, force=True, immediate=True)
        self.cursor = line
        if offset is not None:
            self._bring_into_view(line, offset)

    def text_at(self, line: int) -> str:
        """The whole line, to copy; of a very long one the beginning."""
        span = self._span(line)
        return (
            ""
            if span is None or self._file is None
            else self._decoded(span.start, min(span.end, span.start + 1_000_000))
        )

    # Keys

    def action_move(self, by: int) -> None:
        """A line up or down."""
        self._go_within(self.cursor + by)

    def action_page(self, by: int) -> None:
        """A screen up or down."""
        self._go_within(self.cursor + by * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """To the first line."""
        self._go_within(0)

    def action_last(self) -> None:
        """To the last line that is known."""
        self._go_within(self._lines - 1)

    def action_aside(self, by: int) -> None:
        """Along the lines."""
        self.scroll_to(x=max(0, self.scroll_offset.x + by * _ASIDE), animate=False, force=True)

    def action_begin(self) -> None:
        """To the begin of lines."""
        self.scroll_to(x=0, animate=False, force=True)

    def action_end(self) -> None:
        """To the end of the line under the cursor."""
        self.scroll_to(x=max(0, self._width_of(self.cursor) - self._room // 2), animate=False, force=True)

    def watch_cursor(self, before: int, now: int) -> None:
        """Draw the two lines anew, and tell."""
        self.post_message(self.Moved())
        for line in (before, now):
            self.refresh_line(line)

    async def on_click(self, event: object) -> None:
        """Put the cursor there."""
        self._go_within(self.scroll_offset.y + getattr(event, "y", 0))

    # Drawing

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        line = self.scroll_offset.y + y
        width, aside = self.size.width, self.scroll_offset.x
        span = self._span(line)
        if span is None:
            return Strip.blank(width, self.rich_style)
        key = (line, aside, width)
        strip = self._strips.get(key) if line != self.cursor else None
        if strip is None:
            strip = self._drawn(line, span, width, aside)
            if line != self.cursor:
                self._strips[key] = strip
                if len(self._strips) > _STRIPS_KEPT:
                    self._strips.popitem(last=False)
        return strip

    def _drawn(self, line: int, span: Span, width: int, aside: int) -> Strip:
        style = self.rich_style
        if line == self._evidence:
            style += self.get_component_rich_style("raw--evidence", partial=True)
        if line == self.cursor:
            style += self.get_component_rich_style("raw--cursor", partial=True)
        number = self.get_component_rich_style("raw--number", partial=True)
        mark = "►" if line == self._evidence else " "
        head = Segment(f"{mark}{line + 1:>{self._margin - 3}} ", style + number)
        cursor = Segment(">" if line == self.cursor else " ", style)
        shown = self._shown(span, aside, self._room)
        body = Strip(self._segments(shown.text, style)).crop(aside - shown.column, aside - shown.column + self._room)
        self._take_width(
            shown.column + cell_len(shown.text) if span.end - span.start <= LONG_BYTES else self._width(span)
        )
        return Strip([head, cursor, *body]).adjust_cell_length(width, style)

    def _segments(self, text: str, style: Style) -> list[Segment]:
        """The text, with what was searched for marked."""
        needle = self._words
        if not needle:
            return [Segment(text, style)]
        looked_in = text if needle_of(needle)[1] else text.lower()
        marked = style + self.get_component_rich_style("raw--found", partial=True)
        parts: list[Segment] = []
        at = 0
        while (found := looked_in.find(needle, at)) >= 0 and len(looked_in) == len(text):
            parts += [Segment(text[at:found], style), Segment(text[found : found + len(needle)], marked)]
            at = found + len(needle)
        return [part for part in (*parts, Segment(text[at:], style)) if part.text]

    def _shown(self, span: Span, aside: int, room: int) -> Shown:
        """The text that stands in view, or more of it."""
        if span.end - span.start <= LONG_BYTES:
            return Shown(self._decoded(span.start, span.end), 0)
        ahead = len(self._words.encode())
        begin = max(span.start, span.start + aside - ahead)
        return Shown(self._decoded(begin, min(span.end, begin + room + 2 * ahead)), begin - span.start)

    def _decoded(self, start: int, end: int) -> str:
        """Bytes as text that prints, without what would command a terminal, as it was read."""
        data = b"" if self._file is None else self._file.read(start, end - start)
        return printable(clean(data.removesuffix(b"\r")).decode("utf-8", errors="surrogateescape").expandtabs())

    # Sizes

    @property
    def _lines(self) -> int:
        return 0 if self._file is None else self._file.lines

    @property
    def _margin(self) -> int:
        """Columns of numbers and marks."""
        return max(4, len(str(self._lines))) + 3

    @property
    def _room(self) -> int:
        """Columns for text."""
        return max(1, self.size.width - self._margin)

    def _span(self, line: int) -> Span | None:
        return None if self._file is None else self._file.span(line)

    def _width(self, span: Span) -> int:
        return span.end - span.start if span.end - span.start > LONG_BYTES else cell_len(self._decoded(*span))

    def _width_of(self, line: int) -> int:
        span = self._span(line)
        return 0 if span is None else self._width(span)

    def _take_width(self, width: int) -> None:
        """The widest line that was seen tells how far the lines can be moved along."""
        if width > self._widest:
            self._widest = width
            self.call_later(self.grow)

    def _go_within(self, line: int) -> None:
        line = min(max(0, line), max(0, self._lines - 1))
        height = max(1, self.size.height)
        top = self.scroll_offset.y
        if line < top:
            self.scroll_to(y=line, animate=False, force=True, immediate=True)
        elif line >= top + height:
            self.scroll_to(y=line - height + 1, animate=False, force=True, immediate=True)
        self.cursor = line

    def _bring_into_view(self, line: int, offset: int) -> None:
        span = self._span(line)
        if span is None:
            return
        before = offset - span.start
        self._take_width(self._width(span))
        self.grow()
        column = before if span.end - span.start > LONG_BYTES else cell_len(self._decoded(span.start, offset))
        if not self.scroll_offset.x <= column < self.scroll_offset.x + self._room - len(self._words):
            self.scroll_to(x=max(0, column - self._room // 3), animate=False, force=True, immediate=True)
