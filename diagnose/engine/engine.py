"""Rules matched against facts: a pure function of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagnose.engine.errors import EngineError
from diagnose.engine.evaluate import holds
from diagnose.engine.flatten import FlatFact, flatten
from diagnose.engine.matcher import Candidate, Indices, RuleSet, load_library
from diagnose.engine.packing import check_size, pack
from diagnose.engine.plan import CountPlan, Query, RulePlan, plan_rule
from diagnose.engine.properties import Numbering, Property, property_value
from diagnose.engine.translate import Translation, Translator
from diagnose.facts import Fact
from diagnose.knowledge.rule import Rule
from diagnose.knowledge.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Match:
    """One way in which a rule's patterns hold. No fact stands in it twice."""

    facts: Mapping[str, Fact]
    """Alias to the fact, for matched patterns."""
    counts: Mapping[str, int]
    """Alias to the number of facts, for counted patterns."""
    counted: Mapping[str, tuple[Fact, ...]]
    """Alias to the facts that were counted."""


class Engine:
    """The rules of one knowledge base, compiled once and run on any number of sets of facts, in any thread.

    Raises EngineError for rules that cannot be run, and EngineUnavailable when the rule library cannot be loaded.
    """

    def __init__(self, rules: Sequence[Rule], vocabulary: Vocabulary) -> None:
        ids = [rule.id for rule in rules]
        for rule_id in sorted({rule_id for rule_id in ids if ids.count(rule_id) > 1}):
            raise EngineError(f"two rules are called {rule_id}")
        self._plans = [plan_rule(rule, vocabulary) for rule in rules]
        translator = Translator()
        translations = [translator.translate(query) for plan in self._plans for query in plan.queries()]
        self._translations = [translation for translation in translations if translation is not None]
        library = load_library()
        self._rule_sets = [RuleSet(library, packed, translator.names) for packed in pack(self._translations)]
        self._texts = translator.constants.texts
        self._properties = _properties_by_kind(self._translations, translator)
        self._queries = {translation.query.id: translation.query for translation in self._translations}

    def run(self, facts: Sequence[Fact]) -> dict[str, list[Match]]:
        """Matches of every rule by its id, in the order of the facts that they are made of.

        Raises EngineError for facts with numbers that are not finite, and for rules that match without end.
        """
        kinds = {fact.kind for fact in facts}
        flat = {place: flatten(fact) for place, fact in enumerate(facts) if fact.kind in self._properties}
        by_kind: dict[str, list[FlatFact]] = {}
        for place, fact in flat.items():
            by_kind.setdefault(facts[place].kind, []).append(fact)
        for translation in self._translations:
            if by_kind.keys() >= set(translation.query.kinds.values()):
                check_size(translation, by_kind)
        found = self._find(facts, flat, kinds)
        return {plan.rule.id: _combine(plan, found, facts, kinds) for plan in self._plans}

    def _find(self, facts: Sequence[Fact], flat: Mapping[int, FlatFact], kinds: set[str]) -> dict[str, set[Indices]]:
        """Matches by id of the query."""
        numbering = Numbering(self._texts)
        candidates = [
            Candidate(place, facts[place].kind, self._numbers(facts[place].kind, fact, numbering))
            for place, fact in flat.items()
        ]
        return {
            query: {match for match in matches if _confirmed(self._queries[query], match, flat)}
            for rule_set in self._rule_sets
            for query, matches in rule_set.matches(candidates, kinds).items()
        }

    def _numbers(self, kind: str, fact: FlatFact, numbering: Numbering) -> dict[str, int]:
        return {
            name: numbering.number(value)
            for name, wanted in self._properties[kind]
            if (value := property_value(wanted, fact)) is not None
        }


def _properties_by_kind(
    translations: Sequence[Translation], translator: Translator
) -> dict[str, list[tuple[str, Property]]]:
    wanted: dict[str, dict[str, Property]] = {}
    for translation in translations:
        for kind, properties in translation.properties.items():
            wanted.setdefault(kind, {}).update((translator.names.of(item), item) for item in properties)
    return {kind: list(properties.items()) for kind, properties in wanted.items()}


def _confirmed(query: Query, match: Indices, flat: Mapping[int, FlatFact]) -> bool:
    """Whether every condition holds in Python too: those over terms of several facts are tested only here."""
    facts = {alias: flat[place] for alias, place in zip(query.kinds, match, strict=True)}
    return all(holds(atom, facts) for atom in query.atoms)


def _combine(plan: RulePlan, found: Mapping[str, set[Indices]], facts: Sequence[Fact], kinds: set[str]) -> list[Match]:
    """Join the queries of a rule: every combination of matched facts, with the facts counted for it."""
    if any(pattern.kind not in kinds for pattern in plan.rule.matched):
        return []
    if any(pattern.looked is not None and pattern.looked not in kinds for pattern in plan.rule.counted):
        return []
    aliases = [pattern.alias for pattern in plan.rule.matched]
    combinations: set[Indices] = {()} if not aliases else set()
    combinations.update(match for query in plan.matched for match in found.get(query.id, ()))
    groups = [(count, _group(count, found)) for count in plan.counts]
    matches = []
    for combination in sorted(combinations):
        places = dict(zip(aliases, combination, strict=True))
        counted: dict[str, tuple[Fact, ...]] = {}
        for count, group in groups:
            basis = tuple(places[alias] for alias in count.aliases)
            # A fact that is matched already is not counted as well.
            others = sorted(group.get(basis, set()).difference(combination))
            if not _within(count, len(others)):
                break
            counted[count.pattern.alias] = tuple(facts[place] for place in others)
        else:
            matches.append(
                Match(
                    {alias: facts[place] for alias, place in places.items()},
                    {alias: len(others) for alias, others in counted.items()},
                    counted,
                )
            )
    return matches


def _group(count: CountPlan, found: Mapping[str, set[Indices]]) -> dict[Indices, set[int]]:
    group: dict[Indices, set[int]] = {}
    for query in count.queries:
        for *basis, place in found.get(query.id, ()):
            group.setdefault(tuple(basis), set()).add(place)
    return group


def _within(count: CountPlan, number: int) -> bool:
    least, most = count.pattern.at_least, count.pattern.at_most
    return (least is None or number >= least) and (most is None or number <= most)
