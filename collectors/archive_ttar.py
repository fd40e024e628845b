"""Reads ttar, the text format in which node_exporter keeps trees of small files.

    Path: sys/class/net/eth0/mtu
    Lines: 1
    1500
    Mode: 644
    # ttar - - - ...

A last line without line end is followed by `EOF`; `NULLBYTE` stands for a NUL byte; a backslash before either takes its
meaning away.
"""

from __future__ import annotations

import io
import re
from typing import BinaryIO, cast

from collectors.archive_entry import Entries, Entry, EntryKind
from collectors.archive_limits import ArchiveLimits
from collectors.compression import ReadError

_HEAD = re.compile(rb"# (?:Archive created by ttar\b|ttar - - )")
_LINE_BYTES = 1 << 20


def is_ttar(head: bytes) -> bool:
    """Whether a file begins as ttar writes it."""
    return _HEAD.match(head) is not None


def ttar_entries(source: BinaryIO, limits: ArchiveLimits) -> Entries:
    """All entries in their order. Raises ReadError where the archive is cut off."""
    lines = io.BufferedReader(cast(io.RawIOBase, source))
    name = ""
    while line := lines.readline(_LINE_BYTES):
        key, _, value = line.rstrip(b"\n").partition(b": ")
        text = value.decode("utf-8", "surrogateescape")
        if key == b"Path":
            name = text
        elif key == b"Directory":
            yield Entry(text, EntryKind.FOLDER, 0)
        elif key == b"SymlinkTo":
            yield Entry(name, EntryKind.LINK, 0)
        elif key == b"Lines":
            content = _content(lines, text, limits)
            yield Entry(name, EntryKind.FILE, len(content), content=io.BytesIO(content))


def _content(source: BinaryIO, count: str, limits: ArchiveLimits) -> bytes:
    if not (count.isascii() and count.isdigit() and len(count) < 10):
        raise ReadError("The number of lines of a file in the ttar archive makes no sense; the rest was not read")
    lines = []
    left = limits.header_bytes
    for _ in range(int(count)):
        line = source.readline(_LINE_BYTES)
        left -= len(line)
        if not line:
            raise ReadError("The ttar archive is cut off within a file; the end is missing")
        if left < 0:
            raise ReadError("A file in the ttar archive is too large for this format; the rest was not read")
        lines.append(line)
    content = b"".join(lines)
    if content.endswith(b"EOF\n") and not content.endswith(b"\\EOF\n"):
        content = content[:-4]
    return re.sub(rb"(?<!\\)NULLBYTE", b"\0", content).replace(b"\\NULLBYTE", b"NULLBYTE").replace(b"\\EOF", b"EOF")
