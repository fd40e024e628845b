"""XML that lstopo (hwloc) writes: NUMA nodes with their memory, CPUs, PCI devices and what the kernel calls them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.pci_ids import is_gpu, is_nic
from collectors.topology_paths import Place, Placed, gpu_nic_facts
from collectors.xml_tree import Element, read_tree
from diagnose.facts import Fact, Subject, normalise_bus_id
from diagnose.facts.host import CpuTopology, NumaDistance, NumaNode
from diagnose.facts.network import NetworkInterface, RdmaDevice
from diagnose.facts.pcie import PciDevice

_TYPE = re.compile(r"^([0-9a-f]{4}) \[([0-9a-f]{4}):[0-9a-f]{4}\]")
_MASK = re.compile(r"^0x([0-9a-f]{1,8})$")
# Kinds of devices of the kernel. Up to hwloc 2 they are numbers, from hwloc 3 on bits; names tell as well.
_NETWORK_NAME = re.compile(r"^(?:en|eth|ib[a-z\d]|hsn|bond|wl|rdma\d)")
_RDMA_NAME = re.compile(r"^(?:mlx\d|bnxt_re|irdma|efa_|hfi1|rxe|siw|cxi)\w*\d")
_GPU_NAME = re.compile(r"^nvml(\d{1,3})$")
_BOARD_CONTROLLER = re.compile(r"\bES1000\b|\bRage\b", re.IGNORECASE)


@dataclass(slots=True)
class _Machine:
    nodes: dict[int, Element] = field(default_factory=dict)
    gpus: list[Placed] = field(default_factory=list)
    nics: list[Placed] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)


class LstopoXml(BlockCollector):
    """One machine."""

    kind: ClassVar[str] = "lstopo-xml"
    literals: ClassVar[tuple[bytes, ...]] = (b"<topology", b"DOCTYPE topology SYSTEM")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\b(?:lstopo(?:-no-graphics)?|hwloc-ls)\b.*xml")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The document type, or the root where it is missing."""
        return "<!DOCTYPE topology SYSTEM" in text or re.match(r"^\s*<topology[ >]", text) is not None

    @classmethod
    def closes(cls, text: str) -> bool:
        """The end of the root."""
        return "</topology>" in text

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of the machine, as far as the XML is whole."""
        root, problems = read_tree(block)
        machine = _Machine()
        for node in root.walk():
            if node.tag == "object" and node.get("type") == "NUMANode":
                index = _whole(node.get("os_index"))
                if index is not None:
                    machine.nodes[index] = node
        _visit(machine, root, block, (), "", None)
        facts = [
            *_processors(root, machine, block),
            *_nodes(machine, block),
            *_distances(root, block),
            *machine.facts,
            *gpu_nic_facts(machine.gpus, machine.nics, block, bridges_of_switch=2),
        ]
        if not facts and not problems:
            problems = [f"line {block.lines[0].number}: no part of a machine was found"]
        return Parsed(facts, problems)


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 19 else None


def _cpus(mask: str) -> list[int] | None:
    """CPUs of a mask of words of 32 bits, the highest first; an empty word is zero."""
    numbers: list[int] = []
    words = mask.split(",")
    for place, word in enumerate(reversed(words)):
        if word in ("", "0x0"):
            continue
        match = _MASK.match(word)
        if match is None or place > 1000:
            return None
        bits = int(match[1], 16)
        numbers += [place * 32 + bit for bit in range(32) if bits >> bit & 1]
    return numbers


def _ranges(numbers: Sequence[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def _nodes(machine: _Machine, block: Block) -> Iterator[Fact]:
    for index, node in machine.nodes.items():
        cpus = _cpus(node.get("cpuset"))
        yield NumaNode(
            subject=Subject(host=block.host, numa_node=index),
            sources=(block.source(node.line),),
            cpus=_ranges(cpus) if cpus else None,
            cpu_count=len(cpus) if cpus is not None else None,
            memory_total_bytes=_whole(node.get("local_memory")),
        )


def _processors(root: Element, machine: _Machine, block: Block) -> Iterator[Fact]:
    objects = [node for node in root.walk() if node.tag == "object"]
    threads = sum(node.get("type") == "PU" for node in objects)
    if threads == 0:
        return
    sockets = sum(node.get("type") == "Package" for node in objects)
    cores = sum(node.get("type") == "Core" for node in objects)
    info = {
        node.get("name"): node.get("value").strip() for node in root.walk() if node.tag == "info" and node.get("value")
    }
    yield CpuTopology(
        subject=block.subject(),
        sources=(block.source(objects[0].line),),
        model_name=info.get("CPUModel"),
        vendor=info.get("CPUVendor"),
        architecture=info.get("Architecture"),
        sockets=sockets or None,
        cores_per_socket=cores // sockets if sockets and cores else None,
        threads_per_core=threads // cores if cores else None,
        logical_cpus=threads,
        numa_nodes=len(machine.nodes) or None,
    )


def _distances(root: Element, block: Block) -> Iterator[Fact]:
    for table in root.walk():
        if table.tag != "distances2" or table.get("type") != "NUMANode" or "Latency" not in table.get("name"):
            continue
        indexes = [*_numbers(block, table, "indexes")]
        values = [*_numbers(block, table, "u64values")]
        if len(values) != len(indexes) ** 2:
            return
        for row, first in enumerate(indexes):
            for column, second in enumerate(indexes):
                yield NumaDistance(
                    subject=Subject(host=block.host, numa_node=first),
                    sources=(block.source(table.line),),
                    to_node=second,
                    distance=values[row * len(indexes) + column],
                )
        return


def _numbers(block: Block, table: Element, tag: str) -> Iterator[int]:
    """Numbers of a table's elements of one sort, the text of each of which stands on its own line."""
    lines = {child.line for child in table.children if child.tag == tag}
    for line in block.lines:
        if line.number in lines:
            words = re.sub(r"<[^>]{0,200}>", " ", line.text).split()
            yield from (number for word in words if (number := _whole(word)) is not None)


