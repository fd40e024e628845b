from __future__ import annotations

from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.analysis import series_features
from diagnose.facts.base import Fact, Subject
from diagnose.facts.latency import (
    LatencyAssociation,
    LatencyBurst,
    LatencyChange,
    LatencyDrift,
    LatencyLoad,
    LatencyModes,
    LatencyParts,
    LatencyPeriod,
    LatencySummary,
)
from diagnose.facts.series import Clock, Measurement, Requests
from tests.analysis.latency.simulated import BEGIN, SOURCES, Floats, arrival_times, autocorrelated, requests, series

Kind = TypeVar("Kind", bound=Fact)


def told(measurements: list[Measurement], kind: type[Kind], metric: str = "ttft") -> list[Kind]:
    return [
        fact
        for fact in series_features(measurements, [])
        if isinstance(fact, kind) and getattr(fact, "metric", metric) == metric
    ]


def one(measurements: list[Measurement], kind: type[Kind], metric: str = "ttft") -> Kind:
    found = told(measurements, kind, metric)
    assert len(found) == 1
    return found[0]


def queue(arrivals: Floats, service: Floats) -> Floats:
    """Waiting times of one server."""
    waits, free = np.empty(len(arrivals)), 0.0
    for at, (arrival, time) in enumerate(zip(arrivals, service, strict=True)):
        waits[at] = max(0.0, free - arrival)
        free = arrival + waits[at] + time
    return waits


def test_measurements_without_latency_give_nothing() -> None:
    assert series_features([], []) == []
    assert series_features([series("gpu_power_watts", np.ones(100))], []) == []


def test_the_same_data_give_the_same_facts() -> None:
    numbers = np.random.default_rng(1)
    times = arrival_times(numbers, 5.0, 600)
    made: list[Measurement] = [
        requests(times, ttft=numbers.lognormal(0, 0.3, len(times))),
        series("gpu_power_watts", numbers.random(600)),
    ]
    assert series_features(made, []) == series_features(made, [])


def test_failed_requests_are_counted_and_in_no_quantile() -> None:
    numbers = np.random.default_rng(2)
    times = arrival_times(numbers, 5.0, 200)
    succeeded = (np.arange(len(times)) % 10 != 0).astype(float)
    ttft = np.where(succeeded == 1, 0.2, 60.0)
    found = one([requests(times, ttft=ttft, succeeded=succeeded)], LatencySummary)
    assert found.failed_requests == np.sum(succeeded == 0)
    assert found.max_seconds == pytest.approx(0.2)


def test_few_requests_give_no_verdicts_and_say_why() -> None:
    numbers = np.random.default_rng(3)
    made: list[Measurement] = [requests(np.arange(30.0), ttft=numbers.lognormal(0, 0.3, 30))]
    for kind in (LatencyModes, LatencyBurst, LatencyChange, LatencyDrift, LatencyPeriod, LatencyLoad, LatencyParts):
        found = one(made, kind)
        assert getattr(found, "verdict") == "too-few", kind  # noqa: B009
        assert getattr(found, "reason"), kind  # noqa: B009
    summary = one(made, LatencySummary)
    assert summary.p50_seconds is not None
    assert summary.p99_seconds is None
    assert summary.tail_ratio is None


def test_single_gaps_between_tokens_are_preferred_to_their_means() -> None:
    numbers = np.random.default_rng(4)
    columns = {"itl_seconds": np.full(50, 0.02, dtype=np.float32)}
    gaps = 0.02 * numbers.lognormal(0, 0.02, 5000)
    gaps[::100] += 0.2
    table = Requests(Subject(), columns, Clock.UTC, SOURCES, inter_token_seconds=gaps)
    assert one([table], LatencySummary, "itl").requests == 5000
    assert one([table], LatencyBurst, "itl").outliers == 50


