"""NCCL's topology XML (`NCCL_TOPO_FILE`, `NCCL_TOPO_DUMP_FILE`, and RCCL's models): PCI tree with GPUs and NICs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.pci_ids import is_gpu, is_nic
from collectors.topology_paths import Place, Placed, gpu_nic_facts
from collectors.xml_tree import Element, read_tree
from diagnose.facts import Fact, Subject, normalise_bus_id
from diagnose.facts.network import NetworkInterface
from diagnose.facts.pcie import PciDevice, PciLink

_SPEED = re.compile(r"^(\d{1,3}(?:\.\d)?) GT/s")
_RDMA = re.compile(r"^(?:mlx|bnxt_re|irdma|efa|rdmap|rocep|ibp)")


@dataclass(slots=True)
class _System:
    block: Block
    facts: list[Fact] = field(default_factory=list)
    gpus: list[Placed] = field(default_factory=list)
    nics: list[Placed] = field(default_factory=list)


class NcclTopoXml(BlockCollector):
    """One machine, or the model of one. What is not told is not assumed: cloud files give no classes and no speeds."""

    kind: ClassVar[str] = "nccl-topo-xml"
    literals: ClassVar[tuple[bytes, ...]] = (b"<system version=",)
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The root."""
        return re.match(r"^\s*<system version=\"\d+\"", text) is not None

    @classmethod
    def closes(cls, text: str) -> bool:
        """The end of the root."""
        return "</system>" in text

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """GPUs, NICs and bridges with their links, and the paths between GPUs and NICs."""
        root, problems = read_tree(block)
        system = _System(block)
        for cpu in root.walk():
            if cpu.tag == "cpu":
                text = cpu.get("numaid")
                numa = int(text) if text.isdecimal() and len(text) < 5 else None
                for child in cpu.children:
                    _visit(system, child, (), numa)
        facts = [*system.facts, *gpu_nic_facts(system.gpus, system.nics, block, bridges_of_switch=1)]
        if not facts and not problems:
            problems = [f"line {block.lines[0].number}: no PCI device was found"]
        return Parsed(facts, problems)


def _visit(system: _System, node: Element, bridges: tuple[str, ...], numa: int | None) -> None:
    if node.tag != "pci":
        return
    bus_id = normalise_bus_id(node.get("busid"))
    if bus_id is None:
        return
    place = Place(bridges, f"numa{numa}", numa)
    system.facts += _device(system, node, bus_id, place)
    for child in node.children:
        _visit(system, child, (*bridges, bus_id), numa)


def _device(system: _System, node: Element, bus_id: str, place: Place) -> Iterator[Fact]:
    block, sources = system.block, (system.block.source(node.line),)
    device_class = node.get("class").removeprefix("0x")[:4]
    gpu_element = next((child for child in node.children if child.tag == "gpu"), None)
    vendor = node.get("vendor").removeprefix("0x") or None
    gpu = gpu_element is not None or is_gpu(device_class, vendor)
    index = gpu_element.get("dev") if gpu_element else ""
    subject = Subject(
        host=block.host,
        bus_id=bus_id,
        gpu_bus_id=bus_id if gpu else None,
        gpu_index=int(index) if index.isdecimal() and len(index) < 4 else None,
    )
    yield PciDevice(
        subject=subject,
        sources=sources,
        vendor_id=vendor,
        is_gpu=gpu if device_class or gpu else None,
        is_nic=is_nic(device_class) if device_class else None,
        is_bridge=device_class == "0604" if device_class else None,
        numa_node=place.numa_node,
        upstream_bus_id=place.bridges[-1] if place.bridges else None,
    )
    speed, width = _SPEED.match(node.get("link_speed")), node.get("link_width")
    if not bus_id.startswith("ffff:") and (speed or width.isdecimal()):
        yield PciLink(
            subject=subject,
            sources=sources,
            speed_max_gigatransfers_per_second=float(speed[1]) if speed else None,
            width_max=int(width) if width.isdecimal() and 0 < len(width) < 3 else None,
        )
    if gpu:
        system.gpus.append(Placed(subject, place, node.line))
    for child in node.children:
        for net in child.children if child.tag == "nic" else ():
            if net.tag == "net" and net.get("name"):
                yield _interface(system, net, subject, place)


def _interface(system: _System, net: Element, device: Subject, place: Place) -> NetworkInterface:
    subject = device.model_copy(update={"nic": net.get("name")})
    system.nics.append(Placed(subject, place, net.line))
    megabits = net.get("speed")
    return NetworkInterface(
        subject=subject,
        sources=(system.block.source(net.line),),
        speed_gigabits_per_second=int(megabits) / 1000 if megabits.isdecimal() and len(megabits) < 9 else None,
        rdma_device=net.get("name") if _RDMA.match(net.get("name")) else None,
        numa_node=place.numa_node,
    )
