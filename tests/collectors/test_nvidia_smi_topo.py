from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest

from collectors.nvidia_smi_topo import NvidiaSmiTopo
from collectors.nvidia_smi_topo_p2p import NvidiaSmiTopoP2p
from diagnose.facts import Fact, Missing
from diagnose.facts.host import GpuInventory
from diagnose.facts.topology import GpuAffinity, GpuNicPath, GpuPath, TopologySummary
from tests.collectors.helpers import block, damaged, opened

TABS = (
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV4\tPHB\tSYS\tPIX\tSYS\t0-15,32-47\t0\t\tN/A\n"
    "GPU1\tNV4\t X \tNODE\tSYS\tPXB\tSYS\t0-15,32-47\t0\t\tN/A\n"
    "GPU2\tPHB\tNODE\t X \tNV4\tSYS\tPHB\tN/A\tN/A\t\tN/A\n"
    "GPU3\tSYS\tSYS\tNV4\t X \tSYS\tNODE\t16-31,48-63\t1\t\tN/A\n"
    "NIC0\tPIX\tPXB\tSYS\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tSYS\tPHB\tNODE\tSYS\t X \t\t\t\t\n"
    "\n"
    "Legend:\n"
    "\n"
    "  X    = Self\n"
    "\n"
    "NIC Legend:\n"
    "\n"
    "  NIC0: mlx5_3\n"
    "  NIC1: mlx5_bond_0\n"
)

OLD_BLANKS = """\
        GPU0    GPU1    mlx5_0  CPU Affinity
GPU0     X      SOC     PIX     0-9
GPU1    SOC      X      SOC     10-19
mlx5_0  PIX     SOC      X
"""


F = TypeVar("F", bound=Fact)


def facts(text: str, kind: type[F]) -> list[F]:
    return [fact for fact in NvidiaSmiTopo.parse(block(text)).facts if isinstance(fact, kind)]


def paths(text: str) -> dict[tuple[int | None, str], str]:
    return {(fact.subject.gpu_index, fact.peer): fact.connection for fact in facts(text, GpuPath)}


def test_each_pair_appears_once_with_the_lower_index_first() -> None:
    assert paths(TABS) == {
        (0, "1"): "NV",
        (0, "2"): "PHB",
        (0, "3"): "SYS",
        (1, "2"): "NODE",
        (1, "3"): "SYS",
        (2, "3"): "NV",
    }


def test_links_of_an_nvlink_pair_are_counted_and_others_have_none() -> None:
    links = {(fact.subject.gpu_index, fact.peer): fact.nvlinks for fact in facts(TABS, GpuPath)}
    assert links[0, "1"] == 4
    assert links[0, "2"] is None


def test_nic_columns_get_their_names_from_the_legend() -> None:
    near = {(fact.subject.gpu_index, fact.subject.nic): fact.connection for fact in facts(TABS, GpuNicPath)}
    assert near[0, "mlx5_3"] == "PIX"
    assert near[3, "mlx5_bond_0"] == "NODE"
    assert len(near) == 8


def test_nic_rows_are_read_where_the_nic_columns_are_cut_off() -> None:
    text = "     GPU0  GPU1  CPU Affinity\nGPU0  X  PIX  0-3\nGPU1  PIX  X  0-3\nNIC0  NODE  PIX\n\n  NIC0: mlx5_7\n"
    near = {(fact.subject.gpu_index, fact.subject.nic): fact.connection for fact in facts(text, GpuNicPath)}
    assert near == {(0, "mlx5_7"): "NODE", (1, "mlx5_7"): "PIX"}


def test_affinity_is_read_and_not_applicable_is_kept_apart_from_absent() -> None:
    by_gpu = {fact.subject.gpu_index: fact for fact in facts(TABS, GpuAffinity)}
    assert (by_gpu[0].cpus, by_gpu[0].numa_node) == ("0-15,32-47", 0)
    assert by_gpu[2].numa_node is None
    assert by_gpu[2].missing == {"cpus": Missing.NOT_APPLICABLE, "numa_node": Missing.NOT_APPLICABLE}


