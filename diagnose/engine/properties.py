"""What the rule library gets to see of a fact: one whole number for each value that some condition needs.

The library reads numbers in three ways that differ (3 and 3.0 never join, 1e-07 is a syntax error, 0.5 depends on the
locale), divides whole numbers as C does (7 / 2 is 3, and x / 0 ends the process), compares text only by its length
modulo 65,536, and matches patterns in a dialect of its own. None of that can happen to whole numbers that are only
compared. So text is numbered, floats are mapped to integers in the same order, and patterns and terms over one fact
are worked out before the fact is handed over.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from diagnose.engine.evaluate import pattern_found, term_value
from diagnose.engine.flatten import FlatFact, Value
from diagnose.knowledge.expression import Arithmetic, Constant, FieldRef, Matches, Term

Property = FieldRef | Arithmetic | Matches
"""A value of one fact, without the alias: a field, a term over its fields, or whether a pattern is found in a field."""

_OWN = ""


def property_of_term(term: Term) -> Property:
    """The term as a property of the only fact that it reads."""
    own = _without_alias(term)
    assert not isinstance(own, Constant)
    return own


def property_of_pattern(atom: Matches) -> Property:
    """Whether the pattern is found, as a property; negation is left to the condition."""
    return Matches(replace(atom.field, alias=_OWN), atom.pattern)


def _without_alias(term: Term) -> Term:
    match term:
        case FieldRef():
            return replace(term, alias=_OWN)
        case Arithmetic(_, left, right):
            return replace(term, left=_without_alias(left), right=_without_alias(right))
        case Constant():
            return term


def property_value(wanted: Property, fact: FlatFact) -> Value | None:
    """The property's value; None where the fact does not have it."""
    if isinstance(wanted, Matches):
        return pattern_found(wanted.pattern, fact.get(wanted.field.field))
    return term_value(wanted, {_OWN: fact})


@dataclass
class Names:
    """Short names for properties. They are ours, so that no field is ever called `id`, `sid` or `$and`."""

    known: dict[Property, str] = field(default_factory=dict)

    def of(self, wanted: Property) -> str:
        """The property's name."""
        return self.known.setdefault(wanted, f"p{len(self.known)}")


class Numbering:
    """Numbers that stand for values: equal for equal values, and in the same order for numbers."""

    def __init__(self, texts: Mapping[str, int] | None = None) -> None:
        self.texts = dict(texts or {})

    def number(self, value: Value) -> int:
        """The number that stands for a value among values of its type."""
        if isinstance(value, str):
            return self.texts.setdefault(value, len(self.texts))
        return int(value) if isinstance(value, bool) else in_order(value)


def in_order(value: float) -> int:
    """A 64-bit integer for a float, such that integers compare as the floats do."""
    # The bits of a positive float, read as an integer, are in order already. Those of a negative one are its absolute
    # value's and the sign bit; without it -0.0 becomes 0, as 0.0 does, which it equals.
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)
