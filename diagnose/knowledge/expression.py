"""The conditions of rules: a small, typed expression language.

`where: width_current < width_max and link.gpu == gpu` is parsed with Python's own parser, restricted to comparisons,
`and`, `or`, arithmetic and a few functions, checked against the fields' types, and brought into disjunctive normal
form. A comparison in which any field is absent does not hold, whichever operator it uses: unknown is not false.

Functions: `matches(field, 'regular expression')`, `known(field)`, `missing(field)` (the reason as text).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from operator import add, mul, sub, truediv
from typing import Literal

ValueType = Literal["string", "number", "boolean"]
Operator = Literal["==", "!=", "<", "<=", ">", ">="]

MISSING_PREFIX = "missing_"
"""Prefix of the field that holds the reason why another field is absent."""

_OPERATORS: Mapping[type[ast.cmpop], Operator] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_OPPOSITE: Mapping[Operator, Operator] = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_ARITHMETIC: Mapping[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_MAX_ALTERNATIVES = 16


class ExpressionError(Exception):
    """A condition that cannot be used; the message says why and how to write it."""


@dataclass(frozen=True, slots=True)
class FieldRef:
    """A field of a matched fact."""

    alias: str
    field: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal value."""

    value: str | float | bool
    type: ValueType


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two numeric terms joined by `+`, `-`, `*` or `/`."""

    operator: str
    left: Term
    right: Term
    type: ValueType = "number"


Term = FieldRef | Constant | Arithmetic


@dataclass(frozen=True, slots=True)
class Comparison:
    """Holds when both sides are present and compare so."""

    operator: Operator
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Matches:
    """Holds when the field is present and the pattern is found (or, negated, is not found) in it."""

    field: FieldRef
    pattern: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """Holds when the field is present (or, negated, absent)."""

    field: FieldRef
    negated: bool = False


Atom = Comparison | Matches | Known
Conjunction = tuple[Atom, ...]
Condition = tuple[Conjunction, ...]
"""Disjunctive normal form: any of the conjunctions may hold. `((),)` always holds."""

CALCULATE: Mapping[str, Callable[[float, float], float]] = {"+": add, "-": sub, "*": mul, "/": truediv}
"""What the operators of `Arithmetic` do."""

ALWAYS: Condition = ((),)

Scope = Mapping[str, Mapping[str, ValueType]]
"""Alias to fields with their types."""


def conjoin(conditions: list[Condition]) -> Condition:
    """All of the conditions at once."""
    combined = tuple(tuple(atom for part in parts for atom in part) for parts in product(*conditions))
    if len(combined) > _MAX_ALTERNATIVES:
        raise ExpressionError(f"{len(combined)} alternatives after expanding `or`; split the rule in two")
    return combined


def fields_of(atom: Atom) -> list[FieldRef]:
    """Every field that an atom reads."""
    match atom:
        case Comparison(_, left, right):
            return [*_term_fields(left), *_term_fields(right)]
        case Matches(field, _, _) | Known(field, _):
            return [field]


def _term_fields(term: Term) -> list[FieldRef]:
    match term:
        case FieldRef():
            return [term]
        case Arithmetic(_, left, right):
            return [*_term_fields(left), *_term_fields(right)]
        case Constant():
            return []


def parse_condition(text: str, own: str, scope: Scope) -> Condition:
    """Parse a condition on the fact `own`; `scope` has the fields of it and of the facts named before it.

    Raises ExpressionError with a sentence for the writer of the rule.
    """
    return _Parser(own, scope).condition(_parse(text))


def parse_term(text: str, scope: Scope) -> Term:
    """Parse a value, such as `link.width_max / 2`, in which every field is written with its alias."""
    return _Parser(None, scope).term(_parse(text))


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ExpressionError(f"`{text}` is not a condition: {reason}") from None


class _Parser:
    def __init__(self, own: str | None, scope: Scope) -> None:
        self._own = own
        self._scope = scope

    def condition(self, node: ast.expr, negated: bool = False) -> Condition:
        match node:
            case ast.BoolOp(op, values):
                parts = [self.condition(value, negated) for value in values]
                conjunction = isinstance(op, ast.And) != negated
                return conjoin(parts) if conjunction else tuple(alternative for part in parts for alternative in part)
            case ast.UnaryOp(ast.Not(), operand):
                return self.condition(operand, not negated)
            case ast.Compare(left, operators, comparators):
                return self._comparisons(left, operators, comparators, negated)
            case ast.Call():
                return ((self._call_condition(node, negated),),)
        term = self.term(node)
        if isinstance(term, FieldRef) and term.type == "boolean":
            return ((Comparison("==", term, Constant(not negated, "boolean")),),)
        raise ExpressionError(f"`{ast.unparse(node)}` is not a condition; compare it with something")

    def _comparisons(
        self, left: ast.expr, operators: list[ast.cmpop], comparators: list[ast.expr], negated: bool
    ) -> Condition:
        if len(operators) == 1 and isinstance(operators[0], ast.In | ast.NotIn):
            return self._membership(left, comparators[0], isinstance(operators[0], ast.NotIn) != negated)
        parts: list[Condition] = []
        for operator, right in zip(operators, comparators, strict=True):
            if type(operator) not in _OPERATORS:
                known = "== != < <= > >= in, not in, matches(field, 'pattern'), known(field)"
                raise ExpressionError(f"operator `{_operator_text(operator)}` is unknown; there are: {known}")
            parts.append(((self._compare(_OPERATORS[type(operator)], left, right, negated),),))
            left = right
        if negated and len(parts) > 1:
            return tuple(alternative for part in parts for alternative in part)
        return conjoin(parts)

    def _compare(self, operator: Operator, left: ast.expr, right: ast.expr, negated: bool) -> Comparison:
        first, second = self.term(left), self.term(right)
        if first.type != second.type:
            raise ExpressionError(
                f"`{ast.unparse(left)}` is a {first.type} and `{ast.unparse(right)}` a {second.type}; "
                "they cannot be compared"
            )
        operator = _OPPOSITE[operator] if negated else operator
        if first.type != "number" and operator not in ("==", "!="):
            raise ExpressionError(f"`{operator}` needs numbers, and `{ast.unparse(left)}` is a {first.type}")
        if isinstance(first, Constant) and isinstance(second, Constant):
            raise ExpressionError(f"`{ast.unparse(left)} {operator} {ast.unparse(right)}` compares two constants")
        return Comparison(operator, first, second)

    def _membership(self, left: ast.expr, right: ast.expr, negated: bool) -> Condition:
        if not isinstance(right, ast.List | ast.Tuple | ast.Set) or not right.elts:
            raise ExpressionError("`in` needs a list of values on its right: `code in [48, 95]`")
        members = [self._compare("==", left, element, negated) for element in right.elts]
        return (tuple(members),) if negated else tuple((member,) for member in members)

    def _call_condition(self, node: ast.Call, negated: bool) -> Atom:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if name == "matches" and len(node.args) == 2:
            field, pattern = self._field(node.args[0]), node.args[1]
            if field.type != "string":
                raise ExpressionError(f"matches() needs a string, and `{ast.unparse(node.args[0])}` is a {field.type}")
            if not (isinstance(pattern, ast.Constant) and isinstance(pattern.value, str)):
                raise ExpressionError("the second argument of matches() must be a pattern in quotes")
            try:
                re.compile(pattern.value)
            except re.error as error:
                raise ExpressionError(f"pattern {pattern.value!r} is no regular expression: {error}") from None
            return Matches(field, pattern.value, negated)
        if name == "known" and len(node.args) == 1:
            return Known(self._field(node.args[0]), negated)
        raise ExpressionError(
            f"`{ast.unparse(node)}` is unknown; there are matches(field, 'pattern'), known(field) and missing(field)"
        )

    def _field(self, node: ast.expr) -> FieldRef:
        term = self.term(node)
        if not isinstance(term, FieldRef):
            raise ExpressionError(f"`{ast.unparse(node)}` must be a field")
        return term

    def term(self, node: ast.expr) -> Term:
        match node:
            case ast.Constant(bool() as value):
                return Constant(value, "boolean")
            case ast.Constant(int() | float() as number):
                return Constant(float(number), "number")
            case ast.Constant(str() as text):
                return Constant(text, "string")
            case ast.Name("true" | "false" as word):
                return Constant(word == "true", "boolean")
            case ast.Name(name) if self._own is not None:
                return self._reference(self._own, name)
            case ast.Name(name):
                raise ExpressionError(f"write `{name}` with the alias of its fact: `alias.{name}`")
            case ast.Attribute(ast.Name(alias), name):
                return self._reference(alias, name)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
                return Constant(-float(number), "number")
            case ast.BinOp(left, operator, right) if type(operator) in _ARITHMETIC:
                return self._arithmetic(_ARITHMETIC[type(operator)], left, right)
            case ast.Call(ast.Name("missing"), [argument]):
                field = self._field(argument)
                return FieldRef(field.alias, MISSING_PREFIX + field.field, "string")
        raise ExpressionError(f"`{ast.unparse(node)}` cannot be used in a condition")

    def _arithmetic(self, operator: str, left: ast.expr, right: ast.expr) -> Arithmetic:
        first, second = self.term(left), self.term(right)
        for side, term in ((left, first), (right, second)):
            if term.type != "number":
                raise ExpressionError(f"`{operator}` needs numbers, and `{ast.unparse(side)}` is a {term.type}")
        return Arithmetic(operator, first, second)

    def _reference(self, alias: str, field: str) -> FieldRef:
        if alias not in self._scope:
            names = ", ".join(self._scope)
            raise ExpressionError(f"no fact is called `{alias}` here; there are: {names}")
        fields = self._scope[alias]
        if field not in fields:
            raise ExpressionError(f"`{alias}` has no field `{field}`{suggestion(field, fields)}")
        return FieldRef(alias, field, fields[field])


def suggestion(word: str, known: Mapping[str, object] | list[str] | set[str]) -> str:
    """The end of an error sentence: `; did you mean ...?` where something is close, else the list of what exists."""
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; there are: {', '.join(names)}"


def _operator_text(operator: ast.cmpop) -> str:
    return {ast.Is: "is", ast.IsNot: "is not"}.get(type(operator), type(operator).__name__)
