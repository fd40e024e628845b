"""Expands the members of zip archives in pieces that are bounded in size."""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from collectors.archive_limits import ArchiveLimits
from collectors.compression import STEP_BYTES, ReadError

_READ_BYTES = 1 << 16
STORED = 0
DEFLATED = 8
BZIPPED = 12
_NAMES = {9: "Deflate64", 14: "LZMA", 93: "Zstandard", 95: "XZ", 99: "AES encryption"}


class UnknownMethodError(Exception):
    """A way to pack that is not read, as a sentence."""


class Packed:
    """So many bytes of a file from where it stands; nothing else may move the file meanwhile."""

    def __init__(self, source: BinaryIO, size: int) -> None:
        self._source = source
        self.left = size
        self.taken = 0

    def read(self) -> bytes:
        """The next piece, empty at the end. Raises ReadError where the file ends too early."""
        if not self.left:
            return b""
        data = self._source.read(min(self.left, _READ_BYTES))
        if not data:
            raise ReadError(f"The archive is cut off within this member; {self.left:,} packed bytes are missing")
        self.left -= len(data)
        self.taken += len(data)
        return data


def inflate(packed: Packed, method: int, limits: ArchiveLimits) -> Iterator[bytes]:
    """The expanded bytes.

    Raises:
        UnknownMethodError: at once.
        ReadError: from the iterator, at damage and beyond the limits.
    """
    if method == STORED:
        return _within(iter(packed.read, b""), packed, limits)
    if method == DEFLATED:
        return _within(_deflated(packed), packed, limits)
    if method == BZIPPED:
        return _within(_bzipped(packed), packed, limits)
    raise UnknownMethodError(f"It is packed by {_NAMES.get(method, f'method {method}')}, which is not read")


def _deflated(packed: Packed) -> Iterator[bytes]:
    decompressor = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    while not decompressor.eof and (data := packed.read()):
        while data and not decompressor.eof:
            yield decompressor.decompress(data, STEP_BYTES)
            data = decompressor.unconsumed_tail
    if not decompressor.eof:
        raise ReadError("The data of this member ends too early")


def _bzipped(packed: Packed) -> Iterator[bytes]:
    decompressor = bz2.BZ2Decompressor()
    while not decompressor.eof:
        data = packed.read() if decompressor.needs_input else b""
        if decompressor.needs_input and not data:
            raise ReadError("The data of this member ends too early")
        yield decompressor.decompress(data, STEP_BYTES)


def _within(pieces: Iterator[bytes], packed: Packed, limits: ArchiveLimits) -> Iterator[bytes]:
    given = 0
    try:
        for piece in pieces:
            given += len(piece)
            if given > limits.member_bytes:
                raise ReadError(
                    f"This member expands to more than {limits.member_bytes:,} bytes; reading stopped there"
                )
            if given > limits.ratio_free_bytes and given > packed.taken * limits.ratio:
                raise ReadError(
                    f"This member expands to more than {limits.ratio:,} times its size, as a decompression bomb does; "
                    f"reading stopped after {given:,} bytes"
                )
            if piece:
                yield piece
    except (zlib.error, OSError, ValueError, EOFError) as error:
        raise ReadError(f"The data of this member is damaged after {given:,} bytes ({error})") from error
