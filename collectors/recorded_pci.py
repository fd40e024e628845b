"""The recorded tree of PCI devices: devices, links, errors, ACS, IOMMU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from collectors.live.pci import DEVICES
from collectors.lspci_device import CLASS_WORDS
from collectors.pci_configuration import acs, errors, parse_hexadecimal, responds, secondary_bus
from collectors.recorded_interrupts import interrupts
from collectors.recorded_tree import RecordedTree, RecordedTreeCollector
from diagnose.facts import Fact, Subject, normalise_bus_id
from diagnose.facts.cpu_lists import parse_cpu_list
from diagnose.facts.gpu import GpuUnreachable
from diagnose.facts.host import GpuInventory
from diagnose.facts.kernel import IommuState, PcieErrorEvent
from diagnose.facts.pcie import PciAcs, PciAer, PciDevice, PciLink
from diagnose.facts.topology import GpuAffinity

_VENDORS = {"10de": "NVIDIA", "1002": "AMD", "1022": "AMD", "8086": "Intel", "15b3": "Mellanox", "14e4": "Broadcom"}
_GPU_VENDORS = ("10de", "1002")
_MEMORY, _UNSET = 0x200, 0x20000000
"""Flags of a line of `resource`: Linux, include/linux/ioport.h."""
_SPEED = re.compile(r"^(\d{1,3}(?:\.\d{1,2})?) GT/s")
_COUNT = re.compile(r"^(\w+) (\d{1,19})$")
_ERROR_FILES = (
    ("aer_dev_correctable", "correctable"),
    ("aer_dev_nonfatal", "uncorrectable-nonfatal"),
    ("aer_dev_fatal", "uncorrectable-fatal"),
)


class RecordedPci(RecordedTreeCollector):
    """What the PCI recorder writes."""

    kind: ClassVar[str] = "recorded-pci"
    about: ClassVar[str] = "pci"

    @classmethod
    def facts(cls, tree: RecordedTree, host: Subject) -> Iterator[Fact]:
        """Each device with what belongs to it, then the host's."""
        gpus: list[str] = []
        bridges = _bridges(tree)
        for name in tree.names(DEVICES):
            bus_id = normalise_bus_id(name)
            if bus_id is None:
                continue
            device = _Device(tree, f"{DEVICES}/{name}", bus_id, host, bridges.get(bus_id.rpartition(":")[0]))
            if device.is_gpu and device.vendor_id == "10de":
                gpus.append(device.path)
            if not device.is_storage:
                yield from device.facts()
            yield from interrupts(tree, device.path, device.subject)
        if gpus:
            yield GpuInventory(subject=host, sources=tree.source(f"{gpus[0]}/class"), listed=len(gpus), tool="sysfs")
        yield from _iommu(tree, host)


def _bridges(tree: RecordedTree) -> dict[str, str]:
    """Bus beneath a bridge, `dddd:bb`, to the bridge."""
    found = {}
    for name in tree.names(DEVICES):
        bus_id = normalise_bus_id(name)
        bus = secondary_bus(parse_hexadecimal(tree.text(f"{DEVICES}/{name}/config")))
        if bus_id is not None and bus is not None:
            found[f"{bus_id.partition(':')[0]}:{bus:02x}"] = bus_id
    return found


