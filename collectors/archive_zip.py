"""Reads zip archives: by their index where it is good, else from one local header to the next.

The library reads the index; contents are expanded here, because the library's reader has no bound on what bzip2 data
expands to, and takes overlapping members as they come.
"""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from collectors.archive_entry import Entries, Entry, EntryKind
from collectors.archive_limits import ArchiveLimits
from collectors.compression import ReadError
from collectors.inflate import Packed, UnknownMethodError, inflate
from collectors.piece_reader import reader_of

_LOCAL = struct.Struct("<4s5H3L2H")
_LOCAL_MAGIC = b"PK\x03\x04"
_ENCRYPTED = 0x1
_SIZES_FOLLOW = 0x8
_UTF_8 = 0x800
_UNKNOWN_SIZE = 0xFFFFFFFF
_UNIX = 3
_ZIP64_EXTRA = 1
_BAD_INDEX = (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, IndexError, struct.error, OSError)


@dataclass(frozen=True, slots=True)
class _Place:
    """A member and where its local header lies."""

    name: str
    offset: int
    packed: int
    """Bytes in the archive."""
    size: int
    method: int
    flags: int
    checksum: int
    mode: int
    """Unix file mode, 0 where the archive gives none."""


class _Guarded:
    """The file as the library sees it: it may not take more of it into memory at once than an index may have."""

    def __init__(self, source: BinaryIO, limits: ArchiveLimits) -> None:
        self._source = source
        self._most = limits.index_bytes
        self.seek = source.seek
        self.tell = source.tell
        self.seekable = source.seekable

    def read(self, size: int = -1) -> bytes:
        """As `BinaryIO.read`, within the bound."""
        wanted = self._most + 1 if size < 0 else size
        data = self._source.read(min(wanted, self._most + 1))
        if len(data) > self._most:
            raise ReadError(f"The index of the zip archive has more than {self._most:,} bytes; it was not opened")
        return data


def zip_entries(source: BinaryIO, limits: ArchiveLimits) -> Entries:
    """All entries of a zip archive that can be read back and forth, in the order in which they lie in it.

    Raises:
        ReadError: the archive is cut off or damaged; what came before is good.
    """
    try:
        places = _index(source, limits)
    except _BAD_INDEX as error:
        yield from _without_index(source, limits)
        raise ReadError(
            "The zip archive's index at its end is missing or damaged; only what could be found without it was read"
        ) from error
    end = 0
    for place in places:
        if place.offset < end:
            sentence = "It shares its bytes with another member, as decompression bombs do"
            yield Entry(place.name, EntryKind.FILE, place.size, refusal=sentence)
            continue
        end = place.offset + _LOCAL.size + place.packed
        yield _entry(source, place, limits)


def _index(source: BinaryIO, limits: ArchiveLimits) -> list[_Place]:
    with zipfile.ZipFile(_Guarded(source, limits)) as archive:
        found = [_place(info) for info in archive.infolist()]
    return sorted(found, key=lambda place: place.offset)


def _place(info: zipfile.ZipInfo) -> _Place:
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    return _Place(
        # The library cuts names at a NUL byte, which would make two names one.
        name=info.orig_filename,
        offset=info.header_offset,
        packed=info.compress_size,
        size=info.file_size,
        method=info.compress_type,
        flags=info.flag_bits,
        checksum=info.CRC,
        mode=mode,
    )


def _kind(place: _Place) -> EntryKind:
    if place.name.endswith(("/", "\\")):
        return EntryKind.FOLDER
    for test, kind in (
        (stat.S_ISDIR, EntryKind.FOLDER),
        (stat.S_ISLNK, EntryKind.LINK),
        (stat.S_ISCHR, EntryKind.DEVICE),
        (stat.S_ISBLK, EntryKind.DEVICE),
        (stat.S_ISFIFO, EntryKind.PIPE),
    ):
        if test(place.mode):
            return kind
    return EntryKind.FILE


def _entry(source: BinaryIO, place: _Place, limits: ArchiveLimits) -> Entry:
    kind = _kind(place)
    if kind is not EntryKind.FILE:
        return Entry(place.name, kind, place.size)
    if place.flags & _ENCRYPTED:
        return Entry(place.name, kind, place.size, refusal="It is encrypted")
    if place.size > limits.member_bytes:
        sentence = f"It claims to have {place.size:,} bytes, more than the {limits.member_bytes:,} that are read"
        return Entry(place.name, kind, place.size, refusal=sentence)
    source.seek(place.offset)
    try:
        _local_name(source)
    except ReadError as error:
        return Entry(place.name, kind, place.size, refusal=str(error))
    packed = Packed(source, place.packed)
    try:
        pieces = inflate(packed, place.method, limits)
    except UnknownMethodError as error:
        return Entry(place.name, kind, place.size, refusal=str(error))
    return Entry(place.name, kind, place.size, content=reader_of(_checked(pieces, place.checksum)))


def _checked(pieces: Iterator[bytes], expected: int) -> Iterator[bytes]:
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
        yield piece
    if checksum != expected:
        raise ReadError("The checksum of this member is wrong: it is damaged")


def _local_name(source: BinaryIO) -> tuple[tuple[int, ...], bytes, bytes]:
    """Numbers, name and extra field of the local header at hand; the content follows."""
    header = source.read(_LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(_LOCAL_MAGIC):
        raise ReadError("Its header in the zip archive is missing or damaged")
    numbers = _LOCAL.unpack(header)[1:]
    return numbers, source.read(numbers[8]), source.read(numbers[9])


def _without_index(source: BinaryIO, limits: ArchiveLimits) -> Entries:
    """Members from the beginning on, as long as one can be told where the next begins."""
    source.seek(0)
    while True:
        offset = source.tell()
        try:
            numbers, name, extra = _local_name(source)
        except ReadError:
            return
        _, flags, method, _, _, checksum, packed, size, _, _ = numbers
        if flags & _SIZES_FOLLOW or packed == _UNKNOWN_SIZE:
            packed, size = _long_sizes(extra, packed, size)
        place = _Place(_decoded(name, flags), offset, packed, size, method, flags, checksum, 0)
        start = source.tell()
        if flags & _SIZES_FOLLOW and not packed:
            yield Entry(place.name, EntryKind.FILE, size, refusal="Its size is not known without the archive's index")
            return
        yield _entry(source, place, limits)
        source.seek(start + packed)


def _long_sizes(extra: bytes, packed: int, size: int) -> tuple[int, int]:
    at = 0
    while at + 4 <= len(extra):
        number, length = struct.unpack_from("<2H", extra, at)
        if number == _ZIP64_EXTRA and length >= 16 and at + 20 <= len(extra):
            size, packed = struct.unpack_from("<2Q", extra, at + 4)
            break
        at += 4 + length
    return packed, size


def _decoded(name: bytes, flags: int) -> str:
    return name.decode("utf-8", "surrogateescape") if flags & _UTF_8 else name.decode("cp437")
