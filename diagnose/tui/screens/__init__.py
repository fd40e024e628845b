"""One module for each step of the walk, and for what opens above it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from diagnose.tui.model.events import Place

if TYPE_CHECKING:
    from diagnose.tui.screens.base import StepScreen

_SCREENS = {
    Place.START: "start:StartScreen",
    Place.SYMPTOM: "symptom:SymptomScreen",
    Place.COLLECTION: "collection:CollectionScreen",
    Place.CAUSES: "causes:CausesScreen",
    Place.CHECK: "check:CheckScreen",
    Place.FIX: "fix:FixScreen",
    Place.VERIFY: "verify:VerifyScreen",
    Place.REPORT: "report:ReportScreen",
}


def screen_for(place: Place) -> StepScreen:
    """A new screen for a step, its module loaded now, so that the first screen is there at once."""
    module, _, name = _SCREENS[place].partition(":")
    made: StepScreen = getattr(import_module(f"{__name__}.{module}"), name)()
    return made
