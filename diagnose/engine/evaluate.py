"""Conditions evaluated in Python: what a match is checked with, and terms that are worked out before matching."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from diagnose.engine.flatten import FlatFact, Value
from diagnose.knowledge.expression import (
    CALCULATE,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    FieldRef,
    Known,
    Matches,
    Term,
)

COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def term_value(term: Term, facts: Mapping[str, FlatFact]) -> Value | None:
    """The term's value; None where a field is absent, a divisor is zero or the result is no finite number."""
    match term:
        case FieldRef(alias, field, _):
            return facts[alias].get(field)
        case Constant(value, kind):
            return float(value) if kind == "number" else value
        case Arithmetic(symbol, left, right):
            return _calculate(symbol, term_value(left, facts), term_value(right, facts))


def _calculate(symbol: str, left: Value | None, right: Value | None) -> float | None:
    if not isinstance(left, float) or not isinstance(right, float):
        return None
    try:
        result = CALCULATE[symbol](left, right)
    except ZeroDivisionError:
        return None
    return result if math.isfinite(result) else None


def pattern_found(pattern: str, value: Value | None) -> bool | None:
    """Whether the pattern is found anywhere in the text; None where there is no text."""
    return _compiled(pattern).search(value) is not None if isinstance(value, str) else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def holds(atom: Atom, facts: Mapping[str, FlatFact]) -> bool:
    """Whether the atom holds for these facts, by alias."""
    match atom:
        case Comparison(symbol, left, right):
            first, second = term_value(left, facts), term_value(right, facts)
            return first is not None and second is not None and COMPARE[symbol](first, second)
        case Matches(field, pattern, negated):
            return pattern_found(pattern, facts[field.alias].get(field.field)) is (not negated)
        case Known(field, negated):
            return (field.field in facts[field.alias]) is not negated