def test_affinity_without_a_numa_column_has_no_node() -> None:
    by_gpu = {fact.subject.gpu_index: fact for fact in facts(OLD_BLANKS, GpuAffinity)}
    assert by_gpu[1].cpus == "10-19"
    assert by_gpu[1].numa_node is None
    assert not by_gpu[1].missing


def test_old_soc_label_means_sys_and_keeps_its_spelling() -> None:
    (path,) = facts(OLD_BLANKS, GpuPath)
    assert (path.connection, path.label) == ("SYS", "SOC")


def test_nics_may_stand_under_their_own_names() -> None:
    assert {fact.subject.nic for fact in facts(OLD_BLANKS, GpuNicPath)} == {"mlx5_0"}


def test_summary_counts_pairs_by_connection() -> None:
    (summary,) = facts(TABS, TopologySummary)
    assert summary.values() == {
        "gpus": 4,
        "pairs": 6,
        "nvlink_pairs": 2,
        "nvlinks_min": 4,
        "nvlinks_max": 4,
        "same_switch_pairs": 0,
        "host_bridge_pairs": 1,
        "cross_bridge_pairs": 1,
        "cross_socket_pairs": 2,
        "numa_nodes": 2,
        "nics": 2,
        "nics_near": 1,
    }


def test_inventory_shows_a_gap_in_the_indices() -> None:
    text = "     GPU0  GPU2  CPU Affinity\nGPU0  X  SYS  0-3\nGPU2  SYS  X  0-3\n"
    (inventory,) = facts(text, GpuInventory)
    assert (inventory.listed, inventory.highest_index, inventory.tool) == (2, 2, "topo")


def test_unknown_label_is_a_problem_and_no_path() -> None:
    parsed = NvidiaSmiTopo.parse(block("     GPU0  GPU1  CPU Affinity\nGPU0  X  QQQ  0-3\nGPU1  PIX  X  0-3\n"))
    assert paths("     GPU0  GPU1  CPU Affinity\nGPU0  X  QQQ  0-3\n") == {}
    assert parsed.problems == ["line 2: GPU0 to GPU1 reads 'QQQ', which is no connection"]


def test_sources_point_at_the_row() -> None:
    (path,) = facts(OLD_BLANKS, GpuPath)
    assert path.sources[0].line == 2


def test_host_of_the_section_becomes_the_subject() -> None:
    parsed = NvidiaSmiTopo.parse(block(OLD_BLANKS, host="gpu07"))
    assert {fact.subject.host for fact in parsed.facts} == {"gpu07"}


@pytest.mark.parametrize("text", [TABS, OLD_BLANKS])
def test_header_opens_this_collector_and_not_the_peer_access_one(text: str) -> None:
    assert len(opened(NvidiaSmiTopo, text)) == 1
    assert opened(NvidiaSmiTopoP2p, text) == []


def test_header_of_peer_access_alone_does_not_open() -> None:
    assert opened(NvidiaSmiTopo, "        GPU0    GPU1\n GPU0   X       OK\n GPU1   OK      X\n") == []


@pytest.mark.parametrize("command", ["nvidia-smi topo -m", "sudo nvidia-smi topo --matrix"])
def test_command_is_known(command: str) -> None:
    assert NvidiaSmiTopo.command is not None
    assert NvidiaSmiTopo.command.search(command)
    assert not NvidiaSmiTopo.command.search("nvidia-smi topo -p2p r")


def test_damaged_text_never_raises() -> None:
    for text in damaged(TABS):
        NvidiaSmiTopo.parse(block(text))


def test_field_files_are_read_without_problems(corpus: Path) -> None:
    files = [
        *corpus.glob("files/topo/*topo-a100*"),
        *corpus.glob("files/nvidia-smi-topo/*.txt"),
        *corpus.glob("cases/*/topo.txt"),
    ]
    read = 0
    for path in files:
        text = path.read_text()
        if not opened(NvidiaSmiTopo, text):
            continue
        read += 1
        parsed = NvidiaSmiTopo.parse(block(text))
        assert parsed.problems == [], path
        (summary,) = [fact for fact in parsed.facts if isinstance(fact, TopologySummary)]
        assert summary.pairs == summary.gpus * (summary.gpus - 1) // 2, path
    assert read >= 14
