"""The knowledge base: everything under `rules/`, loaded, checked and ready for the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from diagnose.knowledge.derived_kinds import Derivation, Table
from diagnose.knowledge.rule import Rule
from diagnose.knowledge.schema import Cause, Check, Evidence, Example, Fix, Symptom, SymptomSign
from diagnose.knowledge.vocabulary import Vocabulary
from diagnose.knowledge.yaml_file import RuleError


class KnowledgeError(Exception):
    """Rule files that cannot be used; one error for each thing to mend."""

    def __init__(self, errors: Sequence[RuleError]) -> None:
        self.errors = list(errors)
        super().__init__("\n".join(str(error) for error in errors))


@dataclass(frozen=True)
class KnownEvidence:
    """A piece of evidence as written, and its rule."""

    written: Evidence
    rule: Rule


@dataclass(frozen=True)
class KnownCause:
    """A cause with all that its file says."""

    path: Path
    cause: Cause
    evidence: tuple[KnownEvidence, ...]
    checks: tuple[Check, ...]
    fixes: tuple[Fix, ...]
    references: tuple[str, ...]
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class KnownSymptom:
    """A symptom, and the rules that show that it is there."""

    symptom: Symptom
    signs: tuple[tuple[SymptomSign, Rule], ...]


@dataclass(frozen=True)
class KnowledgeBase:
    """Causes, symptoms, checks, tables and derived facts."""

    root: Path
    causes: Mapping[str, KnownCause]
    symptoms: Mapping[str, KnownSymptom]
    checks: Mapping[str, Check]
    tables: tuple[Table, ...]
    derivations: tuple[tuple[Derivation, ...], ...]
    """In the order in which they can be evaluated: each group needs only the ones before it."""
    vocabulary: Vocabulary

    @cached_property
    def host_rules(self) -> tuple[Rule, ...]:
        """The rules of evidence for causes on a host or a part of it, and the signs that a host shows."""
        return (*self._evidence_rules(job=False), *self._sign_rules("host"))

    @cached_property
    def job_rules(self) -> tuple[Rule, ...]:
        """The rules of evidence for causes that concern a whole job, and the signs that only a job shows."""
        return (*self._evidence_rules(job=True), *self._sign_rules("job"))

    def _sign_rules(self, subject: str) -> tuple[Rule, ...]:
        return tuple(rule for known in self.symptoms.values() for sign, rule in known.signs if sign.subject == subject)

    def _evidence_rules(self, job: bool) -> tuple[Rule, ...]:
        return tuple(
            item.rule
            for known in self.causes.values()
            if (known.cause.subject == "job") == job
            for item in known.evidence
        )
