"""The format of recorded trees, and what two readings of counters say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.base import BlockCollector
from collectors.live.base import Folder
from collectors.live.tree import TreeWriter
from collectors.recorded_host import RecordedHost
from collectors.recorded_network import RecordedNetwork
from collectors.recorded_pci import RecordedPci
from collectors.recorded_processes import RecordedProcesses
from collectors.recorded_services import RecordedServices
from collectors.recorded_tree import RecordedTree
from collectors.scan import scan_file
from tests.collectors.helpers import block, damaged, opened

HOST = """\
=== recorded tree 1: host
@ sys/devices/system/node/node0/cpulist
|0-1
@ sys/devices/system/cpu/cpufreq/policy0/scaling_governor
|performance
@ proc/self/limits
|Max locked memory         unlimited            unlimited            bytes
@ sys/fs/cgroup/a/cpu.stat at 100.0
|nr_periods 10
|nr_throttled 2
@ proc/pressure/cpu at 100.0
|some avg10=1.00 avg60=0.00 avg300=0.00 total=1000000
@ proc/stat at 100.0
|cpu  100 0 100 700 0 0 0 0 0 0
|procs_running 4
@ proc/vmstat at 100.0
|numa_hint_faults 50
|allocstall_normal 1
@ proc/stat at 102.0
|cpu  150 0 150 800 20 0 30 50 0 0
|procs_running 8
@ proc/pressure/cpu at 102.0
|some avg10=9.00 avg60=0.00 avg300=0.00 total=2000000
@ sys/fs/cgroup/a/cpu.stat at 102.0
|nr_periods 30
|nr_throttled 7
@ proc/vmstat at 102.0
|numa_hint_faults 4050
|allocstall_normal 5
"""
NETWORK = """\
=== recorded tree 1: network
@ sys/class/net/eth0/operstate
|up
@ sys/class/net/eth0/speed
|-1
@ sys/class/net/eth0/device -> ../../../0000:18:00.0
@ sys/class/net/eth0/statistics/rx_bytes at 10.000
|1000
@ sys/class/net/eth0/statistics/rx_dropped at 10.000
|9
@ sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error at 10.000
|3
@ sys/class/infiniband/mlx5_0/ports/1/counters/link_downed at 10.000
|1
@ proc/net/snmp at 10.0
|Tcp: OutSegs RetransSegs
|Tcp: 100 1
@ proc/net/softnet_stat at 10.0
|00000010 00000000 00000000
|00000010 00000000 00000000
@ sys/class/net/eth0/statistics/rx_bytes at 12.000
|5000
@ sys/class/net/eth0/statistics/rx_dropped at 12.000
|4
@ sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error at 12.000
|7
@ sys/class/infiniband/mlx5_0/ports/1/counters/link_downed at 12.000
|2
@ proc/net/snmp at 12.0
|Tcp: OutSegs RetransSegs
|Tcp: 300 11
@ proc/net/softnet_stat at 12.0
|00000040 00000002 00000004
|00000020 00000000 00000000
"""
PCI = """\
=== recorded tree 1: pci
@ sys/bus/pci/devices/0000:18:00.0/class
|0x020000
@ sys/bus/pci/devices/0000:18:00.0/local_cpulist
|0-1
@ sys/bus/pci/devices/0000:18:00.0/msi_irqs (names)
|90
@ sys/bus/pci/devices/0000:18:00.0/net (names)
|eth0
@ sys/bus/pci/devices/0000:18:00.0/config
|15b3ffff
@ proc/irq/90/smp_affinity_list
|0-3
@ proc/interrupts at 5.0
|           CPU0       CPU1       CPU3
| 90:        100          0         50   mlx5
@ proc/interrupts at 7.0
|           CPU0       CPU1       CPU3
| 90:        120          0        130   mlx5
"""
PROCESSES = """\
=== recorded tree 1: processes
@ proc/driver/nvidia/gpus/0000:1b:00.0/information
|Device Minor: 	 3
@ proc/7/fd (devices)
|/dev/nvidia3
@ proc/7/status
|Name:	server
|Cpus_allowed_list:	0-3
@ proc/7/numa_maps !EACCES
@ proc/7/schedstat at 1.0
|1000 100 1
@ proc/7/schedstat at 2.0
|1300 200 9
"""
SERVICES = """\
=== recorded tree 1: services
@ signs (names)
|etc/slurm/slurm.conf
@ environment (variables)
|SLURM_JOB_ID=812
|SLURM_JOB_PARTITION=train
"""
SAMPLES: tuple[tuple[type[BlockCollector], str], ...] = (
    (RecordedHost, HOST),
    (RecordedNetwork, NETWORK),
    (RecordedPci, PCI),
    (RecordedProcesses, PROCESSES),
    (RecordedServices, SERVICES),
)


def values(collector: type[BlockCollector], text: str, kind: str, index: int = 0) -> dict[str, Any]:
    return [fact for fact in collector.parse(block(text)).facts if fact.kind == kind][index].values()


@pytest.fixture
def writer(tmp_path: Path) -> Callable[[], tuple[TreeWriter, Folder]]:
    def make() -> tuple[TreeWriter, Folder]:
        folder = Folder(tmp_path / "out", tmp_path / "root", lambda _: None)
        return TreeWriter(folder, "host"), folder

    return make


def written(tmp_path: Path) -> RecordedTree:
    return RecordedTree(block((tmp_path / "out/tree.txt").read_text(encoding="utf-8")))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20), min_size=1, max_size=5))
def test_whatever_lines_are_written_are_read_back(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    # The scanner splits at line feeds only; the helper of these tests at every sort of line end.
    lines = [line.replace("\u2028", " ").replace("\u2029", " ") + "." for line in lines]
    folder = tmp_path_factory.mktemp("tree")
    tree = TreeWriter(Folder(folder / "out", folder, lambda _: None), "host")
    tree.note("a/b", lines)
    read = RecordedTree(block((folder / "out/tree.txt").read_text(encoding="utf-8")))
    entry = read.last("a/b")
    assert entry is not None
    assert entry.lines == lines


def test_links_errors_and_absences_are_told_apart(
    writer: Callable[[], tuple[TreeWriter, Folder]], tmp_path: Path
) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "link").symlink_to("../x/driver")
    tree, folder = writer()
    tree.link("link")
    assert tree.read("folder") is None
    assert tree.read("nothing") is None
    folder.close()
    read = written(tmp_path)
    assert read.target("link") == "driver"
    text = (tmp_path / "out/tree.txt").read_text(encoding="utf-8")
    assert "@ folder !EISDIR" in text
    assert "nothing" not in text


@pytest.mark.parametrize(("collector", "text"), SAMPLES, ids=lambda item: getattr(item, "kind", ""))
def test_only_the_first_line_opens_and_the_file_is_one_block(
    collector: type[BlockCollector], text: str, tmp_path: Path
) -> None:
    assert opened(collector, text) == [text.partition("\n")[0]]
    path = tmp_path / "tree.txt"
    path.write_text(text, encoding="utf-8")
    assert [report.kind for report in scan_file(path, "tree.txt").reports] == [collector.kind]


@pytest.mark.parametrize(("collector", "text"), SAMPLES, ids=lambda item: getattr(item, "kind", ""))
def test_damaged_trees_do_not_raise(collector: type[BlockCollector], text: str) -> None:
    for damage in damaged(text):
        collector.parse(block(damage))


def test_content_that_looks_like_other_formats_stays_content(tmp_path: Path) -> None:
    path = tmp_path / "tree.txt"
    lines = ["BOOT_IMAGE=/vmlinuz iommu=pt", "=== node01 ===", "$ dmesg", "[  1.0] NVRM: Xid (PCI:0000:01:00): 79"]
    body = "\n".join(f"|{line}" for line in lines)
    path.write_text(f"=== recorded tree 1: host\n@ proc/cmdline\n{body}\n@ proc/vmstat\n|x 1\n", encoding="utf-8")
    result = scan_file(path, "tree.txt")
    assert [report.kind for report in result.reports] == ["recorded-host"]
    assert {fact.kind for fact in result.facts} == {"kernel-parameter"}


def test_shares_and_rates_of_a_host_come_from_two_readings() -> None:
    load = values(RecordedHost, HOST, "cpu-load")
    assert load["interval_seconds"] == 2.0
    assert load["busy_ratio"] == pytest.approx(180 / 300)
    assert load["steal_ratio"] == pytest.approx(50 / 300)
    assert (load["runnable_tasks"], load["runnable_tasks_max"]) == (6, 8)
    activity = values(RecordedHost, HOST, "memory-activity")
    assert activity["numa_hint_faults_per_second"] == 2000.0
    assert activity["direct_reclaim_stalls_per_second"] == 2.0
    assert values(RecordedHost, HOST, "control-group")["throttled_window_ratio"] == 0.25
    stall = values(RecordedHost, HOST, "pressure-stall")
    assert (stall["some_ratio"], stall["some_window_ratio"]) == (0.09, 0.5)


def test_no_limit_is_not_a_limit_of_zero() -> None:
    assert values(RecordedHost, HOST, "resource-limit") == {
        "resource": "locked-memory",
        "of": "collector",
        "unlimited": True,
    }


def test_rates_of_the_network_come_from_two_readings() -> None:
    rates = values(RecordedNetwork, NETWORK, "network-rates")
    assert rates == {"interval_seconds": 2.0, "receive_bytes_per_second": 2000.0}, "a counter that fell has no rate"
    rdma = values(RecordedNetwork, NETWORK, "rdma-rates")
    assert rdma == {"interval_seconds": 2.0, "symbol_errors_per_second": 2.0, "link_downed_in_interval": 1}
    tcp = values(RecordedNetwork, NETWORK, "tcp-statistics")
    assert (tcp["retransmitted_ratio"], tcp["retransmitted_window_ratio"]) == (11 / 300, 0.05)
    queues = values(RecordedNetwork, NETWORK, "packet-backlog")
    assert (queues["squeezed_per_second"], queues["busiest_cpu_ratio"]) == (2.0, 0.75)


def test_an_interface_without_a_speed_has_none() -> None:
    assert "speed_gigabits_per_second" not in values(RecordedNetwork, NETWORK, "network-interface")


def test_interrupts_are_counted_on_the_cpus_that_the_heading_names() -> None:
    placement = values(RecordedPci, PCI, "interrupt-placement")
    assert placement["interrupts_per_second"] == 50.0
    assert placement["remote_ratio"] == 0.8
    assert (placement["busiest_cpu"], placement["busiest_cpu_ratio"]) == (3, 0.8)


def test_a_process_whose_memory_may_not_be_looked_at_has_no_share_of_it() -> None:
    placement = values(RecordedProcesses, PROCESSES, "process-placement")
    assert placement == {"name": "server", "cpus": "0-3", "cpu_count": 4, "cpu_wait_ratio": 0.25}


def test_the_batch_system_and_its_job() -> None:
    assert values(RecordedServices, SERVICES, "scheduler-context") == {
        "system": "slurm",
        "job": "812",
        "detail": "partition train",
    }
