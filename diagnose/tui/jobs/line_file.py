"""Lines of a file of any size by their numbers, without reading more of it than is shown.

The file is read, not mapped into memory: a log that is cut while it is shown would end the program otherwise.
"""

from __future__ import annotations

import os
import re
import threading
import weakref
from array import array
from bisect import bisect_right
from functools import lru_cache
from typing import BinaryIO, NamedTuple

BLOCK_BYTES = 1 << 16
_NEW_LINE = re.compile(rb"\n")


class Span(NamedTuple):
    """Where a line stands: byte of its beginning, and byte of its line end."""

    start: int
    end: int


class LineFile:
    """Counts line ends block by block, and finds a line by the counts. May be used by several threads.

    `file` may be closed afterwards. Lines are numbered from 0 here. `index_more` counts on; what it has not come to is
    not known yet.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._descriptor = os.dup(file.fileno())
        # Threads may still read from it when the screen is gone, so that it is closed with the last of its users.
        weakref.finalize(self, os.close, self._descriptor)
        self._lock = threading.Lock()
        self._ends = array("Q")
        """Line ends up to the end of each block."""
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        self._stamp = status.st_mtime_ns
        self._ends_in_line = self.size == 0
        self._positions = lru_cache(maxsize=64)(self._find_positions)

    @property
    def changed(self) -> bool:
        """Whether it was written to since it was opened, or cannot be reached any more."""
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return True
        return (status.st_size, status.st_mtime_ns) != (self.size, self._stamp)

    @property
    def complete(self) -> bool:
        """Whether all line ends are counted."""
        return len(self._ends) * BLOCK_BYTES >= self.size

    @property
    def share(self) -> float:
        """How much of the file is counted, from 0 to 1."""
        return min(1.0, len(self._ends) * BLOCK_BYTES / self.size) if self.size else 1.0

    @property
    def lines(self) -> int:
        """Lines that are known; the last one of the file counts also without a line end."""
        ends = self._ends[-1] if self._ends else 0
        return ends + (self.complete and not self._ends_in_line)

    def index_more(self, blocks: int = 64) -> bool:
        """Count on; whether there is more."""
        with self._lock:
            for _ in range(blocks):
                if self.complete:
                    break
                data = self.read(len(self._ends) * BLOCK_BYTES, BLOCK_BYTES)
                self._ends.append((self._ends[-1] if self._ends else 0) + data.count(b"\n"))
                self._ends_in_line = data.endswith(b"\n")
            return not self.complete

    def read(self, start: int, size: int) -> bytes:
        """Bytes of the file: fewer at its end, also where it was cut since, and none where the disk fails."""
        try:
            return os.pread(self._descriptor, max(0, size), start)
        except OSError:
            return b""

    def span(self, line: int) -> Span | None:
        """Where a line stands; None where that is not known (yet)."""
        if not 0 <= line < self.lines:
            return None
        start = 0 if line == 0 else self._line_end(line - 1) + 1
        return Span(start, max(start, self._line_end(line)))

    def line_at(self, offset: int) -> int:
        """The line that a byte stands in; counts as far as that takes."""
        block = offset // BLOCK_BYTES
        while len(self._ends) <= block and self.index_more():
            pass
        before = self._ends[block - 1] if block else 0
        return before + self.read(block * BLOCK_BYTES, offset - block * BLOCK_BYTES).count(b"\n")

    def _line_end(self, line: int) -> int:
        """Byte of a line's end; the file's end for the last line without one."""
        block = bisect_right(self._ends, line)
        if block == len(self._ends):
            return self.size
        positions = self._positions(block)
        at = line - (self._ends[block - 1] if block else 0)
        return positions[at] if at < len(positions) else self.size

    def _find_positions(self, block: int) -> list[int]:
        begin = block * BLOCK_BYTES
        return [begin + match.start() for match in _NEW_LINE.finditer(self.read(begin, BLOCK_BYTES))]
