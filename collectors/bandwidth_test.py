"""bandwidthTest of the CUDA samples: quick and range mode as tables, shmoo and `--csv` as lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.gpu_bandwidth import GIGA, CopyTest, copy_facts
from diagnose.facts import Fact, Subject
from diagnose.facts.gpu import GpuIdentity

_TOOL = "bandwidthTest"
_DEVICE = re.compile(r"^\s*Device (\d{1,3}): (\S.*?)\s*$")
_LINE = re.compile(
    r"^bandwidthTest-(H2D|D2H|D2D)(?:-(Pinned|Paged|Pageable))?, Bandwidth = (\d{1,7}(?:\.\d{1,6})?) ([GM])B/s, "
    r"Time = [\d.]+ s, Size = (\d{1,15}) bytes, NumDevsUsed = (\d{1,3})"
)
_TITLE = re.compile(r"^\s*(Host to Device|Device to Host|Device to Device) Bandwidth, (\d{1,3}) Device")
_MEMORY = re.compile(r"^\s*(PINNED|PAGEABLE) Memory Transfers")
_UNIT = re.compile(r"^\s*Transfer Size \(Bytes\)\s+Bandwidth\(([GM])B/s\)")
_ROW = re.compile(r"^\s*(\d{1,15})\s+(\d{1,7}(?:\.\d{1,6})?)\s*$")
_DIRECTIONS = {
    "H2D": "host-to-device",
    "D2H": "device-to-host",
    "D2D": "device-memory",
    "Host to Device": "host-to-device",
    "Device to Host": "device-to-host",
    "Device to Device": "device-memory",
}


class BandwidthTest(BlockCollector):
    """Rates at the largest copy of each direction."""

    kind: ClassVar[str] = "bandwidth-test"
    literals: ClassVar[tuple[bytes, ...]] = (b"[CUDA Bandwidth Test]", b"bandwidthTest-", b" Bandwidth, ")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bbandwidthTest\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The title of the program, of a table, or a line of results."""
        return "[CUDA Bandwidth Test]" in text or _LINE.match(text) is not None or _TITLE.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each GPU and direction."""
        gpus = [(line, match) for line in block.lines if (match := _DEVICE.match(line.text)) is not None]
        parsed = Parsed([*_identities(gpus, block)])
        largest: dict[tuple[str, bool | None], CopyTest] = {}
        for line, direction, pinned, size, rate, devices in _rates(block):
            # With several devices in use the rate is the sum of them all and belongs to none.
            if devices != 1 or len(gpus) > 1:
                continue
            known = largest.get((direction, pinned))
            if known is None or (known.size_bytes or 0) <= size:
                test = CopyTest(_TOOL, _TOOL, direction, line, copy_engine=True, pinned=pinned, size_bytes=size)
                test.add(int(gpus[0][1][1]) if gpus else 0, rate)
                largest[direction, pinned] = test
        for test in largest.values():
            parsed.facts += copy_facts(test, block)
        if not parsed.facts:
            parsed.problems.append(f"line {block.lines[0].number}: no rate of a single device was found")
        return parsed


def _identities(gpus: list[tuple[Line, re.Match[str]]], block: Block) -> Iterator[Fact]:
    for line, match in gpus:
        yield GpuIdentity(
            subject=Subject(host=block.host, gpu_index=int(match[1])),
            sources=(block.source(line),),
            product_name=match[2],
        )


def _rates(block: Block) -> Iterator[tuple[Line, str, bool | None, int, float, int]]:
    """Line, direction, pinned, size, bytes per second, devices."""
    direction: str | None = None
    pinned: bool | None = None
    devices, unit = 1, GIGA
    for line in block.lines:
        if (match := _LINE.match(line.text)) is not None:
            kind = match[2] == "Pinned" if match[2] else None
            scale = GIGA if match[4] == "G" else 1e6
            yield line, _DIRECTIONS[match[1]], kind, int(match[5]), float(match[3]) * scale, int(match[6])
        elif (match := _TITLE.match(line.text)) is not None:
            direction, devices = _DIRECTIONS[match[1]], int(match[2])
        elif (match := _MEMORY.match(line.text)) is not None:
            pinned = match[1] == "PINNED"
        elif (match := _UNIT.match(line.text)) is not None:
            unit = GIGA if match[1] == "G" else 1e6
        elif direction is not None and (match := _ROW.match(line.text)) is not None:
            yield line, direction, pinned, int(match[1]), float(match[2]) * unit, devices
