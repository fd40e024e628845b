"""Errors that are no defects end in a sentence that says what to do."""

from __future__ import annotations

from diagnose.cli.errors import known_error
from diagnose.engine import EngineError, EngineUnavailable


def test_facts_that_join_without_end_are_answered_with_what_to_do() -> None:
    sentence = known_error(EngineError("rule slow/peer: more than 200,000 matches"))
    assert sentence is not None
    assert "--host" in sentence
    assert "slow/peer" in sentence


def test_a_library_that_cannot_be_loaded_names_its_cure_alone() -> None:
    assert known_error(EngineUnavailable("build it with: pip")) == "build it with: pip"


def test_a_defect_has_no_sentence() -> None:
    assert known_error(ZeroDivisionError()) is None