class _Device:
    """One device of the tree."""

    def __init__(self, tree: RecordedTree, path: str, bus_id: str, host: Subject, upstream: str | None) -> None:
        self.tree = tree
        self.path = path
        self.bus_id = bus_id
        self.upstream = upstream
        self.class_code = (self._text("class") or "").removeprefix("0x")[:4]
        self.vendor_id = (self._text("vendor") or "").removeprefix("0x") or None
        self.is_gpu = self.class_code[:2] in ("03", "12") and self.vendor_id in _GPU_VENDORS
        self.is_storage = self.class_code == "0108"
        self.configuration = parse_hexadecimal(self._text("config"))
        self.subject = host.model_copy(update={"bus_id": bus_id, "gpu_bus_id": bus_id if self.is_gpu else None})

    def _text(self, name: str) -> str | None:
        return self.tree.text(f"{self.path}/{name}")

    def _make(self, model: type[Fact], name: str, **fields: Any) -> Fact:
        return model.model_validate(
            {"subject": self.subject, "sources": self.tree.source(f"{self.path}/{name}"), **fields}
        )

    def facts(self) -> Iterator[Fact]:
        node = self.tree.number(f"{self.path}/numa_node")
        answers = responds(self.configuration)
        yield self._make(
            PciDevice,
            "class",
            device_class=CLASS_WORDS.get(self.class_code),
            description=self._description(),
            vendor_id=self.vendor_id,
            is_gpu=self.is_gpu,
            is_bridge=self.class_code == "0604",
            is_nic=self.class_code[:2] == "02",
            responds=answers,
            driver=self.tree.target(f"{self.path}/driver"),
            numa_node=node if node is not None and node >= 0 else None,
            large_bar_assigned=self._bars_assigned() if self.is_gpu else None,
            upstream_bus_id=self.upstream,
        )
        if self.is_gpu and answers is False:
            message = "The configuration space reads as ones"
            yield self._make(GpuUnreachable, "config", message=message, reason="pci-no-response")
        if self.is_gpu:
            yield from self._affinity(node)
        yield from self._link()
        yield from self._errors()
        if switches := acs(self.configuration):
            yield self._make(PciAcs, "config", **switches)
        if bits := errors(self.configuration):
            yield self._make(PciAer, "config", **bits)

    def _description(self) -> str | None:
        device = self._text("device")
        if self.vendor_id is None or device is None:
            return None
        return f"{_VENDORS.get(self.vendor_id, f'Vendor {self.vendor_id}')} device {device.removeprefix('0x')}"

    def _affinity(self, node: int | None) -> Iterator[Fact]:
        cpus = self._text("local_cpulist")
        if node is not None and node >= 0 and cpus is not None and parse_cpu_list(cpus):
            yield self._make(GpuAffinity, "local_cpulist", cpus=cpus, numa_node=node)

    def _bars_assigned(self) -> bool | None:
        entry = self.tree.last(f"{self.path}/resource")
        regions = [_region(line) for line in entry.lines[:6]] if entry is not None else []
        memory = [(start, flags) for start, flags in regions if flags & _MEMORY]
        return all(start and not flags & _UNSET for start, flags in memory) if memory else None

    def _link(self) -> Iterator[Fact]:
        speed, fastest = (_speed(self._text(f"{which}_link_speed")) for which in ("current", "max"))
        width, widest = (_width(self._text(f"{which}_link_width")) for which in ("current", "max"))
        if fastest is None or widest is None:
            return
        yield self._make(
            PciLink,
            "current_link_width",
            speed_gigatransfers_per_second=speed,
            speed_max_gigatransfers_per_second=fastest,
            width=width,
            width_max=widest,
            speed_downgraded=speed < fastest if speed is not None else None,
            width_downgraded=width < widest if width is not None else None,
        )

    def _errors(self) -> Iterator[Fact]:
        """Reports that the kernel counted since the device was found."""
        for name, severity in _ERROR_FILES:
            entry = self.tree.last(f"{self.path}/{name}")
            counts = {match[1]: int(match[2]) for line in entry.lines if (match := _COUNT.match(line))} if entry else {}
            named = {error: count for error, count in counts.items() if count and not error.startswith("TOTAL")}
            if named:
                yield self._make(
                    PcieErrorEvent,
                    name,
                    severity=severity,
                    count=sum(named.values()),
                    names=" ".join(named),
                    before_last_boot=False,
                )


def _region(line: str) -> tuple[int, int]:
    """Start and flags of a line `0xSTART 0xEND 0xFLAGS`; 0 and 0 where it is none."""
    words = line.split()
    try:
        return (int(words[0], 16), int(words[2], 16)) if len(words) == 3 else (0, 0)
    except ValueError:
        return 0, 0


def _speed(text: str | None) -> float | None:
    match = _SPEED.match(text or "")
    return float(match[1]) if match else None


def _width(text: str | None) -> int | None:
    """Lanes; virtual devices say 0 or 255 for none."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() and 0 < int(text[:4]) <= 32 else None


def _iommu(tree: RecordedTree, host: Subject) -> Iterator[Fact]:
    listed = tree.last("sys/class/iommu (names)")
    if listed is None:
        return
    groups = "sys/kernel/iommu_groups"
    types = {text for name in tree.names(groups) if (text := tree.text(f"{groups}/{name}/type")) is not None}
    translated = any(text.startswith("DMA") for text in types)
    yield IommuState(
        subject=host,
        sources=tree.source("sys/class/iommu (names)"),
        enabled=bool(listed.lines),
        default_domain="translated" if translated else ("passthrough" if "identity" in types else None),
    )
