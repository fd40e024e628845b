"""A list to choose from, with vi keys and a filter. Rows keep the cursor when the list changes under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option


class Row(NamedTuple):
    """A row: what is shown, by what it is found, and whether it can be chosen."""

    id: str
    content: Content
    heading: bool = False


class Choices(OptionList):
    """Shows rows. `enter_does` is what the footer says of Enter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Choose", key_display="Enter", id="list.choose"),
        Binding("j", "cursor_down", "Down", show=False, id="list.down"),
        Binding("k", "cursor_up", "Up", show=False, id="list.up"),
        Binding("g", "first", "First", show=False, id="list.first"),
        Binding("G", "last", "Last", show=False, id="list.last"),
        Binding("ctrl+d", "page_down", "Page down", show=False, id="list.page-down"),
        Binding("ctrl+u", "page_up", "Page up", show=False, id="list.page-up"),
    ]
    HELP = "Up and Down (or k and j) move, Enter chooses, / filters, Tab goes to the next part of the screen."

    def __init__(self, *, enter_does: str = "Choose", id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)
        self._rows: Sequence[Row] = ()
        self._words = ""
        self.say_enter(enter_does)

    def say_enter(self, does: str) -> None:
        """What the footer says of Enter."""
        keys = self._bindings.key_to_bindings
        keys["enter"] = [replace(binding, description=does) for binding in keys["enter"]]

    def show(self, rows: Sequence[Row]) -> None:
        """Show these rows; nothing is drawn where they are the same."""
        if [(row.id, row.content) for row in rows] != [(row.id, row.content) for row in self._rows]:
            self._rows = rows
            self._redraw()

    def filter(self, words: str) -> None:
        """Show only rows that hold all the words."""
        if words != self._words:
            self._words = words
            self._redraw()

    @property
    def chosen(self) -> str | None:
        """Id of the row under the cursor."""
        option = self.highlighted_option
        return None if option is None else option.id

    def put_cursor(self, row: str) -> None:
        """Move the cursor to a row, if it is shown."""
        index = next((at for at, option in enumerate(self.options) if option.id == row), None)
        if index is not None:
            self.highlighted = index

    def _redraw(self) -> None:
        before, at, offset = self.chosen, self.highlighted, self.scroll_offset
        words = self._words.lower().split()
        shown = [row for row in self._rows if all(word in row.content.plain.lower() for word in words)]
        options = [Option(row.content, row.id, disabled=row.heading) for row in shown]
        same = [option.id for option in options] == [option.id for option in self.options]
        if same:
            for option in options:
                assert option.id is not None
                self.replace_option_prompt(option.id, option.prompt)
            return
        self.set_options(options)
        if before is not None and any(option.id == before for option in options):
            self.put_cursor(before)
            self.scroll_to(y=offset.y, animate=False)
        elif at is not None and options:
            self.highlighted = min(at, len(options) - 1)
            if self.options[self.highlighted].disabled:
                self.action_first()
        else:
            self.action_first()
