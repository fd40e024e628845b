"""Facts from kernel and system logs. Repeated lines are counted, not repeated: one fact for each kind of event."""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class Xid(Fact):
    """One Xid code on one GPU, all its occurrences in one log. Sources: the first and the last line."""

    kind: ClassVar[str] = "xid"
    seen_through: ClassVar[str | None] = "kernel-log-span"
    code: int = required("Xid number")
    count: int = required("Lines with this code on this GPU")
    position: int = required("0 for the code that came first on the GPU in its latest boot in the log, 1 for the next")
    before_last_boot: bool | None = optional("True when every occurrence lies before the last boot that the log shows")
    span_seconds: float | None = optional("From the first to the last occurrence")
    process_name: str | None = optional("Process that the first line names")
    process_names: int | None = optional("Different processes named over all occurrences")
    detail: str | None = optional("Text of the first line after the code")


class Sxid(Fact):
    """One NVSwitch error code on one switch (subject: bus id, port as link)."""

    kind: ClassVar[str] = "sxid"
    seen_through: ClassVar[str | None] = "kernel-log-span"
    code: int = required("SXid number")
    count: int = required("Lines with this code on this switch")
    fatal: bool | None = optional("The log says fatal")
    switch: str | None = optional("Switch as the log names it")
    detail: str | None = optional("Text of the first line after the code")
    before_last_boot: bool | None = optional("True when every occurrence lies before the last boot that the log shows")


class PcieErrorEvent(Fact):
    """AER reports for one device in a log. Subject: the device, and the GPU where it is one."""

    kind: ClassVar[str] = "pcie-error-event"
    seen_through: ClassVar[str | None] = "kernel-log-span"
    severity: str = required("`correctable`, `uncorrectable-nonfatal` or `uncorrectable-fatal`")
    layer: str | None = optional("`physical`, `data-link` or `transaction`")
    count: int = required("Reports")
    names: str | None = optional("Names of the errors, separated by blanks")
    before_last_boot: bool | None = optional("True when every occurrence lies before the last boot that the log shows")


class DriverMessage(Fact):
    """A known message of the NVIDIA kernel driver or of the kernel about it, counted."""

    kind: ClassVar[str] = "driver-message"
    seen_through: ClassVar[str | None] = "kernel-log-span"
    few_per_host: ClassVar[bool] = True
    code: str = required("Our name of the message; the list stands in collectors/kernel_messages.py")
    count: int = required("Lines")
    detail: str | None = optional("Text of the first line")
    before_last_boot: bool | None = optional("True when every occurrence lies before the last boot that the log shows")


class SystemMessage(Fact):
    """A known message of the kernel or of a service, not of the GPU driver, counted."""

    kind: ClassVar[str] = "system-message"
    seen_through: ClassVar[str | None] = "kernel-log-span"
    few_per_host: ClassVar[bool] = True
    code: str = required("Our name of the message; the list stands in collectors/kernel_messages.py")
    count: int = required("Lines")
    detail: str | None = optional("Text of the first line")
    before_last_boot: bool | None = optional("True when every occurrence lies before the last boot that the log shows")


class LinkFlap(Fact):
    """A network link that lost or regained carrier in a log. Subject: the NIC."""

    kind: ClassVar[str] = "link-flap"
    seen_through: ClassVar[str | None] = "kernel-log-span"
    lost_count: int = required("Times the log says that carrier was lost")
    gained_count: int = required("Times the log says that carrier came back")


class KernelParameter(Fact):
    """One parameter of the kernel command line that matters here."""

    kind: ClassVar[str] = "kernel-parameter"
    few_per_host: ClassVar[bool] = True
    name: str = required("Name, e.g. `iommu`, `intel_iommu`, `pci`")
    value: str | None = optional("Value")


class IommuState(Fact):
    """What a log, the command line or sysfs says of the IOMMU."""

    kind: ClassVar[str] = "iommu-state"
    few_per_host: ClassVar[bool] = True
    enabled: bool | None = optional("Whether an IOMMU is active")
    default_domain: str | None = optional("`translated` or `passthrough`")


class KernelLogSpan(Fact):
    """That a kernel log was read, and what it covers: absence of a message counts only with it."""

    kind: ClassVar[str] = "kernel-log-span"
    few_per_host: ClassVar[bool] = True
    lines: int = required("Lines read")
    boots: int | None = optional("Boots that begin in the log")
    span_seconds: float | None = optional("From the first to the last stamp")
    has_driver_lines: bool | None = optional("Whether any line is of the NVIDIA driver")
