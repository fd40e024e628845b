"""A readable file made of pieces of bytes that come one after another."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO, cast

from collectors.compression import ReadError


class _PieceReader(io.BufferedIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._waiting = memoryview(b"")
        self._error: ReadError | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        """So many bytes, fewer only at the end or in front of an error, which the next call raises."""
        wanted = -1 if size is None else size
        taken: list[memoryview] = []
        while wanted and self._fill(keep_error=bool(taken)):
            part = self._waiting if wanted < 0 else self._waiting[:wanted]
            self._waiting = self._waiting[len(part) :]
            taken.append(part)
            wanted -= len(part) if wanted > 0 else 0
        return b"".join(taken)

    def _fill(self, keep_error: bool) -> bool:
        """Whether a byte is waiting."""
        while not self._waiting:
            try:
                if self._error is not None:
                    raise self._error
                piece = next(self._pieces, None)
            except ReadError as error:
                if not keep_error:
                    raise
                self._error = error
                return False
            if piece is None:
                return False
            self._waiting = memoryview(piece)
        return True


def reader_of(pieces: Iterator[bytes]) -> BinaryIO:
    """The pieces as a file that can only be read forwards; it raises the ReadError that their iterator raises.

    What came before an error is handed out first, so that nothing good is lost.
    """
    return cast(BinaryIO, _PieceReader(pieces))
