"""`df` and `df -h`: file systems and how full they are.

Only those that bear on GPU work become facts: shared memory, temporary and root file systems, and whatever is full.
"""

from __future__ import annotations

import re
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.sizes import parse_bytes
from diagnose.facts.host import FilesystemUsage

_HEADER = re.compile(r"^Filesystem\s+(?:Type\s+)?(Size|\w+-blocks)\s+Used\s+Avail")
_AMOUNT = r"([\d.]+[KMGTPE]?i?B?|-)"
_ROW = re.compile(rf"^(\S.*?)\s+(?:[a-z][\w.]*\s+)?{_AMOUNT}\s+{_AMOUNT}\s+{_AMOUNT}\s+(\d+%|-)\s+(/.*|\S+)$")
_BLOCK_SIZES = {"1K-blocks": 1024, "1024-blocks": 1024, "512-blocks": 512, "1M-blocks": 1 << 20, "1G-blocks": 1 << 30}
_WATCHED = {"/", "/dev/shm", "/tmp", "/var", "/var/tmp", "/run"}
_FULL_PERCENT = 95
"""From here on any file system is worth a fact; what counts as too full is for rules to say."""


class Df(BlockCollector):
    """Mounted file systems."""

    kind: ClassVar[str] = "df"
    literals: ClassVar[tuple[bytes, ...]] = (b"Filesystem ",)
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"(?:^|[|;&]\s*|\bsudo\s+|\bexec\s.*\s)df(?:\s|$)")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The header of the table."""
        return _HEADER.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One fact for each file system that matters."""
        parsed = Parsed()
        unit = 1024
        wrapped = ""
        for line in block.lines:
            header = _HEADER.match(line.text)
            if header is not None:
                unit = _BLOCK_SIZES.get(header[1], 1)
                continue
            # A long device name pushes its numbers to the next line.
            match = _ROW.match(f"{wrapped} {line.text.strip()}" if wrapped else line.text.strip())
            wrapped = line.text.strip() if match is None and line.text.startswith("/") else ""
            if match is None:
                continue
            filesystem, size, used, available, percent, mount = match.groups()
            if mount not in _WATCHED and _percent(percent) < _FULL_PERCENT:
                continue
            parsed.facts.append(
                FilesystemUsage(
                    subject=block.subject(),
                    sources=(block.source(line),),
                    mount=mount,
                    filesystem=filesystem,
                    size_bytes=parse_bytes(size, unit),
                    used_bytes=parse_bytes(used, unit),
                    available_bytes=parse_bytes(available, unit),
                )
            )
        return parsed


def _percent(text: str) -> int:
    return int(text[:-1]) if text.endswith("%") and len(text) < 6 else 0
