"""Which collectors want a line, told by the literals that it contains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from collectors.base import BlockCollector, FileCollector, LineCollector
from collectors.literals import LiteralSearch
from collectors.marks import MARK_LITERALS

MARK = 1
"""Bit of lines that may be a prompt or heading."""


class Wanted(NamedTuple):
    """Who wants a line, in the order in which they are asked."""

    mark: bool
    line_collectors: tuple[int, ...]
    block_collectors: tuple[type[BlockCollector], ...]


class Dispatch:
    """Finds the lines that some collector may want. Built once and used for one file after another."""

    def __init__(
        self,
        block_collectors: Sequence[type[BlockCollector]],
        line_collectors: Sequence[type[LineCollector]],
        file_collectors: Sequence[type[FileCollector]] = (),
    ) -> None:
        self.block_collectors = tuple(block_collectors)
        self.line_collectors = tuple(line_collectors)
        self.file_collectors = tuple(file_collectors)
        owners = [(literal, MARK) for literal in MARK_LITERALS]
        for bit, collector in enumerate((*self.line_collectors, *self.block_collectors), start=1):
            owners += [(literal, 1 << bit) for literal in collector.literals]
        self.search = LiteralSearch(owners)
        self._wanted: dict[int, Wanted] = {}

    def wanted(self, mask: int) -> Wanted:
        """Who set the bits of a mask."""
        return self._wanted.get(mask) or self._decode(mask)

    def _decode(self, mask: int) -> Wanted:
        count = len(self.line_collectors)
        found = self._wanted[mask] = Wanted(
            mark=bool(mask & MARK),
            line_collectors=tuple(at for at in range(count) if mask >> (at + 1) & 1),
            block_collectors=tuple(
                collector for at, collector in enumerate(self.block_collectors) if mask >> (at + 1 + count) & 1
            ),
        )
        return found
