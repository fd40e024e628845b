"""Reads tar archives forwards, in every dialect: old, ustar, GNU, PAX. Nothing is kept but the headers of one member.

The library's own reader takes extended headers of any size into memory; here the headers are decoded by the library and
everything that has a size is bounded.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import BinaryIO

from collectors.archive_entry import Entries, Entry, EntryKind
from collectors.archive_limits import ArchiveLimits
from collectors.compression import ReadError
from collectors.piece_reader import reader_of

BLOCK_BYTES = 512
_STEP_BYTES = 1 << 18
_MOST_DIGITS = 15
"""More digits in a size mean nothing; Python refuses to convert thousands of them."""

_KINDS = {
    tarfile.REGTYPE: EntryKind.FILE,
    tarfile.AREGTYPE: EntryKind.FILE,
    tarfile.CONTTYPE: EntryKind.FILE,
    tarfile.DIRTYPE: EntryKind.FOLDER,
    tarfile.LNKTYPE: EntryKind.LINK,
    tarfile.SYMTYPE: EntryKind.LINK,
    tarfile.CHRTYPE: EntryKind.DEVICE,
    tarfile.BLKTYPE: EntryKind.DEVICE,
    tarfile.FIFOTYPE: EntryKind.PIPE,
    tarfile.GNUTYPE_SPARSE: EntryKind.SPARSE,
}
_WITHOUT_DATA = (EntryKind.FOLDER, EntryKind.LINK, EntryKind.DEVICE, EntryKind.PIPE)


def is_tar(head: bytes) -> bool:
    """Whether the first bytes of a file are the header of a tar member; old archives have no magic, but a checksum."""
    if len(head) < BLOCK_BYTES or not head[0]:
        return False
    try:
        tarfile.TarInfo.frombuf(head[:BLOCK_BYTES], "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def tar_entries(source: BinaryIO, limits: ArchiveLimits) -> Entries:
    """All entries in their order.

    Raises:
        ReadError: the archive is cut off or damaged; what came before is good.
    """
    return _Tar(source, limits).entries()


class _Tar:
    def __init__(self, source: BinaryIO, limits: ArchiveLimits) -> None:
        self._source = source
        self._limits = limits
        self._read_bytes = 0
        self._cut_off = False
        self._extended: dict[str, str] = {}
        """What PAX and GNU headers say about the next member."""
        self._global: dict[str, str] = {}

    def entries(self) -> Entries:
        """Walk from header to header."""
        while (info := self._header()) is not None:
            if info.type == tarfile.GNUTYPE_LONGNAME:
                self._extended["path"] = self._text(info.size).rstrip("\0")
            elif info.type == tarfile.GNUTYPE_LONGLINK:
                self._skip(_padded(info.size))
            elif info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
                self._extended |= _pax(self._text(info.size))
            elif info.type == tarfile.XGLTYPE:
                self._global |= _pax(self._text(info.size))
            else:
                yield from self._member(info)
                self._extended = {}

    def _member(self, info: tarfile.TarInfo) -> Entries:
        extended = self._global | self._extended
        name = extended.get("GNU.sparse.name") or extended.get("path") or info.name
        kind = _KINDS.get(info.type, EntryKind.OTHER)
        if kind is EntryKind.FILE and any(key.startswith("GNU.sparse.") for key in extended):
            kind = EntryKind.SPARSE
        if kind is EntryKind.FILE and info.type == tarfile.AREGTYPE and name.endswith("/"):
            kind = EntryKind.FOLDER
        size = _size(extended, info.size)
        # Some writers give links the size of what they lead to, without its data.
        stored = 0 if kind in _WITHOUT_DATA else size
        if kind is not EntryKind.FILE:
            yield Entry(name, kind, size)
            self._skip(_padded(stored))
            return
        if size > self._limits.member_bytes:
            sentence = f"It claims to have {size:,} bytes, more than the {self._limits.member_bytes:,} that are read"
            yield Entry(name, kind, size, refusal=sentence)
            self._skip(_padded(size))
            return
        pieces = self._pieces(size)
        yield Entry(name, kind, size, content=reader_of(pieces))
        for _ in pieces:
            pass
        if self._cut_off:
            raise self._end_missing()
        self._skip(_padded(size) - size)

    def _header(self) -> tarfile.TarInfo | None:
        """The next header; None at the end, which is a block of zeros or the end of the file."""
        block = self._source.read(BLOCK_BYTES)
        self._read_bytes += len(block)
        if not block:
            if self._extended:
                raise ReadError("The tar archive is cut off within the headers of a member")
            return None
        if len(block) < BLOCK_BYTES:
            raise self._end_missing()
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            return None
        except (tarfile.HeaderError, ValueError) as error:
            raise ReadError(
                f"The tar archive is damaged after {self._read_bytes:,} bytes and the rest was not read"
            ) from error
        if info.size < 0:
            raise ReadError("A member of the tar archive claims a negative size; the rest was not read")
        if info.type == tarfile.GNUTYPE_SPARSE:
            self._skip_sparse_map(block)
        return info

    def _skip_sparse_map(self, header: bytes) -> None:
        """Blocks that follow the header of an old GNU sparse member, each of which says whether another one follows."""
        more, at = header[482], 0
        while more:
            at += BLOCK_BYTES
            if at > self._limits.header_bytes:
                raise ReadError("The map of a sparse file in the tar archive is too long; the rest was not read")
            block = self._exactly(BLOCK_BYTES)
            more = block[504]

    def _text(self, size: int) -> str:
        if size > self._limits.header_bytes:
            raise ReadError(
                f"A header of the tar archive claims to have {size:,} bytes, more than the "
                f"{self._limits.header_bytes:,} that are read; the rest of the archive was not read"
            )
        return self._exactly(_padded(size))[:size].decode("utf-8", "surrogateescape")

    def _exactly(self, size: int) -> bytes:
        data = self._source.read(size)
        self._read_bytes += len(data)
        if len(data) < size:
            raise self._end_missing()
        return data

    def _pieces(self, size: int) -> Iterator[bytes]:
        left = size
        while left:
            data = self._source.read(min(left, _STEP_BYTES))
            self._read_bytes += len(data)
            left -= len(data)
            if data:
                yield data
            else:
                self._cut_off = True
                raise ReadError(
                    f"The archive is cut off within this member; {left:,} of its {size:,} bytes are missing"
                )

    def _end_missing(self) -> ReadError:
        return ReadError(f"The tar archive is cut off after {self._read_bytes:,} bytes; the end is missing")

    def _skip(self, size: int) -> None:
        while size > 0:
            size -= len(self._exactly(min(size, _STEP_BYTES)))


def _padded(size: int) -> int:
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES


def _pax(text: str) -> dict[str, str]:
    """Records `LENGTH KEY=VALUE\\n`; the length counts bytes, itself included. What does not fit ends the reading."""
    data = text.encode("utf-8", "surrogateescape")
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        digits, blank, _ = data[at : at + 20].partition(b" ")
        if not blank or not digits.isdigit():
            break
        length = int(digits)
        record = data[at + len(digits) + 1 : at + length]
        if length <= len(digits) + 1 or not record.endswith(b"\n"):
            break
        key, _, value = record[:-1].partition(b"=")
        found[key.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
        at += length
    return found


def _size(extended: dict[str, str], stored: int) -> int:
    digits = extended.get("size", "")
    if digits.isascii() and digits.isdigit():
        if len(digits) > _MOST_DIGITS:
            raise ReadError("A header of the tar archive claims a size that no file can have; the rest was not read")
        return int(digits)
    return stored
