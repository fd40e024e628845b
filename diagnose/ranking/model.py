"""What ranking produces. Every number can be taken apart into the terms it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from diagnose.facts import Source, Subject
from diagnose.knowledge.base import KnownCause
from diagnose.knowledge.schema import Evidence
from diagnose.ranking.thresholds import ESTABLISHED as ESTABLISHED
from diagnose.ranking.thresholds import SUSPECTED as SUSPECTED


@dataclass(frozen=True)
class InstanceKey:
    """Which instance of a cause: its subject as reports print it, and the host for what concerns the whole host."""

    host: str
    subject: str
    about: Subject = field(compare=False)
    """The subject with every identifier that is known, for commands."""

    @property
    def whole_host(self) -> bool:
        """Whether the subject is the host itself, or the job."""
        return self.subject == self.host


@dataclass(frozen=True)
class Finding:
    """One piece of evidence on one instance: all matches of its rule there, told once."""

    evidence: Evidence
    instance: InstanceKey
    text: str
    sources: tuple[Source, ...]
    matches: int

    @property
    def log_weight(self) -> float:
        """Natural logarithm of the likelihood ratio."""
        return log(self.evidence.weight)


@dataclass(frozen=True)
class Term:
    """A finding as it counts in the sum: not at all when a stronger one of its group does."""

    finding: Finding
    counted: bool


@dataclass
class Instance:
    """A cause on one subject, with its probability and the terms it is made of."""

    known: KnownCause
    key: InstanceKey
    prior: float
    terms: Sequence[Term]
    probability: float
    notes: list[str] = field(default_factory=list)
    """Adjustments after the sum, in words: capped by a root, lowered by an exclusion."""
    root: Instance | None = None
    """The cause that explains this one."""

    @property
    def cause_id(self) -> str:
        """Id of the cause."""
        return self.known.cause.id

    def subject_value(self, name: str) -> str | None:
        """A field of the subject as text, None where it is not known."""
        value = getattr(self.key.about, name)
        return None if value is None else str(value)

    @property
    def put_forward(self) -> bool:
        """Whether anything speaks for it, and enough."""
        return self.probability >= SUSPECTED and any(term.finding.evidence.direction == "for" for term in self.terms)


@dataclass(frozen=True)
class Unseen:
    """Evidence that could not be judged because facts of these kinds are missing."""

    evidence: Evidence
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class NextCheck:
    """A check worth doing, with what it would tell apart."""

    id: str
    text: str
    command: str | None
    separates: tuple[str, ...]
    gain_bits: float
    cost_seconds: float
    risk: str
    privilege: str


@dataclass(frozen=True)
class RankedCause:
    """A cause with all its instances, the most probable first."""

    known: KnownCause
    instances: Sequence[Instance]
    unseen: Sequence[Unseen]
    looked: Sequence[str]
    """`Looked, found nothing` sentences of evidence that could be judged and did not match."""
    explains: tuple[str, ...]
    """Ids of ranked causes that this one explains."""

    @property
    def probability(self) -> float:
        """Of the most probable instance."""
        return self.instances[0].probability

    @property
    def cause_id(self) -> str:
        """Id of the cause."""
        return self.known.cause.id

    @property
    def put_forward(self) -> bool:
        """Whether any instance is put forward."""
        return any(instance.put_forward for instance in self.instances)


@dataclass(frozen=True)
class SymptomState:
    """Whether a symptom was seen in the facts or named by the operator."""

    id: str
    detected: bool
    asserted: bool
    signs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    """The answer: what is wrong, how sure that is, what to look at next."""

    hosts: tuple[str, ...]
    symptoms: Sequence[SymptomState]
    causes: Sequence[RankedCause]
    """Put forward, most probable first."""
    considered: Sequence[RankedCause]
    """All others, for `explain`."""
    checks: Sequence[NextCheck]
    problems: Sequence[str] = ()
    """What could not be diagnosed, one sentence each."""
    observed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Kinds of facts that were observed or would have been seen, by host, and under JOB for the job as a whole."""


JOB = "job"
"""Stands for a job as a whole where hosts are named."""
