"""Machines as facts, for tests of what is made of them."""

from __future__ import annotations

from itertools import combinations

from diagnose.facts import Fact, Source, Subject
from diagnose.facts.gpu import GpuIdentity, GpuPcieLink
from diagnose.facts.host import CpuTopology
from diagnose.facts.network import RdmaDevice
from diagnose.facts.pcie import PciDevice, PciLink
from diagnose.facts.topology import GpuAffinity, GpuNicPath, GpuPath, PeerBandwidth

SOURCES = (Source(path="machine.txt", line=1),)


def path(first: int, second: int, connection: str, nvlinks: int | None = None) -> GpuPath:
    label = f"NV{nvlinks}" if nvlinks else connection
    subject = Subject(gpu_index=first)
    return GpuPath(
        subject=subject, sources=SOURCES, peer=str(second), connection=connection, nvlinks=nvlinks, label=label
    )


def measured(first: int, second: int, gigabytes: float, bidirectional: bool | None = None) -> PeerBandwidth:
    return PeerBandwidth(
        subject=Subject(gpu_index=first),
        sources=SOURCES,
        peer=str(second),
        bytes_per_second=gigabytes * 1e9,
        bidirectional=bidirectional,
    )


def two_sockets() -> list[Fact]:
    """As a matrix shows it: four GPUs in pairs under two switches, one on each socket, a NIC beside the first pair."""
    facts: list[Fact] = [
        path(first, second, "PIX" if first // 2 == second // 2 else "SYS")
        for first, second in combinations(range(4), 2)
    ]
    for gpu in range(4):
        subject = Subject(gpu_index=gpu)
        facts += [
            GpuAffinity(subject=subject, sources=SOURCES, numa_node=gpu // 2),
            GpuPcieLink(
                subject=subject, sources=SOURCES, generation_current=1, generation_max=4, width_current=16, width_max=16
            ),
            GpuNicPath(
                subject=Subject(gpu_index=gpu, nic="mlx5_0"), sources=SOURCES, connection="PXB" if gpu < 2 else "SYS"
            ),
        ]
    return [*facts, CpuTopology(sources=SOURCES, model_name="AMD EPYC 7742 64-Core Processor")]


def device(bus: str, upstream: str | None, width: int, speed: float = 16.0, gpu: int | None = None) -> list[Fact]:
    """A bridge, or a GPU where an index is given, with its link."""
    bus_id = f"0000:{bus}:00.0"
    subject = Subject(bus_id=bus_id, gpu_index=gpu, gpu_bus_id=bus_id if gpu is not None else None)
    above = f"0000:{upstream}:00.0" if upstream else None
    return [
        PciDevice(
            subject=subject, sources=SOURCES, is_gpu=gpu is not None, is_bridge=gpu is None, upstream_bus_id=above
        ),
        PciLink(subject=subject, sources=SOURCES, speed_max_gigatransfers_per_second=speed, width=width),
    ]


def one_switch() -> list[Fact]:
    """Root port 10, a switch of eight lanes at 11, beneath it two GPUs of sixteen lanes and a two-port NIC."""
    nics: list[Fact] = []
    for function in (0, 1):
        subject = Subject(bus_id=f"0000:15:00.{function}")
        nics += [
            PciDevice(subject=subject, sources=SOURCES, is_nic=True, upstream_bus_id="0000:11:00.0"),
            PciLink(subject=subject, sources=SOURCES, speed_max_gigatransfers_per_second=16.0, width=8),
            RdmaDevice(subject=subject.model_copy(update={"nic": f"mlx5_{function}"}), sources=SOURCES),
        ]
    return [
        *device("10", None, 16),
        *device("11", "10", 8),
        *device("12", "11", 16, gpu=0),
        *device("13", "11", 16, gpu=1),
        *nics,
        path(0, 1, "PIX"),
    ]


def nvlink_machine() -> list[Fact]:
    facts: list[Fact] = [path(first, second, "NV", 12) for first, second in combinations(range(8), 2)]
    for gpu in range(8):
        subject = Subject(gpu_index=gpu)
        facts.append(GpuIdentity(subject=subject, sources=SOURCES, product_name="NVIDIA A100-SXM4-80GB"))
        facts.append(GpuAffinity(subject=subject, sources=SOURCES, numa_node=gpu // 4))
    return facts
