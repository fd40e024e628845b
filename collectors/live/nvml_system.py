"""The driver as a whole through NVML: versions, which GPUs there are, how they are joined."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pynvml

from collectors.live.base import Folder, Recorder, Window
from collectors.live.nvml_journal import GpuLostError, Journal

FILE = "system.jsonl"
OPERATIONS: Mapping[str, int] = {"read": 0, "write": 1, "nvlink": 2, "atomics": 3, "pcie": 4}
"""Peer-to-peer operations by the numbers of nvmlGpuP2PCapsIndex_t; pynvml has a tuple in place of the first."""
AFFINITY_WORDS = 32
"""Sets of 64 bits: up to 2,048 processors."""
_NODE_WORDS = 4
_NVIDIA = "0x10de"
_DISPLAY_CLASSES = ("0x03", "0x12")


class NvmlSystem(Recorder):
    """Versions, the list of GPUs, and topology. Asks for one recorder for each GPU."""

    name: ClassVar[str] = "nvml-system"
    title: ClassVar[str] = "the GPU driver"
    directory: ClassVar[str] = "nvml"
    time_limit_seconds: ClassVar[float] = 40.0

    def record(self, folder: Folder, window: Window) -> None:
        """What every GPU's recorder needs comes first, what calls on several GPUs last."""
        journal = Journal(folder, FILE, None)
        hardware = gpus_on_bus(folder.root)
        journal.note({"on_bus": hardware})
        if journal.call("nvmlInit") is None and not _started():
            folder.absent("no GPU and no driver") if hardware == 0 else folder.incomplete("the driver does not answer")
            return
        journal.call("nvmlSystemGetDriverVersion")
        journal.call("nvmlSystemGetNVMLVersion")
        journal.call("nvmlSystemGetCudaDriverVersion_v2")
        count = journal.call("nvmlDeviceGetCount") or 0
        for index in range(count):
            folder.start(f"nvml-gpu-{index}")
        journal.call("nvmlSystemGetConfComputeState")
        devices = {}
        for index in range(count):
            device = journal.call("nvmlDeviceGetHandleByIndex", index, args=[index], final=False)
            if device is not None:
                devices[index] = device
        _topology(journal, devices)


def _started() -> bool:
    """Whether the library is in use; nvmlInit itself returns nothing."""
    try:
        pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        return bool(error.value not in (pynvml.NVML_ERROR_UNINITIALIZED, pynvml.NVML_ERROR_LIBRARY_NOT_FOUND))
    return True


def gpus_on_bus(root: Path) -> int | None:
    """NVIDIA display devices that the kernel lists; None where it lists none of anything, as in some containers."""
    seen = found = 0
    for device in (root / "sys/bus/pci/devices").glob("*"):
        try:
            vendor = (device / "vendor").read_text(encoding="ascii", errors="replace").strip()
            kind = (device / "class").read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            continue
        seen += 1
        found += vendor == _NVIDIA and kind.startswith(_DISPLAY_CLASSES)
    return found if seen else None


def _topology(journal: Journal, devices: Mapping[int, Any]) -> None:
    """Nearness, links and pairs. A GPU that goes meanwhile is told of by its own recorder."""
    words = max(AFFINITY_WORDS, (os.cpu_count() or 1) // 64 + 1)
    for index, device in devices.items():
        try:
            journal.call("nvmlDeviceGetPciInfo", device, args=[index])
            journal.call("nvmlDeviceGetCpuAffinity", device, words, args=[index])
            node = pynvml.NVML_AFFINITY_SCOPE_NODE
            journal.call("nvmlDeviceGetMemoryAffinity", device, _NODE_WORDS, node, args=[index])
            _links(journal, index, device)
        except GpuLostError:
            continue
    for index, device in devices.items():
        for other, peer in devices.items():
            if index < other:
                pair = [index, other]
                journal.call("nvmlDeviceGetTopologyCommonAncestor", device, peer, args=pair, final=False)
                for name, number in OPERATIONS.items():
                    journal.call("nvmlDeviceGetP2PStatus", device, peer, number, args=[*pair, name], final=False)


def _links(journal: Journal, index: int, device: Any) -> None:
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        state = journal.call("nvmlDeviceGetNvLinkState", device, link, args=[index, link])
        if state is None:
            return
        if not state:
            continue
        # Only the other end of a link between two GPUs tells which; switches are all alike.
        kind = journal.call("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, args=[index, link])
        if kind != pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH:
            journal.call("nvmlDeviceGetNvLinkRemotePciInfo", device, link, args=[index, link])
