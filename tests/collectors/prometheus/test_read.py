from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from collectors.inputs import Readings, Status
from collectors.prometheus.access import Access, PrometheusError
from collectors.prometheus.api import PrometheusApi
from collectors.prometheus.read import Range, matcher, read_prometheus
from diagnose.facts import Subject
from diagnose.facts.gpu import GpuIdentity, GpuPower
from diagnose.facts.load import TcpStatistics
from diagnose.facts.series import Clock, Series
from diagnose.facts.validation import TelemetryConfiguration
from tests.collectors.prometheus.conftest import END, START, UUIDS


def read(url: str, *matchers: str, step: float | None = None) -> Readings:
    with PrometheusApi(Access(url)) as api:
        return read_prometheus(api, Range(START, END, step, tuple(map(matcher, matchers))), url)


@pytest.fixture(scope="module")
def readings(server: str) -> Readings:
    return read(server)


def series(readings: Readings, metric: str, **subject: object) -> Series:
    (one,) = (
        item
        for item in readings.series
        if isinstance(item, Series)
        and item.metric == metric
        and all(getattr(item.subject, name) == value for name, value in subject.items())
    )
    return one


def test_a_gauge_is_read_as_it_was_scraped_and_no_value_stands_in_a_gap(readings: Readings) -> None:
    power = series(readings, "gpu_power_watts", gpu_index=0)
    assert power.subject == Subject(host="gpu01", gpu_index=0, gpu_uuid=UUIDS[0], gpu_bus_id="0000:01:00.0")
    assert (power.clock, len(power), power.times_seconds[0]) == (Clock.UTC, 200, START + 2.5)
    assert power.values[0] == pytest.approx(300.025)
    steps = np.diff(power.times_seconds)
    assert sorted(set(steps.tolist())) == [15.0, 615.0]


def test_rates_respect_restarts_and_gaps(readings: Readings) -> None:
    sent = series(readings, "nic_transmit_bytes_per_second", nic="eth0", host="gpu01")
    assert sent.values.tolist() == pytest.approx([1e6] * 238)
    assert (sent.times_seconds > START + 2400).sum() == 79
    capped = series(readings, "gpu_power_limited_ratio", gpu_index=1)
    assert capped.values.tolist() == pytest.approx([0.25] * 198)


def test_the_loopback_is_no_nic_and_instances_are_called_as_the_machine_calls_itself(readings: Readings) -> None:
    sent = [item for item in readings.series if isinstance(item, Series) and item.metric.startswith("nic_transmit")]
    assert sorted((item.subject.host, item.subject.nic) for item in sent) == [("gpu01", "eth0"), ("gpu02", "eth0")]


def test_processors_are_read_as_sums_over_all_of_them(readings: Readings) -> None:
    assert series(readings, "cpu_busy_ratio").values.tolist() == pytest.approx([0.22] * 239, abs=1e-6)
    assert series(readings, "cpu_steal_ratio").values.mean() == pytest.approx(0.02)
    assert series(readings, "cpu_pressure_ratio").values.mean() == pytest.approx(0.1)


def test_quantiles_over_time_come_from_the_buckets(readings: Readings) -> None:
    median, tail = series(readings, "server_ttft_p50_seconds"), series(readings, "server_ttft_p99_seconds")
    early, late = median.times_seconds < START + 1800, median.times_seconds > START + 1830
    assert median.values[early] == pytest.approx(0.1 * 0.5 / 0.9, rel=1e-3)
    assert tail.values[early] == pytest.approx(0.1 + 0.15 * 0.9, rel=1e-3)
    assert median.values[late] == pytest.approx(0.375, rel=1e-3)


def test_facts_are_those_of_the_exporters_files(readings: Readings) -> None:
    power = {fact.subject.gpu_index: fact for fact in readings.facts if isinstance(fact, GpuPower)}
    assert power[0].draw_watts == pytest.approx(320.95, abs=0.01)
    (source,) = power[0].sources
    assert (source.command, source.line) == ("DCGM_FI_DEV_POWER_USAGE", None)
    assert source.time == datetime.fromtimestamp(END, UTC)
    assert {fact.product_name for fact in readings.facts if isinstance(fact, GpuIdentity)} == {"NVIDIA H100 80GB HBM3"}
    (tcp,) = (fact for fact in readings.facts if isinstance(fact, TcpStatistics))
    assert (tcp.subject.host, tcp.retransmitted_segments) == ("gpu01", 10762)


def test_what_is_not_collected_is_told(readings: Readings) -> None:
    details = {report.kind: report.detail or "" for report in readings.inputs if report.status is Status.SKIPPED}
    assert "use of the memory's bandwidth" in details["dcgm-exporter"]
    assert "clocks" not in details["dcgm-exporter"].split(";")[0].replace("why clocks are low", "")
    assert "page faults" in details["node-exporter"]
    assert "serving" not in details
    (configuration,) = (fact for fact in readings.facts if isinstance(fact, TelemetryConfiguration))
    assert (configuration.memory_bandwidth, configuration.power, configuration.clock_reasons) == (False, True, True)


def test_conditions_on_labels_narrow_what_is_read(server: str) -> None:
    narrowed = read(server, "instance=~10.0.0.1:.*")
    assert {item.subject.host for item in narrowed.series} == {"gpu01"}
    other = read(server, "instance=10.0.0.2:9100")
    assert {item.subject.host for item in other.series} == {"gpu02"}


def test_a_condition_that_nothing_meets_ends_in_what_there_is(server: str) -> None:
    with pytest.raises(PrometheusError, match=r"values of 'instance' are: 10\.0\.0\.1"):
        read(server, "instance=gpu99")
    with pytest.raises(PrometheusError, match="no series has a label 'node'"):
        read(server, "node=gpu01")


def test_at_a_step_of_ones_own_a_gap_stays_a_gap(server: str) -> None:
    stepped = read(server, "Hostname=gpu01", step=60.0)
    power = series(stepped, "gpu_power_watts", gpu_index=0)
    assert sorted(set(np.diff(power.times_seconds).tolist())) == [60.0, 660.0]
    capped = series(stepped, "gpu_power_limited_ratio", gpu_index=0)
    assert capped.values.tolist() == pytest.approx([0.25] * len(capped))


def test_many_points_are_asked_for_in_pieces_that_the_server_accepts(server: str) -> None:
    with PrometheusApi(Access(server)) as api:
        found = api.stepped(lambda window: f"last_over_time(DCGM_FI_DEV_SM_CLOCK{window})", START, END, 0.25)
    times = found[0].times_seconds
    assert (np.diff(times) > 0).all()
    assert len(times) == 200


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("node=gpu01", 'node="gpu01"'),
        (' instance=~"gpu0[12]:.*" ', 'instance=~"gpu0[12]:.*"'),
        ("job!=x", 'job!="x"'),
        ('a=b"c', 'a="b\\"c"'),
    ],
)
def test_conditions_are_written_as_promql(text: str, written: str) -> None:
    assert matcher(text) == written


@pytest.mark.parametrize("text", ["node", "=x", "1a=b", "", "a b=c"])
def test_other_texts_are_no_conditions(text: str) -> None:
    with pytest.raises(ValueError, match="no condition on a label"):
        matcher(text)
