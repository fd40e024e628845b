"""What rules mean, one behaviour at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from diagnose.engine import Engine, EngineError
from diagnose.engine.flatten import flatten
from diagnose.facts import Missing
from diagnose.knowledge.expression import Comparison, Constant, FieldRef, Operator
from diagnose.knowledge.rule import Rule, RulePattern
from tests.engine.kinds import VOCABULARY, Card, Colour, Note, Slot, fact, pattern, rule, run


def test_a_match_holds_the_very_facts_that_were_given() -> None:
    card, slot = fact(Card, host="n1", width=8), fact(Slot, host="n1", speed=2.5)
    match, *others = run(rule("r", pattern("c", "card"), pattern("s", "slot", "host == c.host")), card, slot)
    assert not others
    assert match.facts["c"] is card
    assert match.facts["s"] is slot


def test_matches_come_in_the_order_of_the_facts() -> None:
    cards = [fact(Card, width=width) for width in (5, 1, 4, 2, 3)]
    matches = run(rule("r", pattern("a", "card"), pattern("b", "card", "width > a.width")), *cards)
    places = [tuple(cards.index(found.facts[alias]) for alias in "ab") for found in matches]
    assert len(places) == 10
    assert places == sorted(places)


@pytest.mark.parametrize("condition", ["width == 3", "width != 3", "width < 3", "width >= 3", "not (width == 3)"])
def test_no_comparison_holds_for_an_absent_field(condition: str) -> None:
    assert run(rule("r", pattern("c", "card", condition)), fact(Card, name="x")) == []


@pytest.mark.parametrize(
    "condition", ["speed == c.speed", "speed != c.speed", "speed < c.speed", "speed > c.width * 2"]
)
def test_no_comparison_with_another_fact_holds_where_its_field_is_absent(condition: str) -> None:
    tested = rule("r", pattern("c", "card"), pattern("s", "slot", condition))
    assert run(tested, fact(Card), fact(Slot, speed=1.0)) == []
    assert run(tested, fact(Card, speed=1.0, width=1), fact(Slot)) == []


@pytest.mark.parametrize("condition", ["width < speed", "width != speed", "width == speed"])
def test_no_comparison_within_a_fact_holds_where_one_side_is_absent(condition: str) -> None:
    tested = rule("r", pattern("c", "card", condition))
    assert run(tested, fact(Card, width=1)) == []
    assert run(tested, fact(Card, speed=1.0)) == []


def test_a_field_is_known_or_not_known() -> None:
    with_name, without = fact(Card, name=""), fact(Card)
    assert [match.facts["c"] for match in run(rule("r", pattern("c", "card", "known(name)")), with_name, without)] == [
        with_name
    ]
    absent = run(rule("r", pattern("c", "card", "not known(name)")), with_name, without)
    assert [match.facts["c"] for match in absent] == [without]


def test_the_reason_of_an_absence_can_be_compared() -> None:
    lost = fact(Card, missing={"speed": Missing.LOST})
    tested = rule("r", pattern("c", "card", "missing(speed) == 'lost'"))
    assert len(run(tested, lost, fact(Card), fact(Card, missing={"speed": Missing.BLANK}))) == 1


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("number", [-2, -1, 0, 1])
def test_every_comparison_means_the_same_wherever_its_sides_stand(operator: str, number: int) -> None:
    expected = bool(eval(f"{number} {operator} -1"))
    card, slot = fact(Card, width=number, speed=-1.0), fact(Slot, speed=-1.0)
    for tested in (
        rule("r", pattern("c", "card", f"width {operator} -1")),
        rule("r", pattern("c", "card", f"{number} {operator} speed")),
        rule("r", pattern("c", "card", f"width {operator} speed")),
        rule("r", pattern("c", "card"), pattern("s", "slot", f"c.width {operator} speed")),
        rule("r", pattern("s", "slot"), pattern("c", "card", f"width {operator} s.speed")),
        rule("r", pattern("c", "card"), pattern("s", "slot", f"c.width - 0 * speed {operator} speed")),
    ):
        assert bool(run(tested, card, slot)) == expected


def test_whole_numbers_and_floats_are_equal_across_facts() -> None:
    tested = rule("r", pattern("c", "card"), pattern("s", "slot", "speed == c.width", "numa_node == c.speed"))
    assert len(run(tested, fact(Card, width=3, speed=0.0), fact(Slot, speed=3.0, numa_node=0))) == 1


def test_zero_and_minus_zero_are_equal_across_facts() -> None:
    tested = rule("r", pattern("c", "card"), pattern("s", "slot", "speed == c.speed"))
    assert len(run(tested, fact(Card, speed=0.0), fact(Slot, speed=-0.0))) == 1


def test_division_of_whole_numbers_gives_fractions() -> None:
    assert len(run(rule("r", pattern("c", "card", "width / 2 == 3.5")), fact(Card, width=7))) == 1


def test_a_condition_that_divides_by_zero_does_not_hold() -> None:
    within = rule("r", pattern("c", "card", "width / speed > 0"))
    assert run(within, fact(Card, width=1, speed=0.0), fact(Card, width=0, speed=0.0)) == []
    across = rule("r", pattern("c", "card"), pattern("s", "slot", "c.width / speed != 1"))
    assert run(across, fact(Card, width=1), fact(Slot, speed=0.0)) == []
    constant = rule("r", pattern("c", "card", "width > 1 / 0"))
    assert run(constant, fact(Card, width=1)) == []


@pytest.mark.parametrize("condition", ["speed * speed > 1", "speed * speed - speed * speed != 1"])
def test_a_term_without_a_finite_value_is_absent(condition: str) -> None:
    assert run(rule("r", pattern("c", "card", condition)), fact(Card, speed=1e300)) == []


def test_terms_over_two_facts_are_compared() -> None:
    tested = rule("r", pattern("a", "card"), pattern("b", "card", "width - a.width == 2"))
    matches = run(tested, *(fact(Card, width=width) for width in (1, 2, 3)))
    assert [(flatten(found.facts["a"]), flatten(found.facts["b"])) for found in matches] == [
        ({"width": 1}, {"width": 3})
    ]


def test_patterns_are_python_regular_expressions_searched_anywhere() -> None:
    tested = rule("r", pattern("n", "note", r"matches(name, r'(?<!un)healthy\b')"))
    found = run(tested, fact(Note, name="GPU is healthy."), fact(Note, name="unhealthy"), fact(Note))
    assert [match.facts["n"].values()["name"] for match in found] == ["GPU is healthy."]


def test_a_negated_pattern_needs_the_text() -> None:
    tested = rule("r", pattern("n", "note", "not matches(name, 'x')"))
    assert len(run(tested, fact(Note, name="y"), fact(Note, name="x"), fact(Note))) == 1


def test_enumerations_are_compared_as_their_text() -> None:
    tested = rule("r", pattern("c", "card", "colour == 'red'"), pattern("n", "note", "name == c.colour"))
    assert len(run(tested, fact(Card, colour=Colour.RED), fact(Note, name="red"), fact(Note, name="Colour.RED"))) == 1


def test_flags_are_compared() -> None:
    tested = rule("r", pattern("c", "card", "ok"), pattern("s", "slot", "ok != c.ok"))
    assert len(run(tested, fact(Card, ok=True), fact(Card, ok=False), fact(Slot, ok=False), fact(Slot, ok=True))) == 1


def test_alternatives_that_both_hold_give_one_match() -> None:
    assert len(run(rule("r", pattern("c", "card", "width > 1 or speed > 1")), fact(Card, width=2, speed=2.0))) == 1


def test_one_fact_does_not_stand_in_for_two() -> None:
    tested = rule("r", pattern("a", "card"), pattern("b", "card", "width == a.width"))
    assert run(tested, fact(Card, width=1)) == []
    assert len(run(tested, fact(Card, width=1), fact(Card, width=1))) == 2


def test_an_own_field_hides_a_field_of_the_subject() -> None:
    tested = rule("r", pattern("s", "slot", "numa_node == 1"))
    assert run(tested, fact(Slot).model_copy(update={"subject": fact(Card, numa_node=1).subject})) == []
    assert len(run(rule("r", pattern("c", "card", "numa_node == 1")), fact(Card, numa_node=1))) == 1


def test_counted_facts_are_distinct_and_not_those_matched() -> None:
    tested = rule(
        "r",
        pattern("a", "card"),
        pattern("same", "card", "host == a.host and (width > 0 or speed > 0)", at_least=1),
    )
    cards = [fact(Card, host="n1", width=1, speed=1.0), fact(Card, host="n1", width=1), fact(Card, host="n2", width=1)]
    matches = run(tested, *cards)
    assert [(match.facts["a"], match.counts, match.counted) for match in matches] == [
        (cards[0], {"same": 1}, {"same": (cards[1],)}),
        (cards[1], {"same": 1}, {"same": (cards[0],)}),
    ]


def test_counted_facts_are_not_those_matched_even_where_they_are_not_joined() -> None:
    tested = rule("r", pattern("a", "card"), pattern("more", "card", "width > 0", at_least=1))
    assert run(tested, fact(Card, width=1)) == []
    assert [match.counts["more"] for match in run(tested, fact(Card, width=1), fact(Card, width=2))] == [1, 1]


def test_a_count_of_zero_stands_where_it_is_allowed() -> None:
    tested = rule("r", pattern("c", "card"), pattern("s", "slot", "gpu == c.gpu", at_most=1, looked="slot"))
    slots = [fact(Slot, gpu_index=index) for index in (1, 2, 2)]
    matches = run(tested, *(fact(Card, gpu_index=index) for index in range(3)), *slots)
    assert [(match.facts["c"].subject.gpu_index, match.counts["s"]) for match in matches] == [(0, 0), (1, 1)]


def test_absence_means_nothing_where_nobody_looked() -> None:
    tested = rule("r", pattern("c", "card"), pattern("s", "slot", "ok", at_most=0, looked="note"))
    assert run(tested, fact(Card)) == []
    assert len(run(tested, fact(Card), fact(Note))) == 1


@pytest.mark.parametrize("turned", [False, True])
def test_absence_does_not_depend_on_the_order_of_the_facts(turned: bool) -> None:
    tested = rule("r", pattern("c", "card"), pattern("s", "slot", "gpu == c.gpu", at_most=0))
    facts = [fact(Card, gpu_index=0), fact(Slot, gpu_index=0)]
    assert run(tested, *(reversed(facts) if turned else facts)) == []


def test_a_rule_may_consist_of_counts_alone() -> None:
    tested = rule("r", pattern("s", "slot", "ok", at_least=2))
    assert run(tested, fact(Slot, ok=True)) == []
    (match,) = run(tested, fact(Slot, ok=True), fact(Slot, ok=True), fact(Slot, ok=False))
    assert (match.facts, match.counts) == ({}, {"s": 2})


def test_every_rule_has_an_entry() -> None:
    engine = Engine([rule("one", pattern("c", "card")), rule("two", pattern("s", "slot"))], VOCABULARY)
    assert {name: len(matches) for name, matches in engine.run([fact(Card)]).items()} == {"one": 1, "two": 0}
    assert engine.run([]) == {"one": [], "two": []}


def test_runs_do_not_see_each_others_facts() -> None:
    engine = Engine([rule("r", pattern("c", "card"), pattern("s", "slot", "host == c.host"))], VOCABULARY)
    assert engine.run([fact(Card, host="n1")])["r"] == []
    assert engine.run([fact(Slot, host="n1")])["r"] == []


def test_runs_in_several_threads_do_not_disturb_each_other() -> None:
    engine = Engine([rule("r", pattern("c", "card"), pattern("s", "slot", "name == c.name"))], VOCABULARY)

    def count(size: int) -> int:
        facts = [fact(model, name=str(place)) for place in range(size) for model in (Card, Slot)]
        return len(engine.run(facts)["r"])

    sizes = [place % 17 for place in range(60)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, sizes)) == sizes


def test_engines_of_the_same_rules_live_side_by_side() -> None:
    tested = rule("r", pattern("c", "card", "width > 1"))
    first, second = Engine([tested], VOCABULARY), Engine([tested], VOCABULARY)
    assert len(first.run([fact(Card, width=2)])["r"]) == 1
    del first
    assert len(second.run([fact(Card, width=2)])["r"]) == 1


def test_two_rules_of_one_name_are_refused() -> None:
    with pytest.raises(EngineError, match="two rules are called r"):
        Engine([rule("r", pattern("c", "card"))] * 2, VOCABULARY)


def _rule_with(left: FieldRef, operator: Operator, right: Constant) -> Rule:
    return Rule("r", (RulePattern("c", "card", ((Comparison(operator, left, right),),)),))


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (Rule("r", (RulePattern("c", "cart", ((),)),)), "no kind of fact is called cart"),
        (Rule("r", (RulePattern("c", "card", ((),)), RulePattern("c", "slot", ((),)))), "an alias is used twice"),
        (
            _rule_with(FieldRef("c", "widht", "number"), ">", Constant(1.0, "number")),
            "c has no number field widht",
        ),
        (_rule_with(FieldRef("c", "name", "number"), ">", Constant(1.0, "number")), "c has no number field name"),
        (
            _rule_with(FieldRef("c", "name", "string"), "==", Constant(1.0, "number")),
            "a string is compared with a number",
        ),
        (_rule_with(FieldRef("c", "name", "string"), ">", Constant("a", "string")), "> needs numbers"),
        (
            _rule_with(FieldRef("c", "width", "number"), "=~", Constant(1.0, "number")),  # type: ignore[arg-type]
            "operator =~ is unknown",
        ),
        (rule("r", pattern("s", "slot", at_most=0), pattern("c", "card", "ok == s.ok")), "c refers to s"),
        (
            rule("r", *(pattern(f"p{place}", "note", "name in ['a', 'b', 'c']") for place in range(6))),
            "729 combinations",
        ),
        (rule("r", *(pattern(f"p{place}", "note") for place in range(16))), "15 are the most"),
    ],
)
def test_rules_that_cannot_be_run_are_refused_by_name(refused: Rule, why: str) -> None:
    with pytest.raises(EngineError, match=why) as error:
        Engine([refused], VOCABULARY)
    assert "rule r:" in str(error.value)
