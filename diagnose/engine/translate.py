"""A query as the rule library's own data: patterns with conditions on whole-number properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from diagnose.engine.errors import EngineError
from diagnose.engine.evaluate import COMPARE, term_value
from diagnose.engine.plan import Query
from diagnose.engine.properties import Names, Numbering, Property, property_of_pattern, property_of_term
from diagnose.knowledge.expression import Atom, Comparison, Known, Matches, Term, fields_of

Condition = dict[str, Any]

_LIBRARY_OPERATORS: Mapping[str, str] = {
    "==": "$eq",
    "!=": "$neq",
    "<": "$lt",
    "<=": "$lte",
    ">": "$gt",
    ">=": "$gte",
}
_MIRRORED: Mapping[str, str] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MAX_JOIN_CONDITIONS = 28
"""The library keeps 31 entries for one pattern, two of them its own, and one is needed to end them safely."""


@dataclass
class _Pattern:
    """Conditions in the order in which they are tested: what a later one reads must have been shown to exist."""

    present: list[Condition] = field(default_factory=list)
    tests: list[Condition] = field(default_factory=list)
    joins: list[Condition] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class JoinKey:
    """An equality that the library looks up by hash instead of trying every pair."""

    alias: str
    """The later fact of the two."""
    own: Property


@dataclass(frozen=True, slots=True)
class Translation:
    """A query for the library."""

    query: Query
    conditions: tuple[tuple[Condition, ...], ...]
    """Conditions of each fact, in the order of the join."""
    properties: Mapping[str, frozenset[Property]]
    """What must be handed over of each kind."""
    keys: tuple[JoinKey, ...]


def library_alias(place: int) -> str:
    """What the fact in this place of the join is called in the library."""
    return f"a{place}"


class Translator:
    """Translates the queries of one rule base; names and numbers are shared by all of them."""

    def __init__(self) -> None:
        self.names = Names()
        self.constants = Numbering()

    def translate(self, query: Query) -> Translation | None:
        """The query for the library; None where a condition can never hold, whatever the facts."""
        return _Query(self, query).translation()


class _Query:
    def __init__(self, translator: Translator, query: Query) -> None:
        self._names, self._constants, self._query = translator.names, translator.constants, query
        self._order = {alias: place for place, alias in enumerate(query.kinds)}
        self._patterns = {alias: _Pattern() for alias in query.kinds}
        self._properties: dict[str, set[Property]] = {kind: set() for kind in query.kinds.values()}
        self._keys: list[JoinKey] = []

    def translation(self) -> Translation | None:
        for atom in self._query.atoms:
            if not self._add(atom):
                return None
        for alias, pattern in self._patterns.items():
            if len(pattern.joins) > _MAX_JOIN_CONDITIONS:
                raise EngineError(
                    f"rule {self._query.rule}: {len(pattern.joins)} conditions join {alias} to other facts"
                )
        return Translation(
            self._query,
            tuple((*part.present, *part.tests, *part.joins) for part in self._patterns.values()),
            {kind: frozenset(properties) for kind, properties in self._properties.items()},
            tuple(self._keys),
        )

    def _add(self, atom: Atom) -> bool:
        """False where the atom can never hold."""
        match atom:
            case Known(field, negated):
                name = self._name(field.alias, property_of_term(field))
                self._patterns[field.alias].present.append({"$nex" if negated else "$ex": {name: 1}})
            case Matches(field, _, negated):
                name = self._name(field.alias, property_of_pattern(atom))
                self._patterns[field.alias].tests.append({"$eq": {name: int(not negated)}})
            case Comparison(operator, left, right):
                return self._compare(operator, left, right)
        return True

    def _compare(self, operator: str, left: Term, right: Term) -> bool:
        on_left, on_right = _aliases(left), _aliases(right)
        if len(on_left) > 1 or len(on_right) > 1:
            # A term over several facts, such as `a.x - b.x > 5`, is left to the check that every match passes.
            return True
        if not on_left and not on_right:
            first, second = term_value(left, {}), term_value(right, {})
            return first is not None and second is not None and COMPARE[operator](first, second)
        if not on_left or (on_right and self._order[min(on_left)] < self._order[min(on_right)]):
            operator, left, right, on_left, on_right = _MIRRORED[operator], right, left, on_right, on_left
        return self._compare_to(operator, min(on_left), left, min(on_right, default=None), right)

    def _compare_to(self, operator: str, alias: str, term: Term, other: str | None, right: Term) -> bool:
        """Compare a term of the fact `alias` with a constant or with a term of the same or of an earlier fact."""
        own = property_of_term(term)
        name, symbol, pattern = self._name(alias, own), _LIBRARY_OPERATORS[operator], self._patterns[alias]
        if other is None:
            value = term_value(right, {})
            if value is None:
                return False
            pattern.tests.append({symbol: {name: self._constants.number(value)}})
            return True
        reference = self._name(other, property_of_term(right))
        # The library goes by the left property, so a fact without it never gets here. An absent right one is worse
        # than false: it reads memory that was never written, or fails the assertion of the fact.
        self._patterns[other].present.append({"$ex": {reference: 1}})
        if other == alias:
            pattern.tests.append({symbol: {name: {"$m": reference}}})
        else:
            pattern.joins.append({symbol: {name: {library_alias(self._order[other]): reference}}})
            if operator == "==":
                self._keys.append(JoinKey(alias, own))
        return True

    def _name(self, alias: str, wanted: Property) -> str:
        self._properties[self._query.kinds[alias]].add(wanted)
        return self._names.of(wanted)


def _aliases(term: Term) -> set[str]:
    return {field.alias for field in fields_of(Comparison("==", term, term))}
