"""A matcher that tries every combination of facts, written without any of the engine's code."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence

from diagnose.facts import Fact
from diagnose.knowledge.expression import Arithmetic, Atom, Comparison, Constant, FieldRef, Known, Matches, Term
from diagnose.knowledge.rule import Rule, RulePattern

Found = list[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]]
"""For each match: places of the matched facts, and for each counted pattern the places of those counted."""


def oracle(rule: Rule, facts: Sequence[Fact]) -> Found:
    """Matches of one rule, in the order of the facts."""
    matched = [pattern for pattern in rule.patterns if pattern.at_least is None and pattern.at_most is None]
    counted = [pattern for pattern in rule.patterns if pattern not in matched]
    if any(pattern.looked and all(fact.kind != pattern.looked for fact in facts) for pattern in counted):
        return []
    found: Found = []
    for places in itertools.product(*(_places(pattern, facts) for pattern in matched)):
        if len(set(places)) < len(places):
            continue
        bound = {pattern.alias: facts[place] for pattern, place in zip(matched, places, strict=True)}
        if all(_true(pattern, bound) for pattern in matched):
            others = [tuple(_count(pattern, bound, facts, places)) for pattern in counted]
            limits = [
                (pattern.at_least or 0, math.inf if pattern.at_most is None else pattern.at_most) for pattern in counted
            ]
            if all(low <= len(group) <= high for group, (low, high) in zip(others, limits, strict=True)):
                found.append((places, tuple(others)))
    return found


def _count(pattern: RulePattern, bound: Mapping[str, Fact], facts: Sequence[Fact], taken: Sequence[int]) -> list[int]:
    return [
        place
        for place in _places(pattern, facts)
        if place not in taken and _true(pattern, {**bound, pattern.alias: facts[place]})
    ]


def _places(pattern: RulePattern, facts: Sequence[Fact]) -> list[int]:
    return [place for place, fact in enumerate(facts) if fact.kind == pattern.kind]


def _true(pattern: RulePattern, bound: Mapping[str, Fact]) -> bool:
    return any(all(_atom(atom, bound) for atom in conjunction) for conjunction in pattern.condition)


def _atom(atom: Atom, bound: Mapping[str, Fact]) -> bool:
    if isinstance(atom, Known):
        return (_read(atom.field, bound) is None) == atom.negated
    if isinstance(atom, Matches):
        text = _read(atom.field, bound)
        return text is not None and bool(re.search(atom.pattern, str(text))) != atom.negated
    assert isinstance(atom, Comparison)
    sides = [_term(atom.left, bound), _term(atom.right, bound)]
    if None in sides:
        return False
    return bool(eval(f"left {atom.operator} right", {"left": sides[0], "right": sides[1]}))


def _term(term: Term, bound: Mapping[str, Fact]) -> object:
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, FieldRef):
        return _read(term, bound)
    assert isinstance(term, Arithmetic)
    sides = {"left": _term(term.left, bound), "right": _term(term.right, bound)}
    if None in sides.values() or (term.operator == "/" and sides["right"] == 0):
        return None
    value = eval(f"left {term.operator} right", sides)
    return value if math.isfinite(value) else None


def _read(field: FieldRef, bound: Mapping[str, Fact]) -> object:
    fact = bound[field.alias]
    if field.field.startswith("missing_"):
        return fact.missing.get(field.field.removeprefix("missing_"))
    value = getattr(fact if field.field in type(fact).model_fields else fact.subject, field.field)
    return float(value) if type(value) in (int, float) else value
