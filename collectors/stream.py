"""Reads a file or standard input as pieces of clean text that end at a line end, in memory that does not grow.

Line numbers stay those of the file: cleaning removes bytes within lines, never a line end.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from collectors.compression import READ_BYTES, Limits, ReadError, compression_of, expand
from collectors.content import HEAD_BYTES, NotText, encoding_of, not_text
from collectors.piece_reader import reader_of

CHUNK_BYTES = 1 << 22
"""Size of a piece, about."""
LONGEST_LINE_BYTES = 1 << 23
"""A longer line comes in parts: the piece ends without a line end, and the next one continues the same line."""
_CUT_SEARCH_BYTES = 1 << 16

_ESCAPES = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    rb"|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # window titles and other strings
    rb"|[ #%()*+\-./][0-~]"  # character sets
    rb"|[0-~])?"
)
_NO_BREAK = "\u00a0".encode()
"""Browsers put it for blanks into what is copied from a page."""
_RETURNS = re.compile(rb"\r+\n")


def open_source(path: Path | None) -> BinaryIO:
    """The file as bytes; standard input for None. Raises OSError."""
    if path is None:
        return sys.stdin.buffer
    return path.open("rb")


class TextStream:
    """One input as clean bytes.

    Attributes:
        not_text: why there is no text to read, known from the start.
        compressed: whether the input was compressed.
        listener: is shown every piece of clean text before `chunks` yields it.
        problems: sentences about what could not be read, complete after `chunks` ended.
    """

    def __init__(
        self, source: BinaryIO, limits: Limits | None = None, taken: Callable[[int], None] | None = None
    ) -> None:
        """Read the beginning. `taken` is told how many expanded bytes come, and raises ReadError to end the reading."""
        self.problems: list[str] = []
        self.listener: Callable[[bytes], None] | None = None
        self._source = source
        self._limits = limits or Limits()
        self._taken = taken
        self.compressed = False
        self._pieces = self._guarded(self._expanded())
        self._head = self._take_head()
        self.not_text: NotText | None = not_text(self._head)

    @property
    def head(self) -> bytes:
        """The first expanded bytes, at least `HEAD_BYTES` of them where there are as many."""
        return self._head

    @property
    def seekable_source(self) -> BinaryIO | None:
        """The source itself, where the expanded bytes are its own bytes and it can be read back and forth."""
        return None if self.compressed or not self._source.seekable() else self._source

    def raw(self) -> BinaryIO:
        """All expanded bytes as they are, for what is no text; to be read instead of `chunks`."""
        return reader_of(chain((self._head,), self._pieces))

    def chunks(self) -> Iterator[bytes]:
        """Clean text in pieces of a few MB.

        Each ends at a line end, also at the end of a file that lacks one; only parts of a very long line do not.
        """
        if self.not_text is not None:
            return
        encoding = encoding_of(self._head)
        parts = self._whole()
        for chunk in _at_line_ends(parts if encoding is None else self._recoded(parts, encoding)):
            cleaned = clean(chunk)
            if self.listener is not None:
                self.listener(cleaned)
            yield cleaned

    def _expanded(self) -> Iterator[bytes]:
        first = self._source.read(HEAD_BYTES)
        compression = compression_of(first)
        if compression is not None:
            self.compressed = True
            yield from expand(self._source, first, compression, self._limits)
            return
        if first:
            yield first
        while data := self._source.read(READ_BYTES):
            yield data

    def _guarded(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        try:
            for piece in pieces:
                if self._taken is not None:
                    self._taken(len(piece))
                yield piece
        except ReadError as problem:
            self.problems.append(str(problem))
        except (OSError, ValueError) as error:
            self.problems.append(f"Reading stopped with an error: {error}")

    def _take_head(self) -> bytes:
        head = b""
        while len(head) < HEAD_BYTES and (piece := next(self._pieces, b"")):
            head += piece
        return head

    def _whole(self) -> Iterator[bytes]:
        yield self._head.removeprefix(codecs.BOM_UTF8)
        yield from self._pieces

    def _recoded(self, pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        for piece in pieces:
            yield decoder.decode(piece).encode("utf-8", errors="replace")
        yield decoder.decode(b"", final=True).encode("utf-8", errors="replace")


def clean(data: bytes) -> bytes:
    """Without escape sequences, NUL bytes, blanks that do not break, and the carriage returns of line ends.

    A lone carriage return stays.
    """
    if b"\x1b" in data:
        data = _ESCAPES.sub(b"", data)
    if b"\0" in data:
        data = data.replace(b"\0", b"")
    if _NO_BREAK in data:
        data = data.replace(_NO_BREAK, b" ")
    if b"\r" in data:
        data = _RETURNS.sub(b"\n", data)
    return data


def _at_line_ends(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes, cut anew."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size < CHUNK_BYTES:
            continue
        data = b"".join(waiting)
        end = data.rfind(b"\n") + 1
        if end == 0 and size >= LONGEST_LINE_BYTES:
            end = _cut(data)
        if end:
            yield data[:end]
            data = data[end:]
        waiting, size = [data], len(data)
    if size:
        rest = b"".join(waiting)
        yield rest if rest.endswith(b"\n") else rest + b"\n"


def _cut(data: bytes) -> int:
    """Where to cut a line that is too long: after a blank or comma near its end, else between two characters."""
    start = max(0, len(data) - _CUT_SEARCH_BYTES)
    end = max(data.rfind(b" ", start), data.rfind(b",", start)) + 1
    if end:
        return end
    end = len(data)
    while end > len(data) - 4 and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    return end - 1 if data[end - 1] >= 0xC0 else len(data)
