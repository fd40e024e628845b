from __future__ import annotations

from pathlib import Path
from typing import Any

from collectors.prometheus_text import PrometheusText
from diagnose.facts import Missing
from tests.collectors.helpers import block, damaged, opened

GPU = (
    'gpu="1",UUID="GPU-11111111-2222-3333-4444-555555555555",pci_bus_id="00000000:4E:00.0",device="nvidia1",'
    'modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-a",DCGM_FI_DRIVER_VERSION="550.90.07"'
)
DCGM = f"""\
# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{{{GPU}}} 1980
DCGM_FI_DEV_GPU_TEMP{{{GPU}}} 71
DCGM_FI_DEV_MEMORY_TEMP{{{GPU}}} 0
DCGM_FI_DEV_POWER_USAGE{{{GPU}}} 612.5
DCGM_FI_DEV_GPU_UTIL{{{GPU}}} 0
DCGM_FI_DEV_FB_USED{{{GPU}}} 1024
DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{{GPU}}} 3
DCGM_FI_DEV_XID_ERRORS{{{GPU},err_code="79",err_msg="GPU has fallen off the bus"}} 79
DCGM_FI_DEV_CLOCKS_EVENT_REASONS{{{GPU}}} 96
DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS{{{GPU}}} 5000000000
DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{{{GPU}}} 0
DCGM_FI_DEV_ROW_REMAP_FAILURE{{{GPU}}} 0
DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{{{GPU}}} 9223372036854775794
DCGM_FI_PROF_DRAM_ACTIVE{{{GPU}}} 0.42
DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{GPU},GPU_I_ID="3"}} 0.99
"""
NODE = """\
# HELP node_uname_info Labeled system information as provided by the uname system call.
node_uname_info{machine="x86_64",nodename="gpu-b",sysname="Linux"} 1
node_network_carrier{device="eth0"} 1
node_network_speed_bytes{device="eth0"} 1.25e+10
node_network_mtu_bytes{device="eth0"} 9000
node_network_receive_drop_total{device="eth0"} 17
node_network_receive_drop_total{device="lo"} 99
node_infiniband_state_id{device="mlx5_0",port="1"} 4
node_infiniband_physical_state_id{device="mlx5_0",port="1"} 5
node_infiniband_rate_bytes_per_second{device="mlx5_0",port="1"} 5e+10
node_infiniband_link_downed_total{device="mlx5_0",port="1"} 2
node_infiniband_port_data_received_bytes_total{device="mlx5_0",port="1"} 4096
node_memory_MemTotal_bytes 1.0e+12
node_memory_MemAvailable_bytes NaN
"""


def facts(text: str) -> dict[str, Any]:
    return {fact.kind: fact for fact in PrometheusText.parse(block(text)).facts}


def test_a_gpu_has_all_its_names() -> None:
    subject = facts(DCGM)["gpu-identity"].subject
    assert (subject.host, subject.gpu_index, subject.gpu_bus_id) == ("gpu-a", 1, "0000:4e:00.0")
    assert subject.gpu_uuid == "GPU-11111111-2222-3333-4444-555555555555"


def test_values_have_units_of_the_facts() -> None:
    found = facts(DCGM)
    assert found["gpu-clocks"].sm_mhz == 1980
    assert found["gpu-power"].draw_watts == 612.5
    assert found["gpu-memory"].used_bytes == 1 << 30
    assert found["gpu-pcie-link"].replay_count == 3
    assert found["gpu-activity"].values() == {"dram_ratio": 0.42}
    assert found["driver"].values() == {"version": "550.90.07", "major": 550}


def test_zero_is_absent_where_it_makes_no_sense_and_zero_elsewhere() -> None:
    found = facts(DCGM)
    assert found["gpu-temperature"].values() == {"gpu_celsius": 71}
    assert found["gpu-temperature"].missing == {"memory_celsius": Missing.BLANK}
    assert found["gpu-load"].gpu_utilization_ratio == 0
    assert found["gpu-ecc"].volatile_uncorrected == 0


def test_placeholders_of_dcgm_are_absent() -> None:
    assert facts(DCGM)["nvlink-errors"].missing == {"replay_count": Missing.BLANK}


def test_the_bits_of_the_clock_reasons_are_told_apart() -> None:
    reasons = facts(DCGM)["gpu-clock-reasons"]
    assert (reasons.sw_thermal_slowdown, reasons.hw_thermal_slowdown) == (True, True)
    assert (reasons.idle, reasons.sw_power_cap, reasons.hw_power_brake) == (False, False, False)
    assert reasons.hw_thermal_slowdown_seconds == 5.0


def test_the_last_xid_is_a_fact_and_zero_is_none() -> None:
    xid = facts(DCGM)["xid"]
    assert (xid.code, xid.count, xid.detail) == (79, 1, "GPU has fallen off the bus")
    assert "xid" not in facts(DCGM.replace("} 79", "} 0"))


def test_network_and_memory_of_node_exporter() -> None:
    found = facts(NODE)
    link = found["network-interface"]
    assert (link.subject.host, link.subject.nic) == ("gpu-b", "eth0")
    assert link.values() == {"link_detected": True, "speed_gigabits_per_second": 100.0, "mtu_bytes": 9000}
    assert found["network-counters"].values() == {"receive_dropped": 17}
    port = found["rdma-port"]
    assert (port.subject.nic, port.subject.port) == ("mlx5_0", 1)
    assert port.values() == {"state": "active", "physical_state": "linkup", "rate_gigabits_per_second": 400.0}
    assert found["rdma-counters"].values() == {"link_downed": 2, "receive_bytes": 4096}
    assert found["host-memory"].values() == {"total_bytes": 10**12}


def test_help_of_these_exporters_opens_and_others_does_not() -> None:
    assert opened(PrometheusText, DCGM)[0] == DCGM.splitlines()[0]
    assert opened(PrometheusText, "# HELP http_requests_total Requests\n") == []


def test_samples_alone_are_recognised() -> None:
    assert PrometheusText.resembles(NODE.splitlines()[1:]) > 0.5
    assert PrometheusText.resembles(['http_requests_total{code="200"} 5'] * 3) == 0


def test_damaged_metrics_do_not_raise() -> None:
    for text in damaged(DCGM):
        PrometheusText.parse(block(text))
    for text in damaged(NODE):
        PrometheusText.parse(block(text))


def test_the_scrape_of_the_corpus_is_read(corpus: Path) -> None:
    path = corpus / "files" / "sysfs-proc" / "nodeexp-e2e-output.prom"
    found = facts(path.read_text())
    assert {"network-interface", "rdma-port", "rdma-counters", "tcp-statistics"} <= set(found)
