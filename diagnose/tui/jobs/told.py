"""What jobs tell the interface. Plain data, handed over from their threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from diagnose.report.model import Report, ReportInput
from diagnose.tui.model.events import PartState, Picture


@dataclass(frozen=True)
class Reading:
    """Facts as JSON, and what became of the inputs."""

    facts: Sequence[dict[str, Any]] = field(default=(), repr=False)
    inputs: Sequence[ReportInput] = field(default=(), repr=False)
    pictures: Sequence[Picture] = field(default=(), repr=False)


@dataclass(frozen=True)
class PartChanged:
    """A part of a collection began, ended, or told something."""

    part: PartState


@dataclass(frozen=True)
class ReadSoFar:
    """What was read while other parts still run."""

    reading: Reading


@dataclass(frozen=True)
class Gathered:
    """A collection is over."""

    reading: Reading
    parts: Sequence[PartState]
    complete: bool


@dataclass(frozen=True)
class RankedSoFar:
    """Causes of what was read until now."""

    report: Report


@dataclass(frozen=True)
class RankingDone:
    """Causes of all that was read. `ticket` is what the ranking was asked with."""

    report: Report
    ticket: object


@dataclass(frozen=True)
class AnswerRead:
    """The output that the operator gave to a check was read; `path` is what sources call it."""

    check: str
    purpose: Literal["diagnose", "verify"]
    path: str
    reading: Reading


@dataclass(frozen=True)
class Failed:
    """A job ended in an error, told as a sentence."""

    sentence: str


Told = PartChanged | ReadSoFar | Gathered | RankedSoFar | RankingDone | AnswerRead | Failed
