from __future__ import annotations

import numpy as np
import pytest

from diagnose.analysis.latency.features import features
from diagnose.facts.latency import LatencyAssociation, TelemetryAlignment
from diagnose.facts.metrics import METRICS
from diagnose.facts.series import Clock, Measurement
from tests.analysis.latency.simulated import BEGIN, Floats, arrival_times, autocorrelated, requests, series

SECONDS = 2400
_INNOCENT = [name for name in METRICS if name.startswith(("gpu_", "nic_", "cpu_", "memory_")) and "clock" not in name]


def associations(measurements: list[Measurement], metric: str = "ttft") -> dict[str, LatencyAssociation]:
    return {
        fact.driver: fact
        for fact in features(measurements, [])
        if isinstance(fact, LatencyAssociation) and fact.metric == metric
    }


def bursts_of_traffic(numbers: np.random.Generator, seconds: int = SECONDS, longest: float = 25.0) -> Floats:
    switches = np.cumsum(numbers.uniform(longest / 5, longest, seconds))
    return np.asarray(np.searchsorted(switches, np.arange(seconds)) % 3 == 0, dtype=np.float64)


def slowed(numbers: np.random.Generator, times: Floats, by: Floats, factor: float = 1.0) -> Floats:
    struck = by[times.astype(int)] > 0.5
    return np.asarray(
        0.2 * numbers.lognormal(0, 0.3, len(times)) * (1.0 + factor * struck * numbers.random(len(times)))
    )


def test_unrelated_series_with_the_same_daily_wave_are_rarely_called_associated() -> None:
    wrong = 0
    runs, seconds = 40, 1200
    for seed in range(runs):
        numbers = np.random.default_rng(seed)
        wave = 0.5 * np.sin(2 * np.pi * np.arange(seconds) / seconds * 2)
        times = arrival_times(numbers, 8.0 * (1.0 + wave), seconds)
        second = times.astype(int)
        drift = np.exp(0.15 * autocorrelated(numbers, seconds, 0.9)) * (1.0 + 0.3 * wave)
        ttft = 0.2 * drift[second] * numbers.lognormal(0, 0.3, len(times))
        innocent: list[Measurement] = [
            series(
                _INNOCENT[at],
                autocorrelated(numbers, seconds, (0.0, 0.5, 0.9, 0.98)[at % 4]) + (2 * wave if at % 3 == 0 else 0.0),
            )
            for at in range(12)
        ]
        found = associations([requests(times, ttft=ttft), *innocent])
        wrong += any(fact.verdict != "not-shown" for name, fact in found.items() if not name.startswith("requests_"))
    # 1 % of the runs are let through; three would be more than chance.
    assert wrong <= 2


