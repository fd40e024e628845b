"""Help for what has the focus: what can be done here, and the keys that work now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from diagnose.tui.say import lines
from diagnose.tui.screens.dialog import TextDialog

if TYPE_CHECKING:
    from diagnose.tui.app import DiagnoseApp

_ALWAYS = (
    ("1 to 8", "go to a step of the walk"),
    ("Tab, Left, Right, h, l", "go between the parts of the screen"),
    ("Up, Down, j, k", "move in a list"),
    ("/", "filter the list"),
    ("r", "read again"),
    ("Ctrl+S", "save the report as Markdown"),
    ("Ctrl+O", "earlier sessions"),
    ("Ctrl+P", "all actions by name"),
    ("Ctrl+T", "light or dark"),
    ("q", "quit; the session stays saved"),
)


def help_dialog(app: DiagnoseApp) -> TextDialog:
    """The help for the screen and the widget at hand."""
    return TextDialog("Help (Escape closes it)", lines(*_parts(app)))


def _parts(app: DiagnoseApp) -> Iterator[Content]:
    screen, focused = app.screen, app.screen.focused
    for owner in (screen, focused):
        words = getattr(owner, "HELP", None)
        if isinstance(words, str) and words:
            yield Content(words)
            yield Content("")
    yield Content.styled("Keys that work here", "bold")
    seen: set[str] = set()
    for _, binding, enabled, _ in screen.active_bindings.values():
        if enabled and binding.show and binding.description and binding.action not in seen:
            seen.add(binding.action)
            yield _line(
                app.get_key_display(binding),
                f"{binding.description}  ({binding.id})" if binding.id else binding.description,
            )
    yield Content("")
    yield Content.styled("Keys that work everywhere", "bold")
    for key, does in _ALWAYS:
        yield _line(key, does)
    yield Content("")
    yield Content.styled(
        "The words in parentheses are ids: `[keymap]` in the settings gives them other keys. "
        "The same answers without a full-screen interface: diagnose analyze.",
        "$text-muted",
    )


def _line(key: str, does: str) -> Content:
    return Content.assemble((f"  {key:<24}", "bold $text-accent"), does)
