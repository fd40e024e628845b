"""The path taken, as sentences for the report."""

from __future__ import annotations

from diagnose.report.model import ReportTaken
from diagnose.tui.model.events import (
    Answered,
    CauseChosen,
    Collected,
    Event,
    Noted,
    Origin,
    OriginKind,
    Outcome,
    Started,
    StepMarked,
    SymptomsChosen,
    Verified,
)
from diagnose.tui.model.walk import Walk

OUTCOMES = {Outcome.GONE: "gone", Outcome.STILL_THERE: "still there", Outcome.NOT_SHOWN: "not shown"}
_ANSWERS = {"yes": "yes", "no": "no", "unknown": "not known", "cannot": "cannot be done here"}


def path_taken(walk: Walk) -> tuple[ReportTaken, ...]:
    """What was done, in order; moves between screens say nothing and are left out."""
    told = ((event, _sentence(event, walk)) for event in walk.past)
    return tuple(ReportTaken(at=event.at, text=text) for event, text in told if text is not None)


def described(origin: Origin) -> str:
    """What is diagnosed, in words."""
    if origin.kind is OriginKind.MACHINE:
        return "this machine"
    if origin.kind is OriginKind.SIMULATION:
        return f"the simulated machine {origin.scenario}"
    if origin.kind is OriginKind.PROMETHEUS:
        return f"Prometheus at {origin.address}"
    return ", ".join(origin.paths[:3]) + (f" and {len(origin.paths) - 3} more" if len(origin.paths) > 3 else "")


def _sentence(event: Event, walk: Walk) -> str | None:
    match event:
        case Started():
            return f"Began with {described(event.origin)}"
        case SymptomsChosen():
            return f"Symptoms named: {', '.join(event.symptoms) or 'none, not known'}"
        case Collected():
            again = " again, to verify" if event.purpose == "verify" else ""
            cut = "" if event.complete else "; cut short"
            return f"Read {len(event.parts)} parts{again}{cut}"
        case Answered(answer="output"):
            again = " again" if event.purpose == "verify" else ""
            return f"Check {event.check}: its output was read{again}"
        case Answered():
            return f"Check {event.check}: {_ANSWERS[event.answer]}"
        case CauseChosen():
            return f"Turned to {event.cause}"
        case StepMarked():
            return f"Step {event.step + 1} of the fix for {event.cause}: {event.state.value}{_done(event, walk)}"
        case Noted(text=text) if text:
            return f"Note on {event.about}: {text}"
        case Verified():
            return f"Verified {event.cause}: {OUTCOMES[event.outcome]}. {event.why}"
        case _:
            return None


def _done(event: StepMarked, walk: Walk) -> str:
    cause = walk.ranked(event.cause)
    if cause is None or event.fix >= len(cause.fixes) or event.step >= len(cause.fixes[event.fix].steps):
        return ""
    return f" ({cause.fixes[event.fix].steps[event.step].do})"
