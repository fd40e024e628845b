"""ECC counts of `nvidia-smi -q`, which three generations of drivers split in three ways."""

from __future__ import annotations

from collectors.nvidia_smi_reading import Reading
from collectors.nvidia_smi_tree import Node
from collectors.nvidia_smi_values import absence, flag, integer
from diagnose.facts import Missing
from diagnose.facts.gpu import GpuEcc

_MODES = (
    ("enabled", "ecc mode/current|current ecc"),
    ("pending_enabled", "ecc mode/pending|pending ecc"),
    ("sram_threshold_exceeded", "ecc errors/aggregate/sram threshold exceeded"),
    ("channel_repair_pending", "ecc errors/channel repair pending"),
    ("unrepairable_memory", "ecc errors/unrepairable memory"),
)
# Turing and newer name memories; older GPUs name the number of bits. The split of on-chip errors into parity and
# SEC-DED came with 535.
_SRAM = {
    "corrected": ("sram correctable",),
    "uncorrected": (
        "sram uncorrectable",
        "sram uncorrectable parity",
        "sram uncorrectable sec-ded",
        "sram uncorrectable secded",
    ),
}
_DRAM = {"corrected": "dram correctable", "uncorrected": "dram uncorrectable"}
_BITS = {"corrected": "single bit", "uncorrected": "double bit"}


def take_ecc(reading: Reading, gpu: Node) -> None:
    """Note modes and counts. A sum over memories is of those that were printed, hence a lower bound."""
    for name, path in _MODES:
        node = gpu.first(path)
        if node is not None and node.value is not None:
            reading.take(GpuEcc, name, node.value, flag, node.line)
    for span in ("volatile", "aggregate"):
        section = gpu.first(f"ecc errors/{span}")
        if section is not None:
            for sort in ("corrected", "uncorrected"):
                _take_counts(reading, section, span, sort)


def _take_counts(reading: Reading, section: Node, span: str, sort: str) -> None:
    old = section.first(_BITS[sort])
    if old is not None:
        total, dram = _count(old, "total"), _count(old, "device memory")
        sram = _rest(total, dram)
    else:
        dram = _count(section, _DRAM[sort])
        sram = _sum([_count(section, name) for name in _SRAM[sort]])
        total = _sum([sram, dram])
    for name, value in (("", total), ("dram_", dram), ("sram_", sram)):
        reading.put(GpuEcc, f"{span}_{name}{sort}", value, section.line)


def _count(section: Node, key: str) -> int | Missing | None:
    text = section.text(key)
    if text is None:
        return None
    return absence(text) or integer(text)


def _rest(total: int | Missing | None, dram: int | Missing | None) -> int | Missing | None:
    """What a total leaves for the on-chip memories."""
    if isinstance(total, int) and isinstance(dram, int):
        return total - dram if total >= dram else None
    return total if isinstance(total, Missing) else None


def _sum(parts: list[int | Missing | None]) -> int | Missing | None:
    known = [part for part in parts if isinstance(part, int)]
    if known:
        return sum(known)
    return next((part for part in parts if isinstance(part, Missing)), None)
