from __future__ import annotations

import pytest

from collectors.base import Parsed
from collectors.json_text import items, load_object, mapping, real, whole
from tests.collectors.helpers import block


def test_a_remark_before_the_object_is_passed_over() -> None:
    assert load_object(block('Warning: slow\n{"a": 1}\ntrailing')) == {"a": 1}


@pytest.mark.parametrize("text", ["", "[1]", '{"a":', "{" * 100_000])
def test_what_is_no_object_is_a_problem(text: str) -> None:
    parsed = load_object(block(text))
    assert isinstance(parsed, Parsed)
    assert parsed.problems


@pytest.mark.parametrize(
    ("value", "number"), [(3, 3.0), ("4.5", 4.5), (True, None), ("nan", None), ("1e999", None), ([1], None)]
)
def test_real_numbers_are_finite(value: object, number: float | None) -> None:
    assert real(value) == number


@pytest.mark.parametrize(("value", "number"), [(3, 3), ("7", 7), (True, None), ("-1", None), (2.5, None)])
def test_whole_numbers(value: object, number: int | None) -> None:
    assert whole(value) == number


def test_shapes_are_not_trusted() -> None:
    assert list(items([1, "a", 2], int)) == [1, 2]
    assert list(items({"a": 1}, int)) == []
    assert mapping([1]) == {}
