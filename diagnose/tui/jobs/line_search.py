"""Finds words in a file of any size, forwards or backwards, and stops when nobody waits for it any more."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from diagnose.tui.jobs.line_file import LineFile

_PIECE_BYTES = 1 << 18


def needle_of(words: str) -> tuple[bytes, bool]:
    """What is searched for, and whether capitals count: they do where the words have some."""
    exact = any(letter.isupper() for letter in words)
    return words.encode("utf-8", errors="surrogateescape"), exact


def find(file: LineFile, words: str, start: int, *, forwards: bool, cancelled: threading.Event) -> int | None:
    """Byte of the next place from `start` on (or the last one that begins before it); goes round at the file's end.

    None where there is no place, or where it was cancelled.
    """
    needle, exact = needle_of(words)
    if not needle:
        return None
    for begin, end in _pieces(file.size, start, forwards):
        if cancelled.is_set():
            return None
        # A place may reach over the piece's end; it begins within.
        data = file.read(begin, end - begin + len(needle) - 1)
        data = data if exact else data.lower()
        at = data.find(needle) if forwards else data.rfind(needle)
        if at >= 0:
            return begin + at
    return None


def _pieces(size: int, start: int, forwards: bool) -> Iterator[tuple[int, int]]:
    """Stretches in which a place may begin: from the start on, then from the other end to the start."""
    start = min(max(start, 0), size)
    if forwards:
        for low, high in ((start, size), (0, start)):
            for begin in range(low, high, _PIECE_BYTES):
                yield begin, min(begin + _PIECE_BYTES, high)
        return
    for low, high in ((0, start), (start, size)):
        for end in range(high, low, -_PIECE_BYTES):
            yield max(low, end - _PIECE_BYTES), end
