"""One session of the rule base over the facts of one host or job: tables, derived facts, then evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagnose.engine import Engine, Match
from diagnose.facts import Fact
from diagnose.knowledge.base import KnowledgeBase


@dataclass(frozen=True)
class Session:
    """What a session found."""

    facts: tuple[Fact, ...]
    """The facts given, then those of tables and derivations."""
    matches: Mapping[str, Sequence[Match]]
    """Matches by rule: of evidence and of the signs of symptoms."""

    def kinds(self) -> frozenset[str]:
        """Kinds of which there is at least one fact: what was observed at all."""
        return frozenset(fact.kind for fact in self.facts)


class SessionRunner:
    """The engines of a knowledge base, compiled once and used for many sessions."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self.knowledge = knowledge
        self._strata = [
            Engine([derivation.rule for derivation in stratum], knowledge.vocabulary)
            for stratum in knowledge.derivations
        ]
        self._host_engine = Engine(knowledge.host_rules, knowledge.vocabulary)
        self._job_engine = Engine(knowledge.job_rules, knowledge.vocabulary)

    def run_host(self, facts: Sequence[Fact]) -> Session:
        """Evaluate what concerns a host, its GPUs, NICs and devices, over the facts of that host."""
        return self._run(facts, self._host_engine)

    def run_job(self, facts: Sequence[Fact]) -> Session:
        """Evaluate what concerns a job as a whole, over the facts of all its hosts."""
        return self._run(facts, self._job_engine)

    def _run(self, facts: Sequence[Fact], final: Engine) -> Session:
        known = list(facts)
        for table in self.knowledge.tables:
            known += table.facts(facts)
        for engine, derivations in zip(self._strata, self.knowledge.derivations, strict=True):
            matches = engine.run(known)
            known += [
                derivation.fact(match.facts) for derivation in derivations for match in matches[derivation.rule.id]
            ]
        return Session(tuple(known), final.run(known))
