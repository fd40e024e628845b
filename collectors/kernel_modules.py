"""`lsmod` and `/proc/modules`: which kernel modules that bear on GPUs are loaded.

Absence is a statement too: a list of all modules without `nvidia` says that the driver is not loaded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed, share
from diagnose.facts.host import KernelModule

_HEADER = re.compile(r"^Module\s+Size\s+Used by")
_PROC = re.compile(r"^([\w-]+) (\d+) (\d+) (\S+) (?:Live|Loading|Unloading) 0x[0-9a-f]+")
_LSMOD = re.compile(r"^([\w-]+)\s+(\d{3,})\s+(-?\d+)(?:\s+[\w,-]*)?\s*$")
WATCHED = (
    "nvidia",
    "nvidia_uvm",
    "nvidia_drm",
    "nvidia_peermem",
    "nv_peer_mem",
    "gdrdrv",
    "nouveau",
    "amdgpu",
    "vfio_pci",
)
"""Modules whose presence is told."""

_WHOLE_LIST = 20
"""A list this long is no excerpt, and what it lacks is not loaded."""
_TOLD_WHEN_ABSENT = ("nvidia", "nvidia_peermem")


class KernelModules(BlockCollector):
    """Loaded kernel modules."""

    kind: ClassVar[str] = "kernel-modules"
    literals: ClassVar[tuple[bytes, ...]] = (b"Used by", b" Live 0x")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\blsmod\b|/proc/modules\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The header of lsmod, or a line of /proc/modules."""
        return _HEADER.match(text) is not None or _PROC.match(text) is not None

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Share of lines that are modules; `lsmod | grep nvidia` has no header."""
        return share(lines, re.compile(f"{_LSMOD.pattern}|{_PROC.pattern}"))

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each module that is watched."""
        loaded: dict[str, Line] = {}
        for line in block.lines:
            match = _PROC.match(line.text) or _LSMOD.match(line.text)
            if match is not None:
                loaded.setdefault(match[1].replace("-", "_"), line)
        whole = len(loaded) >= _WHOLE_LIST and not block.truncated and "|" not in (block.command or "")
        parsed = Parsed()
        for name in WATCHED:
            if name in loaded or (whole and name in _TOLD_WHEN_ABSENT):
                parsed.facts.append(
                    KernelModule(
                        subject=block.subject(),
                        sources=(block.source(loaded.get(name)),),
                        name=name,
                        loaded=name in loaded,
                    )
                )
        return parsed
