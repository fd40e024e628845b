from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.facts.cpu_lists import format_cpu_list, parse_cpu_list


@given(st.sets(st.integers(0, 300)))
def test_a_formatted_list_names_the_same_cpus(cpus: set[int]) -> None:
    assert parse_cpu_list(format_cpu_list(cpus)) == cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3,8", {0, 1, 2, 3, 8}), ("0-7:2/4", {0, 1, 4, 5}), ("5\n", {5}), ("", set()), (None, set())],
)
def test_the_kernels_lists_are_understood(text: str | None, cpus: set[int]) -> None:
    assert parse_cpu_list(text) == cpus


@given(st.text("0123456789-,:/ x", max_size=30))
def test_any_text_gives_a_list_of_bounded_size(text: str) -> None:
    assert len(parse_cpu_list(text)) <= 100_000
