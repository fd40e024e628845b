from __future__ import annotations

import math

import numpy as np
import pytest

from collectors.prometheus.histograms import classic, grouped, native
from collectors.prometheus.samples import Stream, join, stream_of


def bucket(bound: str, counts: list[float], times: list[float] | None = None, **labels: str) -> Stream:
    at = np.array(times if times is not None else [15.0 * number for number in range(len(counts))])
    return Stream({"le": bound, **labels}, at, np.array(counts))


def histogram(seconds: float, count: float, *buckets: tuple[float, float, float]) -> list[object]:
    """One sample as the API gives it: bounds and counts are texts."""
    shown = [[0, str(low), str(high), str(observed)] for low, high, observed in buckets]
    return [seconds, {"count": str(count), "sum": "1", "buckets": shown}]


def test_quantiles_are_interpolated_within_their_bucket() -> None:
    counted = classic([bucket("0.1", [0, 50, 50]), bucket("0.2", [0, 100, 200]), bucket("+Inf", [0, 100, 200])], gap=40)
    assert counted is not None
    assert counted.quantile(0.5).tolist() == pytest.approx([0.1, 0.15])
    assert counted.quantile(0.99).tolist() == pytest.approx([0.198, 0.199])


def test_beyond_the_last_finite_bound_nothing_is_known_but_the_bound() -> None:
    counted = classic([bucket("0.1", [0, 10]), bucket("+Inf", [0, 100])], gap=40)
    assert counted is not None
    assert counted.quantile(0.5).tolist() == [0.1]


def test_a_restart_and_a_gap_give_no_quantile() -> None:
    times = [0.0, 15, 30, 45, 600]
    counted = classic([bucket("1", [0, 100, 5, 105, 900], times), bucket("+Inf", [0, 100, 5, 105, 900], times)], gap=40)
    assert counted is not None
    assert counted.times.tolist() == [15, 45]


def test_intervals_are_joined_until_a_tail_can_be_told() -> None:
    counts = [10.0 * number for number in range(41)]
    counted = classic([bucket("1", counts), bucket("+Inf", counts)], gap=40)
    assert counted is not None
    joined = counted.joined()
    assert joined.times.tolist() == [75.0 * number for number in range(1, 9)]
    assert joined.quantile(0.99).tolist() == pytest.approx([0.99] * 8)


def test_too_few_observations_give_no_tail() -> None:
    counted = classic([bucket("1", [0, 20]), bucket("+Inf", [0, 20])], gap=40)
    assert counted is not None
    assert math.isnan(counted.quantile(0.99)[0])
    assert counted.quantile(0.5).tolist() == pytest.approx([0.5])


def test_buckets_without_the_last_one_are_no_histogram() -> None:
    assert classic([bucket("1", [0, 20]), bucket("2", [0, 20])], gap=40) is None
    assert classic([bucket("x", [0, 20]), bucket("+Inf", [0, 20])], gap=40) is None


def test_histograms_are_told_apart_by_their_other_labels() -> None:
    streams = [bucket(bound, [0, 1], model=model) for model in ("a", "b") for bound in ("1", "+Inf")]
    assert [len(group) for group in grouped(streams)] == [2, 2]


def test_native_histograms_are_read_as_the_api_gives_them() -> None:
    first = histogram(0, 0)
    second = histogram(15, 100, (0.1, 0.2, 50), (0.2, 0.4, 50))
    third = histogram(30, 200, (0.1, 0.2, 50), (0.2, 0.4, 50), (0.4, 0.8, 100))
    stream = stream_of({"metric": {"__name__": "h"}, "histograms": [first, second, third]})
    assert stream is not None
    assert len(stream.histograms) == 3
    counted = native(stream.histograms, gap=40)
    assert counted is not None
    assert counted.quantile(0.5).tolist() == pytest.approx([0.2, 0.6])


def test_a_native_histogram_that_began_anew_gives_no_quantile_there() -> None:
    rows = [histogram(0, 100, (0.1, 0.2, 100)), histogram(15, 5, (0.1, 0.2, 5)), histogram(30, 105, (0.1, 0.2, 105))]
    stream = stream_of({"metric": {}, "histograms": rows})
    assert stream is not None
    counted = native(stream.histograms, gap=40)
    assert counted is not None
    assert counted.times.tolist() == [30]


def test_pieces_are_joined_and_a_sample_at_their_border_counts_once() -> None:
    first = Stream({"a": "1"}, np.array([1.0, 2.0]), np.array([10.0, 20.0]))
    second = Stream({"a": "1"}, np.array([2.0, 3.0]), np.array([20.0, 30.0]))
    (one,) = join([[first], [second]])
    assert (one.times_seconds.tolist(), one.values.tolist()) == ([1, 2, 3], [10, 20, 30])


@pytest.mark.parametrize(
    "item",
    [{}, {"metric": 3, "values": 4}, {"values": [[1]]}, {"histograms": [[1, {}], [2]]}, {"value": []}, {"values": []}],
)
def test_answers_of_another_shape_are_passed_over(item: dict[str, object]) -> None:
    assert stream_of(item) is None


def test_values_that_are_no_numbers_are_kept_apart() -> None:
    stream = stream_of({"metric": {}, "values": [[1, "NaN"], [2, "+Inf"], [3, "x"], [4, "5"]]})
    assert stream is not None
    assert np.isfinite(stream.values).tolist() == [False, False, False, True]
