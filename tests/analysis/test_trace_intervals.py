"""Interval arithmetic against counting unit cells one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from diagnose.analysis.trace_intervals import covered_within, gaps, intersect, measure, merge, subtract, union

RANGE = 40
Pairs = list[tuple[int, int]]
pairs = st.lists(st.tuples(st.integers(0, RANGE), st.integers(0, RANGE)), max_size=12)


def merged(intervals: Pairs) -> NDArray[np.float64]:
    columns = np.array(intervals, dtype=float).reshape(-1, 2)
    return merge(columns[:, 0], columns[:, 1])


def cells(intervals: Pairs) -> set[int]:
    return {cell for start, end in intervals for cell in range(start, end)}


def cells_of(found: NDArray[np.float64]) -> set[int]:
    return cells([(int(start), int(end)) for start, end in found])


def assert_merged(found: NDArray[np.float64]) -> None:
    assert (found[:, 1] > found[:, 0]).all()
    assert (found[1:, 0] > found[:-1, 1]).all()


@given(pairs)
def test_merging_keeps_what_is_covered_and_nothing_twice(intervals: Pairs) -> None:
    found = merged(intervals)
    assert_merged(found)
    assert cells_of(found) == cells(intervals)
    assert measure(found) == len(cells(intervals))


@given(pairs, pairs)
def test_sets_combine_as_sets_of_cells_do(first: Pairs, second: Pairs) -> None:
    a, b = merged(first), merged(second)
    assert cells_of(union(a, b)) == cells(first) | cells(second)
    assert cells_of(intersect(a, b)) == cells(first) & cells(second)
    assert cells_of(subtract(a, b)) == cells(first) - cells(second)


@given(pairs, st.integers(0, RANGE), st.integers(0, RANGE))
def test_gaps_are_the_rest_of_the_stretch(intervals: Pairs, start: int, end: int) -> None:
    start, end = min(start, end), max(start, end)
    assert cells_of(gaps(merged(intervals), start, end)) == set(range(start, end)) - cells(intervals)


@given(pairs, pairs)
def test_what_is_covered_within_each_of_overlapping_stretches(intervals: Pairs, stretches: Pairs) -> None:
    ordered = [(min(pair), max(pair)) for pair in stretches]
    columns = np.array(ordered, dtype=float).reshape(-1, 2)
    found = covered_within(merged(intervals), columns[:, 0], columns[:, 1])
    assert found.tolist() == [len(cells(intervals) & set(range(start, end))) for start, end in ordered]
