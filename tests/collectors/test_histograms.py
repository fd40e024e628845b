from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.histograms import Histogram, histogram, joined

INF = float("inf")


def test_a_quantile_lies_within_its_bucket() -> None:
    found = Histogram([1.0, 2.0, INF], [10, 90, 100]).quantile(0.5)
    assert found is not None
    assert (found.low, found.high, found.value) == (1.0, 2.0, 1.5)


def test_beyond_the_last_edge_there_is_only_a_lower_one() -> None:
    found = Histogram([1.0, INF], [10, 100]).quantile(0.99)
    assert found is not None
    assert (found.low, found.high, found.value) == (1.0, None, None)


def test_counts_that_fall_are_no_histogram() -> None:
    assert histogram({1.0: 5, INF: 4}, None) is None


def test_a_server_that_began_anew_has_no_difference() -> None:
    assert Histogram([1.0, INF], [1, 2]).minus(Histogram([1.0, INF], [5, 9])) is None


def test_replicas_are_added() -> None:
    both = joined([Histogram([1.0, INF], [1, 2], 3.0), Histogram([1.0, INF], [4, 4], 1.0)])
    assert both is not None
    assert list(both.counts) == [5.0, 6.0]
    assert both.mean == pytest.approx(4 / 6)
    assert joined([Histogram([1.0, INF], [1, 2]), Histogram([2.0, INF], [1, 2])]) is None


@given(st.lists(st.integers(0, 50), min_size=2, max_size=8), st.floats(0.01, 1.0))
def test_a_quantile_never_leaves_its_bucket(steps: list[int], share: float) -> None:
    edges = [float(at + 1) for at in range(len(steps) - 1)] + [INF]
    counts = [float(sum(steps[: at + 1])) for at in range(len(steps))]
    found = Histogram(edges, counts).quantile(share)
    assert (found is None) == (sum(steps) == 0)
    if found is not None and found.value is not None and found.high is not None:
        assert found.low <= found.value <= found.high
