"""Each thing that the rule library gets wrong or cannot do, and that the engine keeps from happening."""

from __future__ import annotations

import json
import locale
import math
import subprocess
import sys
from typing import Any

import pytest
from pydantic import create_model

from diagnose.engine import Engine, EngineError, EngineUnavailable, matcher, packing
from diagnose.engine.matcher import load_library
from diagnose.facts import Fact
from tests.engine.kinds import VOCABULARY, Card, Note, Slot, fact, pattern, rule, run


def test_a_fact_may_match_hundreds_of_rules() -> None:
    rules = [rule(f"r{place}", pattern("c", "card", f"width > {place}")) for place in range(400)]
    matches = Engine(rules, VOCABULARY).run([fact(Card, width=1000)])
    assert sum(map(len, matches.values())) == 400


def test_hundreds_of_rules_may_test_one_field_for_different_values() -> None:
    rules = [rule(f"r{place}", pattern("c", "card", f"name == 'name {place}'")) for place in range(600)]
    matches = Engine(rules, VOCABULARY).run([fact(Card, name="name 599")])
    assert [name for name, found in matches.items() if found] == ["r599"]


def test_hundreds_of_rules_may_be_satisfied_by_absent_fields() -> None:
    rules = [rule(f"r{place}", pattern("c", "card", "not known(name)", f"width > {place}")) for place in range(300)]
    assert sum(map(len, Engine(rules, VOCABULARY).run([fact(Card, width=1000)]).values())) == 300


def _wide_model(fields: int) -> type[Fact]:
    numbers: dict[str, Any] = {f"f{place}": (int | None, None) for place in range(fields)}
    model: type[Fact] = create_model("Wide", __base__=Fact, **numbers)
    model.kind = "wide"
    return model


def test_a_fact_may_have_more_fields_than_the_library_takes() -> None:
    wide = _wide_model(400)
    names = {"wide": wide}
    rules = [rule(f"r{place}", pattern("w", "wide", f"f{place} == {place}"), vocabulary=names) for place in range(400)]
    full = fact(wide, **{f"f{place}": place for place in range(400)})
    assert all(len(found) == 1 for found in Engine(rules, names).run([full]).values())


def test_a_rule_that_reads_too_many_fields_is_refused() -> None:
    names = {"wide": _wide_model(400)}
    everything = " and ".join(f"f{place} == 1" for place in range(400))
    with pytest.raises(EngineError, match="rule r reads too many fields"):
        Engine([rule("r", pattern("w", "wide", everything), vocabulary=names)], names)


def test_too_many_conditions_between_two_facts_are_refused() -> None:
    names = {"wide": _wide_model(40)}
    joined = " and ".join(f"f{place} == a.f{place}" for place in range(40))
    with pytest.raises(EngineError, match="rule r: 40 conditions join b"):
        Engine([rule("r", pattern("a", "wide"), pattern("b", "wide", joined), vocabulary=names)], names)


@pytest.mark.parametrize("number", [1e-07, -1e-07, 5e-324, 1e20, -1e300, 4.5e11, 2.0**63, 123456789.123456789])
def test_numbers_of_any_size_are_compared_and_joined(number: float) -> None:
    same = rule("r", pattern("c", "card", f"speed == {number!r}"), pattern("s", "slot", "speed == c.speed"))
    facts = [fact(Card, speed=number), fact(Slot, speed=number), fact(Slot, speed=math.nextafter(number, 1e308))]
    assert len(run(same, *facts)) == 1


def test_whole_numbers_beyond_64_bits_are_compared() -> None:
    assert (
        len(run(rule("r", pattern("c", "card", "width > 9e18")), fact(Card, width=2**80), fact(Card, width=-(2**80))))
        == 1
    )


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 10**400])
def test_numbers_that_are_not_finite_are_refused_by_name(number: float) -> None:
    field = "width" if isinstance(number, int) else "speed"
    with pytest.raises(EngineError, match=rf"card\.{field} from input\.txt:1 is not a finite number"):
        run(rule("r", pattern("c", "card")), fact(Card, **{field: number}))


def test_numbers_do_not_depend_on_the_locale() -> None:
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
            break
        except locale.Error:
            continue
    else:
        pytest.skip("no locale with a decimal comma is installed")
    try:
        assert (
            len(run(rule("r", pattern("c", "card", "speed == 0.5")), fact(Card, speed=0.5), fact(Card, speed=0.0))) == 1
        )
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


def test_text_is_never_compared_with_a_number() -> None:
    tested = rule("r", pattern("n", "note", "name == '5'"), pattern("c", "card", "name == n.name"))
    assert len(run(tested, fact(Note, name="5"), fact(Card, name="5", width=5), fact(Card, name="5.0"))) == 1