@pytest.mark.parametrize("seed", range(6))
def test_the_driver_is_found_and_what_follows_it_is_explained_by_it(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    traffic = bursts_of_traffic(numbers)
    times = arrival_times(numbers, 8.0, SECONDS)
    found = associations(
        [
            requests(times, ttft=slowed(numbers, times, traffic)),
            series("nic_transmit_bytes_per_second", 1e10 * traffic + 1e8 * numbers.random(SECONDS), nic="eth0"),
            series("gpu_power_watts", 300 + 100 * traffic + 40 * numbers.standard_normal(SECONDS), gpu_index=0),
            series("gpu_temperature_celsius", 50 + autocorrelated(numbers, SECONDS, 0.98), gpu_index=0),
        ]
    )
    driver, follower = found["nic_transmit_bytes_per_second"], found["gpu_power_watts"]
    assert (driver.verdict, driver.rank) == ("associated", 1)
    assert driver.lag_seconds in (0.0, 1.0)
    assert driver.ratio_low is not None
    assert driver.ratio_low > 1.2
    assert (follower.verdict, follower.explained_by) == ("explained-by-other", "nic_transmit_bytes_per_second")
    assert follower.explained_by_subject == "node01/nic/eth0"
    assert found["gpu_temperature_celsius"].verdict == "not-shown"


def test_what_a_driver_brings_about_does_not_explain_it_though_it_goes_along_more_closely() -> None:
    numbers = np.random.default_rng(3)
    traffic = bursts_of_traffic(numbers)
    times = arrival_times(numbers, 8.0, SECONDS)
    for result, rate in (("tcp_retransmits_per_second", 20.0), ("gpu_utilization_ratio", 0.5)):
        found = associations(
            [
                requests(times, ttft=slowed(numbers, times, traffic)),
                series("nic_transmit_bytes_per_second", 1e10 * traffic + 4e9 * numbers.random(SECONDS), nic="eth0"),
                series(result, rate * traffic + 0.01 * rate * numbers.random(SECONDS)),
            ]
        )
        assert found["nic_transmit_bytes_per_second"].verdict == "associated", result


def test_two_drivers_of_their_own_both_stand() -> None:
    numbers = np.random.default_rng(11)
    one, other = bursts_of_traffic(numbers), bursts_of_traffic(numbers)
    times = arrival_times(numbers, 8.0, SECONDS)
    found = associations(
        [
            requests(times, ttft=slowed(numbers, times, one) * slowed(numbers, times, other)),
            series("nic_transmit_bytes_per_second", one + 0.1 * numbers.random(SECONDS), nic="eth0"),
            series("storage_write_bytes_per_second", other + 0.1 * numbers.random(SECONDS)),
        ]
    )
    assert {found[name].verdict for name in ("nic_transmit_bytes_per_second", "storage_write_bytes_per_second")} == {
        "associated"
    }


def test_drivers_that_are_always_high_together_are_said_to_be_inseparable() -> None:
    numbers = np.random.default_rng(12)
    traffic = bursts_of_traffic(numbers)
    times = arrival_times(numbers, 8.0, SECONDS)
    found = associations(
        [
            requests(times, ttft=slowed(numbers, times, traffic)),
            series("nic_transmit_bytes_per_second", 1e10 * traffic, nic="eth0"),
            series("gpu_dram_active_ratio", 0.9 * traffic, gpu_index=0),
        ]
    )
    for name in ("nic_transmit_bytes_per_second", "gpu_dram_active_ratio"):
        assert found[name].verdict == "associated"
        assert "cannot be told apart" in (found[name].reason or "")


def test_clocks_are_suspicious_when_low() -> None:
    numbers = np.random.default_rng(13)
    slow = bursts_of_traffic(numbers)
    times = arrival_times(numbers, 8.0, SECONDS)
    clocks = 1980 - 600 * slow + 5 * numbers.standard_normal(SECONDS)
    found = associations([requests(times, ttft=slowed(numbers, times, slow)), series("gpu_sm_clock_mhz", clocks)])
    assert found["gpu_sm_clock_mhz"].verdict == "associated"
    assert found["gpu_sm_clock_mhz"].direction == "low"
    assert found["gpu_sm_clock_mhz"].driver_high == pytest.approx(1380, abs=20)
    raised = associations([requests(times, ttft=slowed(numbers, times, slow)), series("gpu_sm_clock_mhz", -clocks)])
    assert raised["gpu_sm_clock_mhz"].verdict == "not-shown"


def test_a_lag_is_measured() -> None:
    numbers = np.random.default_rng(14)
    writes = bursts_of_traffic(numbers, longest=5.0)
    times = arrival_times(numbers, 8.0, SECONDS)
    found = associations(
        [
            requests(times, ttft=slowed(numbers, times, np.roll(writes, 2))),
            series("storage_write_bytes_per_second", writes),
        ]
    )
    assert found["storage_write_bytes_per_second"].lag_seconds == 2.0


def test_what_does_not_vary_and_what_is_too_short_gets_no_accusation() -> None:
    numbers = np.random.default_rng(15)
    times = arrival_times(numbers, 8.0, SECONDS)
    ttft = 0.2 * numbers.lognormal(0, 0.3, len(times))
    still = associations([requests(times, ttft=ttft), series("gpu_power_watts", np.full(SECONDS, 300.0))])
    assert (still["gpu_power_watts"].verdict, still["gpu_power_watts"].reason) == ("not-shown", "it does not vary")
    short = times < 20
    assert associations([requests(times[short], ttft=ttft[short]), series("gpu_power_watts", times[:20])]) == {}


class TestClocks:
    def measured(self, offset: float, clock: Clock) -> tuple[list[Measurement], Floats]:
        numbers = np.random.default_rng(16)
        traffic = bursts_of_traffic(numbers, 3 * 3600)
        times = arrival_times(numbers, 4.0, 3 * 3600)
        table = requests(times, ttft=slowed(numbers, times, traffic, 2.0))
        return [table, series("nic_transmit_bytes_per_second", traffic, clock, BEGIN + offset, nic="eth0")], traffic

    def alignment(self, measurements: list[Measurement]) -> TelemetryAlignment:
        return next(fact for fact in features(measurements, []) if isinstance(fact, TelemetryAlignment))

    @pytest.mark.parametrize("hours", [0, 1, -2])
    def test_a_local_clock_is_aligned_where_one_whole_hour_alone_fits(self, hours: int) -> None:
        measurements, _ = self.measured(hours * 3600.0, Clock.LOCAL)
        found = self.alignment(measurements)
        assert (found.verdict, found.offset_seconds) == ("offset", -hours * 3600.0)
        assert associations(measurements)["nic_transmit_bytes_per_second"].verdict == "associated"

    def test_no_offset_is_made_up_for_a_local_clock_that_fits_none(self) -> None:
        measurements, _ = self.measured(1234.0, Clock.LOCAL)
        assert self.alignment(measurements).verdict == "not-alignable"
        found = associations(measurements)["nic_transmit_bytes_per_second"]
        assert found.verdict == "not-alignable"
        assert "zone" in (found.reason or "")

    def test_relative_times_are_not_aligned(self) -> None:
        measurements, _ = self.measured(-BEGIN, Clock.RELATIVE)
        assert self.alignment(measurements).verdict == "not-alignable"

    def test_the_same_clock_at_other_times_is_no_overlap(self) -> None:
        measurements, _ = self.measured(86_400.0, Clock.UTC)
        assert self.alignment(measurements).verdict == "no-overlap"