def test_the_part_that_slow_requests_wait_in_is_named() -> None:
    numbers = np.random.default_rng(5)
    times = arrival_times(numbers, 5.0, 1200)
    service = numbers.lognormal(np.log(0.15), 0.3, len(times))
    waits = queue(times, service)
    made: list[Measurement] = [requests(times, ttft=waits + service, queue=waits, prefill=service)]
    found = one(made, LatencyParts)
    assert (found.verdict, found.dominant) == ("found", "queue")
    assert found.queue_low is not None
    assert found.queue_low > 0.8
    assert found.prefill_ratio is not None
    assert found.prefill_ratio < 0.1


@pytest.mark.parametrize("rate", [1.0, 6.0])
def test_arrivals_regardless_of_answers_are_an_open_loop(rate: float) -> None:
    numbers = np.random.default_rng(6)
    times = arrival_times(numbers, rate, 900)
    e2e = 0.5 * numbers.lognormal(0, 0.3, len(times))
    assert one([requests(times, end_to_end=e2e)], LatencyLoad, "e2e").loop == "open"


def test_clients_that_wait_for_their_answers_are_a_closed_loop_and_leave_stalls_out() -> None:
    numbers = np.random.default_rng(7)
    latencies = 0.1 * numbers.lognormal(0, 0.1, 4000)
    latencies[::200] = 5.0
    starts = np.concatenate(([0.0], np.cumsum(latencies[:-1] + 0.0005)))
    found = one([requests(starts, end_to_end=latencies)], LatencyLoad, "e2e")
    assert found.loop == "closed"
    assert found.coordinated_omission is True
    assert found.omitted_ratio is not None
    assert found.omitted_ratio > 0.9


def test_an_open_loop_omits_nothing_in_stalls() -> None:
    numbers = np.random.default_rng(8)
    times = arrival_times(numbers, 10.0, 900)
    e2e = 0.1 * numbers.lognormal(0, 0.1, len(times))
    e2e[::200] = 5.0
    assert one([requests(times, end_to_end=e2e)], LatencyLoad, "e2e").coordinated_omission is False


