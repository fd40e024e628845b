"""What every step of the walk has around it: where one is, what comes next, and the keys that work."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from diagnose.tui.model.events import Place

TITLES = {
    Place.START: "Start",
    Place.SYMPTOM: "Symptom",
    Place.COLLECTION: "Collect",
    Place.CAUSES: "Causes",
    Place.CHECK: "Check",
    Place.FIX: "Fix",
    Place.VERIFY: "Verify",
    Place.REPORT: "Report",
}


class StepName(Static):
    """A step of the walk: its number is its key, and a click goes there too."""

    def __init__(self, place: Place, number: int, here: bool, reachable: bool) -> None:
        super().__init__(Content(f"{number} {TITLES[place]}"), classes="here" if here else "", disabled=not reachable)
        self._place = place

    async def on_click(self) -> None:
        """Go there."""
        await self.run_action(f"app.go('{self._place.value}')")


class StepBar(Horizontal):
    """All steps, the one at hand marked."""

    def __init__(self, here: Place, reachable: frozenset[Place]) -> None:
        super().__init__()
        self._here = here
        self._reachable = reachable

    def compose(self) -> ComposeResult:
        """The steps in their order."""
        for number, place in enumerate(Place, start=1):
            yield StepName(place, number, place is self._here, place in self._reachable)


class Heading(Static):
    """One line: what is diagnosed."""


class Hint(Static):
    """One line above the footer: what to do next."""
