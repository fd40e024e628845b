"""The shape of the files under `rules/`, as pydantic models. What goes beyond shape is checked in `compile`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from diagnose.facts import Missing

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
Alias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _source_says_something(value: str) -> str:
    if len(value) < 8:
        raise ValueError("name the document, code or table it comes from, or say `judgement: why`")
    return value


SourceText = Annotated[Text, AfterValidator(_source_says_something)]
"""Where a figure or a claim comes from; `judgement: ...` where it is ours."""


class Strict(BaseModel):
    """Frozen; a key that is not known is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=False)


class Severity(StrEnum):
    """How bad it is when the cause is present."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for the mildest."""
        return list(Severity).index(self)


class Strength(StrEnum):
    """Named likelihood ratios: how many times more often the evidence is seen with the cause than without it."""

    WEAK = "weak"
    MODERATE = "moderate"
    STRONG = "strong"
    CONCLUSIVE = "conclusive"

    @property
    def likelihood_ratio(self) -> float:
        """3, 10, 100 or 1000."""
        return {"weak": 3.0, "moderate": 10.0, "strong": 100.0, "conclusive": 1000.0}[self.value]


class Risk(StrEnum):
    """What a fix costs the users of the machine."""

    NONE = "none"
    RESTART_JOB = "restart-job"
    DRAIN = "drain"
    RESET = "reset"
    REBOOT = "reboot"
    HARDWARE = "hardware"

    @property
    def rank(self) -> int:
        """0 for the mildest."""
        return list(Risk).index(self)


class Privilege(StrEnum):
    """Who can do it."""

    USER = "user"
    ROOT = "root"
    SITE = "site"


SubjectLevel = Literal["host", "gpu", "nic", "device", "job"]
"""What a cause is an instance of: one per host, per GPU, per NIC, per PCI device, or one for the whole job."""


class Prior(Strict):
    """How often the cause is behind its symptoms before anything was looked at."""

    probability: float = Field(gt=0, lt=0.5)
    source: SourceText


class Pattern(Strict):
    """One fact that must be there (`fact`), must not (`none`), or is counted (`count`)."""

    fact: str | None = None
    none: str | None = None
    count: str | None = None
    as_: Alias = Field(alias="as")
    where: tuple[str, ...] = ()
    at_least: int | None = Field(default=None, ge=1)
    at_most: int | None = Field(default=None, ge=0)
    looked: str | None = None
    """Kind of fact that shows that the negated or counted one was looked for; its own kind by default."""

    @model_validator(mode="before")
    @classmethod
    def _one_condition_may_stand_alone(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("where"), str):
            return {**data, "where": (data["where"],)}
        return data

    @model_validator(mode="after")
    def _exactly_one_sort(self) -> Pattern:
        if sum(part is not None for part in (self.fact, self.none, self.count)) != 1:
            raise ValueError("say exactly one of `fact`, `none` and `count`")
        if self.count is None and (self.at_least is not None or self.at_most is not None):
            raise ValueError("`at_least` and `at_most` belong to `count`")
        if self.count is not None and self.at_least is None and self.at_most is None:
            raise ValueError("`count` needs `at_least`, `at_most` or both")
        if self.fact is not None and self.looked is not None:
            raise ValueError("`looked` belongs to `none` and `count`")
        return self

    @property
    def kind(self) -> str:
        """Kind of fact that the pattern is about."""
        return self.fact or self.none or self.count or ""


class Evidence(Strict):
    """A pattern in the facts that speaks for or against the cause."""

    id: Identifier
    direction: Literal["for", "against"] = "for"
    group: Identifier
    strength: Strength | None = None
    likelihood_ratio: float | None = Field(default=None, gt=1)
    source: SourceText
    when: tuple[Pattern, ...] = Field(min_length=1)
    about: Alias | None = None
    """Alias of the fact whose subject the evidence is about; by default the first that has one of the cause's level."""
    says: Text
    otherwise: Text | None = None

    @model_validator(mode="after")
    def _one_weight(self) -> Evidence:
        if (self.strength is None) == (self.likelihood_ratio is None):
            raise ValueError("say either `strength` or `likelihood_ratio`")
        return self

    @property
    def weight(self) -> float:
        """Likelihood ratio, above 1 for evidence for, below 1 for evidence against."""
        ratio = self.likelihood_ratio or (self.strength.likelihood_ratio if self.strength else 1.0)
        return ratio if self.direction == "for" else 1 / ratio


