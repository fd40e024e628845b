from __future__ import annotations

import json

import pytest

from collectors.base import Parsed
from collectors.recorded_host import RecordedHost
from collectors.recorded_network import RecordedNetwork
from collectors.recorded_nvml import RecordedNvml
from diagnose.facts.series import Clock, Series
from tests.collectors.helpers import block

START = 1764500000.0


def host_tree(readings: int) -> str:
    lines = ["=== recorded tree 1: host"]
    for number in range(readings):
        at = START + number
        lines += [
            f"@ proc/stat at {at:.3f}",
            f"|cpu  {10 * number} 0 0 {80 * number} {10 * number} 0 0 0 0 0",
            f"|procs_running {3 + number}",
            f"@ proc/pressure/cpu at {at:.3f}",
            f"|some avg10=0.00 avg60=0.00 avg300=0.00 total={250000 * number}",
            f"@ proc/vmstat at {at + 0.01:.3f}",
            f"|pgmajfault {40 * number}",
            "|pswpin 0",
            f"|pswpout {7 * number}",
            f"@ sys/fs/cgroup/kube/pod/cpu.stat at {at:.3f}",
            f"|nr_periods {10 * number}",
            f"|nr_throttled {4 * number}",
        ]
    # The last reading comes at once after the one before: too close to tell a rate.
    lines += [f"@ proc/vmstat at {START + readings - 1 + 0.02:.3f}", f"|pgmajfault {40 * readings}"]
    return "\n".join(lines)


def network_tree(readings: int) -> str:
    lines = ["=== recorded tree 1: network"]
    for number in range(readings):
        sent = 1000 * number if number != 2 else 0
        lines += [
            f"@ sys/class/net/eth0/statistics/tx_bytes at {START + 2 * number:.3f}",
            f"|{sent}",
            f"@ sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data at {START + 2 * number:.3f}",
            f"|{500 * number}",
            f"@ proc/net/snmp at {START + 2 * number:.3f}",
            "|Tcp: RtoAlgorithm OutSegs RetransSegs",
            f"|Tcp: 1 {100 * number} {6 * number}",
        ]
    return "\n".join(lines)


def nvml(readings: int, counter: bool) -> str:
    rows: list[dict[str, object]] = [{"recording": "nvml", "schema": 1, "index": 0}]
    for number in range(readings):
        head: dict[str, object] = {"sample": number, "t": START + number}
        rows.append({"call": "nvmlDeviceGetUtilizationRates", **head, "value": {"gpu": 40 + number, "memory": 5}})
        rows.append({"call": "nvmlDeviceGetCurrentClocksEventReasons", **head, "value": 4 if number % 2 else 0})
        if counter:
            rows.append({"call": "nvmlDeviceGetFieldValues", "args": [74], **head, "value": int(0.25e9 * number)})
    return "\n".join(json.dumps(row, separators=(",", ":")) for row in rows)


def values(parsed: Parsed) -> dict[str, list[float]]:
    found = [item for item in parsed.series if isinstance(item, Series)]
    assert {item.clock for item in found} <= {Clock.UTC}
    return {item.metric: item.values.tolist() for item in found}


def test_a_host_is_followed_from_reading_to_reading() -> None:
    found = values(RecordedHost.parse(block(host_tree(5))))
    assert found["cpu_busy_ratio"] == pytest.approx([0.1] * 4)
    assert found["cpu_iowait_ratio"] == pytest.approx([0.1] * 4)
    assert found["cpu_runnable_tasks"] == [3, 4, 5, 6, 7]
    assert found["cpu_pressure_ratio"] == pytest.approx([0.25] * 4)
    assert found["major_faults_per_second"] == pytest.approx([40] * 4)
    assert found["swap_pages_per_second"] == pytest.approx([7] * 4)
    assert found["cpu_throttled_ratio"] == pytest.approx([0.4] * 4)


def test_two_readings_are_no_series() -> None:
    assert values(RecordedHost.parse(block(host_tree(2)))) == {}


def test_traffic_is_followed_and_a_counter_that_fell_gives_no_rate() -> None:
    parsed = RecordedNetwork.parse(block(network_tree(7)))
    found = [item for item in parsed.series if isinstance(item, Series)]
    by_nic = {item.subject.nic: item for item in found if item.metric == "nic_transmit_bytes_per_second"}
    assert by_nic["eth0"].values.tolist() == pytest.approx([500, 1500, 500, 500, 500])
    assert by_nic["mlx5_0"].values.tolist() == pytest.approx([1000] * 6)
    assert by_nic["mlx5_0"].subject.port == 1
    assert by_nic["eth0"].sources[0].time is not None
    assert values(parsed)["tcp_retransmits_per_second"] == pytest.approx([3] * 6)


def test_a_gpu_is_followed_and_a_counter_of_time_is_better_than_a_flag() -> None:
    flags = values(RecordedNvml.parse(block(nvml(5, counter=False))))
    assert flags["gpu_utilization_ratio"] == pytest.approx([0.40, 0.41, 0.42, 0.43, 0.44])
    assert flags["gpu_power_limited_ratio"] == [0, 1, 0, 1, 0]
    assert flags["gpu_thermal_limited_ratio"] == [0] * 5
    counted = values(RecordedNvml.parse(block(nvml(5, counter=True))))
    assert counted["gpu_power_limited_ratio"] == pytest.approx([0.25] * 4)