def _visit(
    machine: _Machine, node: Element, block: Block, bridges: tuple[str, ...], host_bridge: str, numa: int | None
) -> None:
    """Walk down, knowing the bridges above and the NUMA node of the part of the machine."""
    kind = node.get("type")
    if node.tag == "object" and node.get("nodeset"):
        numa = _only_node(machine, node.get("nodeset"), numa)
    if kind == "Bridge":
        if node.get("bridge_type").startswith("0"):
            host_bridge = node.get("bridge_pci")
        else:
            bridges = (*bridges, node.get("pci_busid"))
    elif kind == "PCIDev":
        _device(machine, node, block, Place(bridges, host_bridge, numa))
    for child in node.children:
        _visit(machine, child, block, bridges, host_bridge, numa)


def _only_node(machine: _Machine, nodeset: str, above: int | None) -> int | None:
    nodes = _cpus(nodeset)
    if nodes is None:
        return above
    # A node without CPUs (memory of a GPU, CXL) is no place that a device hangs at.
    with_cpus = [number for number in nodes if number in machine.nodes and _cpus(machine.nodes[number].get("cpuset"))]
    return with_cpus[0] if len(with_cpus) == 1 else None


def _device(machine: _Machine, node: Element, block: Block, place: Place) -> None:
    match = _TYPE.match(node.get("pci_type"))
    bus_id = normalise_bus_id(node.get("pci_busid"))
    if match is None or bus_id is None:
        return
    device_class, vendor = match[1], match[2]
    described = " ".join(
        child.get("value") for child in node.children if child.get("name") in ("PCIVendor", "PCIDevice")
    )
    gpu, nic = is_gpu(device_class, vendor) and not _BOARD_CONTROLLER.search(described), is_nic(device_class)
    if not gpu and not nic:
        return
    names = [child.get("name") for child in node.walk() if child.get("type") == "OSDev"]
    index = next((int(found[1]) for name in names if (found := _GPU_NAME.match(name)) is not None), None)
    subject = Subject(
        host=block.host, bus_id=bus_id, gpu_bus_id=bus_id if gpu else None, gpu_index=index if gpu else None
    )
    machine.facts.append(
        PciDevice(
            subject=subject,
            sources=(block.source(node.line),),
            description=described or None,
            vendor_id=vendor,
            is_gpu=gpu,
            is_nic=nic,
            is_bridge=False,
            numa_node=place.numa_node,
        )
    )
    if gpu:
        machine.gpus.append(Placed(subject, place, node.line))
        return
    rdma = [name for name in names if _RDMA_NAME.match(name)]
    interfaces = [name for name in names if _NETWORK_NAME.match(name)]
    for name in [*rdma, *interfaces]:
        named = subject.model_copy(update={"nic": name})
        if name in rdma:
            machine.facts.append(RdmaDevice(subject=named, sources=(block.source(node.line),)))
        else:
            machine.facts.append(
                NetworkInterface(
                    subject=named,
                    sources=(block.source(node.line),),
                    rdma_device=rdma[0] if len(rdma) == 1 else None,
                    numa_node=place.numa_node,
                )
            )
        machine.nics.append(Placed(named, place, node.line))