@pytest.mark.parametrize(
    "text", ["", "it's", 'a "quoted" word', "back\\slash", "two\nlines", "größe 日本", "\x00", "\ud800"]
)
def test_any_text_is_compared_and_joined(text: str) -> None:
    joined = rule("r", pattern("c", "card"), pattern("n", "note", "name == c.name"))
    assert len(run(joined, fact(Card, name=text), fact(Note, name=text), fact(Note, name=text + "x"))) == 1
    tested = rule("r", pattern("c", "card", f"name == {text!r}"))
    assert len(run(tested, fact(Card, name=text), fact(Card, name=text + "x"))) == 1


def test_long_texts_that_begin_alike_differ() -> None:
    joined = rule("r", pattern("c", "card"), pattern("n", "note", "name == c.name"))
    assert run(joined, fact(Card, name="a" * 3), fact(Note, name="a" * (65_536 + 3))) == []


def test_fields_may_have_the_librarys_own_names() -> None:
    tested = rule("r", pattern("a", "note", "id == 'x'"), pattern("b", "note", "id == a.id"))
    assert len(run(tested, fact(Note, id="x"), fact(Note, id="x"), fact(Note, id="y"))) == 2


def test_equal_facts_are_counted_each() -> None:
    twin = fact(Card, width=5, name="5")
    assert len(run(rule("r", pattern("c", "card")), twin, twin, fact(Card, width=5, name="5"))) == 3


def test_a_fact_whose_id_collides_with_another_is_not_lost() -> None:
    # The library compares 32-bit hashes of ids. Numbers from 0 up first collide well above what a test can assert, so
    # the two ids are given by hand.
    first, second = _colliding_numbers()
    library = load_library()
    handle = library.create_ruleset("plain", json.dumps({"r": {"all": [{"a": {"$and": [{"k": 1}]}}]}}))
    answers = [
        library.assert_fact(handle, json.dumps({"sid": "s", "id": str(number), "k": 1}))[0]
        for number in (first, second)
    ]
    assert answers == [0, 2]

    engine = Engine([rule("r", pattern("c", "card"))], VOCABULARY)
    (rule_set,) = engine._rule_sets
    candidates = [matcher.Candidate(number, "card", {}) for number in (first, second)]
    (found,) = rule_set.matches(candidates, {"card"}).values()
    assert found == {(first,), (second,)}


def _colliding_numbers() -> tuple[int, int]:
    seen: dict[int, int] = {}
    for number in range(10_000_000):
        value = 0x811C9DC5
        for byte in str(number).encode():
            value = (value ^ byte) * 0x01000193 & 0xFFFF_FFFF
        if value in seen:
            return seen[value], number
        seen[value] = number
    raise AssertionError("no two numbers collide")


def test_kinds_that_no_rule_mentions_do_no_harm() -> None:
    assert len(run(rule("r", pattern("c", "card")), fact(Note, name="x"), fact(Card), fact(Slot))) == 1


def test_what_the_library_raises_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine([rule("r", pattern("c", "card"))], VOCABULARY)
    (rule_set,) = engine._rule_sets
    deleted: list[str] = []

    class Failing:
        def __getattr__(self, name: str) -> Any:
            return getattr(load_library(), name)

        def assert_fact(self, handle: int, text: str) -> tuple[int, int]:
            if '"open"' not in text:
                raise RuntimeError("Could not assert fact, error code: 303")
            return load_library().assert_fact(handle, text)

        def delete_state(self, handle: int, session: str) -> None:
            deleted.append(session)
            load_library().delete_state(handle, session)

    monkeypatch.setattr(rule_set, "_library", Failing())
    with pytest.raises(EngineError, match="error code: 303"):
        engine.run([fact(Card)])
    assert len(deleted) == 1


def test_a_keyed_join_of_many_facts_is_complete() -> None:
    tested = rule("r", pattern("c", "card"), pattern("s", "slot", "gpu_index == c.gpu_index", "host == c.host"))
    facts = [fact(model, host="n1", gpu_index=place) for model in (Card, Slot) for place in range(3000)]
    matches = run(tested, *facts)
    assert [match.facts["c"].subject.gpu_index for match in matches] == list(range(3000))
    assert all(match.facts["c"].subject == match.facts["s"].subject for match in matches)


def test_a_join_that_matches_every_pair_is_complete() -> None:
    tested = rule("r", pattern("c", "card"), pattern("s", "slot", "host == c.host"))
    facts = [fact(model, host="n1", gpu_index=place) for place in range(300) for model in (Card, Slot)]
    found = {(match.facts["c"].subject.gpu_index, match.facts["s"].subject.gpu_index) for match in run(tested, *facts)}
    assert len(found) == 300 * 300


