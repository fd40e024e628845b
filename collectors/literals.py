"""Finds many short byte strings in much text at once.

One search per string (`bytes.find`) or one alternation of them all (`re`) slows down with their number: with 150
both stayed under 10 MB/s on a kernel log. Here each string is represented by its rarest pair of bytes, all pairs are
looked up in one table in one pass, and only the places found are compared in full.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_PART_BYTES = 1 << 18
"""Text searched at a time, so that the work stays in the processor's cache."""
_SAMPLE_BYTES = 1 << 20
_PAIRS = 1 << 16

_Pairs = NDArray[np.uint16]


class LiteralSearch:
    """All places of all literals. A literal may begin with a line end, to be found at the start of lines only.

    Args:
        owners: literals of two bytes or more, each with a bit mask that says who asks for it; equal ones are joined.
    """

    def __init__(self, owners: Iterable[tuple[bytes, int]]) -> None:
        self._masks: dict[bytes, int] = {}
        for literal, mask in owners:
            if len(literal.removeprefix(b"\n")) < 2:
                raise ValueError(f"a literal needs two bytes or more: {literal!r}")
            self._masks[literal] = self._masks.get(literal, 0) | mask
        self._pairs = [(literal, offset) for literal in self._masks for offset in _offsets(literal)]
        self._codes = np.array([_pair(literal, offset) for literal, offset in self._pairs], np.uint16)
        self._table: NDArray[np.bool_] | None = None
        self._candidates: dict[int, list[tuple[bytes, int, int]]] = {}

    def tune(self, sample: bytes) -> None:
        """Choose each literal's pair by what is rare in a sample of the text. Any sample gives right results."""
        counts: NDArray[np.int64] = np.zeros(_PAIRS, np.int64)
        data = np.frombuffer(sample[:_SAMPLE_BYTES], np.uint8)
        for pairs in _both(data):
            counts += np.bincount(pairs, minlength=_PAIRS)
        rarest: dict[bytes, tuple[int, int]] = {}
        for (literal, offset), count in zip(self._pairs, counts.take(self._codes).tolist(), strict=True):
            if literal not in rarest or count < rarest[literal][0]:
                rarest[literal] = (count, offset)
        table = np.zeros(_PAIRS, np.bool_)
        self._candidates = {}
        for literal, (_, offset) in rarest.items():
            code = _pair(literal, offset)
            table[code] = True
            self._candidates.setdefault(code, []).append((literal, offset, self._masks[literal]))
        self._table = table

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """Position within the literal (never on its leading line end) and mask of each place, by position.

        A place that several literals share appears once for each.
        """
        if self._table is None:
            self.tune(data)
        found: list[tuple[int, int]] = []
        candidates = self._candidates
        for position, code in self._places(data):
            for literal, offset, mask in candidates[code]:
                if data.startswith(literal, position - offset) and position >= offset:
                    found.append((position, mask))
        return found

    def _places(self, data: bytes) -> Iterable[tuple[int, int]]:
        table = self._table
        assert table is not None
        whole = np.frombuffer(data, np.uint8)
        for start in range(0, len(data), _PART_BYTES):
            # One byte more than the part, for the pair that begins with its last byte.
            part = whole[start : start + _PART_BYTES + 1]
            places = []
            codes = []
            for odd, pairs in enumerate(_both(part)):
                at = np.flatnonzero(table.take(pairs))
                places.append(at * 2 + (start + odd))
                codes.append(pairs[at])
            position = np.concatenate(places)
            order = np.argsort(position)
            yield from zip(position[order].tolist(), np.concatenate(codes)[order].tolist(), strict=True)


def _offsets(literal: bytes) -> range:
    """Where pairs begin, but for one with a leading line end: that one would point into the line before."""
    return range(1 if literal.startswith(b"\n") else 0, len(literal) - 1)


def _pair(literal: bytes, at: int) -> int:
    return literal[at] | literal[at + 1] << 8


def _both(data: NDArray[np.uint8]) -> tuple[_Pairs, _Pairs]:
    """Pairs that begin at even and at odd places."""
    even = data[: len(data) & ~1].view("<u2")
    odd = data[1:][: max(0, len(data) - 1) & ~1].view("<u2")
    return even, odd
