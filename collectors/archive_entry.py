"""One entry of an archive of any format, as the format's reader gives it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import BinaryIO, NamedTuple


class EntryKind(StrEnum):
    """What an entry is. Only files are read; the words stand in the sentence about the others."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    DEVICE = "device"
    PIPE = "named pipe"
    SPARSE = "sparse file"
    OTHER = "entry of an unknown type"


class Entry(NamedTuple):
    """An entry; the content of a file must be read before the next entry is asked for."""

    name: str
    """As the archive gives it; bytes that do not decode are surrogates."""
    kind: EntryKind
    size: int
    """Bytes that it claims to have."""
    content: BinaryIO | None = None
    refusal: str | None = None
    """Why a file's content is not read, as a whole sentence."""


Entries = Iterator[Entry]
