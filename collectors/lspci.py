"""`lspci` in its forms: short, `-nn`, `-n`, `-v` to `-vvv`, `-mm`, `-vmm`, and lines picked out of them.

Devices that matter here become facts: GPUs, NVSwitches, PCI bridges, network adapters, and whatever no longer answers.
The dozens of other functions of a server do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.lspci_device import Device, device_line, is_record_start, read_detail
from diagnose.facts import Fact, Subject
from diagnose.facts.gpu import GpuUnreachable
from diagnose.facts.host import GpuInventory
from diagnose.facts.pcie import PciAcs, PciAer, PciDevice, PciLink

_DETAIL = re.compile(
    r"^\s*(?:LnkCap|LnkSta|LnkCap2|LnkSta2|LnkCtl|ACSCtl|ACSCap|UESta|CESta|DevCap|DevSta|Subsystem|"
    r"Kernel driver in use|Kernel modules|Physical Slot|Region \d|Flags|Capabilities|NUMA node|"
    r"IOMMU group|Control|Status): ?"
)
_PICKED_DETAIL = re.compile(r"^\s*(?:LnkCap|LnkSta|ACSCtl|Subsystem):\s")
_LEFT_OUT = re.compile(r"^\s*(?:\[?(?:\.\.\.|…)\]?|\(?snip\)?)\s*$")
_SELECTED = re.compile(r"\blspci\b.*\s-(?:s|d)")


class Lspci(BlockCollector):
    """Devices, links, ACS, AER status and the number of GPUs on the bus."""

    kind: ClassVar[str] = "lspci"
    literals: ClassVar[tuple[bytes, ...]] = (
        b"bridge", b"Bridge", b"ontroller", b"System peripheral", b"Processing accelerators", b"Fibre Channel",
        b"Performance counters", b"PIC", b"SMBus", b"udio device", b"10de:", b"Slot:", b"LnkCap:", b"LnkSta:",
        b"ACSCtl:", b"Subsystem: ",
    )  # fmt: skip
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\blspci\b(?!\s+(?:\S+\s+)*-\w*t)")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A device line, the first line of a `-vmm` record, or a picked line of a device's details."""
        if is_record_start(text) or _PICKED_DETAIL.match(text):
            return True
        device = device_line(text)
        return device is not None and device.device_class is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Details without their device line, or bare `bb:dd.f NAME` lists."""
        detailed = share(lines, _DETAIL)
        listed = sum(device_line(text) is not None for text in lines) / len(lines) if lines else 0.0
        return max(detailed, listed)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Facts of each device, in the order of the listing."""
        devices = list(_devices(block.lines))
        bridges = {device.secondary_bus: device.bus_id for device in devices if device.secondary_bus is not None}
        facts = [fact for device in devices for fact in _device_facts(block, device, bridges)]
        facts.extend(_inventory(block, devices))
        return Parsed(_without_repeats(facts))


def _devices(lines: Sequence[Line]) -> Iterator[Device]:
    """Devices with their details. Details before any device line belong to a device without a name."""
    device: Device | None = None
    for line in lines:
        opened = device_line(line.text)
        if opened is not None or is_record_start(line.text):
            if device is not None:
                yield device
            device = opened or Device()
            device.line = line
        if opened is None:
            if device is None:
                device = Device(line=line)
            if device.has_own(line.text):
                yield device
                device = Device(line=line)
            read_detail(device, line)
    if device is not None:
        yield device


def _subject(block: Block, device: Device) -> Subject:
    return Subject(host=block.host, bus_id=device.bus_id, gpu_bus_id=device.bus_id if device.is_gpu else None)


