"""Decompression of gzip, xz, bzip2 and zstd, recognised by their first bytes, with limits on how far data may expand.

Several members in one file are read one after another, as the tools do. A stream that is cut off or damaged gives what
could be read and a sentence about the rest.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

import zstandard

READ_BYTES = 1 << 20
STEP_BYTES = 1 << 22
"""Upper bound of one piece of expanded data, so that a small hostile file cannot fill the memory at once."""
_ZSTD_INPUT_BYTES = 1 << 10
"""zstd has no bound on its output, so its input is fed in small pieces: 1 KiB can expand to some 32 MB at most."""
_MEMORY_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class Limits:
    """How far compressed input may expand."""

    expanded_bytes: int = 20_000_000_000
    ratio: int = 1000
    """Most expanded bytes for one compressed byte, beyond `ratio_free_bytes`."""
    ratio_free_bytes: int = 64_000_000


class ReadError(Exception):
    """What could not be read and why, as a sentence for the reader; what came before is good."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Expanded data, in pieces that are bounded in size."""


class _Zlib:
    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            yield self._inner.decompress(data, STEP_BYTES)
            data = self._inner.unconsumed_tail


class _Bounded:
    """bz2 and lzma share one interface."""

    def __init__(self, inner: bz2.BZ2Decompressor | lzma.LZMADecompressor) -> None:
        self._inner = inner

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def pieces(self, data: bytes) -> Iterator[bytes]:
        yield self._inner.decompress(data, STEP_BYTES)
        while not self._inner.eof and not self._inner.needs_input:
            yield self._inner.decompress(b"", STEP_BYTES)


class _Zstd:
    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor(max_window_size=_MEMORY_BYTES).decompressobj()
        self._rest = b""

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data + self._rest

    def pieces(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), _ZSTD_INPUT_BYTES):
            yield self._inner.decompress(data[start : start + _ZSTD_INPUT_BYTES])
            if self._inner.eof:
                self._rest = data[start + _ZSTD_INPUT_BYTES :]
                return


@dataclass(frozen=True, slots=True)
class Compression:
    """One way to compress: its name, the bytes that it begins with, and how to undo it."""

    name: str
    magic: bytes
    make: Callable[[], _Decompressor]


COMPRESSIONS: tuple[Compression, ...] = (
    Compression("gzip", b"\x1f\x8b\x08", _Zlib),
    Compression("zstd", b"\x28\xb5\x2f\xfd", _Zstd),
    Compression("xz", b"\xfd7zXZ\x00", lambda: _Bounded(lzma.LZMADecompressor(memlimit=_MEMORY_BYTES))),
    Compression("bzip2", b"BZh", lambda: _Bounded(bz2.BZ2Decompressor())),
)
_DAMAGE = (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, EOFError, ValueError)


def compression_of(head: bytes) -> Compression | None:
    """The compression that a file's first bytes tell, if any."""
    for compression in COMPRESSIONS:
        if head.startswith(compression.magic):
            # "BZh" alone could begin a text: a digit and the block's own magic follow in real files.
            if compression.name == "bzip2" and head[4:10] not in (b"1AY&SY", b"\x17rE8P\x90"):
                continue
            return compression
    return None


def _raw(source: BinaryIO, head: bytes) -> Iterator[bytes]:
    if head:
        yield head
    while data := source.read(READ_BYTES):
        yield data


def expand(source: BinaryIO, head: bytes, compression: Compression, limits: Limits) -> Iterator[bytes]:
    """Expanded bytes of `head` followed by the rest of `source`.

    Raises:
        ReadError: the data is cut off, damaged, or expands beyond the limits.
    """
    taken = given = 0
    decompressor = compression.make()
    for raw in _raw(source, head):
        taken += len(raw)
        data = raw
        while data:
            if decompressor.eof:
                data = data.lstrip(b"\0")
                if not data:
                    break
                if not data.startswith(compression.magic[: len(data)]):
                    raise ReadError(f"Bytes that follow the end of the {compression.name} data were not read")
                decompressor = compression.make()
            try:
                for piece in decompressor.pieces(data):
                    given += len(piece)
                    _check(taken, given, limits)
                    if piece:
                        yield piece
            except _DAMAGE as error:
                raise ReadError(
                    f"The {compression.name} data is damaged after {given:,} expanded bytes "
                    f"and the rest was not read ({error})"
                ) from error
            data = decompressor.unused_data if decompressor.eof else b""
    if not decompressor.eof:
        raise ReadError(f"The {compression.name} data is cut off after {given:,} expanded bytes; the end is missing")


def _check(taken: int, given: int, limits: Limits) -> None:
    if given > limits.expanded_bytes:
        raise ReadError(f"The data expands to more than {limits.expanded_bytes:,} bytes; reading stopped there")
    if given > limits.ratio_free_bytes and given > taken * limits.ratio:
        raise ReadError(
            f"The data expands to more than {limits.ratio:,} times its size, as a decompression bomb does; "
            f"reading stopped after {given:,} bytes"
        )
