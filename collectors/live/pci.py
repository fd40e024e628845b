"""PCI devices that matter here, the bridges above them, their links and errors, and where their interrupts go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from collectors.live.base import Folder, Recorder, Window
from collectors.live.tree import TreeWriter

DEVICES = "sys/bus/pci/devices"
_CLASSES = ("0x03", "0x12", "0x02", "0x0604", "0x0680")
"""Display, accelerator, network, PCI bridge, other bridge (NVSwitch)."""
_STORAGE = "0x0108"
"""NVMe: only its interrupts matter here."""
_FILES = (
    "class",
    "vendor",
    "device",
    "revision",
    "numa_node",
    "local_cpulist",
    "current_link_speed",
    "current_link_width",
    "max_link_speed",
    "max_link_width",
    "resource",
    "aer_dev_correctable",
    "aer_dev_nonfatal",
    "aer_dev_fatal",
    "power_state",
)
_PLAIN_CONFIGURATION_BYTES = 64
"""All that the kernel shows of configuration space without privilege; ACS lies beyond."""


class Pci(Recorder):
    """The tree of PCI devices from sysfs."""

    name: ClassVar[str] = "pci"
    title: ClassVar[str] = "PCI devices, their links, errors and interrupts"
    directory: ClassVar[str] = "pci"

    def record(self, folder: Folder, window: Window) -> None:
        """Devices at the window's begin, interrupts at both ends."""
        if not (folder.root / DEVICES).is_dir():
            folder.absent(f"There is no /{DEVICES}")
            return
        tree = TreeWriter(folder, "pci")
        devices = tree.names(DEVICES)
        interrupts: set[str] = set()
        shortened = 0
        for device in devices:
            kind = _class_of(tree, device)
            if kind.startswith((*_CLASSES, _STORAGE)):
                interrupts.update(tree.names(f"{DEVICES}/{device}/msi_irqs"))
            if kind.startswith(_STORAGE):
                _storage(tree, device)
            elif kind.startswith(_CLASSES):
                shortened += _device(tree, device)
        _iommu(tree, devices)
        self._interrupts(tree, sorted(interrupts, key=int), window)
        if shortened:
            folder.lacked(
                f"ACS and other settings in the configuration space of PCI devices need root (devices: {shortened})"
            )

    @staticmethod
    def _interrupts(tree: TreeWriter, numbers: Sequence[str], window: Window) -> None:
        wanted = {f"{number}:" for number in numbers}
        for number in numbers:
            for name in ("smp_affinity_list", "effective_affinity_list"):
                tree.read(f"proc/irq/{number}/{name}")
        tree.read("sys/devices/system/cpu/online")

        def keep(line: str) -> bool:
            words = line.split(None, 1)
            return bool(words) and (words[0] in wanted or words[0].startswith("CPU"))

        for _ in window.ends():
            tree.read("proc/interrupts", timed=True, keep=keep)


def _class_of(tree: TreeWriter, device: str) -> str:
    try:
        return (tree.root / DEVICES / device / "class").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _storage(tree: TreeWriter, device: str) -> None:
    for name in ("class", "numa_node", "local_cpulist"):
        tree.read(f"{DEVICES}/{device}/{name}")
    tree.note(f"{DEVICES}/{device}/msi_irqs", tree.names(f"{DEVICES}/{device}/msi_irqs"), what="names")


def _device(tree: TreeWriter, device: str) -> bool:
    """Record a device; whether its configuration space was cut short."""
    path = f"{DEVICES}/{device}"
    # Where the link leads names every bridge on the way to the processor.
    tree.link(path)
    for name in _FILES:
        tree.read(f"{path}/{name}")
    for name in ("driver", "iommu_group"):
        if tree.exists(f"{path}/{name}"):
            tree.link(f"{path}/{name}")
    for name in ("msi_irqs", "net", "infiniband"):
        if names := tree.names(f"{path}/{name}"):
            tree.note(f"{path}/{name}", names, what="names")
    return tree.read_hexadecimal(f"{path}/config") == _PLAIN_CONFIGURATION_BYTES


def _iommu(tree: TreeWriter, devices: Sequence[str]) -> None:
    if tree.exists("sys/class/iommu"):
        tree.note("sys/class/iommu", tree.names("sys/class/iommu"), what="names")
    groups = "sys/kernel/iommu_groups"
    for group in tree.names(groups):
        if any(member in devices for member in tree.names(f"{groups}/{group}/devices")):
            tree.read(f"{groups}/{group}/type")
