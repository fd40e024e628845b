"""`dcgmi discovery -l` (which GPUs there are) and `dcgmi nvlink -s` (which links are up)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from collectors.nvidia_smi_values import uuid
from diagnose.facts import Subject, normalise_bus_id
from diagnose.facts.gpu import GpuIdentity, NvlinkState, NvlinkSummary
from diagnose.facts.host import GpuInventory

_FOUND = re.compile(r"^(\d{1,4}) GPUs? found\.?$")
_CELL = re.compile(r"^\|\s*(\d{0,4})\s*\|\s*(.*?)\s*\|\s*$")
_ANY_ROW = re.compile(r"^(?:[|+]|\d+ (?:GPU|NvSwitch|CPU)s? found)")


class DcgmiDiscovery(BlockCollector):
    """GPUs with their names, bus ids and UUIDs."""

    kind: ClassVar[str] = "dcgmi-discovery"
    literals: ClassVar[tuple[bytes, ...]] = (b" found.", b"Device Information")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bdcgmi\s+discovery\b.*\s(?:-\w*l|--list)")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The count on top, or the table's header."""
        return _FOUND.match(text.strip()) is not None or "| GPU ID | Device Information" in text

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Rows of the table with a UUID."""
        return share(lines, _ANY_ROW) if any("| Device UUID: GPU-" in line for line in lines) else 0.0

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One identity for each GPU, and how many there are."""
        found: int | None = None
        gpus: list[tuple[Line, dict[str, str]]] = []
        for line in block.lines:
            if match := _FOUND.match(line.text.strip()):
                found = int(match[1])
            cell = _CELL.match(line.text)
            if cell is None or ": " not in cell[2]:
                continue
            if cell[1]:
                gpus.append((line, {"index": cell[1]}))
            if gpus:
                key, _, value = cell[2].partition(": ")
                gpus[-1][1][key.strip().lower()] = value.strip()
        parsed = Parsed()
        for line, values in gpus:
            parsed.facts.append(
                GpuIdentity(
                    subject=Subject(
                        host=block.host,
                        gpu_index=int(values["index"]),
                        gpu_bus_id=normalise_bus_id(values.get("pci bus id", "")),
                        gpu_uuid=uuid(values.get("device uuid", "")),
                    ),
                    sources=(block.source(line),),
                    product_name=values.get("name") or None,
                )
            )
        if gpus or found is not None:
            parsed.facts.append(
                GpuInventory(
                    subject=block.subject(),
                    sources=(block.source(),),
                    attached=found,
                    listed=len(gpus),
                    highest_index=max((int(values["index"]) for _, values in gpus), default=None),
                    tool="dcgmi",
                )
            )
        return parsed


_GPU = re.compile(r"^\s*gpuId (\d{1,3}):\s*$")
_LINKS = re.compile(r"^\s*[UDX_](?: [UDX_])+\s*$")


class DcgmiNvlink(BlockCollector):
    """Links by GPU: `U` up, `D` down, `X` switched off, `_` not there."""

    kind: ClassVar[str] = "dcgmi-nvlink"
    literals: ClassVar[tuple[bytes, ...]] = (b"NvLink Link Status", b"gpuId ")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bdcgmi\s+nvlink\b.*\s(?:-s|--link-status)")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title, or the first GPU where it was cut off."""
        return "NvLink Link Status" in text or _GPU.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """State of every link, and their number for each GPU."""
        parsed = Parsed()
        gpu: int | None = None
        for line in block.lines:
            if match := _GPU.match(line.text):
                gpu = int(match[1])
            elif gpu is not None and _LINKS.match(line.text):
                _take(parsed, block, line, gpu)
                gpu = None
        return parsed


def _take(parsed: Parsed, block: Block, line: Line, gpu: int) -> None:
    states = {link: letter == "U" for link, letter in enumerate(line.text.split()) if letter in "UD"}
    subject = Subject(host=block.host, gpu_index=gpu)
    for link, active in states.items():
        parsed.facts.append(
            NvlinkState(subject=subject.model_copy(update={"link": link}), sources=(block.source(line),), active=active)
        )
    if states:
        up = sum(states.values())
        parsed.facts.append(
            NvlinkSummary(
                subject=subject,
                sources=(block.source(line),),
                links=len(states),
                active=up,
                inactive=len(states) - up,
            )
        )
