"""Text that no collector claimed while a file was read: kept up to a limit, then offered to the collectors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from collectors.base import Line

KEPT_BYTES = 4 << 20
"""Unclaimed text kept for one file; lines beyond are only counted."""
_NO_CONTENT = re.compile(
    rb"(?:(?:[^0-9A-Za-z\x80-\xff\n]*"  # blank lines and rulers
    rb"|\w{3} \w{3} +\d{1,2} \d\d:\d\d:\d\d (?:\w+ )?\d{4}[ \t]*"  # the output of `date`, which tools print on top
    rb"|(?:<\?xml|<!DOCTYPE)[^\n]*)(?:\n|\Z))*"
)
_NOT_BLANK = re.compile(rb"\S")


class Heading(NamedTuple):
    """What a prompt or heading above says; None where nothing does."""

    host: str | None
    command: str | None


@dataclass(slots=True)
class Region:
    """Unclaimed lines between two blocks, prompts or headings. Lines of line collectors may lie in between."""

    heading: Heading
    first_line: int = 0
    """First line that is not blank; 0 while there is none."""
    last_line: int = 0
    lines: int = 0
    blank: bool = True
    """Whether it holds nothing worth a report: blank lines, rulers, dates."""
    left_out: int = 0
    """Lines that were counted and not kept."""
    _spans: list[tuple[int, bytes]] = field(default_factory=list)

    def add(self, number: int, data: bytes, lines: int) -> None:
        """Keep whole lines; `number` is that of the first."""
        self._spans.append((number, data))
        if self.first_line == 0 and (match := _NOT_BLANK.search(data)):
            self.first_line = number + data.count(b"\n", 0, match.start())
        if self.blank and not _NO_CONTENT.fullmatch(data):
            self.blank = False
        self._count(number, lines)

    def leave_out(self, number: int, lines: int) -> None:
        """Count lines that are not kept."""
        self.left_out += lines
        self.first_line = self.first_line or number
        self.blank = False
        self._count(number, lines)

    def _count(self, number: int, lines: int) -> None:
        self.lines += lines
        self.last_line = number + max(lines, 1) - 1

    def kept(self) -> Iterator[Line]:
        """The lines, from the first that is not blank."""
        for number, data in self._spans:
            rows = data.split(b"\n")
            if not rows[-1]:
                rows.pop()
            for at, row in enumerate(rows):
                if number + at >= self.first_line:
                    yield Line(number + at, row.decode("utf-8", errors="replace"))


class Leftovers:
    """All regions of one file."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self._room = KEPT_BYTES
        self._open = False

    def cut(self) -> None:
        """What follows is another region."""
        self._open = False

    def add(self, number: int, data: bytes, start: int, end: int, lines: int, heading: Heading) -> None:
        """Take the lines `data[start:end]` as unclaimed."""
        if not self._open:
            self.regions.append(Region(heading))
            self._open = True
        region = self.regions[-1]
        size = end - start
        if not self._room:
            region.leave_out(number, lines)
            return
        if size <= self._room:
            self._room -= size
            region.add(number, data[start:end], lines)
            return
        kept_end = data.rfind(b"\n", start, start + self._room) + 1
        kept_lines = data.count(b"\n", start, kept_end) if kept_end else 0
        if kept_lines:
            region.add(number, data[start:kept_end], kept_lines)
        self._room = 0
        region.leave_out(number + kept_lines, lines - kept_lines)
