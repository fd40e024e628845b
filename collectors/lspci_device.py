"""One device of an lspci listing: its own line, and the detail lines beneath it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from collectors.base import Line
from diagnose.facts import normalise_bus_id

_ADDRESS = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_DEVICE = re.compile(rf"^\s{{0,4}}({_ADDRESS})\s+(\S.*)$")
_QUOTED = re.compile(r'^"([^"]*)" "([^"]*)" "([^"]*)"')
_CLASS = re.compile(r"^([A-Z0-9][\w /()+.-]{1,60}?)(?: \[([0-9a-f]{4})\])?:\s+(.*)$")
_NUMERIC_CLASS = re.compile(r"^(?:Class )?([0-9a-f]{4}): ([0-9a-f]{4}):([0-9a-f]{4})\b")
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")
_REVISION = re.compile(r"\(rev ([0-9a-f]{2})\)")
_RECORD = re.compile(rf"^Slot:\s+({_ADDRESS})\s*$")
_FIELD = re.compile(r"^(Class|Vendor|Device|Rev|Driver|Module|NUMANode):\s+(\S.*)$")
_TRAILER = re.compile(r"\s*\((?:rev|prog-if) [^)]*\)")

CLASS_WORDS: Mapping[str, str] = {
    "0300": "VGA compatible controller",
    "0302": "3D controller",
    "0380": "Display controller",
    "1200": "Processing accelerators",
    "0600": "Host bridge",
    "0604": "PCI bridge",
    "0680": "Bridge",
    "0200": "Ethernet controller",
    "0207": "Infiniband controller",
    "0280": "Network controller",
    "0403": "Audio device",
}
"""PCI class codes in lspci's words (pci.ids), those that matter here."""

_GPU_CLASSES = {"VGA compatible controller", "3D controller", "Display controller", "Processing accelerators"}
_NIC_CLASSES = {"Ethernet controller", "Infiniband controller", "InfiniBand controller", "Network controller"}
_GPU_VENDORS = {"10de", "1002"}
_VENDOR_WORDS: tuple[tuple[str, str], ...] = (
    ("NVIDIA", "10de"),
    ("nVidia", "10de"),
    ("Advanced Micro Devices, Inc. [AMD/ATI]", "1002"),
    ("Advanced Micro Devices", "1022"),
    ("AMD", "1022"),
    ("Intel", "8086"),
    ("Mellanox", "15b3"),
    ("Broadcom", "14e4"),
)

_SPEED = re.compile(r"\bSpeed ([\d.]+) ?GT/s(?: \((\w+)\))?")
_WIDTH = re.compile(r"\bWidth x(\d{1,3})(?: \((\w+)\))?")
_SUPPORTED = re.compile(r"Supported Link Speeds: ([\d./GTs -]+)")
_FLAG = re.compile(r"\b([A-Za-z][\w.]*)([+-])(?=\s|$)")
_REGION = re.compile(r"^\s+(?:Region \d: )?Memory at (\S+) \(([^)]*)\)(.*)$")
_ACS_FIELDS: Mapping[str, str] = {
    "SrcValid": "source_validation",
    "ReqRedir": "request_redirect",
    "CmpltRedir": "completion_redirect",
    "UpstreamFwd": "upstream_forwarding",
    "DirectTrans": "direct_translated",
}


