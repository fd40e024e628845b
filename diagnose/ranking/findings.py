"""From matches to findings: which instance of the cause a match is about, and its sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from diagnose.engine import Match
from diagnose.facts import UNNAMED_HOST, Fact, Source, Subject
from diagnose.knowledge.base import KnownCause, KnownEvidence
from diagnose.knowledge.compile import SUBJECT_LEVEL_FIELDS
from diagnose.knowledge.derived_kinds import field_value
from diagnose.knowledge.template import COUNT_FIELD, fill
from diagnose.ranking.model import Finding, InstanceKey

MAX_SOURCES = 8
"""Sources listed for one finding; a storm of matches is told by its first ones and its number."""

NOT_NAMED = "(not named)"
"""Stands in a sentence for a GPU that the input does not name, such as a cut-out section of a listing."""

JOB = "job"
"""Subject of causes that concern a whole job."""


def findings_of(known: KnownCause, matches: Mapping[str, Sequence[Match]]) -> list[Finding]:
    """One finding for every piece of evidence and instance that its matches are about."""
    found: list[Finding] = []
    for item in known.evidence:
        by_instance: dict[InstanceKey, list[Match]] = {}
        for match in matches.get(item.rule.id, ()):
            by_instance.setdefault(instance_of(known, item, match), []).append(match)
        found += [_finding(item, key, group) for key, group in by_instance.items()]
    return found


def instance_of(known: KnownCause, item: KnownEvidence, match: Match) -> InstanceKey:
    """The instance that a match is about: named by the evidence's `about`, else by the first fact of the level."""
    level = known.cause.subject
    if level == "job":
        return InstanceKey(JOB, JOB, Subject())
    about = item.written.about
    candidates = [match.facts[about]] if about else list(match.facts.values())
    host = next((fact.subject.host for fact in candidates if fact.subject.host), UNNAMED_HOST)
    field = SUBJECT_LEVEL_FIELDS.get(level)
    for fact in candidates:
        value = getattr(fact.subject, field) if field else None
        if value is not None and field is not None:
            subject = _narrowed(fact.subject, host, level)
            return InstanceKey(host, subject.path(), subject)
    return whole_host(host)


def whole_host(host: str) -> InstanceKey:
    """The instance of a cause that concerns a host as a whole."""
    return InstanceKey(host, host, Subject(host=host))


def _narrowed(subject: Subject, host: str, level: str) -> Subject:
    """The subject without what is below the level, so that two links of one GPU are one instance."""
    if level == "gpu":
        return Subject(host=host, gpu_index=subject.gpu_index, gpu_bus_id=subject.gpu_bus_id, gpu_uuid=subject.gpu_uuid)
    if level == "nic":
        return Subject(host=host, nic=subject.nic)
    return Subject(host=host, bus_id=subject.bus_id)


def _finding(item: KnownEvidence, key: InstanceKey, matches: Sequence[Match]) -> Finding:
    text = sentence(item.written.says, matches[0])
    if len(matches) > 1:
        text += f" (and {len(matches) - 1} more like it)"
    facts = [fact for match in matches for fact in (*match.facts.values(), *_counted(match))]
    return Finding(item.written, key, text, distinct_sources(facts), len(matches))


def _counted(match: Match) -> Iterable[Fact]:
    return (fact for group in match.counted.values() for fact in group)


def distinct_sources(facts: Iterable[Fact]) -> tuple[Source, ...]:
    """Sources in order, each once, at most MAX_SOURCES."""
    seen = dict.fromkeys(source for fact in facts for source in fact.sources)
    return tuple(seen)[:MAX_SOURCES]


def sentence(template: str, match: Match) -> str:
    """A rule's sentence with the values of one match."""

    def value(alias: str, field: str) -> object | None:
        if field == COUNT_FIELD and alias in match.counts:
            return match.counts[alias]
        value = field_value(match.facts[alias], field)
        return NOT_NAMED if value is None and field == "gpu" else value

    return fill(template, value)
