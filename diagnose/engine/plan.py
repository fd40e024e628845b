"""Rules taken apart into conjunctive queries, the only form that is handed to the rule library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from diagnose.engine.errors import EngineError
from diagnose.engine.evaluate import COMPARE
from diagnose.knowledge.expression import Atom, Comparison, Conjunction, fields_of
from diagnose.knowledge.rule import Rule, RulePattern
from diagnose.knowledge.vocabulary import Vocabulary, fields_of_kind

MAX_PATTERNS = 15
"""The library keeps the facts of one match in a table of 16."""
MAX_QUERIES = 256
"""Combinations of alternatives of one rule."""


@dataclass(frozen=True, slots=True)
class Query:
    """Facts of the given kinds, all different, for which all atoms hold."""

    id: str
    rule: str
    """Id of the rule that it belongs to."""
    kinds: Mapping[str, str]
    """Alias to kind, in the order in which the facts are joined."""
    atoms: Conjunction


@dataclass(frozen=True, slots=True)
class CountPlan:
    """How one counted pattern is counted: the facts found for each combination of the facts that it refers to."""

    pattern: RulePattern
    aliases: tuple[str, ...]
    """Matched patterns that the count depends on; a query's last fact is the counted one."""
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class RulePlan:
    """The queries of a rule. Without matched patterns there is one combination, of no facts."""

    rule: Rule
    matched: tuple[Query, ...]
    counts: tuple[CountPlan, ...]

    def queries(self) -> Iterable[Query]:
        """Every query of the rule."""
        yield from self.matched
        for count in self.counts:
            yield from count.queries


def plan_rule(rule: Rule, vocabulary: Vocabulary) -> RulePlan:
    """Expand `or`, and give each counted pattern its own queries. Raises EngineError for rules that cannot be run."""
    _check(rule, vocabulary)
    by_alias = {pattern.alias: pattern for pattern in rule.matched}
    return RulePlan(
        rule,
        _queries(rule, "", rule.matched) if rule.matched else (),
        tuple(_plan_count(rule, pattern, by_alias) for pattern in rule.counted),
    )


def _plan_count(rule: Rule, pattern: RulePattern, matched: Mapping[str, RulePattern]) -> CountPlan:
    needed: set[str] = set()
    waiting = list(pattern.other_aliases())
    while waiting:
        alias = waiting.pop()
        if alias not in needed:
            needed.add(alias)
            waiting += matched[alias].other_aliases()
    # Only the facts that the count depends on are joined: the others would multiply the matches for nothing.
    basis = [other for alias, other in matched.items() if alias in needed]
    return CountPlan(
        pattern,
        tuple(other.alias for other in basis),
        _queries(rule, f"{pattern.alias}.", [*basis, pattern]),
    )


def _queries(rule: Rule, label: str, patterns: Iterable[RulePattern]) -> tuple[Query, ...]:
    kinds = {pattern.alias: pattern.kind for pattern in patterns}
    combinations = list(product(*(pattern.condition for pattern in patterns)))
    if len(combinations) > MAX_QUERIES:
        raise EngineError(f"rule {rule.id}: {len(combinations)} combinations of alternatives; split the rule in two")
    return tuple(
        Query(
            f"{rule.id}/{label}{number}", rule.id, kinds, tuple(dict.fromkeys(atom for part in parts for atom in part))
        )
        for number, parts in enumerate(combinations)
    )


def _check(rule: Rule, vocabulary: Vocabulary) -> None:
    aliases = [pattern.alias for pattern in rule.patterns]
    if len(set(aliases)) < len(aliases):
        raise EngineError(f"rule {rule.id}: an alias is used twice")
    if len(rule.patterns) > MAX_PATTERNS:
        raise EngineError(f"rule {rule.id}: {len(aliases)} patterns; {MAX_PATTERNS} are the most")
    for kind in sorted(rule.kinds()):
        if kind not in vocabulary:
            raise EngineError(f"rule {rule.id}: no kind of fact is called {kind}")
    scope = {pattern.alias: fields_of_kind(vocabulary[pattern.kind]) for pattern in rule.patterns}
    matched = {pattern.alias for pattern in rule.matched}
    for pattern in rule.patterns:
        for unknown in sorted(pattern.other_aliases() - matched):
            raise EngineError(f"rule {rule.id}: {pattern.alias} refers to {unknown}, which is no matched fact")
        for conjunction in pattern.condition:
            for atom in conjunction:
                _check_atom(rule, atom, scope)


def _check_atom(rule: Rule, atom: Atom, scope: Mapping[str, Mapping[str, str]]) -> None:
    """The library accepts unknown operators and compares numbers with text; neither may reach it."""
    for field in fields_of(atom):
        if scope[field.alias].get(field.field) != field.type:
            raise EngineError(f"rule {rule.id}: {field.alias} has no {field.type} field {field.field}")
    if isinstance(atom, Comparison):
        if atom.operator not in COMPARE:
            raise EngineError(f"rule {rule.id}: operator {atom.operator} is unknown")
        if atom.left.type != atom.right.type:
            raise EngineError(f"rule {rule.id}: a {atom.left.type} is compared with a {atom.right.type}")
        if atom.left.type != "number" and atom.operator not in ("==", "!="):
            raise EngineError(f"rule {rule.id}: {atom.operator} needs numbers, not a {atom.left.type}")
