from __future__ import annotations

from typing import Any

import pytest

from diagnose.analysis.run_inputs import features
from diagnose.facts import Fact, Source
from diagnose.facts.precision import (
    InputSettings,
    PreprocessingDifference,
    SamplingDifference,
    SamplingSettings,
    TokenSequence,
)

SOURCES = (Source(path="x"),)


def tokens(role: str | None, *ids: int, prompt: str = "0") -> TokenSequence:
    return TokenSequence(sources=SOURCES, prompt=prompt, role=role, tokens=len(ids), ids=ids)


def settings(role: str | None, **values: str) -> InputSettings:
    return InputSettings(sources=SOURCES, sort="tokenizer", role=role, settings=tuple(sorted(values.items())))


def sampling(role: str | None, **values: Any) -> SamplingSettings:
    return SamplingSettings(sources=SOURCES, role=role, **values)


def preprocessing(*facts: Fact) -> PreprocessingDifference:
    (found,) = features(facts)
    assert isinstance(found, PreprocessingDifference)
    return found


def difference(*facts: Fact) -> SamplingDifference:
    (found,) = features(facts)
    assert isinstance(found, SamplingDifference)
    return found


def test_missing_first_token_is_told_from_other_tokens() -> None:
    found = preprocessing(tokens("reference", 1, 5, 9), tokens("low-bit", 5, 9))
    assert (found.differs, found.position, found.only_first_token) == (True, 0, True)
    assert (found.reference_value, found.suspect_value) == ("1", "5")
    found = preprocessing(tokens("reference", 1, 5, 9), tokens("low-bit", 1, 5, 8))
    assert (found.position, found.only_first_token, found.suspect_value) == (2, False, "8")


def test_prefix_differs_where_it_ends() -> None:
    found = preprocessing(tokens("reference", 1, 5, 9), tokens("low-bit", 1, 5))
    assert (found.position, found.reference_value, found.suspect_value) == (2, "9", "none")


def test_equal_tokens_are_a_result_too() -> None:
    found = preprocessing(
        tokens("reference", 1, 5),
        tokens("low-bit", 1, 5),
        tokens("reference", 2, prompt="1"),
        tokens("low-bit", 2, prompt="1"),
    )
    assert (found.differs, found.compared, found.prompts_differing) == (False, 2, 0)


def test_differing_prompts_are_counted() -> None:
    found = preprocessing(
        tokens("reference", 1),
        tokens("low-bit", 1),
        tokens("reference", 2, prompt="1"),
        tokens("low-bit", 3, prompt="1"),
    )
    assert (found.compared, found.prompts_differing) == (2, 1)


def test_two_inputs_without_a_role_are_a_pair_and_three_are_none() -> None:
    found = preprocessing(tokens(None, 1), tokens(None, 2))
    assert (found.differs, found.roles_known) == (True, False)
    assert features([tokens(None, 1), tokens(None, 2), tokens(None, 3)]) == []
    assert features([tokens("reference", 1)]) == []


def test_only_settings_that_both_files_have_are_compared() -> None:
    found = preprocessing(settings("reference", a="1", b="2", d="9"), settings("low-bit", a="1", b="3", c="4"))
    assert (found.field, found.reference_value, found.suspect_value, found.compared) == ("b", "2", "3", 2)


def test_defaults_that_are_not_written_count() -> None:
    assert not difference(sampling("reference", temperature=1.0), sampling("low-bit", top_p=1.0)).differs
    found = difference(sampling("reference", temperature=0.0), sampling("low-bit", temperature=0.7, top_p=0.9))
    assert (found.field, found.fields, found.random, found.same_seed) == ("temperature", 2, True, False)


@pytest.mark.parametrize(
    ("first", "second", "random", "same_seed"),
    [
        ({"temperature": 0.0, "seed": 1}, {"temperature": 0.0, "seed": 1}, False, True),
        ({"do_sample": False, "temperature": 0.6}, {"do_sample": False, "temperature": 0.6}, False, False),
        ({"do_sample": True, "seed": 3}, {"do_sample": True, "seed": 3}, True, True),
        ({"top_p": 0.9}, {"top_p": 0.9}, False, False),
    ],
)
def test_chance_is_told_by_temperature_and_sampling(
    first: dict[str, Any], second: dict[str, Any], random: bool, same_seed: bool
) -> None:
    found = difference(sampling("reference", **first), sampling("low-bit", **second))
    assert (found.differs, found.random, found.same_seed) == (False, random, same_seed)
