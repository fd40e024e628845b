"""What can happen in a walk. A session is a list of these, and a walk is what they add up to."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from diagnose.report.model import Report, ReportInput


class Place(StrEnum):
    """Steps of the walk, in their order."""

    START = "start"
    SYMPTOM = "symptom"
    COLLECTION = "collection"
    CAUSES = "causes"
    CHECK = "check"
    FIX = "fix"
    VERIFY = "verify"
    REPORT = "report"


class OriginKind(StrEnum):
    """Where the facts come from."""

    MACHINE = "machine"
    FILES = "files"
    SIMULATION = "simulation"
    PROMETHEUS = "prometheus"


class StepState(StrEnum):
    """What became of a step of a fix."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class Outcome(StrEnum):
    """What a verification shows of a cause."""

    GONE = "gone"
    STILL_THERE = "still-there"
    NOT_SHOWN = "not-shown"
    """What would show it was not read this time."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Origin(_Part):
    """What is diagnosed."""

    kind: OriginKind
    paths: tuple[str, ...] = ()
    folder: str = Field(default="", description="Folder that relative paths count from")
    scenario: str | None = None
    address: str | None = Field(default=None, description="Address of the Prometheus server")


class Picture(_Part):
    """A picture made of characters, drawn when its data were read: they are too many to be saved."""

    sort: Literal["latency", "scaling", "topology", "gpus"]
    title: str
    rows: tuple[str, ...]


class PartState(_Part):
    """One part of a collection: a recorder of a machine, or a file."""

    name: str
    title: str
    state: str = Field(description="waiting, running, or how it ended, as recorders and inputs say it")
    seconds: float = 0.0
    found: int = Field(default=0, description="Facts")
    lacked: tuple[str, ...] = ()
    detail: str | None = None


class _Event(_Part):
    at: datetime


class Started(_Event):
    """A walk began."""

    type: Literal["started"] = "started"
    origin: Origin


class SymptomsChosen(_Event):
    """The operator said what they see; nothing where they do not know."""

    type: Literal["symptoms-chosen"] = "symptoms-chosen"
    symptoms: tuple[str, ...]


class Collected(_Event):
    """Facts were read. A later collection for the same purpose takes the place of the earlier one."""

    type: Literal["collected"] = "collected"
    purpose: Literal["diagnose", "verify"]
    run: int = Field(description="Number of the collection in this walk, from 1")
    facts: tuple[dict[str, Any], ...]
    inputs: tuple[ReportInput, ...]
    parts: tuple[PartState, ...]
    complete: bool = Field(description="False where it was cut short")
    pictures: tuple[Picture, ...] = Field(default=(), description="Of measurements, which are not saved")


class Ranked(_Event):
    """The facts were ranked."""

    type: Literal["ranked"] = "ranked"
    purpose: Literal["diagnose", "verify"]
    report: Report


class Answered(_Event):
    """A check was answered: with output that was read, in a word, or not at all."""

    type: Literal["answered"] = "answered"
    purpose: Literal["diagnose", "verify"] = "diagnose"
    check: str
    answer: Literal["output", "yes", "no", "unknown", "cannot"]
    path: str | None = Field(default=None, description="What the output is called in sources")
    facts: tuple[dict[str, Any], ...] = ()
    inputs: tuple[ReportInput, ...] = ()


class CauseChosen(_Event):
    """The operator turned to a cause and one of its fixes."""

    type: Literal["cause-chosen"] = "cause-chosen"
    cause: str
    fix: int = 0


class StepMarked(_Event):
    """A step of a fix was done, failed, was skipped, or was opened again."""

    type: Literal["step-marked"] = "step-marked"
    cause: str
    fix: int
    step: int
    state: StepState


class Noted(_Event):
    """The operator wrote something down."""

    type: Literal["noted"] = "noted"
    about: str
    text: str


class Verified(_Event):
    """The facts after the fix were compared with those before."""

    type: Literal["verified"] = "verified"
    cause: str
    outcome: Outcome
    why: str


class Saved(_Event):
    """A report was saved."""

    type: Literal["saved"] = "saved"
    path: str


class Moved(_Event):
    """The operator went to another step."""

    type: Literal["moved"] = "moved"
    place: Place


Event: TypeAlias = Annotated[
    Started
    | SymptomsChosen
    | Collected
    | Ranked
    | Answered
    | CauseChosen
    | StepMarked
    | Noted
    | Verified
    | Saved
    | Moved,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))
"""Reads and checks an event."""
