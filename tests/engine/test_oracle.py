"""The engine against a matcher that tries every combination, on facts and rules made at random."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnose.engine import Engine
from diagnose.facts import Fact, Missing
from diagnose.knowledge.expression import (
    Arithmetic,
    Atom,
    Comparison,
    Condition,
    Constant,
    FieldRef,
    Known,
    Matches,
    Operator,
    Term,
    ValueType,
)
from diagnose.knowledge.rule import Rule, RulePattern
from diagnose.knowledge.vocabulary import fields_of_kind
from tests.engine.kinds import VOCABULARY, Card, Colour, Note, Slot, fact
from tests.engine.oracle import Found, oracle

TEXTS = [
    "",
    "a",
    "b",
    "5",
    "true",
    "it's",
    'say "x"',
    "back\\slash",
    "two\nlines",
    "größe",
    "日本",
    "\x00",
    "\ud800",
    "{}",
]
NUMBERS = [
    0,
    -0.0,
    1,
    1.0,
    2,
    3,
    -1,
    0.5,
    -2.5,
    7,
    1e-7,
    -1e-7,
    2e-7,
    1e20,
    4.5e11,
    2**53,
    2**63,
    1e300,
    -1e300,
    5e-324,
]
PATTERNS = ["a", "^$", "[0-9]", "s$", "(?i)GRÖSSE|ö", "\\\\", "."]
ORDER: list[Operator] = ["==", "!=", "<", "<=", ">", ">="]

texts = st.sampled_from(TEXTS)
numbers = (
    st.sampled_from([-2, -1, 0, 1, 2]) | st.sampled_from(NUMBERS) | st.floats(allow_nan=False, allow_infinity=False)
)
integers = st.integers(-2, 3) | st.sampled_from(
    [int(number) for number in NUMBERS if number == int(number) and abs(number) < 1e21]
)
hosts = st.sampled_from(["n1", "n2"])
nodes = st.integers(0, 2)


@st.composite
def some_facts(draw: st.DrawFn) -> list[Fact]:
    def one(model: type[Fact], **fields: st.SearchStrategy[object]) -> Fact:
        chosen = {name: draw(values) if draw(st.integers(0, 3)) else None for name, values in fields.items()}
        gone = [name for name in model.own_fields() if name in chosen and chosen[name] is None]
        missing = {name: draw(st.sampled_from(Missing)) for name in gone if draw(st.booleans())}
        given = {name: value for name, value in chosen.items() if value is not None}
        return fact(model, missing=missing, **given)

    def draw_one(kind: str) -> Fact:
        match kind:
            case "card":
                return one(
                    Card,
                    host=hosts,
                    gpu_index=nodes,
                    name=texts,
                    colour=st.sampled_from(Colour),
                    width=integers,
                    speed=numbers,
                    ok=st.booleans(),
                )
            case "slot":
                return one(
                    Slot, host=hosts, gpu_index=nodes, name=texts, numa_node=nodes, speed=numbers, ok=st.booleans()
                )
        return one(Note, host=hosts, id=texts, name=texts)

    return [draw_one(kind) for kind in draw(st.lists(st.sampled_from(list(VOCABULARY)), min_size=2, max_size=10))]


@st.composite
def some_rule(draw: st.DrawFn) -> Rule:
    scope: dict[str, str] = {}
    patterns = []
    for place in range(draw(st.integers(0, 3))):
        scope[f"m{place}"] = draw(st.sampled_from(list(VOCABULARY)))
    for alias, kind in scope.items():
        # A condition may read facts that are named later: the engine does not rely on the order.
        patterns.append(RulePattern(alias, kind, draw(some_condition(alias, scope))))
    for place in range(draw(st.integers(0 if scope else 1, 2))):
        alias, kind = f"c{place}", draw(st.sampled_from(list(VOCABULARY)))
        condition = draw(some_condition(alias, {**scope, alias: kind}))
        least = draw(st.none() | st.integers(1, 2))
        most = draw(st.integers(0, 3)) if least is None else draw(st.none() | st.integers(least, 3))
        looked = draw(st.none() | st.sampled_from(list(VOCABULARY)))
        patterns.append(RulePattern(alias, kind, condition, at_least=least, at_most=most, looked=looked))
    return Rule("tested", tuple(patterns))


def some_condition(alias: str, scope: dict[str, str]) -> st.SearchStrategy[Condition]:
    conjunction = st.lists(some_atom(alias, scope), max_size=2).map(tuple)
    return st.lists(conjunction, min_size=1, max_size=2).map(tuple)


@st.composite
def some_atom(draw: st.DrawFn, alias: str, scope: dict[str, str]) -> Atom:
    def field(wanted: ValueType, name: str) -> FieldRef:
        fields = fields_of_kind(VOCABULARY[scope[name]])
        usual = [
            one for one in fields if one in ("host", "gpu", "gpu_index", "name", "colour", "width", "speed", "ok", "id")
        ]
        names = [one for one in (usual if draw(st.integers(0, 3)) else fields) if fields[one] == wanted]
        return FieldRef(name, draw(st.sampled_from(names or [one for one in fields if fields[one] == wanted])), wanted)

    def term(wanted: ValueType, depth: int) -> Term:
        choice = draw(st.integers(0, 5))
        if wanted == "number" and depth and choice == 0:
            symbol = draw(st.sampled_from("+-*/"))
            return Arithmetic(symbol, term(wanted, depth - 1), term(wanted, depth - 1))
        if choice == 1:
            values: dict[ValueType, st.SearchStrategy[str | float | bool]] = {
                "string": texts,
                "number": numbers.map(float),
                "boolean": st.booleans(),
            }
            return Constant(draw(values[wanted]), wanted)
        return field(wanted, draw(st.sampled_from([alias, *scope])))

    choice = draw(st.integers(0, 7))
    if choice == 0:
        return Matches(field("string", alias), draw(st.sampled_from(PATTERNS)), draw(st.booleans()))
    types: list[ValueType] = ["string", "number", "number", "boolean"]
    wanted = draw(st.sampled_from(types))
    has_boolean = any(kind == "boolean" for kind in fields_of_kind(VOCABULARY[scope[alias]]).values())
    if wanted == "boolean" and not (has_boolean and all(kind != "note" for kind in scope.values())):
        wanted = "number"
    if choice == 1:
        return Known(field(wanted, alias), draw(st.booleans()))
    operator = draw(st.sampled_from(ORDER if wanted == "number" else ORDER[:2]))
    return Comparison(operator, term(wanted, 2), term(wanted, 2))


def engine_result(engine: Engine, rule: Rule, facts: list[Fact]) -> Found:
    places = {id(one): place for place, one in enumerate(facts)}
    return [
        (
            tuple(places[id(match.facts[pattern.alias])] for pattern in rule.matched),
            tuple(tuple(places[id(one)] for one in match.counted[pattern.alias]) for pattern in rule.counted),
        )
        for match in engine.run(facts)[rule.id]
    ]


@settings(
    max_examples=700,
    deadline=timedelta(seconds=10),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(some_rule(), st.lists(some_facts(), min_size=2, max_size=4))
def test_engine_finds_what_trying_everything_finds(rule: Rule, fact_sets: list[list[Fact]]) -> None:
    engine = Engine([rule], VOCABULARY)
    for facts in fact_sets:
        assert engine_result(engine, rule, facts) == oracle(rule, facts)


@settings(max_examples=40, deadline=timedelta(seconds=20), suppress_health_check=list(HealthCheck))
@given(st.lists(some_rule(), min_size=5, max_size=30), some_facts())
def test_rules_do_not_influence_each_other(rules: list[Rule], facts: list[Fact]) -> None:
    named = [Rule(f"rule-{place}", rule.patterns) for place, rule in enumerate(rules)]
    together = Engine(named, VOCABULARY)
    for rule in named:
        assert engine_result(together, rule, facts) == oracle(rule, facts)