def test_a_join_of_three_kinds_is_complete_in_any_order() -> None:
    tested = rule(
        "r", pattern("c", "card"), pattern("s", "slot", "gpu == c.gpu"), pattern("n", "note", "name == s.name")
    )
    facts: list[Fact] = []
    for place in range(500):
        facts.insert(place * 7 % (len(facts) + 1), fact(Card, gpu_index=place))
        facts.insert(place * 11 % (len(facts) + 1), fact(Slot, gpu_index=place, name=f"s{place}"))
        facts.insert(place * 13 % (len(facts) + 1), fact(Note, name=f"s{place}"))
    assert len(run(tested, *facts)) == 500


def test_a_rule_with_endless_matches_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher, "MAX_MATCHES", 1000)
    tested = rule("r", pattern("c", "card"), pattern("s", "slot"))
    with pytest.raises(EngineError, match="rule r: more than 1,000 matches"):
        run(tested, *(fact(model) for model in (Card, Slot) for _ in range(40)))


def test_a_join_whose_beginnings_do_not_fit_into_memory_is_refused() -> None:
    tested = rule("r", pattern("c", "card"), pattern("s", "slot"), pattern("n", "note", "name == c.name"))
    facts = [fact(model) for model in (Card, Slot) for _ in range(1100)]
    with pytest.raises(EngineError, match="rule r: c and s have more than 1,000,000 combinations"):
        run(tested, *facts, fact(Note))


def test_a_keyed_join_of_as_many_facts_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MAX_PARTIAL_MATCHES", 100)
    facts = [fact(model, gpu_index=place, width=place) for model in (Card,) for place in range(60)]
    facts += [fact(Slot, gpu_index=place, name="x") for place in range(60)]
    keyed = rule(
        "r", pattern("c", "card"), pattern("s", "slot", "gpu == c.gpu"), pattern("n", "note", "name == s.name")
    )
    assert len(run(keyed, *facts, fact(Note, name="x"))) == 60
    few = rule("r", pattern("c", "card", "width == 1"), pattern("s", "slot"), pattern("n", "note", "name == s.name"))
    assert len(run(few, *facts, fact(Note, name="x"))) == 60


def test_a_session_without_a_match_can_be_deleted() -> None:
    # The library frees pointers of a session that it has written only if there was a match; with memory that is not
    # zeroed beforehand the process ends there.
    program = (
        "from tests.engine.kinds import *\n"
        "engine = Engine([rule('r', pattern('c', 'card', 'width > 1'))], VOCABULARY)\n"
        "print(len(engine.run([fact(Card, width=1)])['r']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"MALLOC_PERTURB_": "165", "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done.stderr


def test_the_last_condition_between_two_facts_is_always_true() -> None:
    # When it is false, the library reads on behind the conditions. That ends the process only where memory happens to
    # be laid out badly, so what is tested is that it cannot be false.
    tested = rule(
        "r",
        pattern("c", "card"),
        pattern("s", "slot", "name == c.name and speed < c.speed"),
        pattern("n", "note", "name != s.name"),
    )
    (rule_set,) = Engine([tested], VOCABULARY)._rule_sets
    conditions = [part["$and"] for pattern in rule_set._definition()["0"]["all"] for part in pattern.values()]
    kinds = [next(iter(part[0])) for part in conditions]
    assert [part[-1] for part in conditions[1:]] == [{kind: {"a0": kinds[0]}} for kind in kinds[1:]]
    assert [part[0] for part in conditions] == [{kind: 1} for kind in kinds]


def test_many_runs_do_not_need_more_memory() -> None:
    resource = pytest.importorskip("resource")
    engine = Engine([rule("r", pattern("c", "card"), pattern("s", "slot", "name == c.name"))], VOCABULARY)
    facts = [fact(model, name=str(place)) for place in range(20) for model in (Card, Slot)]
    engine.run(facts)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(300):
        engine.run(facts)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024)
    # One run stores 40 facts of 9 kB; 300 of them would be 100 MB.
    assert grown < 20_000_000


def test_a_library_that_cannot_be_loaded_is_told_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "durable_rules_engine", None)
    with pytest.raises(
        EngineUnavailable, match=r"C compiler .* CPPFLAGS=\"-DPyEval_CallObject=PyObject_CallObject\" pip"
    ):
        Engine([], VOCABULARY)


def test_the_library_runs_no_threads() -> None:
    program = (
        "import threading\n"
        "from tests.engine.kinds import *\n"
        "run(rule('r', pattern('c', 'card')), fact(Card))\n"
        "print(threading.active_count())"
    )
    path = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", program], env=path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
