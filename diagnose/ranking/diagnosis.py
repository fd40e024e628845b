"""Facts in, diagnosis out: a pure function of its inputs, without clock, network or globals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from diagnose.analysis import host_features, job_features, series_features, sharing
from diagnose.engine import EngineError, EngineUnavailable
from diagnose.engine.session import Session, SessionRunner
from diagnose.facts import UNNAMED_HOST, Fact
from diagnose.facts.series import Measurement
from diagnose.knowledge.base import KnowledgeBase, KnownCause
from diagnose.knowledge.vocabulary import Vocabulary
from diagnose.ranking.checks import next_checks
from diagnose.ranking.findings import findings_of, sentence
from diagnose.ranking.model import JOB, Diagnosis, Instance, NextCheck, RankedCause, SymptomState, Unseen
from diagnose.ranking.rank import apply_exclusions, by_cause, instances_of, link_roots, priors

MAX_CHECKS = 5
"""Checks proposed at once."""


def diagnose(
    runner: SessionRunner,
    facts: Sequence[Fact],
    asserted: Iterable[str] = (),
    series: Sequence[Measurement] = (),
) -> Diagnosis:
    """Rank the causes that facts and measurements speak for.

    `asserted` are ids of symptoms that the operator names.
    """
    knowledge = runner.knowledge
    asserted = tuple(asserted)
    hosts = facts_by_host([*facts, *series_features(series, facts), *sharing.features(facts)])
    known_facts = {host: [*own, *host_features(own)] for host, own in hosts.items()}
    everything = [fact for own in known_facts.values() for fact in own]
    problems: list[str] = []
    by_host = {
        host: session
        for host, own in known_facts.items()
        if (session := _attempt(runner.run_host, own, host, problems)) is not None
    }
    sessions = [*by_host.values()]
    job = _attempt(runner.run_job, [*everything, *job_features(everything)], "the job as a whole", problems)
    scaled = priors(knowledge, asserted)
    scopes = _Scopes(
        _Scope.of(sessions, knowledge.vocabulary), _Scope.of([] if job is None else [job], knowledge.vocabulary)
    )
    instances: list[Instance] = []
    for known in knowledge.causes.values():
        used = scopes.of(known).sessions
        findings = [finding for session in used for finding in findings_of(known, session.matches)]
        if findings:
            instances += instances_of(known, findings, scaled[known.cause.id])
    apply_exclusions(instances)
    link_roots(instances)
    explained = _explained(instances)
    ranked = [
        _ranked(group, scopes.of(group[0].known), explained.get(group[0].cause_id, ()))
        for group in by_cause(instances).values()
    ]
    ranked.sort(key=_order)
    put_forward = [cause for cause in ranked if cause.put_forward]
    return Diagnosis(
        hosts=tuple(hosts),
        symptoms=[_symptom_state(knowledge, symptom, asserted, scopes) for symptom in knowledge.symptoms],
        causes=put_forward,
        considered=[cause for cause in ranked if not cause.put_forward],
        checks=_checks(knowledge, put_forward, asserted, scaled, scopes),
        problems=tuple(problems),
        observed={
            name: _Scope.of([session], knowledge.vocabulary).looked_for
            for name, session in (*by_host.items(), *([] if job is None else [(JOB, job)]))
        },
    )


def _attempt(
    run: Callable[[Sequence[Fact]], Session], facts: Sequence[Fact], name: str, problems: list[str]
) -> Session | None:
    """A session, or None where a rule cannot be run on these facts: the other hosts are still diagnosed."""
    try:
        return run(facts)
    except EngineUnavailable:
        raise
    except EngineError as error:
        problems.append(f"{name} was not diagnosed: {error}")
        return None


def facts_by_host(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    """Facts grouped by host, hosts in order of name."""
    grouped: dict[str, list[Fact]] = {}
    for fact in facts:
        grouped.setdefault(fact.subject.host or UNNAMED_HOST, []).append(fact)
    return dict(sorted(grouped.items()))


@dataclass(frozen=True)
class _Scope:
    """The sessions that can tell of a cause, and what they tell of at all."""

    sessions: Sequence[Session]
    looked_for: frozenset[str]
    """Kinds that were observed, and those that would have been seen if there were any."""

    @classmethod
    def of(cls, sessions: Sequence[Session], vocabulary: Vocabulary) -> _Scope:
        found = frozenset().union(*(session.kinds() for session in sessions))
        return cls(sessions, found | {kind for kind, model in vocabulary.items() if model.seen_through in found})


@dataclass(frozen=True)
class _Scopes:
    hosts: _Scope
    job: _Scope

    def of(self, known: KnownCause) -> _Scope:
        return self.at(known.cause.subject)

    def at(self, subject: str) -> _Scope:
        return self.job if subject == "job" else self.hosts


def _order(cause: RankedCause) -> tuple[float, bool, int, str]:
    """Most probable first; of equals the root before what it explains, then the more severe."""
    return -cause.probability, cause.instances[0].root is not None, -cause.known.cause.severity.rank, cause.cause_id


def _explained(instances: Iterable[Instance]) -> Mapping[str, dict[str, None]]:
    """Ids of causes to those that an instance of theirs explains, each once."""
    explained: dict[str, dict[str, None]] = {}
    for instance in instances:
        if instance.root is not None:
            explained.setdefault(instance.root.cause_id, {})[instance.cause_id] = None
    return explained


def _ranked(group: Sequence[Instance], scope: _Scope, explains: Iterable[str]) -> RankedCause:
    known = group[0].known
    ordered = sorted(group, key=lambda instance: (-instance.probability, instance.key.subject))
    unseen, looked = _unjudged(known, scope)
    return RankedCause(known, ordered, unseen, looked, tuple(explains))


def _unjudged(known: KnownCause, scope: _Scope) -> tuple[list[Unseen], list[str]]:
    """Evidence whose facts are missing, and the sentences of evidence that was looked for and not found."""
    unseen: list[Unseen] = []
    looked: list[str] = []
    for item in known.evidence:
        absent = tuple(sorted(item.rule.kinds() - scope.looked_for))
        if absent:
            unseen.append(Unseen(item.written, absent))
        elif item.written.otherwise and not any(session.matches[item.rule.id] for session in scope.sessions):
            looked.append(item.written.otherwise)
    return unseen, looked


def _symptom_state(knowledge: KnowledgeBase, symptom: str, asserted: Sequence[str], scopes: _Scopes) -> SymptomState:
    signs = [
        sentence(sign.says, matches[0])
        for sign, rule in knowledge.symptoms[symptom].signs
        for session in scopes.at(sign.subject).sessions
        if (matches := session.matches[rule.id])
    ]
    return SymptomState(symptom, bool(signs), symptom in asserted, tuple(signs))


def _checks(
    knowledge: KnowledgeBase,
    causes: Sequence[RankedCause],
    asserted: Sequence[str],
    scaled: Mapping[str, float],
    scopes: _Scopes,
) -> list[NextCheck]:
    # What a root explains needs no check of its own.
    candidates = [(cause.known, cause.probability, cause.unseen) for cause in causes if cause.instances[0].root is None]
    listed = {cause.cause_id for cause in causes}
    for name, known in knowledge.causes.items():
        if name not in listed and set(asserted) & set(known.cause.symptoms):
            unseen, _ = _unjudged(known, scopes.of(known))
            candidates.append((known, scaled[name], unseen))
    return next_checks(candidates, MAX_CHECKS)
