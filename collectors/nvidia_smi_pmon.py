"""`nvidia-smi pmon`: the processes of every GPU, once a second.

    # gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command
    # Idx           #    C/G      %      %      %      %      %      %    name
        0      20037     C      2      0     24      -      -      -    ffmpeg

A process is told once. The use that this prints is a process's share, not the GPU's, and is left out.
"""

from __future__ import annotations

import re
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.nvidia_smi_facts import nothing_found
from collectors.nvidia_smi_values import size
from diagnose.facts import Missing
from diagnose.facts.gpu import GpuProcess

_TITLES = re.compile(r"^\s*#\s*(?:Date\s+Time\s+|Time\s+)?gpu\s+pid\s+type\s", re.IGNORECASE)
_NUMBER = re.compile(r"^[0-9]{1,10}$")


class NvidiaSmiPmon(BlockCollector):
    """Process monitor."""

    kind: ClassVar[str] = "nvidia-smi-pmon"
    literals: ClassVar[tuple[bytes, ...]] = (b"# gpu", b"#Date", b"#Time", b"# Date", b"# Time")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bnvidia-smi\s+pmon\b")
    # The titles come again every few lines.
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """Titles of columns."""
        return _TITLES.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Every process that was seen, by its first line."""
        parsed = Parsed()
        titles: list[str] = []
        seen: set[tuple[str, str]] = set()
        for line in block.lines:
            if _TITLES.match(line.text):
                titles = line.text.replace("#", " ").lower().split()
            # The name comes last and may hold blanks.
            cells = line.text.split(maxsplit=max(0, len(titles) - 1))
            if not titles or len(cells) != len(titles):
                continue
            row = dict(zip(titles, cells, strict=True))
            key = (row["gpu"], row["pid"])
            if key in seen or not all(map(_NUMBER.match, key)):
                continue
            seen.add(key)
            memory = row.get("fb")
            parsed.facts.append(
                GpuProcess(
                    subject=block.subject().model_copy(update={"gpu_index": int(key[0]), "process_id": int(key[1])}),
                    sources=(block.source(line),),
                    name=row.get("command"),
                    type=row["type"] if row["type"] != "-" else None,
                    used_memory_bytes=size(memory) if memory else None,
                    missing={"used_memory_bytes": Missing.NOT_APPLICABLE} if memory == "-" else {},
                )
            )
        if not titles:
            parsed.problems += nothing_found(block, "no titles of columns")
        return parsed
