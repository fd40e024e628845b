"""The JSON report, schema `diagnose.report/1`. Fields are only ever added."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA: Literal["diagnose.report/1"] = "diagnose.report/1"

InputStatus = Literal["parsed", "partial", "unrecognised", "unreadable", "skipped"]


class _Part(BaseModel):
    # Built when first used: the first screen of the terminal interface needs none of it.
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class ReportSource(_Part):
    """Where evidence can be looked at."""

    path: str | None
    line: int | None = None
    command: str | None = None


class ReportInput(_Part):
    """What became of one recognised part of an input, or of an input as a whole."""

    path: str
    kind: str | None
    status: InputStatus
    facts: int
    measurements: int = 0
    """Values over time, requests and events of traces, from which features are made."""
    detail: str | None = None
    line: int | None = None


class ReportSymptom(_Part):
    """A symptom that was detected or named."""

    id: str
    title: str
    detected: bool
    asserted: bool
    signs: tuple[str, ...] = ()


class ReportEvidence(_Part):
    """One piece of evidence on one subject."""

    rule: str
    direction: Literal["for", "against"]
    weight: float = Field(description="Natural logarithm of the likelihood ratio; negative for evidence against")
    counted: bool = Field(description="False when a stronger piece of the same group counts instead")
    group: str
    text: str
    subject: str
    weight_source: str
    sources: tuple[ReportSource, ...]


class ReportStep(_Part):
    """One step of a fix, with the values of the machine at hand."""

    do: str
    command: str | None = None
    setting: str | None = None
    expect: str | None = None


class ReportFix(_Part):
    """A fix."""

    title: str
    risk: str
    privilege: str
    steps: tuple[ReportStep, ...]
    verify: str
    filled_for: str | None = Field(default=None, description="The subject whose values the steps hold, if they do")


class ReportMissing(_Part):
    """Evidence that could not be judged."""

    rule: str
    kinds: tuple[str, ...]


class ReportInstance(_Part):
    """The probability on one subject, taken apart."""

    subject: str
    probability: float
    prior: float
    notes: tuple[str, ...] = ()
    explained_by: str | None = None


class ReportCause(_Part):
    """A cause that is put forward."""

    id: str
    title: str
    explanation: str
    symptoms: tuple[str, ...]
    component: str
    subjects: tuple[str, ...]
    probability: float
    severity: Literal["info", "warning", "critical"]
    root_of: tuple[str, ...]
    explained_by: str | None = Field(description="The cause that this one follows from, as `id@subject`")
    prior: float
    prior_source: str
    instances: tuple[ReportInstance, ...]
    evidence: tuple[ReportEvidence, ...]
    looked_and_found_nothing: tuple[str, ...]
    missing: tuple[ReportMissing, ...]
    fixes: tuple[ReportFix, ...]
    references: tuple[str, ...]


class ReportCheck(_Part):
    """A check worth doing next."""

    id: str
    text: str
    command: str | None
    separates: tuple[str, ...]
    expected_gain_bits: float
    cost_seconds: float
    risk: str
    privilege: str


class ReportTaken(_Part):
    """Something that the operator did on the way."""

    at: datetime
    text: str


class Report(_Part):
    """The whole answer."""

    schema_: Literal["diagnose.report/1"] = Field(default=SCHEMA, alias="schema")
    generated_at: datetime
    tool_version: str
    hosts: tuple[str, ...]
    inputs: tuple[ReportInput, ...]
    symptoms: tuple[ReportSymptom, ...]
    causes: tuple[ReportCause, ...]
    checks: tuple[ReportCheck, ...]
    problems: tuple[str, ...] = Field(default=(), description="What could not be diagnosed")
    simulated: tuple[str, ...] = Field(default=(), description="Scenarios that stood in for machines; none where empty")
    observed: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="Kinds of facts that were observed, or would have been seen, by host; `job` is the job as a whole",
    )
    path_taken: tuple[ReportTaken, ...] = Field(default=(), description="What was done in the terminal interface")
