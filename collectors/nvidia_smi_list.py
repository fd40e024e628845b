"""`nvidia-smi -L` with its MIG devices, and `nvidia-smi --version`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.nvidia_smi_facts import driver_fact, inventory_facts, nothing_found
from collectors.nvidia_smi_nvlink import ABOUT_LINKS, GPU_LINE, gpu_subject, identity, link_facts
from collectors.nvidia_smi_values import version
from diagnose.facts import Subject
from diagnose.facts.gpu import GpuMig

_MIG_DEVICE = re.compile(r"^\s+MIG\s+\S+\s+Device\s+[0-9]+:\s*\(UUID: MIG-")
_VERSION = re.compile(r"^\s*(NVIDIA-SMI|NVML|DRIVER|KMD|CUDA|CUDA UMD) version\s*:\s*(\S.*)$", re.IGNORECASE)


class NvidiaSmiList(BlockCollector):
    """GPUs, one a line; where links follow it is the output of `nvidia-smi nvlink`."""

    kind: ClassVar[str] = "nvidia-smi-list"
    literals: ClassVar[tuple[bytes, ...]] = (b"(UUID: GPU-",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bnvidia-smi\s+(?:.*\s)?(?:-L|--list-gpus)\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """A GPU's line."""
        return GPU_LINE.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Identities, MIG devices and the number of GPUs, or links."""
        if any(ABOUT_LINKS.match(line.text) for line in block.lines):
            return Parsed(facts=list(link_facts(block)))
        return _gpus(block)


def _gpus(block: Block) -> Parsed:
    parsed = Parsed()
    gpus: dict[Subject, int] = {}
    instances: dict[Subject, int] = {}
    subject: Subject | None = None
    # Anything between two GPUs may stand for GPUs that somebody left out.
    other, whole = False, True
    for line in block.lines:
        if gpu := GPU_LINE.match(line.text):
            subject = gpu_subject(gpu, block.subject())
            whole = whole and not (other and gpus)
            if subject not in gpus:
                gpus[subject] = line.number
                parsed.facts += identity(gpu, line, block)
        elif subject is not None and _MIG_DEVICE.match(line.text):
            instances[subject] = instances.get(subject, 0) + 1
        elif line.text.strip():
            other = True
    for owner, count in instances.items():
        parsed.facts.append(
            GpuMig(subject=owner, sources=(block.source(gpus[owner]),), enabled=True, instance_count=count)
        )
    if not gpus:
        parsed.problems += nothing_found(block, "no GPU is listed")
        return parsed
    if whole:
        indices = {owner.gpu_index for owner in gpus if owner.gpu_index is not None}
        parsed.facts += inventory_facts(block, None, len(indices), None, max(indices))
    return parsed


class NvidiaSmiVersion(BlockCollector):
    """Versions of the tool, the driver and CUDA."""

    kind: ClassVar[str] = "nvidia-smi-version"
    literals: ClassVar[tuple[bytes, ...]] = (b"NVIDIA-SMI version",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bnvidia-smi\s+--version\b")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The first line."""
        match = _VERSION.match(text)
        return match is not None and match[1].upper() == "NVIDIA-SMI"

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """The line of the driver without the first one."""
        return 0.6 if len(lines) <= 6 and any(re.match(r"\s*DRIVER version\s+:", line) for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """The driver's version. From 610 on two lines only say which others took their place."""
        found: dict[str, str] = {}
        for line in block.lines:
            match = _VERSION.match(line.text)
            number = version(match[2]) if match else None
            if match and number:
                found.setdefault(match[1].upper(), number)
        driver = found.get("DRIVER") or found.get("KMD")
        cuda = found.get("CUDA") or found.get("CUDA UMD")
        if driver is None and cuda is None:
            return Parsed(problems=nothing_found(block, "no version was found"))
        return Parsed(facts=[driver_fact(block, None, driver, cuda)])
