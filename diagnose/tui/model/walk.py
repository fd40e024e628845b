"""The state of a walk, and how each event changes it. Pure: equal events give equal walks, so a resume is exact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce, singledispatch
from typing import Any

from pydantic import BaseModel, ConfigDict

from diagnose.report.model import Report, ReportCause, ReportFix, ReportInput
from diagnose.tui.model.events import (
    Answered,
    CauseChosen,
    Collected,
    Event,
    Moved,
    Noted,
    Origin,
    PartState,
    Picture,
    Place,
    Ranked,
    Saved,
    Started,
    StepMarked,
    StepState,
    SymptomsChosen,
    Verified,
)


class Run(BaseModel):
    """What one collection gave."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    number: int
    facts: tuple[dict[str, Any], ...]
    inputs: tuple[ReportInput, ...]
    parts: tuple[PartState, ...]
    complete: bool
    pictures: tuple[Picture, ...] = ()


class Walk(BaseModel):
    """Where a walk stands."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    origin: Origin | None = None
    place: Place = Place.START
    symptoms: tuple[str, ...] = ()
    symptoms_said: bool = False
    """Whether the operator answered the question for symptoms, be it with `I don't know`."""
    before: Run | None = None
    after: Run | None = None
    """What was read to verify a fix."""
    runs: int = 0
    """Collections so far, which numbers their folders."""
    answers: tuple[Answered, ...] = ()
    answers_after: tuple[Answered, ...] = ()
    """Checks that were repeated to verify a fix."""
    report: Report | None = None
    previous: Report | None = None
    """The ranking before the last answer, for what it moved."""
    report_after: Report | None = None
    cause: str | None = None
    fix: int = 0
    steps: Mapping[str, StepState] = {}
    """What became of steps, by `cause/fix/step`."""
    notes: tuple[Noted, ...] = ()
    verdicts: Mapping[str, Verified] = {}
    """The last verification of each cause."""
    saved: tuple[str, ...] = ()
    past: tuple[Event, ...] = ()
    """What happened, without the facts, for the report."""

    @property
    def facts(self) -> tuple[dict[str, Any], ...]:
        """All that the ranking rests on: what was read, then what checks gave."""
        read = () if self.before is None else self.before.facts
        return (*read, *(fact for answer in self.answers for fact in answer.facts))

    @property
    def facts_after(self) -> tuple[dict[str, Any], ...]:
        """All that a verification rests on."""
        read = () if self.after is None else self.after.facts
        return (*read, *(fact for answer in self.answers_after for fact in answer.facts))

    @property
    def inputs_after(self) -> tuple[ReportInput, ...]:
        """What became of the inputs of a verification."""
        read = () if self.after is None else self.after.inputs
        return (*read, *(item for answer in self.answers_after for item in answer.inputs))

    @property
    def to_repeat(self) -> tuple[str, ...]:
        """Checks whose output the ranking rests on and that were not repeated to verify a fix."""
        repeated = {answer.check for answer in self.answers_after}
        return tuple(answer.check for answer in self.answers if answer.facts and answer.check not in repeated)

    @property
    def inputs(self) -> tuple[ReportInput, ...]:
        """What became of the inputs, those of checks included."""
        read = () if self.before is None else self.before.inputs
        return (*read, *(item for answer in self.answers for item in answer.inputs))

    def ranked(self, cause: str | None) -> ReportCause | None:
        """A cause as it is ranked now."""
        causes = () if self.report is None else self.report.causes
        return next((item for item in causes if item.id == cause), None)

    @property
    def chosen(self) -> ReportCause | None:
        """The cause that the operator turned to, else the most probable one."""
        found = self.ranked(self.cause)
        if found is None and self.report is not None and self.report.causes:
            return self.report.causes[0]
        return found

    @property
    def chosen_fix(self) -> ReportFix | None:
        """The fix that the operator turned to."""
        cause = self.chosen
        if cause is None or not cause.fixes:
            return None
        return cause.fixes[min(self.fix, len(cause.fixes) - 1)]

    def step_state(self, cause: str, fix: int, step: int) -> StepState:
        """What became of a step."""
        return self.steps.get(f"{cause}/{fix}/{step}", StepState.OPEN)

    def fix_states(self, cause: str, fix: int, count: int) -> list[StepState]:
        """What became of all steps of a fix."""
        return [self.step_state(cause, fix, step) for step in range(count)]

    def carried_out(self, cause: str) -> bool:
        """Whether the steps of a fix of the cause were gone through, at least one of them done and none failed."""
        found = self.ranked(cause)
        for number, fix in enumerate(found.fixes if found is not None else ()):
            states = self.fix_states(cause, number, len(fix.steps))
            if StepState.DONE in states and not {StepState.OPEN, StepState.FAILED} & set(states):
                return True
        return False


def walk_of(events: Iterable[Event]) -> Walk:
    """The walk that events add up to."""
    return reduce(apply, events, Walk())


def apply(walk: Walk, event: Event) -> Walk:
    """The walk after one more event."""
    after = _changed(event, walk)
    kept = event if not isinstance(event, Collected | Answered | Ranked) else _without_facts(event)
    return after if kept is None else after.model_copy(update={"past": (*after.past, kept)})


def _without_facts(event: Collected | Answered | Ranked) -> Event | None:
    if isinstance(event, Ranked):
        return None
    empty: dict[str, object] = {"facts": (), "inputs": ()}
    if isinstance(event, Collected):
        empty["pictures"] = ()
    return event.model_copy(update=empty)


@singledispatch
def _changed(event: Event, _walk: Walk) -> Walk:
    raise TypeError(f"no transition for {type(event).__name__}")


@_changed.register
def _(event: Started, _walk: Walk) -> Walk:
    return Walk(origin=event.origin, place=Place.SYMPTOM)


@_changed.register
def _(event: SymptomsChosen, walk: Walk) -> Walk:
    return walk.model_copy(update={"symptoms": event.symptoms, "symptoms_said": True})


@_changed.register
def _(event: Collected, walk: Walk) -> Walk:
    run = Run(
        number=event.run,
        facts=event.facts,
        inputs=event.inputs,
        parts=event.parts,
        complete=event.complete,
        pictures=event.pictures,
    )
    if event.purpose == "verify":
        return walk.model_copy(update={"after": run, "runs": event.run, "answers_after": ()})
    # What was answered about the machine as it was says nothing of the machine as it is read now.
    fresh = {"before": run, "answers": (), "report": None, "previous": None, "after": None, "report_after": None}
    fresh |= {"answers_after": ()}
    return walk.model_copy(update={**fresh, "runs": event.run})


@_changed.register
def _(event: Ranked, walk: Walk) -> Walk:
    if event.purpose == "verify":
        return walk.model_copy(update={"report_after": event.report})
    return walk.model_copy(update={"report": event.report, "previous": walk.report})


@_changed.register
def _(event: Answered, walk: Walk) -> Walk:
    name = "answers_after" if event.purpose == "verify" else "answers"
    others = tuple(answer for answer in getattr(walk, name) if answer.check != event.check)
    return walk.model_copy(update={name: (*others, event)})


@_changed.register
def _(event: CauseChosen, walk: Walk) -> Walk:
    return walk.model_copy(update={"cause": event.cause, "fix": event.fix})


@_changed.register
def _(event: StepMarked, walk: Walk) -> Walk:
    key = f"{event.cause}/{event.fix}/{event.step}"
    return walk.model_copy(update={"steps": {**walk.steps, key: event.state}})


@_changed.register
def _(event: Noted, walk: Walk) -> Walk:
    others = tuple(note for note in walk.notes if note.about != event.about)
    return walk.model_copy(update={"notes": (*others, event) if event.text else others})


@_changed.register
def _(event: Verified, walk: Walk) -> Walk:
    return walk.model_copy(update={"verdicts": {**walk.verdicts, event.cause: event}})


@_changed.register
def _(event: Saved, walk: Walk) -> Walk:
    return walk.model_copy(update={"saved": (*walk.saved, event.path)})


@_changed.register
def _(event: Moved, walk: Walk) -> Walk:
    return walk.model_copy(update={"place": event.place})
