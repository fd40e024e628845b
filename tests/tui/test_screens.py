"""What every screen shows, as text and style: at 80x24, at 140x45, and without colours."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from diagnose.tui.model.events import (
    Answered,
    Collected,
    Event,
    Moved,
    Noted,
    Outcome,
    Place,
    Ranked,
    StepMarked,
    StepState,
    Verified,
)
from tests.tui.driving import screen_lines, screen_text, take_to
from tests.tui.made import INPUTS, NOW, PARTS, cause, events, report

SMALL, LARGE = (80, 24), (140, 45)

ANSWERED: list[Event] = [
    *events(report(cause("narrow-link", "A PCIe link runs below its width", 0.6), cause("other", "Other", 0.3))),
    Answered(at=NOW, check="look", answer="output", facts=({"kind": "a"},), inputs=INPUTS[:1]),
    Ranked(at=NOW, purpose="diagnose", report=report()),
]
HALF_FIXED: list[Event] = [
    *events(),
    StepMarked(at=NOW, cause="narrow-link", fix=0, step=0, state=StepState.DONE),
    Noted(at=NOW, about="narrow-link, step 2", text="card was loose"),
]
FIXED: list[Event] = [
    *HALF_FIXED,
    *(StepMarked(at=NOW, cause="narrow-link", fix=0, step=step, state=StepState.DONE) for step in (1, 2)),
]
READ_AGAIN = Collected(at=NOW, purpose="verify", run=2, facts=(), inputs=INPUTS, parts=PARTS, complete=True)


def verified(outcome: Outcome, why: str) -> list[Event]:
    after = report(cause("memory-errors", "Memory errors are rising", 0.14, severity="critical"))
    return [
        *FIXED,
        READ_AGAIN,
        Ranked(at=NOW, purpose="verify", report=after),
        Verified(at=NOW, cause="narrow-link", outcome=outcome, why=why),
    ]


SCREENS: dict[str, tuple[Place, list[Event]]] = {
    "start": (Place.START, []),
    "symptom": (Place.SYMPTOM, events()),
    "collection": (Place.COLLECTION, events()),
    "causes": (Place.CAUSES, events()),
    "causes-none": (Place.CAUSES, events(report().model_copy(update={"causes": ()}))),
    "check": (Place.CHECK, events()),
    "fix": (Place.FIX, HALF_FIXED),
    "verify": (Place.VERIFY, FIXED),
    "verify-gone": (Place.VERIFY, verified(Outcome.GONE, "What spoke for it is not there any more")),
    "verify-still-there": (Place.VERIFY, verified(Outcome.STILL_THERE, "It is found again (93%)")),
    "verify-not-shown": (Place.VERIFY, verified(Outcome.NOT_SHOWN, "It was not read this time")),
    "report": (Place.REPORT, [*FIXED, Moved(at=NOW, place=Place.REPORT)]),
}


def picture(app: Any) -> str:
    """Text of the screen, each line with a digest of its styles."""
    rows = []
    for strip in screen_lines(app):
        styles = repr([(len(segment.text), str(segment.style)) for segment in strip])
        rows.append(f"{hashlib.sha256(styles.encode()).hexdigest()[:4]} {strip.text.rstrip()}")
    return "\n".join(rows)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "140x45"])
async def test_screens_look_as_they_did(size: tuple[int, int], at_place: Any, snapshot: SnapshotAssertion) -> None:
    async with at_place(Place.START, [], size=size) as (app, pilot):
        for name, (place, happened) in SCREENS.items():
            await take_to(app, pilot, place, happened)
            assert picture(app) == snapshot(name=name)


async def test_screens_without_colours_say_the_same(
    at_place: Any, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with at_place(Place.START, [], size=SMALL) as (app, pilot):
        assert app.monochrome
        for name, (place, happened) in SCREENS.items():
            await take_to(app, pilot, place, happened)
            assert picture(app) == snapshot(name=name)
            assert colours(app) <= {None}


async def test_a_terminal_without_unicode_gets_ascii_alone(at_place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGNOSE_CHARACTERS", "ascii")
    async with at_place(Place.START, [], size=SMALL) as (app, pilot):
        for place, happened in SCREENS.values():
            await take_to(app, pilot, place, happened)
            assert screen_text(app).isascii(), screen_text(app)
        await pilot.press("question_mark")
        await pilot.pause()
        assert "Keys that work here" in screen_text(app)
        assert screen_text(app).isascii()


async def test_severity_is_told_by_symbol_and_word(at_place: Any) -> None:
    async with at_place(Place.CAUSES, size=LARGE) as (app, _):
        assert {"◆ WARNING", "▲ CRITICAL", "● INFO"} <= {
            words for words in ("◆ WARNING", "▲ CRITICAL", "● INFO") if words in screen_text(app)
        }


def colours(app: Any) -> set[Any]:
    """Colours on the screen that are no shades of grey."""
    styles = [segment.style for strip in screen_lines(app) for segment in strip if segment.style is not None]
    used = {colour.triplet for style in styles for colour in (style.color, style.bgcolor) if colour is not None}
    return {triplet for triplet in used if triplet is not None and len(set(triplet)) > 1} or {None}
