"""The comparison, schema `diagnose.comparison/1`. Fields are only ever added."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA: Literal["diagnose.comparison/1"] = "diagnose.comparison/1"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class CauseVerdict(StrEnum):
    """What became of a cause."""

    GONE = "gone"
    """What spoke for it was looked for again and is not there any more."""
    STILL_THERE = "still-there"
    NOT_SHOWN = "not-shown"
    """What spoke for it was not observed again: nothing can be said."""
    CAME = "came"
    """It was not there before, although it would have been seen."""
    NEW = "new"
    """It is there now, and could not have been seen before."""


class CauseChange(_Part):
    """One cause, before and after."""

    id: str
    title: str
    severity: Literal["info", "warning", "critical"]
    verdict: CauseVerdict
    moved: bool = Field(description="It is found on other subjects than before, and on none of those")
    subjects_before: tuple[str, ...]
    subjects_after: tuple[str, ...]
    probability_before: float | None
    probability_after: float | None
    why: str = Field(description="One sentence")
    unobserved: tuple[str, ...] = Field((), description="Kinds of facts that the verdict would have needed")


class FactChange(_Part):
    """One field of one fact; a fact that came or went has no field."""

    kind: str
    subject: str
    name: str | None = Field(description="What tells the fact from others of its kind and subject, such as a name")
    field: str | None
    before: str | None
    after: str | None


class MeasuredChange(_Part):
    """One measured quantity, before and after."""

    quantity: str = Field(description="e.g. `ttft p99`, or the kind and field of a fact")
    subject: str
    unit: Literal["seconds", "bytes/s", "ratio", "1/s"]
    higher_is_better: bool
    before: float
    after: float
    before_values: int = Field(description="Requests or repeated measurements")
    after_values: int
    ratio: float = Field(description="After over before")
    ratio_low: float | None = Field(description="Lower end of the interval of the ratio; absent without one")
    ratio_high: float | None
    verdict: Literal["better", "worse", "not-shown"]
    why: str = Field(description="One sentence")


class SideSummary(_Part):
    """One of the two results."""

    name: str
    hosts: tuple[str, ...]
    facts: int | None = Field(description="Absent where only a report was given")
    requests: int | None
    incomplete: bool


class Comparison(_Part):
    """The whole answer."""

    schema_: Literal["diagnose.comparison/1"] = Field(default=SCHEMA, alias="schema")
    tool_version: str
    before: SideSummary
    after: SideSummary
    causes: tuple[CauseChange, ...]
    measured: tuple[MeasuredChange, ...]
    configuration: tuple[FactChange, ...] = Field(description="Settings, versions and topology")
    others: tuple[FactChange, ...] = Field(
        description="Other facts whose words changed, or numbers by a fifth and more"
    )
    others_left_out: int = Field(0, description="Further such changes that are not listed")
    notes: tuple[str, ...] = Field((), description="What could not be compared, and why")

    @property
    def worse(self) -> bool:
        """Whether anything got worse, or a cause of severity warning or above came."""
        return any(item.verdict == "worse" for item in self.measured) or any(
            item.verdict in (CauseVerdict.CAME, CauseVerdict.NEW) and item.severity != "info" for item in self.causes
        )
