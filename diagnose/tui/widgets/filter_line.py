"""The line that `/` opens, to filter the list above it."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from diagnose.tui.widgets.choices import Choices


class FilterLine(Input):
    """Filters a list while it is typed. Enter goes back to the list, Escape shows all of it again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "show_all", "Show all", key_display="Esc", id="filter.end"),
        Binding("enter", "keep", "To the list", key_display="Enter", id="filter.keep"),
        Binding("down", "keep", show=False),
    ]
    HELP = "Type words; rows that hold all of them stay. Enter goes back to the list, Escape shows all rows again."

    def __init__(self) -> None:
        super().__init__(placeholder="words that the rows must hold", id="filter", compact=True)
        self.display = False
        self._list: Choices | None = None

    def open_for(self, rows: Choices) -> None:
        """Begin to filter a list."""
        self._list = rows
        self.display = True
        self.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter at once."""
        event.stop()
        if self._list is not None:
            self._list.filter(self.value)

    def action_keep(self) -> None:
        """Back to the list, filtered."""
        if self._list is not None:
            self._list.focus()

    def action_show_all(self) -> None:
        """Back to the whole list."""
        self.value = ""
        self.display = False
        if self._list is not None:
            self._list.filter("")
            self._list.focus()
