from __future__ import annotations

from diagnose.engine.flatten import flatten
from diagnose.facts import Missing
from diagnose.facts.base import SUBJECT_FIELDS
from diagnose.facts.registry import fact_kinds
from diagnose.knowledge.vocabulary import fields_of_kind
from tests.engine.kinds import Card, Colour, Slot, fact


def test_subject_and_own_fields_lie_side_by_side() -> None:
    card = fact(Card, host="n1", gpu_index=3, name="x", colour=Colour.RED, width=16, speed=2.5, ok=False, tags=("a",))
    assert flatten(card) == {
        "host": "n1",
        "gpu": "3",
        "gpu_index": 3.0,
        "name": "x",
        "colour": "red",
        "width": 16.0,
        "speed": 2.5,
        "ok": False,
    }


def test_values_are_of_the_plain_types() -> None:
    flat = flatten(fact(Card, colour=Colour.RED, width=16, ok=True))
    assert {name: type(value) for name, value in flat.items()} == {"colour": str, "width": float, "ok": bool}


def test_absent_fields_have_no_key_and_reasons_have_their_own() -> None:
    assert flatten(fact(Card, missing={"speed": Missing.LOST})) == {"missing_speed": "lost"}


def test_own_fields_hide_those_of_the_subject_even_when_absent() -> None:
    slot = fact(Slot).model_copy(update={"subject": fact(Card, numa_node=1).subject})
    assert flatten(slot) == {}


def test_every_field_that_conditions_may_use_is_a_field_of_the_model_or_its_subject() -> None:
    for model in fact_kinds().values():
        known = {*SUBJECT_FIELDS, *model.own_fields(), *(f"missing_{name}" for name in model.own_fields())}
        assert set(fields_of_kind(model)) <= known
