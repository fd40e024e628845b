"""Kinds of facts for tests of the engine, and rules written as text."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar

from diagnose.engine import Engine, Match
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.base import SUBJECT_FIELDS, optional
from diagnose.knowledge.expression import ALWAYS, conjoin, parse_condition
from diagnose.knowledge.rule import Rule, RulePattern
from diagnose.knowledge.vocabulary import fields_of_kind


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Card(Fact):
    kind: ClassVar[str] = "card"
    name: str | None = optional("Text")
    colour: Colour | None = optional("Text of an enumeration")
    width: int | None = optional("Whole number")
    speed: float | None = optional("Number")
    ok: bool | None = optional("Flag")
    tags: tuple[str, ...] = ()


class Slot(Fact):
    kind: ClassVar[str] = "slot"
    name: str | None = optional("Text")
    numa_node: int | None = optional("Whole number; the subject has a field of this name too")
    speed: float | None = optional("Number")
    ok: bool | None = optional("Flag")


class Note(Fact):
    kind: ClassVar[str] = "note"
    id: str | None = optional("Text under a name that the rule library keeps for itself")
    name: str | None = optional("Text")


VOCABULARY: Mapping[str, type[Fact]] = {model.kind: model for model in (Card, Slot, Note)}
_SOURCE = (Source(path="input.txt", line=1),)


def fact(model: type[Fact], **fields: Any) -> Fact:
    """A fact; fields of the subject may be given beside its own."""
    subject = {name: fields.pop(name) for name in SUBJECT_FIELDS if name in fields and name not in model.own_fields()}
    return model(subject=Subject(**subject), sources=_SOURCE, **fields)


def pattern(alias: str, kind: str, *where: str, **limits: Any) -> tuple[str, str, tuple[str, ...], dict[str, Any]]:
    """A pattern as `rule` takes it."""
    return alias, kind, where, limits


def rule(
    rule_id: str,
    *patterns: tuple[str, str, tuple[str, ...], dict[str, Any]],
    vocabulary: Mapping[str, type[Fact]] = VOCABULARY,
) -> Rule:
    """A rule whose conditions are written as in rule files."""
    scope = {}
    parsed = []
    for alias, kind, where, limits in patterns:
        scope[alias] = fields_of_kind(vocabulary[kind])
        condition = conjoin([parse_condition(text, alias, scope) for text in where]) if where else ALWAYS
        parsed.append(RulePattern(alias, kind, condition, **limits))
    return Rule(rule_id, tuple(parsed))


def run(tested: Rule, *facts: Fact, vocabulary: Mapping[str, type[Fact]] = VOCABULARY) -> list[Match]:
    """Matches of one rule."""
    return Engine([tested], vocabulary).run(facts)[tested.id]
