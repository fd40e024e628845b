"""What became of the inputs: one report for each part that was recognised or could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import Field

from diagnose.facts import Fact
from diagnose.facts.base import Model
from diagnose.facts.series import Measurement


class Status(StrEnum):
    """How well a part of an input was read."""

    PARSED = "parsed"
    PARTIAL = "partial"
    UNRECOGNISED = "unrecognised"
    UNREADABLE = "unreadable"
    SKIPPED = "skipped"


class InputReport(Model):
    """One recognised part of an input, all parts of a kind in one file taken together, or one that was not read."""

    path: str = Field(description="File as given; `-` is standard input")
    kind: str = Field(description="Format, or `text`, `binary`, `archive`, `file`, `folder` where none was recognised")
    status: Status = Field(description="parsed, partial, unrecognised, unreadable or skipped")
    facts: int = Field(0, description="Facts that came of it")
    measurements: int = Field(0, description="Values over time, requests and events of traces that came of it")
    detail: str | None = Field(None, description="Why it was not read, or what in it could not be")
    first_line: int | None = Field(None, description="Where it begins, counted from 1")
    lines: int | None = Field(None, description="Lines of an unrecognised part, blank ones included")


@dataclass(frozen=True, slots=True)
class LineCount:
    """Where the lines of a file went; claimed, unrecognised and blank add up to the total."""

    total: int = 0
    claimed: int = 0
    unrecognised: int = 0
    blank: int = 0
    """Blank lines, rulers and dates that no format owns and that stand beside nothing unrecognised."""

    def __add__(self, other: LineCount) -> LineCount:
        return LineCount(
            self.total + other.total,
            self.claimed + other.claimed,
            self.unrecognised + other.unrecognised,
            self.blank + other.blank,
        )


@dataclass(frozen=True, slots=True)
class FileResult:
    """What one file gave."""

    path: str
    facts: list[Fact]
    reports: list[InputReport]
    lines: LineCount = LineCount()
    series: list[Measurement] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Readings:
    """What all inputs gave: facts in the order of reading, and one or more reports for each input."""

    facts: list[Fact] = field(default_factory=list)
    inputs: list[InputReport] = field(default_factory=list)
    series: list[Measurement] = field(default_factory=list)
