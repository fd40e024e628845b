"""Which kinds of facts exist for rules, with the fields that conditions may use and their types."""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Union, get_args, get_origin

from diagnose.facts import Fact, fact_kinds
from diagnose.facts.base import SUBJECT_FIELDS
from diagnose.knowledge.expression import MISSING_PREFIX, ValueType

FieldTypes = Mapping[str, ValueType]
Vocabulary = Mapping[str, type[Fact]]
"""Kind to model: the fact models, the tables' and the derived ones."""


def plain_type(annotation: object) -> type:
    """The Python type of a field without its `None`."""
    parts = [part for part in get_args(annotation) if part is not type(None)] or [annotation]
    return parts[0] if isinstance(parts[0], type) else str


def value_type(annotation: object) -> ValueType | None:
    """The type that conditions see; None for fields that they cannot use (tuples, mappings)."""
    if get_origin(annotation) in (Union, types.UnionType):
        parts = [value_type(part) for part in get_args(annotation) if part is not type(None)]
        return parts[0] if len(set(parts)) == 1 else None
    if annotation is bool:
        return "boolean"
    if annotation in (int, float):
        return "number"
    if isinstance(annotation, type) and issubclass(annotation, str):
        return "string"
    return None


@cache
def fields_of_kind(model: type[Fact]) -> Mapping[str, ValueType]:
    """Every field that a condition on this kind may use, own fields and those of the subject."""
    fields: dict[str, ValueType] = {}
    for name, annotation in SUBJECT_FIELDS.items():
        if (found := value_type(annotation)) is not None:
            fields[name] = found
    for name in model.own_fields():
        if (found := value_type(model.model_fields[name].annotation)) is not None:
            fields[name] = found
            fields[MISSING_PREFIX + name] = "string"
    return fields


def base_vocabulary() -> dict[str, type[Fact]]:
    """The kinds that collectors and analysis produce."""
    return dict(fact_kinds())
