"""What opens above a step: help, a question, a text to paste."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static, TextArea

from diagnose.tui.widgets.choices import Choices, Row

Result = TypeVar("Result")


class Dialog(ModalScreen[Result | None], Generic[Result]):
    """Closes on Escape, with nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss_with_nothing", "Close", key_display="Esc", id="dialog.close")
    ]

    def action_dismiss_with_nothing(self) -> None:
        """Close."""
        _ = self.dismiss(None)


class TextDialog(Dialog[None]):
    """A text to read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,question_mark,f1", "dismiss_with_nothing", "Close", show=False),
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
    ]

    def __init__(self, title: str, content: Content) -> None:
        super().__init__()
        self._title_text = title
        self._content = content

    def compose(self) -> ComposeResult:
        """Title, text, keys."""
        with Vertical():
            yield Static(Content(self._title_text), classes="title")
            with VerticalScroll():
                yield Static(self._content)
        yield Footer(compact=True, show_command_palette=False)

    def action_scroll(self, way: str) -> None:
        """A line up or down."""
        pane = self.query_one(VerticalScroll)
        pane.scroll_down(animate=False) if way == "down" else pane.scroll_up(animate=False)


class PickDialog(Dialog[str]):
    """One of several rows."""

    def __init__(self, title: str, rows: list[Row]) -> None:
        super().__init__()
        self._title_text = title
        self._rows = rows

    def compose(self) -> ComposeResult:
        """Title, rows, keys."""
        with Vertical():
            yield Static(Content(self._title_text), classes="title")
            yield Choices(id="picks")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Fill in."""
        self.query_one(Choices).show(self._rows)
        self.query_one(Choices).focus()

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        """Chosen."""
        _ = self.dismiss(event.option_id)


class LineDialog(Dialog[str]):
    """One line of text, such as a path or a note."""

    def __init__(self, title: str, value: str = "", completes_paths: bool = False) -> None:
        super().__init__()
        self._title_text = title
        self._value = value
        self._completes_paths = completes_paths

    def compose(self) -> ComposeResult:
        """Title, line, keys."""
        from diagnose.tui.widgets.path_suggester import PathSuggester

        with Vertical():
            yield Static(Content(self._title_text), classes="title")
            yield Input(self._value, suggester=PathSuggester() if self._completes_paths else None)
        yield Footer(compact=True, show_command_palette=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Done."""
        _ = self.dismiss(event.value)


class PasteDialog(Dialog[str]):
    """A text of many lines to paste."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+d", "done", "Done, read it", priority=True, id="paste.done"),
    ]

    def __init__(self, title: str, value: str = "") -> None:
        super().__init__(classes="-full")
        self._title_text = title
        self._value = value

    def compose(self) -> ComposeResult:
        """Title, text, keys."""
        with Vertical():
            yield Static(Content(self._title_text), classes="title")
            yield TextArea(self._value)
        yield Footer(compact=True, show_command_palette=False)

    def action_done(self) -> None:
        """Hand the text over."""
        _ = self.dismiss(self.query_one(TextArea).text)
