"""Arithmetic on sets of time intervals, vectorised.

A *merged* set is an array of shape (n, 2): starts and ends, ascending and disjoint. `covered` turns a merged set into
the measure of it that lies before each of some moments, from which shares and overlaps follow by subtraction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def merge(starts: Floats, ends: Floats) -> Floats:
    """The union as a merged set; intervals that touch become one, empty and reversed ones are left out."""
    real = ends > starts
    starts, ends = starts[real], ends[real]
    if not len(starts):
        return np.empty((0, 2))
    order = np.argsort(starts, kind="stable")
    starts, reached = starts[order], np.maximum.accumulate(ends[order])
    first = np.concatenate(([True], starts[1:] > reached[:-1]))
    last = np.concatenate((np.flatnonzero(first)[1:] - 1, [len(starts) - 1]))
    return np.column_stack((starts[first], reached[last]))


def measure(merged: Floats) -> float:
    """Total length."""
    return float((merged[:, 1] - merged[:, 0]).sum())


def union(*sets: Floats) -> Floats:
    """Of merged sets."""
    return merge(np.concatenate([item[:, 0] for item in sets]), np.concatenate([item[:, 1] for item in sets]))


def gaps(merged: Floats, start: float, end: float) -> Floats:
    """What of [start, end] the set leaves free, as a merged set."""
    inside = np.clip(merged, start, end)
    starts, ends = np.concatenate(([start], inside[:, 1])), np.concatenate((inside[:, 0], [end]))
    free = ends > starts
    return np.column_stack((starts[free], ends[free]))


def intersect(first: Floats, second: Floats) -> Floats:
    """What is in both, as a merged set."""
    if not len(first) or not len(second):
        return np.empty((0, 2))
    start, end = min(first[0, 0], second[0, 0]), max(first[-1, 1], second[-1, 1])
    return gaps(union(gaps(first, start, end), gaps(second, start, end)), start, end)


def subtract(first: Floats, second: Floats) -> Floats:
    """What is in the first only, as a merged set."""
    if not len(first):
        return first
    return intersect(first, gaps(second, float(first[0, 0]), float(first[-1, 1])))


def covered(merged: Floats, moments: Floats) -> Floats:
    """Measure of the set before each moment."""
    if not len(merged):
        return np.zeros(len(moments))
    before = np.concatenate(([0.0], np.cumsum(merged[:, 1] - merged[:, 0])))
    at = np.searchsorted(merged[:, 0], moments, side="right")
    inside = np.where(at > 0, np.maximum(merged[np.maximum(at - 1, 0), 1] - moments, 0.0), 0.0)
    return before[at] - inside


def covered_within(merged: Floats, starts: Floats, ends: Floats) -> Floats:
    """Measure of the set within each of some intervals, which may overlap."""
    return covered(merged, ends) - covered(merged, starts)