def _device_facts(block: Block, device: Device, bridges: Mapping[str, str | None]) -> Iterator[Fact]:
    if not device.matters:
        return
    subject = _subject(block, device)
    source = block.source(device.line)
    if device.named:
        yield PciDevice(
            subject=subject,
            sources=(source,),
            device_class=device.device_class,
            description=device.description,
            vendor_id=device.vendor_id,
            is_gpu=device.is_gpu,
            is_bridge=device.is_bridge,
            is_nic=device.is_nic,
            responds=device.responds,
            driver=device.driver,
            driver_modules=device.driver_modules,
            numa_node=device.numa_node,
            large_bar_assigned=device.large_bar_assigned,
            upstream_bus_id=bridges.get(device.bus_id.rpartition(":")[0]) if device.bus_id is not None else None,
        )
    if device.responds is False and device.is_gpu and device.line is not None:
        yield GpuUnreachable(
            subject=subject, sources=(source,), message=device.line.text.strip(), reason="pci-no-response"
        )
    for model, fields, line in (
        (PciLink, device.link, device.link_line),
        (PciAcs, device.acs, device.acs_line),
        (PciAer, device.aer_fields(), device.aer_line),
    ):
        if fields and line is not None:
            yield model.model_validate({"subject": subject, "sources": (block.source(line),), **fields})


def _inventory(block: Block, devices: Sequence[Device]) -> Iterator[Fact]:
    """How many GPUs the listing shows, unless it is a listing of chosen devices only."""
    gpus = [device for device in devices if device.is_gpu]
    vendors = {device.vendor_id for device in gpus}
    chosen = [device for device in gpus if device.vendor_id == ("10de" if "10de" in vendors else device.vendor_id)]
    chosen = _physical(chosen)
    whole = any(device.device_class == "Host bridge" for device in devices)
    picked = block.command is not None and _SELECTED.search(block.command) is not None
    left_out = block.truncated or any(_LEFT_OUT.match(line.text) for line in block.lines)
    if not chosen or left_out or not (whole or (len(chosen) > 1 and not picked)):
        return
    yield GpuInventory(
        subject=block.subject(), sources=(block.source(chosen[0].line),), listed=len(chosen), tool="lspci"
    )


def _physical(gpus: Sequence[Device]) -> list[Device]:
    """GPUs without virtual functions: those stand on the bus of a like device at 00.0, which they are parts of."""
    owners = {(gpu.bus_id[:-4], gpu.description) for gpu in gpus if gpu.bus_id and gpu.bus_id.endswith("00.0")}
    return [
        gpu
        for gpu in gpus
        if gpu.bus_id is None or gpu.bus_id.endswith("00.0") or (gpu.bus_id[:-4], gpu.description) not in owners
    ]


def _without_repeats(facts: Sequence[Fact]) -> list[Fact]:
    """Details of unnamed devices are often the same many times: once is enough."""
    seen: set[tuple[str, str, str]] = set()
    kept = []
    for fact in facts:
        key = (fact.kind, fact.subject.path(), repr(fact.values()))
        if fact.subject.bus_id is not None or key not in seen:
            kept.append(fact)
            seen.add(key)
    return kept


class LspciTree(BlockCollector):
    """`lspci -t`: recognised so that it is not reported as unknown; its structure says nothing that rules use."""

    kind: ClassVar[str] = "lspci-tree"
    literals: ClassVar[tuple[bytes, ...]] = (b"-[",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\blspci\b\s+(?:\S+\s+)*-\w*t")

    _ROOT: ClassVar[re.Pattern[str]] = re.compile(r"^ ?-(?:\+-)?\[[0-9a-f]{4,8}(?::[0-9a-f]{2}(?:-[0-9a-f]{2})?)?\]-")
    _BRANCH: ClassVar[re.Pattern[str]] = re.compile(r"^[ |]*(?:[-+\\]+)(?:\[[0-9a-f:-]+\]|[0-9a-f]{2}\.[0-7])")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The root of the tree: `-[0000:00]-+-00.0` or `-+-[0000:d7]-+-00.0`."""
        return cls._ROOT.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Share of lines that are branches."""
        return share(lines, cls._BRANCH)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """No facts."""
        return Parsed()
