"""A fact as conditions see it: one level of strings, numbers and booleans; what is absent has no key."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from diagnose.engine.errors import EngineError
from diagnose.facts import Fact
from diagnose.facts.base import SUBJECT_FIELDS
from diagnose.knowledge.expression import MISSING_PREFIX

Value = str | float | bool
FlatFact = Mapping[str, Value]


def flatten(fact: Fact) -> dict[str, Value]:
    """Fields of the subject, own fields (which hide a subject's field of the same name) and `missing_<field>` reasons.

    Numbers become floats, so that 3 and 3.0 are the same value. Raises EngineError for numbers that are not finite.
    """
    own = _own_fields(type(fact))
    flat = dict(_usable(fact, ((name, getattr(fact.subject, name)) for name in SUBJECT_FIELDS if name not in own)))
    flat.update(_usable(fact, ((name, getattr(fact, name)) for name in own)))
    flat.update((MISSING_PREFIX + name, str(reason)) for name, reason in fact.missing.items())
    return flat


@cache
def _own_fields(model: type[Fact]) -> tuple[str, ...]:
    return tuple(model.own_fields())


def _usable(fact: Fact, fields: Iterable[tuple[str, object]]) -> Iterator[tuple[str, Value]]:
    for name, value in fields:
        if isinstance(value, bool):
            yield name, value
        elif isinstance(value, int | float):
            yield name, _finite(fact, name, value)
        elif isinstance(value, str):
            yield name, str.__str__(value)


def _finite(fact: Fact, name: str, value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise EngineError(
            f"{fact.kind}.{name} from {fact.sources[0]} is not a finite number; a missing value has no field"
        )
    return number
