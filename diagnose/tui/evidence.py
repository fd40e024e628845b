"""From a piece of evidence to the file that it stands in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content

from diagnose.report.model import ReportSource
from diagnose.tui.model.events import OriginKind
from diagnose.tui.model.walk import Walk
from diagnose.tui.say import lines, text
from diagnose.tui.screens.dialog import TextDialog

if TYPE_CHECKING:
    from diagnose.tui.app import DiagnoseApp

_AROUND = 200
"""Lines shown before and after the one that matters."""


def open_source(app: DiagnoseApp, places: Sequence[ReportSource]) -> None:
    """Show the file of the first place at its line."""
    place = places[0]
    path = located(place.path or "", app.conductor.walk, app.conductor.folder)
    if path is None:
        app.notify(f"{place.path} is not here to open; the session holds the facts only", markup=False)
        return
    try:
        app.open(TextDialog(f"{place.path}:{place.line or 1}", _excerpt(path, place.line or 1)))
    except OSError as error:
        app.notify(f"{path}: {error.strerror}", severity="error", markup=False)


def located(name: str, walk: Walk, folder: Path | None) -> Path | None:
    """Where a source's file lies, None where it does not (any more)."""
    first, _, rest = name.partition("/")
    if first == "files" and walk.origin is not None and walk.origin.kind is OriginKind.SIMULATION:
        from diagnose.simulate.environment import SCENARIOS

        path = SCENARIOS / (walk.origin.scenario or "") / "files" / rest
    elif folder is not None and first == "answers":
        path = folder / "recordings" / name
    elif folder is not None and (first == "live" or first.startswith("live-")):
        path = folder / "recordings" / (first.removeprefix("live").removeprefix("-") or "1") / rest
    else:
        path = Path(walk.origin.folder if walk.origin is not None else "") / name
    return path if path.is_file() else None


def _excerpt(path: Path, line: int) -> Content:
    shown: list[Content] = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, words in enumerate(file, start=1):
            if number < line - _AROUND:
                continue
            if number > line + _AROUND:
                break
            style = "reverse" if number == line else ""
            shown.append(text(f"{number:>7}  {words.rstrip()}", style))
    return lines(*shown)
