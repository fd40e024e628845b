"""Fact kinds that the rule base itself declares: reference tables and derived facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import create_model

from diagnose.facts import Fact, Source, Subject
from diagnose.facts.base import optional, required
from diagnose.knowledge.expression import CALCULATE, MISSING_PREFIX, Arithmetic, Constant, FieldRef, Term
from diagnose.knowledge.rule import Rule
from diagnose.knowledge.schema import ColumnType, Row, TableFile

PYTHON_TYPES: Mapping[ColumnType, type] = {
    ColumnType.TEXT: str,
    ColumnType.NUMBER: float,
    ColumnType.INTEGER: int,
    ColumnType.FLAG: bool,
}


def declare_kind(
    kind: str,
    description: str,
    fields: Mapping[str, tuple[type, str]],
    made_of: Sequence[type[Fact]],
    key: str | None = None,
) -> type[Fact]:
    """A fact model made of a declaration; every field but the key may be absent.

    It counts as looked for where the first of the kinds that it is made of does.
    """
    definitions: dict[str, Any] = {
        name: (python_type, required(text)) if name == key else (python_type | None, optional(text))
        for name, (python_type, text) in fields.items()
    }
    name = "".join(part.capitalize() for part in kind.split("-"))
    model: type[Fact] = create_model(name, __base__=Fact, __doc__=description, **definitions)
    model.kind = kind
    model.seen_through = made_of[0].seen_through or made_of[0].kind
    return model


@dataclass(frozen=True)
class Table:
    """A reference table: facts in, the rows that belong to them out, as facts of the same subject."""

    file: TableFile
    model: type[Fact]

    def facts(self, facts: Iterable[Fact]) -> list[Fact]:
        """One fact for every fact of the key's kind that has a row; the same row for the same subject only once."""
        found: dict[tuple[str, object], Fact] = {}
        for fact in facts:
            if fact.kind != self.file.key.fact:
                continue
            value = getattr(fact, self.file.key.field)
            row = None if value is None else self._row(value)
            if row is not None:
                found.setdefault((fact.subject.path(), value), self.fact(fact.subject, fact.sources, value, row))
        return list(found.values())

    def fact(self, subject: Subject, sources: tuple[Source, ...], key: object, row: Row) -> Fact:
        """The fact that a row makes. Raises ValidationError where a value does not fit its column."""
        return self.model.model_validate(
            {"subject": subject, "sources": sources, self.file.key.field: key, **row.values}
        )

    def _row(self, value: object) -> Row | None:
        if self.file.key.match == "equal":
            return self._by_value.get(value)
        return next((row for row in self.file.rows if re.search(str(row.match), str(value))), None)

    @cached_property
    def _by_value(self) -> dict[object, Row]:
        return {row.match: row for row in reversed(self.file.rows)}


@dataclass(frozen=True)
class Derivation:
    """A rule whose match makes a fact."""

    rule: Rule
    model: type[Fact]
    subject_alias: str
    values: Mapping[str, Term]

    def fact(self, matched: Mapping[str, Fact]) -> Fact:
        """The derived fact of one match; its sources are those of the facts that made it."""
        sources = tuple(dict.fromkeys(source for fact in matched.values() for source in fact.sources))
        values = {name: self._typed(name, evaluate_term(term, matched)) for name, term in self.values.items()}
        return self.model(subject=matched[self.subject_alias].subject, sources=sources, **values)

    def _typed(self, name: str, value: object) -> object:
        # Numbers are floats in conditions; an integer field takes them back.
        wants_integer = self.model.model_fields[name].annotation == (int | None)
        return round(value) if wants_integer and isinstance(value, float) else value


def field_value(fact: Fact, field: str) -> object | None:
    """The value that rules see under a field's name, None where absent."""
    if field.startswith(MISSING_PREFIX):
        return fact.missing.get(field.removeprefix(MISSING_PREFIX))
    return getattr(fact, field) if field in type(fact).own_fields() else getattr(fact.subject, field, None)


def evaluate_term(term: Term, matched: Mapping[str, Fact]) -> Any:
    """A term's value for the facts of a match; None where something it needs is absent or it divides by zero."""
    match term:
        case Constant(value):
            return value
        case FieldRef(alias, field):
            return field_value(matched[alias], field)
        case Arithmetic(operator, left, right):
            first, second = evaluate_term(left, matched), evaluate_term(right, matched)
            if first is None or second is None or (operator == "/" and second == 0):
                return None
            return CALCULATE[operator](first, second)
