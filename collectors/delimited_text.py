"""How a table of text is written, told by its first lines, and what of it went by while it was read."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

HEADER_BYTES = 4000
"""Where the header and the first row are looked for."""
_REMARKS = 20
_SEPARATORS = (",", ";", "\t", "|")
_DECIMAL_COMMA = re.compile(r"\d{1,15},\d{1,9}")


class Dialect(NamedTuple):
    """Separators, names, and what stands above them."""

    separator: str
    decimal: str
    skipped: int
    """Lines above the header."""
    names: list[str]
    longer: bool
    """Whether rows have more cells than the header, as with a decimal comma between commas."""
    repeated: list[str]
    """Names of several columns, of which the first one counts."""


def dialect_of(text: str) -> Dialect | None:
    """How a table is written, told by its header and first rows; None where there is none."""
    lines = text[:HEADER_BYTES].split("\n")
    skipped = 0
    while lines and skipped < _REMARKS and (not lines[0].strip() or lines[0].startswith("#")):
        lines.pop(0)
        skipped += 1
    rows = [line for line in lines if line.strip()]
    if len(text) >= HEADER_BYTES and len(rows) > 2:
        # The last row may be cut; the first one below the header counts even so, for it may hold a prompt.
        rows.pop()
    if len(rows) < 2:
        return None
    separator = next((sign for sign in _SEPARATORS if sign in rows[0]), ",")
    try:
        names, *cells = list(csv.reader(rows, delimiter=separator, skipinitialspace=True))
    except csv.Error:
        return None
    names = [name.strip() for name in names]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if "" in repeated or not all(len(row) >= len(names) for row in cells[:-1]):
        return None
    names = [name if name not in names[:at] else f"{name} ({at + 1})" for at, name in enumerate(names)]
    if len(set(names)) < len(names):
        return None
    commas = separator != "," and any(_DECIMAL_COMMA.fullmatch(cell.strip()) for row in cells for cell in row)
    longer = any(len(row) > len(names) and any(row[len(names) :]) for row in cells)
    return Dialect(separator, "," if commas else ".", skipped, names, longer, repeated)


class Counted:
    """Counts the lines and separators that go by."""

    def __init__(self, pieces: Iterable[bytes], separator: str) -> None:
        self.lines = 0
        self.separators = 0
        self.quoted = False
        self._within_quotes = False
        self._pieces = pieces
        self._separator = separator.encode()

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.lines += sum(part.count(b"\n") - part.count(b"\n\n") for part in self._outside_quotes(piece))
            self.separators += piece.count(self._separator)
            yield piece

    def _outside_quotes(self, piece: bytes) -> list[bytes]:
        """A cell in quotes, such as a prompt, may have lines of its own."""
        parts = piece.split(b'"')
        first = int(self._within_quotes)
        self.quoted |= len(parts) > 1
        self._within_quotes ^= len(parts) % 2 == 0
        return parts[first::2]
