from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from diagnose.engine.properties import Names, Numbering, in_order
from diagnose.knowledge.expression import FieldRef

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, finite)
def test_integers_for_floats_keep_their_order(first: float, second: float) -> None:
    assert (in_order(first) < in_order(second)) == (first < second)
    assert (in_order(first) == in_order(second)) == (first == second)


@given(finite)
def test_integers_for_floats_fit_into_64_bits(value: float) -> None:
    assert -(2**63) < in_order(value) < 2**63


def test_texts_are_numbered_from_those_of_the_rules_on() -> None:
    rules = Numbering()
    assert [rules.number(text) for text in ("a", "b", "a")] == [0, 1, 0]
    facts = Numbering(rules.texts)
    assert [facts.number(text) for text in ("c", "b")] == [2, 1]
    assert rules.texts == {"a": 0, "b": 1}


def test_no_two_property_names_have_the_same_hash_in_the_library() -> None:
    names = Names()
    hashes = set()
    for place in range(5000):
        value = 0x811C9DC5
        for byte in names.of(FieldRef("", f"field{place}", "number")).encode():
            value = (value ^ byte) * 0x01000193 & 0xFFFF_FFFF
        hashes.add(value)
    assert len(hashes) == 5000