def test_latency_that_grows_with_load_is_set_against_it_and_busy_gpus_are_not_accused() -> None:
    numbers = np.random.default_rng(9)
    seconds = 2400
    rate = np.where(np.arange(seconds) // 40 % 3 == 0, 8.0, 3.0)
    times = arrival_times(numbers, rate, seconds)
    service = numbers.lognormal(np.log(0.11), 0.2, len(times))
    waits = queue(times, service)
    busy = np.bincount(times.astype(int), weights=service, minlength=seconds)[:seconds]
    made: list[Measurement] = [
        requests(times, ttft=waits + service, end_to_end=waits + service),
        series("gpu_sm_active_ratio", np.clip(busy + 0.1 * numbers.random(seconds), 0, 1), gpu_index=0),
        series("gpu_temperature_celsius", 50 + autocorrelated(numbers, seconds, 0.98), gpu_index=0),
    ]
    load = one(made, LatencyLoad)
    assert load.verdict == "found"
    assert load.p99_high_load_seconds is not None
    assert load.p99_low_load_seconds is not None
    assert load.p99_high_load_seconds > 2 * load.p99_low_load_seconds
    by_driver = {fact.driver: fact for fact in told(made, LatencyAssociation)}
    assert by_driver["requests_arrivals_per_second"].verdict == "associated"
    assert by_driver["gpu_sm_active_ratio"].verdict in ("explained-by-other", "not-shown")


def test_a_task_of_cron_shows_as_a_period_of_a_minute_on_the_minute() -> None:
    numbers = np.random.default_rng(10)
    times = arrival_times(numbers, 8.0, 3600)
    ttft = 0.2 * numbers.lognormal(0, 0.3, len(times)) * np.where(times % 60 < 2.0, 3.0, 1.0)
    found = one([requests(times, ttft=ttft)], LatencyPeriod)
    assert found.verdict == "found"
    assert found.period_seconds == pytest.approx(60.0, abs=0.1)
    assert (found.wall_clock, found.on_the_minute) == ("minute", True)
    assert found.tail_explained_ratio is not None
    assert found.tail_explained_ratio > 0.6
    shifted = one([requests(times, ttft=ttft, begin=1_760_000_040.0 + 23.0)], LatencyPeriod)
    assert shifted.on_the_minute is False
    relative = one([requests(times, ttft=ttft, clock=Clock.RELATIVE, begin=0.0)], LatencyPeriod)
    assert relative.on_the_minute is None


def test_a_change_is_dated_by_the_clock_of_the_requests() -> None:
    numbers = np.random.default_rng(11)
    times = arrival_times(numbers, 8.0, 1800)
    ttft = 0.2 * numbers.lognormal(0, 0.3, len(times)) * np.where(times > 1200, 1.4, 1.0)
    found = told([requests(times, ttft=ttft)], LatencyChange)
    middle = next(fact for fact in found if fact.quantile == 0.5)
    assert middle.at_seconds == pytest.approx(1200, abs=30)
    assert (middle.at or "").startswith("2025-10-09T09:1")
    assert middle.ratio_low is not None
    assert middle.ratio_high is not None
    assert middle.ratio_low <= 1.4 <= middle.ratio_high


def test_quantiles_that_a_server_tells_are_set_against_the_machine() -> None:
    numbers = np.random.default_rng(12)
    seconds = 3000
    burst = (np.arange(seconds) // 7 % 4 == 0) & (numbers.random(seconds) < 0.9)
    p99 = 0.3 * numbers.lognormal(0, 0.1, seconds) * np.where(burst, 2.0, 1.0)
    made: list[Measurement] = [
        series("server_ttft_p99_seconds", p99),
        series("nic_transmit_bytes_per_second", 1e10 * burst + 1e8 * numbers.random(seconds), nic="eth0"),
    ]
    assert {fact.driver: fact.verdict for fact in told(made, LatencyAssociation)} == {
        "nic_transmit_bytes_per_second": "associated"
    }


_COLUMN = st.one_of(
    st.sampled_from([0.0, 0.5, -1.0, np.nan, np.inf, 1e9, 1e-9]).map(lambda value: (value,)),
    st.tuples(*[st.floats(width=32)] * 3),
)


@pytest.mark.filterwarnings("error")
@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 400),
    st.dictionaries(
        st.sampled_from(["ttft", "end_to_end", "queue", "itl", "input_tokens", "succeeded"]), _COLUMN, min_size=1
    ),
    st.sampled_from(["sorted", "shuffled", "equal", "unknown"]),
    st.sampled_from(list(Clock)),
)
def test_any_table_is_analysed_and_every_number_is_finite(
    count: int, columns: dict[str, tuple[float, ...]], order: str, clock: Clock
) -> None:
    starts = {
        "sorted": np.arange(count) * 2.0, "shuffled": np.random.default_rng(count).permutation(count) * 2.0,
        "equal": np.zeros(count), "unknown": np.full(count, np.nan),
    }[order]  # fmt: skip
    cells = {name: np.resize(np.array(values, dtype=float), count) for name, values in columns.items()}
    table = requests(starts, clock, BEGIN, **cells)
    for fact in series_features([table, series("gpu_power_watts", np.arange(float(count)))], []):
        assert all(np.isfinite(value) for value in fact.values().values() if isinstance(value, float))


def test_fifty_healthy_runs_have_no_modes_stalls_changes_drifts_or_periods() -> None:
    kinds = (LatencyModes, LatencyBurst, LatencyChange, LatencyDrift, LatencyPeriod)
    invented = []
    for seed in range(50):
        numbers = np.random.default_rng(seed)
        seconds = 900
        wave = 1.0 + 0.4 * np.sin(2 * np.pi * (np.arange(seconds) / seconds + seed / 50))
        times = arrival_times(numbers, (4.0, 10.0)[seed % 2] * wave, seconds)
        wander = np.exp(0.1 * np.interp(times, np.arange(seconds), autocorrelated(numbers, seconds, 0.95)))
        ttft = 0.2 * wander * numbers.lognormal(0, (0.1, 0.3, 0.5)[seed % 3], len(times))
        facts = series_features([requests(times, ttft=ttft)], [])
        invented += [(seed, fact.kind) for fact in facts if isinstance(fact, kinds) and fact.verdict == "found"]
    assert invented == []
