"""The known messages of the NVIDIA driver, the kernel and services, by our own names, and how they are counted.

Names are stable: rules use them as `code`. Each row holds a cheap piece of text that the line must contain, and where
that is not enough a pattern. The first PCI address in the line is the device that the message is about.
Wording: open GPU kernel modules (kernel-open/nvidia/nv.c, nv-pci.c), Linux drivers/pci, drivers/vfio, mm/oom_kill.c,
kernel/watchdog.c, drivers/net/ethernet/mellanox, and logs from the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collectors.kernel_events import DEVICE, MAX_KEYS, Context, Count, Heard, normalise_bus_id, quoted
from diagnose.facts import Fact
from diagnose.facts.kernel import DriverMessage, SystemMessage


@dataclass(frozen=True, slots=True)
class Message:
    """One known message."""

    code: str
    piece: str
    pattern: re.Pattern[str] | None = None
    gpu: bool = False
    """The device of the line is certainly a GPU."""


def _row(code: str, piece: str, pattern: str | None = None, gpu: bool = False) -> Message:
    return Message(code, piece, re.compile(pattern) if pattern else None, gpu)


DRIVER_MESSAGES: tuple[Message, ...] = (
    # The driver could not bring a GPU up.
    _row("adapter-init-failed", "RmInitAdapter failed", gpu=True),
    _row("adapter-init-failed-minor", "rm_init_adapter failed", gpu=True),
    _row("bar-unassigned", " is 0M @ ", r"NVRM: BAR\d is 0M @ ", gpu=True),
    _row("pci-region-invalid", "PCI I/O region assigned to your NVIDIA device is invalid"),
    _row("bar-above-bridge-window", "64-bit BAR mapped above"),
    _row("power-cables-missing", "power cables connected", gpu=True),
    _row("gpu-unsupported-by-driver", "requires use of the NVIDIA open kernel modules"),
    _row("gpu-unsupported-by-driver", "is not supported by", r"NVRM:.*is not supported by the NVIDIA"),
    _row("gpu-unsupported-by-driver", "Legacy drivers", r"NVRM:.*supported through the NVIDIA"),
    _row("no-gpu-found", "No NVIDIA GPU found"),
    _row("no-gpu-found", "No NVIDIA graphics adapter found"),
    _row("no-gpu-probed", "No NVIDIA devices probed"),
    _row("no-gpu-probed", "None of the NVIDIA devices were"),
    _row("probe-failed", "NVIDIA probe routine failed for"),
    _row("probe-failed", " failed with error ", r"\bnvidia(?: |: probe of ).*failed with error -\d+", gpu=True),
    _row("probe-not-called", "probe routine was not called for"),
    _row("bound-by-other-driver", "is already bound to", gpu=True),
    _row("nouveau-bound", "nouveau ", r"\bnouveau (?:[0-9a-f]+:){2}\S+ (?:NVIDIA |DRM: VRAM)", gpu=True),
    # The GPU went away or its system processor did.
    _row("fallen-off-bus", "fallen off the bus", gpu=True),
    _row("gpu-lost", "GPU lost", r"NVRM:.*GPU lost", gpu=True),
    _row("gpu-lost", "GPU is lost", r"NVRM:.*GPU is lost", gpu=True),
    _row("gsp-boot-failed", "cannot proceed with booting gsp", gpu=True),
    _row("gsp-boot-failed", "Cannot initialize GSP firmware RM", gpu=True),
    _row("gsp-rpc-timeout", "Rate limiting GSP RPC error prints", gpu=True),
    _row("gsp-rpc-timeout", "waiting for RPC response from GPU", r"NVRM: (?!Xid)", gpu=True),
    _row("crash-dump-created", "GPU crash dump has been created"),
    _row("row-remapper", "Row Remapper", r"NVRM: (?!Xid)", gpu=True),
    _row("modeset-error", "nvidia-modeset: ERROR"),
    _row("peermem-invalid-context", "detected invalid context, skipping further processing"),
    # Versions, signatures, modules.
    _row("api-mismatch", "API mismatch", r"NVRM: API mismatch"),
    _row("module-key-rejected", "Key was rejected by service"),
    _row("module-key-rejected", " is rejected", r"[Ll]oading of (?:unsigned )?module.* is rejected"),
    _row("module-key-rejected", "unsigned module loading is restricted"),
    _row("module-signature-missing", "module verification failed", r"\bnvidia\w*: module verification failed"),
    _row("module-version-magic", "version magic", r"\bnvidia\w*: version magic .* should be"),
    _row("module-symbol-mismatch", "disagrees about version of symbol", r"\bnvidia\w*: "),
    _row("module-unknown-symbol", "Unknown symbol", r"\bnvidia\w*: Unknown symbol"),
)
"""About the GPU: kind `driver-message`."""

SYSTEM_MESSAGES: tuple[Message, ...] = (
    # PCIe and devices that do not come back.
    _row("device-inaccessible", "change power state", r"(?:device|config space) inaccessible"),
    _row("power-state-refused", "Refused to change power state"),
    _row("pending-transaction-timeout", "waiting for pending transaction"),
    _row("device-not-ready", "; giving up", r"not ready \d+ms after .*; giving up"),
    _row("pcie-link-not-active", "Link Active not set in"),
    _row("pcie-link-down", "Link Down", r"\bSlot\(.*\): Link Down"),
    _row("pcie-card-removed", "Card not present", r"\bSlot\(.*\): Card not present"),
    _row("pcie-slot-power-fault", "Power fault", r"\bSlot\(.*\): Power fault"),
    _row("pcie-retrain-failed", "retraining failed"),
    _row("pcie-containment", "DPC: containment event"),
    _row("iommu-fault-of-gpu", "IO_PAGE_FAULT", r"\bnvidia \S+: (?:AMD-Vi: )?Event logged \[IO_PAGE_FAULT", gpu=True),
    # Processor and memory of the host.
    _row("machine-check", "Machine check events logged"),
    _row("machine-check", "Machine Check: 0", r"mce: \[Hardware Error\]: CPU \d+: Machine Check"),
    _row("hardware-error-corrected", "event severity: corrected", r"\[Hardware Error\]"),
    _row("hardware-error", "event severity: ", r"\[Hardware Error\].*severity: (?:fatal|recoverable|panic)"),
    _row("host-memory-corrected", "EDAC ", r"EDAC \S+ \d+ CE\b"),
    _row("host-memory-uncorrected", "EDAC ", r"EDAC \S+ \d+ UE\b"),
    _row("cpu-thermal-throttle", "temperature above threshold"),
    _row("critical-temperature", "critical temperature", r"critical temperature reached"),
    _row("out-of-memory", "ut of memory: Kill"),
    _row("soft-lockup", "soft lockup - CPU"),
    _row("hard-lockup", "hard LOCKUP"),
    _row("hung-task", "blocked for more than", r"task \S.*:\d+ blocked for more than \d+ seconds"),
    _row("kernel-panic", "Kernel panic - not syncing"),
    # Shared storage that clients wait for: fs/nfs and net/sunrpc of Linux, ptlrpc/import.c of Lustre.
    _row("storage-not-responding", "not responding", r"\bnfs: server \S+ not responding, (?:still trying|timed out)"),
    _row("storage-responds-again", "nfs: server ", r"\bnfs: server \S+ OK\b"),
    _row("storage-not-responding", "was lost; in progress operations", r"\bLustre"),
    _row("storage-responds-again", "onnection restored to", r"\bLustre"),
    # Network adapters.
    _row("nic-slot-power-low", "Detected insufficient power on the PCIe slot"),
    _row("nic-high-temperature", "High temperature on sensors", r"mlx5"),
    _row("nic-health", "mlx5_core", r"health (?:compromised|issue observed|recovery failed)|device's health"),
    _row("nic-health", "mlx5_core", r"assert_var\[0\]|firmware internal error|Fatal error \d|fw fatal"),
    _row("nic-module-error", "Cable error", r"Port module event"),
    # Services.
    _row(
        "fabric-manager-failed", "abric", r"nvidia-fabricmanager\.service: (?:Failed|Main process exited|Start request)"
    ),
    _row("fabric-manager-failed", "abric", r"Failed to start.*(?i:fabric ?manager)"),
    _row("fabric-manager-version-mismatch", "abric", r"interface version \S+ do(?:es)?n't match with driver version"),
    _row("persistence-daemon-failed", "persistenced", r"persistenced\.service: Failed|Failed to query NVIDIA devices"),
)
"""About the host and its other devices: kind `system-message`."""

_BY_PIECE: Mapping[str, tuple[Message, ...]] = {
    piece: tuple(message for message in (*DRIVER_MESSAGES, *SYSTEM_MESSAGES) if message.piece == piece)
    for piece in dict.fromkeys(message.piece for message in (*DRIVER_MESSAGES, *SYSTEM_MESSAGES))
}
"""The rows by their piece of text, so that a line of none of them is passed over fast."""

_OTHER_VERSION = re.compile(r"(?:this|but this) kernel module has the version (\S+)")

_Key = tuple[str | None, Message, str | None]


class MessageTally:
    """Counts the known messages for each device."""

    def __init__(self) -> None:
        self._counts: dict[_Key, Count] = {}
        self._details: dict[_Key, str] = {}
        self._api_mismatch: _Key | None = None

    def take(self, heard: Heard) -> bool:
        """Count a line of a known message."""
        text = heard.message
        for piece, messages in _BY_PIECE.items():
            if piece in text:
                for message in messages:
                    if message.pattern is None or message.pattern.search(text):
                        self._count(message, heard)
                        return True
        return self._take_second_line(text)

    def _count(self, message: Message, heard: Heard) -> None:
        device = DEVICE.search(heard.message)
        key = (heard.host, message, normalise_bus_id(device[1]) if device else None)
        known = self._counts.get(key)
        if known is not None:
            known.add(heard)
        elif len(self._counts) < MAX_KEYS:
            self._counts[key] = Count.of(heard)
            self._details[key] = quoted(heard.message)
        self._api_mismatch = key if message.code == "api-mismatch" else None

    def _take_second_line(self, text: str) -> bool:
        """An API mismatch is told over several lines; the second version stands in a later one."""
        key = self._api_mismatch
        match = _OTHER_VERSION.search(text)
        if match is None or key is None or key not in self._details:
            return False
        if match[1] not in self._details[key]:
            self._details[key] = quoted(f"{self._details[key]} {match[0]}")
        return True

    def facts(self, context: Context) -> Iterator[Fact]:
        """One fact for each host, message and device."""
        merged: dict[tuple[str | None, str, str | None], tuple[Message, Count, str]] = {}
        for (host, message, bus_id), count in self._counts.items():
            same = merged.get((host, message.code, bus_id))
            if same is not None:
                same[1].merge(count)
            else:
                merged[host, message.code, bus_id] = (message, count, self._details[host, message, bus_id])
        for (host, code, bus_id), (message, count, detail) in merged.items():
            subject = context.identities.subject(host, bus_id, certain=message.gpu)
            driver = message in DRIVER_MESSAGES
            kind = DriverMessage if driver else SystemMessage
            yield kind(
                subject=subject.model_copy(update={"bus_id": None}) if driver and subject.gpu_bus_id else subject,
                sources=count.sources(context.path),
                code=code,
                count=count.total,
                detail=detail,
                before_last_boot=context.is_past(count),
            )
