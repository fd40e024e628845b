"""From patterns as written to rules as the engine takes them, with everything checked that can be checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnose.facts.base import SUBJECT_FIELDS
from diagnose.knowledge.expression import (
    MISSING_PREFIX,
    Comparison,
    Condition,
    Constant,
    ExpressionError,
    FieldRef,
    Scope,
    ValueType,
    conjoin,
    parse_condition,
    suggestion,
)
from diagnose.knowledge.rule import Rule, RulePattern
from diagnose.knowledge.schema import REASONS, Pattern
from diagnose.knowledge.vocabulary import Vocabulary, fields_of_kind
from diagnose.knowledge.yaml_file import Location, RuleError, YamlFile


class PatternCompiler:
    """Compiles the patterns of one rule; collects every error, so that the writer sees all at once."""

    def __init__(self, file: YamlFile, location: Location, vocabulary: Vocabulary, errors: list[RuleError]) -> None:
        self._file = file
        self._location = location
        self._vocabulary = vocabulary
        self._errors = errors
        self.scope: dict[str, Mapping[str, ValueType]] = {}
        """Aliases of the matched facts, with their fields."""
        self.counted: set[str] = set()
        self._kinds: dict[str, str] = {}

    def compile(self, rule_id: str, patterns: Sequence[Pattern]) -> Rule | None:
        """The rule, or None where an error was found."""
        before = len(self._errors)
        compiled = [self._pattern(number, pattern) for number, pattern in enumerate(patterns)]
        if not any(pattern.fact for pattern in patterns):
            self._fail(("when",), "needs at least one `fact`; negation and counting alone prove nothing")
        if len(self._errors) > before:
            return None
        usable = [pattern for pattern in compiled if pattern is not None]
        matched = [pattern for pattern in usable if not pattern.counted]
        counted = [pattern for pattern in usable if pattern.counted]
        return Rule(rule_id, (*matched, *counted))

    def _fail(self, parts: Location, message: str) -> None:
        self._errors.append(self._file.error((*self._location, *parts), message))

    def _pattern(self, number: int, pattern: Pattern) -> RulePattern | None:
        place: Location = ("when", number)
        key = "fact" if pattern.fact else "none" if pattern.none else "count"
        if pattern.kind not in self._vocabulary:
            self._fail((*place, key), f"no kind of fact is called `{pattern.kind}`{self._close(pattern.kind)}")
            return None
        if pattern.looked is not None and pattern.looked not in self._vocabulary:
            self._fail((*place, "looked"), f"no kind of fact is called `{pattern.looked}`{self._close(pattern.looked)}")
            return None
        if pattern.as_ in self.scope or pattern.as_ in self.counted:
            self._fail((*place, "as"), f"`{pattern.as_}` is already the name of another fact of this rule")
            return None
        fields = fields_of_kind(self._vocabulary[pattern.kind])
        condition = self._condition(place, pattern, {**self.scope, pattern.as_: fields})
        if pattern.fact and condition is not None:
            self._demand_join(place, pattern, condition)
        # The name is known even where the condition is wrong, so that one error does not bring others.
        if pattern.fact:
            self.scope[pattern.as_] = fields
            self._kinds[pattern.as_] = pattern.kind
        else:
            self.counted.add(pattern.as_)
        if condition is None:
            return None
        if pattern.fact:
            return RulePattern(pattern.as_, pattern.kind, condition)
        return RulePattern(
            pattern.as_,
            pattern.kind,
            condition,
            at_least=pattern.at_least,
            at_most=0 if pattern.none else pattern.at_most,
            looked=pattern.looked or pattern.kind,
        )

    def _close(self, kind: str) -> str:
        return suggestion(kind, dict(self._vocabulary))

    def _condition(self, place: Location, pattern: Pattern, scope: Scope) -> Condition | None:
        parts: list[Condition] = []
        for number, text in enumerate(pattern.where):
            try:
                parts.append(parse_condition(text, pattern.as_, scope))
            except ExpressionError as error:
                self._fail((*place, "where", number), str(error))
        if len(parts) < len(pattern.where):
            return None
        try:
            condition = conjoin(parts)
        except ExpressionError as error:
            self._fail((*place, "where"), str(error))
            return None
        return condition if self._reasons_exist(place, condition) else None

    def _reasons_exist(self, place: Location, condition: Condition) -> bool:
        for conjunction in condition:
            for atom in conjunction:
                match atom:
                    case Comparison(_, FieldRef(_, field), Constant(value)) if field.startswith(MISSING_PREFIX):
                        if value not in REASONS:
                            reasons = ", ".join(sorted(REASONS))
                            self._fail((*place, "where"), f"{value!r} is no reason for absence; there are: {reasons}")
                            return False
        return True

    def _demand_join(self, place: Location, pattern: Pattern, condition: Condition) -> None:
        model = self._vocabulary[pattern.kind]
        if model.few_per_host or not self.scope:
            return
        if not all(any(_joins(atom, pattern.as_) for atom in conjunction) for conjunction in condition):
            if all(self._vocabulary[kind].few_per_host for kind in self._kinds.values()):
                return
            others = ", ".join(self.scope)
            self._fail(
                place,
                f"`{pattern.as_}` is not tied to {others}: a host has many of both, and all combinations would match; "
                f"add an equality such as `gpu == {next(iter(self.scope))}.gpu`",
            )


def _joins(atom: object, alias: str) -> bool:
    """An equality between a field of the fact itself and a field of another one."""
    match atom:
        case Comparison("==", FieldRef(left, _), FieldRef(right, _)):
            return (left == alias) != (right == alias)
    return False


SUBJECT_LEVEL_FIELDS = {"gpu": "gpu", "nic": "nic", "device": "bus_id"}
"""Subject field that an instance of a cause at this level is named by."""

assert set(SUBJECT_LEVEL_FIELDS.values()) <= set(SUBJECT_FIELDS)
