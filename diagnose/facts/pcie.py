"""Facts about PCI devices. Subject: the device by bus id (`bus_id`), and the GPU too where it is one."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional


class PciDevice(Fact):
    """One device as lspci lists it."""

    kind: ClassVar[str] = "pci-device"
    device_class: str | None = optional("Class in words, e.g. `VGA compatible controller`, `PCI bridge`")
    description: str | None = optional("Vendor and device in words")
    vendor_id: str | None = optional("Vendor id in lower-case hex, e.g. `10de`")
    is_gpu: bool | None = optional("Display or 3D controller of a GPU vendor")
    is_bridge: bool | None = optional("PCI bridge")
    is_nic: bool | None = optional("Ethernet, InfiniBand or network controller")
    responds: bool | None = optional("False when its configuration space reads ff (`rev ff`)")
    driver: str | None = optional("Kernel driver in use")
    driver_modules: str | None = optional("Kernel modules that could drive it, separated by blanks")
    numa_node: int | None = optional("NUMA node that lspci prints")
    large_bar_assigned: bool | None = optional("False when a memory region is unassigned or of size 0")
    upstream_bus_id: str | None = optional("PCI address of the bridge above, where the source shows the tree")


class PciLink(Fact):
    """Link capability and state from lspci."""

    kind: ClassVar[str] = "pci-link"
    speed_gigatransfers_per_second: float | None = optional("Speed now (LnkSta)")
    speed_max_gigatransfers_per_second: float | None = optional("Highest speed of this end (LnkCap)")
    speed_supported_max_gigatransfers_per_second: float | None = optional(
        "Highest speed in LnkCap2, which some cards hide from LnkCap"
    )
    width: int | None = optional("Lanes now (LnkSta)")
    width_max: int | None = optional("Lanes of this end (LnkCap)")
    speed_downgraded: bool | None = optional("lspci marks the speed as downgraded (idle GPUs do that to save power)")
    width_downgraded: bool | None = optional("lspci marks the width as downgraded")
    equalization_complete: bool | None = optional("Equalisation finished (LnkSta2)")


class PciAcs(Fact):
    """Access Control Services as they are switched (ACSCtl), not as they are supported (ACSCap)."""

    kind: ClassVar[str] = "pci-acs"
    source_validation: bool | None = optional("SrcValid")
    request_redirect: bool | None = optional("ReqRedir: peer requests go up to the root complex")
    completion_redirect: bool | None = optional("CmpltRedir")
    upstream_forwarding: bool | None = optional("UpstreamFwd")
    direct_translated: bool | None = optional("DirectTrans")


class PciAer(Fact):
    """Advanced error status bits of a device that lspci shows as set and not masked."""

    kind: ClassVar[str] = "pci-aer"
    correctable: str | None = optional("Names of set correctable bits, separated by blanks")
    uncorrectable: str | None = optional("Names of set uncorrectable bits, separated by blanks")


class PciBandwidthLimit(Fact):
    """The kernel's boot line that a device has less bandwidth than it could use. Subject: the device."""

    kind: ClassVar[str] = "pci-bandwidth-limit"
    available_gigabits_per_second: float | None = optional("Bandwidth available")
    capable_gigabits_per_second: float | None = optional("Bandwidth that the device could use")
    limiting_width: int | None = optional("Lanes of the limiting link")
    limiting_speed_gigatransfers_per_second: float | None = optional("Speed of the limiting link")
    limiting_bus_id: str | None = optional("Where the limit sits")
