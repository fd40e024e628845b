from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.series_columns import SeriesColumns, counter_rates, series_of
from diagnose.facts import Source, Subject
from diagnose.facts.series import Clock

SOURCE = Source(path="x", line=1)


def test_values_come_in_the_order_of_time_and_what_was_not_observed_is_left_out() -> None:
    times, values = np.array([3.0, 1.0, 2.0, 2.0, 4.0]), np.array([30.0, 10.0, 19.0, 20.0, np.nan])
    (one,) = series_of("gpu_power_watts", Subject(), times, values, Clock.UTC, [SOURCE])
    assert (one.times_seconds.tolist(), one.values.tolist()) == ([1, 2, 3], [10, 20, 30])
    assert series_of("gpu_power_watts", Subject(), times[:2], values[:2], Clock.UTC, [SOURCE]) == []


def test_a_counter_that_falls_gives_no_rate_for_that_interval() -> None:
    times, rates = counter_rates(np.array([0.0, 10, 20, 30, 40]), np.array([0.0, 100, 200, 5, 55]))
    assert (times.tolist(), rates.tolist()) == ([10, 20, 40], [10, 10, 5])


def test_no_rate_spans_a_gap() -> None:
    times, rates = counter_rates(np.array([0.0, 10, 200, 210]), np.array([0.0, 100, 2000, 2100]), gap_seconds=25)
    assert (times.tolist(), rates.tolist()) == ([10, 210], [10, 10])


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1e9)), max_size=30))
def test_rates_are_never_negative_and_times_ascend(rows: list[tuple[int, float]]) -> None:
    times, rates = counter_rates(np.array([row[0] for row in rows], float), np.array([row[1] for row in rows], float))
    assert len(times) == len(rates) <= max(0, len(rows) - 1)
    assert (rates >= 0).all()


def test_values_put_one_by_one_become_a_series_for_each_metric_and_subject() -> None:
    columns = SeriesColumns(Clock.RELATIVE)
    for second in range(4):
        columns.put("gpu_power_watts", Subject(gpu_index=0), second, 100.0 + second, SOURCE)
        columns.put("gpu_power_watts", Subject(gpu_index=1), second % 2, 7.0, SOURCE)
    (one,) = columns.series()
    assert (one.subject.gpu_index, len(one), one.clock) == (0, 4, Clock.RELATIVE)
