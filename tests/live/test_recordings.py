"""What recorders write of a machine becomes the facts of that machine."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from collectors.inputs import Readings, Status
from collectors.live.base import RecorderStatus, Window
from collectors.live.record import Machine, Record, RecorderReport
from collectors.live.registry import recorder
from collectors.live.worker import run
from collectors.resolve import resolve
from collectors.scan import read_inputs
from diagnose.facts import Fact
from tests.live.trees import GPUS, NIC, PORT, RANK, eight_gpu_server, small_virtual_machine

NAMES = ("host", "pci", "processes", "network", "services", "kernel-log", "commands")
WINDOW = Window(0.05, 0.05)


def record(root: Path, folder: Path) -> Readings:
    """Facts of a recording of a tree."""
    folder.mkdir()
    machine = Machine(root, "a-test")
    manifest = Record(folder, machine, WINDOW, "0")
    manifest.recorders.append(RecorderReport("host", RecorderStatus.DONE))
    manifest.end()
    for name in NAMES:
        run(recorder(name), folder, root, WINDOW)
    return read_inputs([str(folder)])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Readings:
    folder = tmp_path_factory.mktemp("server")
    return record(eight_gpu_server(folder / "root"), folder / "recording")


@pytest.fixture(scope="module")
def facts(server: Readings) -> list[Fact]:
    return resolve(server.facts)


def of_kind(facts: list[Fact], kind: str, **wanted: Any) -> list[Fact]:
    return [
        fact
        for fact in facts
        if fact.kind == kind and all(getattr(fact, name, None) == value for name, value in wanted.items())
    ]


def only(facts: list[Fact], kind: str, **wanted: Any) -> dict[str, Any]:
    (fact,) = of_kind(facts, kind, **wanted)
    return fact.values()


def about(facts: list[Fact], kind: str, bus_id: str) -> dict[str, Any]:
    (fact,) = [fact for fact in of_kind(facts, kind) if bus_id in (fact.subject.bus_id, fact.subject.gpu_bus_id)]
    return fact.values()


def test_every_file_of_a_recording_is_recognised(server: Readings) -> None:
    assert [report for report in server.inputs if report.status is not Status.PARSED] == []


def test_all_facts_are_about_the_host_that_the_manifest_names(facts: list[Fact]) -> None:
    assert {fact.subject.host for fact in facts} == {"gpu-07"}


def test_memory_nodes_and_distances(facts: list[Fact]) -> None:
    nodes = {fact.subject.numa_node: fact.values() for fact in of_kind(facts, "numa-node")}
    assert nodes[1] == {
        "cpus": "4-7,12-15", "cpu_count": 8, "memory_total_bytes": 1 << 20, "memory_free_bytes": 1 << 18,
    }  # fmt: skip
    distances = {
        (fact.subject.numa_node, fact.values()["to_node"]): fact.values()["distance"]
        for fact in of_kind(facts, "numa-distance")
    }
    assert distances == {(0, 0): 10, (0, 1): 21, (1, 0): 21, (1, 1): 10}


def test_settings_of_processors_and_memory(facts: list[Fact]) -> None:
    frequency = only(facts, "cpu-frequency")
    assert frequency == {
        "governor": "powersave", "cpus": 16, "cpus_not_performance": 12, "driver": "intel_pstate",
        "limit_mhz": 2000.0, "max_mhz": 3500.0, "boost_enabled": True,
    }  # fmt: skip
    assert only(facts, "cpu-idle-state") == {
        "name": "C6", "exit_latency_seconds": 133e-6, "disabled_cpus": 2, "cpus": 16, "time_ratio": 0.0,
    }  # fmt: skip
    policy = only(facts, "memory-policy")
    assert (policy["numa_balancing"], policy["transparent_hugepages"]) == (True, "madvise")
    assert "swappiness" not in policy
    assert only(facts, "clock-source") == {"name": "tsc"}


def test_only_kernel_parameters_that_matter_leave_the_command_line(facts: list[Fact]) -> None:
    assert only(facts, "kernel-parameter") == {"name": "iommu", "value": "pt"}


def test_load_memory_and_stalls(facts: list[Fact]) -> None:
    load = only(facts, "cpu-load")
    assert (load["cpus_online"], load["cpus_offline"]) == (16, "16")
    assert (load["runnable_tasks"], load["load_15_minutes"]) == (9, 1.75)
    memory = only(facts, "host-memory")
    assert memory["swap_used_bytes"] == 128 << 10
    assert memory["dirty_bytes"] == 12 << 10
    assert memory["hugepages_free_bytes"] == 2 << 20
    assert (memory["corrected_errors"], memory["uncorrected_errors"]) == (7, 0)
    assert only(facts, "pressure-stall", resource="io", control_group=None)["some_ratio"] == 0.015


def test_a_control_group_with_a_quota_and_no_limit_on_memory(facts: list[Fact]) -> None:
    group = only(facts, "control-group", path="/system.slice/job.service")
    assert (group["quota_cpus"], group["throttled_ratio"], group["throttled_seconds"]) == (2.0, 0.25, 1.5)
    assert "memory_limit_bytes" not in group


def test_limits_of_this_program_and_of_the_process(facts: list[Fact]) -> None:
    limits = {fact.values()["of"]: fact.values()["soft"] for fact in of_kind(facts, "resource-limit")}
    assert limits == {"collector": 8388608, "process": 65536}


def test_devices_of_the_pci_bus(facts: list[Fact]) -> None:
    gpu = about(facts, "pci-device", GPUS[0])
    assert gpu["is_gpu"]
    assert gpu["driver"] == "nvidia"
    assert gpu["large_bar_assigned"]
    assert gpu["upstream_bus_id"] == PORT
    assert "upstream_bus_id" not in about(facts, "pci-device", GPUS[1])
    assert about(facts, "pci-link", GPUS[2])["width"] == 8
    assert about(facts, "pci-link", GPUS[2])["width_downgraded"]
    assert only(facts, "gpu-inventory") == {"listed": 8, "tool": "sysfs"}
    assert about(facts, "gpu-affinity", GPUS[7]) == {"cpus": "4-7,12-15", "numa_node": 1}


def test_a_gpu_whose_configuration_space_reads_as_ones_does_not_answer(facts: list[Fact]) -> None:
    (fact,) = of_kind(facts, "gpu-unreachable")
    assert fact.subject.gpu_bus_id == GPUS[5]
    assert fact.values()["reason"] == "pci-no-response"


def test_errors_and_access_control_are_read_from_configuration_space(facts: list[Fact]) -> None:
    assert about(facts, "pci-acs", PORT) == {
        "source_validation": True, "request_redirect": True, "completion_redirect": True,
        "upstream_forwarding": True, "direct_translated": False,
    }  # fmt: skip
    assert about(facts, "pci-aer", PORT) == {"correctable": "BadTLP"}
    assert about(facts, "pcie-error-event", GPUS[2]) == {
        "severity": "correctable", "count": 5, "names": "BadTLP", "before_last_boot": False,
    }  # fmt: skip


def test_interrupts_that_no_near_cpu_may_serve_are_counted(facts: list[Fact]) -> None:
    placement = about(facts, "interrupt-placement", NIC)
    assert (placement["vectors"], placement["vectors_remote"], placement["cpus"]) == (2, 1, "0-4")


def test_a_process_on_the_wrong_node(facts: list[Fact]) -> None:
    (fact,) = of_kind(facts, "process-placement")
    assert (fact.subject.process_id, fact.subject.gpu_bus_id) == (RANK, GPUS[0])
    assert fact.values() == {
        "name": "python3", "cpus": "4-7,12-15", "cpu_count": 8, "bound": True, "cpus_near_gpu_ratio": 0.0,
        "memory_nodes": "0-1", "gpu_numa_node": 0, "memory_bytes": 100 * 4096, "memory_near_gpu_ratio": 0.25,
        "threads": 2, "threads_near_gpu_ratio": 0.5, "control_group": "/kubepods.slice/pod1", "in_container": True,
    }  # fmt: skip


def test_variables_that_matter_and_no_others_leave_the_process(facts: list[Fact], server: Readings) -> None:
    assert only(facts, "nccl-environment") == {"name": "NCCL_DEBUG", "value": "INFO"}
    assert only(facts, "process-environment") == {"name": "OMP_NUM_THREADS", "value": "8", "number": 8}
    (path,) = {report.path for report in server.inputs if report.kind == "recorded-processes"}
    text = Path(path).read_text(encoding="utf-8")
    assert not any(word in text for word in ("SECRET", "API_KEY", "HOME"))


def test_interfaces_and_ports_of_the_network(facts: list[Fact]) -> None:
    interface = only(facts, "network-interface")
    assert (interface["speed_gigabits_per_second"], interface["mtu_bytes"], interface["rdma_device"]) == (
        400.0, 9000, "mlx5_0",
    )  # fmt: skip
    port = only(facts, "rdma-port")
    assert (port["state"], port["rate_gigabits_per_second"], port["width_lanes"]) == ("active", 400.0, 4)
    counters = only(facts, "rdma-counters")
    assert (counters["symbol_errors"], counters["receive_bytes"], counters["out_of_sequence"]) == (12, 400, 5)
    assert only(facts, "rdma-rates")["symbol_errors_per_second"] == 0.0


def test_tcp_and_the_packet_queues(facts: list[Fact]) -> None:
    assert only(facts, "tcp-statistics")["retransmitted_ratio"] == 0.02
    assert only(facts, "packet-backlog") == {
        "processed_packets": 256, "dropped_packets": 1, "squeezed": 2, "dropped_per_second": 0.0,
        "squeezed_per_second": 0.0,
    }  # fmt: skip


def test_a_small_virtual_machine_has_no_facts_about_what_it_has_not(tmp_path: Path) -> None:
    readings = record(small_virtual_machine(tmp_path / "root"), tmp_path / "recording")
    facts = resolve(readings.facts)
    kinds = {fact.kind for fact in facts}
    assert not kinds & {"cpu-frequency", "cpu-idle-state", "gpu-inventory", "process-placement", "rdma-port"}
    assert "numa_node" not in only(facts, "pci-device")
    interface = only(facts, "network-interface")
    assert "speed_gigabits_per_second" not in interface
    assert {report.status for report in readings.inputs} == {Status.PARSED}


def test_an_empty_tree_gives_nothing_but_the_recorders_words(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    outcomes = {name: run(recorder(name), tmp_path / "recording", root, WINDOW) for name in NAMES}
    assert {name for name, (status, _) in outcomes.items() if status == "absent"} == set(NAMES) - {"services"}
    assert all(detail for status, detail in outcomes.values() if status == "absent")


@pytest.fixture
def unreadable(tmp_path: Path) -> Path:
    root = small_virtual_machine(tmp_path / "root")
    path = root / "proc/meminfo"
    path.unlink()
    path.mkdir()
    return root


def test_a_file_that_fails_leaves_the_others(unreadable: Path, tmp_path: Path) -> None:
    facts = resolve(record(unreadable, tmp_path / "recording").facts)
    assert not of_kind(facts, "host-memory")
    assert of_kind(facts, "cpu-load")


def test_a_snapshot_of_a_real_machine(corpus: Path, tmp_path: Path) -> None:
    with tarfile.open(corpus / "files/sysfs-snapshot-tar/hwloc-40intel64-2g2n4c+pcilocality.tar.bz2") as archive:
        archive.extractall(tmp_path, filter="tar")
    facts = resolve(record(tmp_path / "40intel64-2g2n4c+pci", tmp_path / "recording").facts)
    nodes = {fact.subject.numa_node: fact.values()["cpus"] for fact in of_kind(facts, "numa-node")}
    assert nodes == {node: ",".join(str(cpu) for cpu in range(node, 40, 4)) for node in range(4)}
    assert only(facts, "rdma-port") == {
        "state": "active", "physical_state": "linkup", "rate_gigabits_per_second": 40.0, "width_lanes": 4,
        "link_layer": "infiniband", "base_lid": 298, "subnet_manager_lid": 1,
    }  # fmt: skip
    assert {fact.subject.nic for fact in of_kind(facts, "network-interface")} == {"eth0", "eth1", "eth2", "eth3", "ib0"}
    assert only(facts, "cpu-load")["cpus_online"] == 40
    assert "cpus_offline" not in only(facts, "cpu-load"), "CPUs that might be plugged in are not offline"