@dataclass(slots=True)
class Device:
    """What the listing says of one device."""

    line: Line | None = None
    bus_id: str | None = None
    device_class: str | None = None
    description: str | None = None
    vendor_id: str | None = None
    revision: str | None = None
    driver: str | None = None
    driver_modules: str | None = None
    numa_node: int | None = None
    large_bar_assigned: bool | None = None
    secondary_bus: str | None = None
    """Of a bridge: the bus beneath it, `dddd:bb`."""
    dead_header: bool = False
    link: dict[str, Any] = field(default_factory=dict)
    link_line: Line | None = None
    acs: dict[str, Any] = field(default_factory=dict)
    acs_line: Line | None = None
    aer_line: Line | None = None
    aer_bits: dict[str, list[str]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    @property
    def named(self) -> bool:
        """Whether the listing gives the device's address."""
        return self.bus_id is not None

    @property
    def is_gpu(self) -> bool | None:
        """Display or 3D controller, or accelerator, of a GPU vendor; its audio and USB functions are not."""
        if not self.named:
            return None
        if self.device_class is None:  # a hand-made list: `41:00.0 NVIDIA RTX ...`
            return (
                self.vendor_id == "10de"
                and re.search(r"(?i)audio|usb|switch|bridge|ucsi", self.description or "") is None
            )
        return self.device_class in _GPU_CLASSES and self.vendor_id in _GPU_VENDORS

    @property
    def is_bridge(self) -> bool | None:
        """PCI bridge: root port or port of a switch."""
        return None if self.device_class is None else self.device_class == "PCI bridge"

    @property
    def is_nic(self) -> bool | None:
        """Network adapter."""
        return None if self.device_class is None else self.device_class in _NIC_CLASSES

    @property
    def responds(self) -> bool | None:
        """False where configuration space reads as ones; unknown where nothing read from it is printed."""
        if self.revision == "ff" or self.dead_header:
            return False
        return True if self.revision is not None or self.link or self.acs else None

    @property
    def matters(self) -> bool:
        """Whether the device is of a sort that rules look at."""
        switch = self.vendor_id == "10de" and self.device_class == "Bridge"  # NVSwitch
        wanted = self.is_gpu or self.is_bridge or self.is_nic or switch
        return not self.named or bool(wanted) or self.responds is False

    def has_own(self, text: str) -> bool:
        """Whether a detail that occurs once for each device is there already: an unnamed next device begins."""
        word = text.strip().partition(":")[0]
        return not self.named and word in _ONCE and word in self.seen

    def aer_fields(self) -> dict[str, str]:
        """Error bits that are set and not masked; masked ones are set in passing by ordinary probing."""
        fields = {}
        for name, status, mask in (("correctable", "CESta", "CEMsk"), ("uncorrectable", "UESta", "UEMsk")):
            masked = self.aer_bits.get(mask, [])
            bits = [bit for bit in self.aer_bits.get(status, []) if bit not in masked]
            if bits:
                fields[name] = " ".join(bits)
        return fields


def is_record_start(text: str) -> bool:
    """Whether a line begins a record of `lspci -vmm`."""
    return _RECORD.match(text) is not None


def device_line(text: str) -> Device | None:
    """The device that a line introduces; None where it introduces none."""
    match = _DEVICE.match(text)
    if match is None:
        return None
    bus_id = normalise_bus_id(match[1])
    rest = match[2]
    revision = _REVISION.search(rest)
    device = Device(bus_id=bus_id, revision=revision[1] if revision else None)
    quoted, numeric, worded = _QUOTED.match(rest), _NUMERIC_CLASS.match(rest), _CLASS.match(rest)
    if quoted is not None:
        device.device_class, device.description = quoted[1], f"{quoted[2]} {quoted[3]}"
    elif numeric is not None:
        device.device_class = CLASS_WORDS.get(numeric[1], numeric[1])
        device.vendor_id, device.description = numeric[2], f"{numeric[2]}:{numeric[3]}"
    elif worded is not None:
        device.device_class = CLASS_WORDS.get(worded[2] or "", worded[1])
        device.description = _TRAILER.sub("", worded[3]).strip()
    elif re.match(r"(?:NVIDIA|AMD|Intel|Mellanox) ", rest):
        device.description = rest.strip()
    else:
        return None
    ids = _IDS.findall(rest)
    device.vendor_id = device.vendor_id or (ids[-1][0] if ids else _vendor_of(device.description or ""))
    return device


def _vendor_of(description: str) -> str | None:
    return next((vendor for words, vendor in _VENDOR_WORDS if description.startswith(words)), None)


def _flags(text: str) -> list[tuple[str, bool]]:
    return [(name, sign == "+") for name, sign in _FLAG.findall(text)]


def _read_link_capability(device: Device, text: str) -> None:
    speed, width = _SPEED.search(text), _WIDTH.search(text)
    if speed:
        device.link["speed_max_gigatransfers_per_second"] = float(speed[1])
    if width:
        device.link["width_max"] = int(width[1])


def _read_link_status(device: Device, text: str) -> None:
    speed, width = _SPEED.search(text), _WIDTH.search(text)
    if speed:
        device.link["speed_gigatransfers_per_second"] = float(speed[1])
        if speed[2] in ("ok", "downgraded"):
            device.link["speed_downgraded"] = speed[2] == "downgraded"
    if width:
        device.link["width"] = int(width[1])
        if width[2] in ("ok", "downgraded"):
            device.link["width_downgraded"] = width[2] == "downgraded"


def _read_link_capability_2(device: Device, text: str) -> None:
    match = _SUPPORTED.search(text)
    speeds = [float(speed) for speed in re.findall(r"\d+(?:\.\d+)?", match[1])] if match else []
    if speeds:
        device.link["speed_supported_max_gigatransfers_per_second"] = max(speeds)


def _read_link_status_2(device: Device, text: str) -> None:
    for name, is_set in _flags(text.replace(",", " ")):
        if name == "EqualizationComplete":
            device.link["equalization_complete"] = is_set


def _read_acs(device: Device, text: str) -> None:
    device.acs = {_ACS_FIELDS[name]: is_set for name, is_set in _flags(text) if name in _ACS_FIELDS}


def _read_aer(device: Device, text: str) -> None:
    word, _, flags = text.partition(":")
    device.aer_bits[word] = [name for name, is_set in _flags(flags) if is_set]


def _read_driver(device: Device, text: str) -> None:
    device.driver = text.partition(":")[2].strip() or None


def _read_modules(device: Device, text: str) -> None:
    device.driver_modules = " ".join(text.partition(":")[2].replace(",", " ").split()) or None


def _read_numa_node(device: Device, text: str) -> None:
    match = re.search(r"NUMA node:? (\d{1,4})\b", text)
    if match is not None:
        device.numa_node = int(match[1])


def _read_buses(device: Device, text: str) -> None:
    match = re.search(r"secondary=([0-9a-f]{2})\b", text)
    if match is not None and device.bus_id is not None:
        device.secondary_bus = f"{device.bus_id.partition(':')[0]}:{match[1]}"


def _read_subsystem(device: Device, text: str) -> None:
    if not device.named:
        device.description = text.partition(":")[2].strip() or None


_ONCE: Mapping[str, Callable[[Device, str], None]] = {
    "LnkCap": _read_link_capability,
    "LnkSta": _read_link_status,
    "LnkCap2": _read_link_capability_2,
    "LnkSta2": _read_link_status_2,
    "ACSCtl": _read_acs,
    "UESta": _read_aer,
    "UEMsk": _read_aer,
    "CESta": _read_aer,
    "CEMsk": _read_aer,
    "Kernel driver in use": _read_driver,
    "Kernel modules": _read_modules,
    "NUMA node": _read_numa_node,
    "Flags": _read_numa_node,
    "Subsystem": _read_subsystem,
    "Bus": _read_buses,
}
"""Details by the word before the colon, each at most once for a device (`Flags` of capabilities aside)."""


def read_detail(device: Device, line: Line) -> None:
    """Take what a detail line says."""
    text = line.text.strip()
    word = text.partition(":")[0]
    reader = _ONCE.get(word)
    if reader is not None:
        device.seen.add(word)
        reader(device, text)
        _note_line(device, word, line)
    elif "Unknown header type 7f" in text:
        device.dead_header = True
    elif "Memory at " in text:
        _read_region(device, line.text)
    else:
        _read_record_field(device, text)


def _note_line(device: Device, word: str, line: Line) -> None:
    """Remember where the facts of a device stand."""
    if word == "LnkSta" or (word == "LnkCap" and device.link_line is None):
        device.link_line = line
    elif word == "ACSCtl":
        device.acs_line = line
    elif word in ("UESta", "CESta") and device.aer_bits[word]:
        device.aer_line = line


def _read_region(device: Device, text: str) -> None:
    """A GPU's memory windows: unassigned is a fault of the firmware; disabled only says that no driver enabled them."""
    match = _REGION.match(text)
    if match is None:
        return
    if match[1] in ("<unassigned>", "<ignored>") or "[size=0]" in match[3]:
        device.large_bar_assigned = False
    elif device.large_bar_assigned is None and "64-bit, prefetchable" in match[2] and "[size=" in match[3]:
        device.large_bar_assigned = True


def _read_record_field(device: Device, text: str) -> None:
    """A field of a `-vmm` record."""
    record, match = _RECORD.match(text), _FIELD.match(text)
    if record is not None:
        device.bus_id = normalise_bus_id(record[1])
    if match is None or not device.named:
        return
    name, value = match[1], match[2].strip()
    words = re.sub(r" \[[0-9a-f]{4}\]$", "", value)
    number = re.search(r"(?:^|\[)([0-9a-f]{4})\]?$", value)
    if name == "Class":
        device.device_class = CLASS_WORDS.get(number[1] if number else "", words)
    elif name == "Vendor":
        device.vendor_id = number[1] if number else _vendor_of(words)
        device.description = words
    elif name == "Device":
        device.description = f"{device.description} {words}" if device.description else words
    elif name == "Rev":
        device.revision = value[:2]
    elif name == "Driver":
        device.driver = value
    elif name == "Module":
        device.driver_modules = f"{device.driver_modules} {value}" if device.driver_modules else value
    elif value.isdecimal() and len(value) < 5:
        device.numa_node = int(value)
