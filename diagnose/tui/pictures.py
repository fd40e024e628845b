"""Shows pictures of what speaks for a cause; they are drawn in a thread, since some rest on longer computations."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from diagnose.report.model import ReportCause
from diagnose.sessions.facts import facts_from_json
from diagnose.tui.drawings import Material, Picture, pictures_for
from diagnose.tui.model.walk import Walk
from diagnose.tui.say import lines, text
from diagnose.tui.screens.dialog import TextDialog

_FRAME, _WIDEST = 6, 110
"""Columns of the dialog around the pictures, and with them at most."""


class Drawn(Message):
    """The pictures are drawn, or could not be."""

    def __init__(self, pictures: Sequence[Picture], problem: str | None) -> None:
        super().__init__()
        self.pictures, self.problem = pictures, problem


class PicturesDialog(TextDialog):
    """Pictures of what speaks for a cause, as wide as the terminal allows when it is opened."""

    def __init__(self, cause: ReportCause, walk: Walk, width: int) -> None:
        super().__init__(f"Pictures for: {cause.title}", Content("Being drawn ..."))
        self._cause = cause
        self._walk = walk
        self._width = min(width * 9 // 10, _WIDEST) - _FRAME

    def on_mount(self) -> None:
        """Begin to draw."""
        threading.Thread(target=self._draw, daemon=True).start()

    def _draw(self) -> None:
        run = self._walk.before
        measured = () if run is None else tuple(Picture(item.title, item.rows) for item in run.pictures)
        try:
            facts, _ = facts_from_json(self._walk.facts)
            self.post_message(Drawn(pictures_for(Material(self._cause, facts, measured, self._width)), None))
        except Exception as error:  # a defect must end in a sentence, not in a picture that never comes
            self.post_message(Drawn((), f"The pictures cannot be drawn: {type(error).__name__}: {error}"))

    def on_drawn(self, message: Drawn) -> None:
        """Show them."""
        parts: list[Content] = []
        for picture in message.pictures:
            parts += [Content.styled(picture.title, "bold"), *(text(row) for row in picture.rows), Content("")]
        if not parts:
            parts.append(text(message.problem or "There is no picture for this cause."))
        self.query_one("VerticalScroll > Static", Static).update(lines(*parts))


def picture_dialog(cause: ReportCause, walk: Walk, width: int) -> PicturesDialog:
    """What shows the pictures for a cause."""
    return PicturesDialog(cause, walk, width)
