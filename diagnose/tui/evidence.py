"""From a piece of evidence to the file that it stands in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.report.model import ReportSource
from diagnose.tui.jobs.raw_source import Found, find_file
from diagnose.tui.model.events import Collected, OriginKind
from diagnose.tui.model.walk import Walk
from diagnose.tui.screens.raw import RawPlace, RawScreen

if TYPE_CHECKING:
    from diagnose.tui.app import DiagnoseApp

_PLACES = 50
"""Places of one piece of evidence that can be gone through; more tell no more."""


def open_source(app: DiagnoseApp, places: Sequence[ReportSource]) -> None:
    """Show the files where a piece of evidence stands, at their lines; say what to do where none is here."""
    walk, folder = app.conductor.walk, app.conductor.folder
    read_at = next((event.at for event in reversed(walk.past) if isinstance(event, Collected)), None)
    found = [
        RawPlace(place.path, place.line or 1, file, read_at)
        for place in places[:_PLACES]
        if place.path is not None and (file := located(place.path, walk, folder)) is not None
    ]
    if found:
        app.open(RawScreen(found))
        return
    app.notify(_not_here(places[0].path or "", walk), severity="warning", markup=False, timeout=10)


def _not_here(name: str, walk: Walk) -> str:
    """What to do about a file that is gone."""
    if walk.origin is not None and walk.origin.kind is OriginKind.FILES:
        place = Path(walk.origin.folder) / name
        return f"{name} is not here. Put it back at {place}, or press 1 and read it from where it lies now"
    return f"{name} is not here: the session holds what was read of it, not the file. Press r to read again"


def located(name: str, walk: Walk, folder: Path | None) -> Found | None:
    """Where a source's file lies, None where it does not (any more)."""
    first, _, rest = name.partition("/")
    if first == "files" and walk.origin is not None and walk.origin.kind is OriginKind.SIMULATION:
        from diagnose.simulate.environment import SCENARIOS

        return find_file(rest, SCENARIOS / (walk.origin.scenario or "") / "files")
    if folder is not None and first == "answers":
        return find_file(name, folder / "recordings")
    if folder is not None and (first == "live" or first.startswith("live-")):
        return find_file(rest, folder / "recordings" / (first.removeprefix("live").removeprefix("-") or "1"))
    return find_file(name, Path(walk.origin.folder if walk.origin is not None else ""))