class Check(Strict):
    """Something to run or to look at that produces facts which may be missing."""

    id: Identifier
    text: Text
    command: Text | None = None
    provides: tuple[str, ...] = Field(min_length=1)
    cost_seconds: float = Field(default=10, gt=0)
    risk: Risk = Risk.NONE
    privilege: Privilege = Privilege.USER


class Step(Strict):
    """One thing to do."""

    do: Text
    command: Text | None = None
    """What a shell takes."""
    setting: Text | None = None
    """What goes into a program, a configuration or a program's arguments."""
    expect: Text | None = None


class Fix(Strict):
    """How to cure the cause, and how to see that it is cured."""

    title: Text
    risk: Risk
    privilege: Privilege
    steps: tuple[Step, ...] = Field(min_length=1)
    verify: Text


class Example(Strict):
    """Facts, and what must follow from them. Facts are flat: `{kind: xid, gpu_index: 0, code: 79, ...}`."""

    name: Text
    facts: tuple[Mapping[str, Any], ...] = Field(min_length=1)
    expect: Literal["cause", "evidence", "nothing"]
    """`cause`: put forward at 0.5 or above; `evidence`: something matches but it stays below; `nothing`: a near miss,
    which is not put forward at all."""
    evidence: tuple[Identifier, ...] = ()
    """Ids of evidence that must match, for or against."""


class Cause(Strict):
    """What is wrong."""

    id: Identifier
    title: Text
    explanation: Text
    symptoms: tuple[Identifier, ...] = Field(min_length=1)
    component: Identifier
    severity: Severity
    subject: SubjectLevel
    prior: Prior
    explains: tuple[Identifier, ...] = ()
    """Causes that follow from this one and are shown beneath it."""
    excludes: tuple[Identifier, ...] = ()
    """Causes that cannot be true on the same subject at the same time."""


class CauseFile(Strict):
    """A file `rules/<symptom>/<cause>.yaml`."""

    cause: Cause
    evidence: tuple[Evidence, ...] = Field(min_length=1)
    checks: tuple[Identifier | Check, ...] = Field(min_length=1)
    fixes: tuple[Fix, ...] = Field(min_length=1)
    references: tuple[Text, ...] = Field(min_length=1)
    examples: tuple[Example, ...] = Field(min_length=2)


class ColumnType(StrEnum):
    """Type of a column of a table or of a field of a derived fact."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    FLAG = "flag"


class Column(Strict):
    """A column of a reference table."""

    type: ColumnType
    description: Text


class TableKey(Strict):
    """Which field of which fact a row is looked up by."""

    fact: str
    field: str
    match: Literal["equal", "pattern"]
    """`equal` compares values; `pattern` searches the row's regular expression in the field. The first row wins."""


class Row(Strict):
    """One row: what it is for, and its values."""

    match: str | int | float
    values: Mapping[str, str | int | float | bool | None]
    source: SourceText | None = None


class TableFile(Strict):
    """A file `rules/tables/<kind>.yaml`: each fact that has a row yields a fact of the table's kind beside it."""

    table: Identifier
    description: Text
    source: SourceText
    key: TableKey
    columns: Mapping[str, Column]
    rows: tuple[Row, ...] = Field(min_length=1)


class DerivedField(Strict):
    """A field of a derived fact."""

    type: ColumnType
    description: Text
    value: Text


class DerivedFile(Strict):
    """A file `rules/derived/<kind>.yaml`: facts that follow from others and that rules share."""

    derived: Identifier
    description: Text
    source: SourceText
    when: tuple[Pattern, ...] = Field(min_length=1)
    subject: Alias
    fields: Mapping[str, DerivedField] = Field(default_factory=dict)


class Symptom(Strict):
    """What an operator notices."""

    id: Identifier
    title: Text
    question: Text
    detect: tuple[SymptomSign, ...] = ()


class SymptomSign(Strict):
    """A pattern that shows that the symptom is there."""

    id: Identifier
    subject: Literal["host", "job"] = "host"
    """Whether the pattern is looked for on each host, or over the facts of all hosts of a job."""
    source: SourceText
    when: tuple[Pattern, ...] = Field(min_length=1)
    says: Text


class SymptomFile(Strict):
    """The file `rules/symptoms.yaml`."""

    symptoms: tuple[Symptom, ...] = Field(min_length=1)


class CheckFile(Strict):
    """The file `rules/checks.yaml`: checks that several causes share."""

    checks: tuple[Check, ...] = Field(min_length=1)


REASONS = frozenset(Missing)
"""Reasons that `missing(field)` can be compared with."""
