"""Opens what evidence was read from as lines of text: a file, a compressed file, or a file within archives."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from collectors.archive import Member, archive_format, open_archive
from collectors.compression import READ_BYTES
from collectors.content import encoding_of
from collectors.stream import TextStream
from diagnose.tui.jobs.line_file import LineFile

INSIDE = "!"
"""Between an archive and what lies in it, as sources have it."""
_MOST_BYTES = 4 << 30


class RawSourceError(Exception):
    """Why it cannot be opened, as a sentence with the cure."""


class Found(NamedTuple):
    """A file on the disk; where it is an archive, the name that sources give it, and the part that is looked for."""

    path: Path
    archive: str = ""
    part: str | None = None


def find_file(name: str, folder: Path) -> Found | None:
    """The file that a source names, where it is there; a name within an archive leads to the archive."""
    if (folder / name).is_file():
        return Found(folder / name)
    parts = name.split(INSIDE)
    for count in range(1, len(parts)):
        archive = INSIDE.join(parts[:count])
        if (folder / archive).is_file():
            return Found(folder / archive, archive, name)
    return None


def open_lines(found: Found, cancelled: threading.Event, tell: Callable[[int], None]) -> LineFile:
    """The text of a file. What is compressed is written out into a file without a name; `tell` hears how many bytes.

    Raises OSError and RawSourceError.
    """
    with found.path.open("rb") as source:
        stream = TextStream(source)
        if found.part is None and not stream.compressed and encoding_of(stream.head) is None:
            return LineFile(source)
        text = stream if found.part is None else _part(stream, found)
        with tempfile.TemporaryFile(prefix="diagnose-") as copy:
            _copy(text, copy, cancelled, tell)
            return LineFile(copy)


def _part(stream: TextStream, found: Found) -> TextStream:
    """The part of an archive; the archive is read up to it."""
    if archive_format(stream) is not None:
        for part in open_archive(stream, found.archive):
            if isinstance(part, Member) and part.name == found.part:
                return part.stream
    raise RawSourceError(f"{found.path} has no {found.part} in it any more; r on the screen before reads all again")


def _copy(stream: TextStream, copy: IO[bytes], cancelled: threading.Event, tell: Callable[[int], None]) -> None:
    size = 0
    for piece in _text(stream):
        size += len(piece)
        if cancelled.is_set():
            return
        if size > _MOST_BYTES:
            raise RawSourceError(f"It is more than {_MOST_BYTES:,} bytes when expanded; expand it yourself first")
        copy.write(piece)
        tell(size)
    copy.flush()


def _text(stream: TextStream) -> Iterator[bytes]:
    """Clean text as it was read, whose line numbers are those of sources; other bytes as they are."""
    if stream.not_text is None:
        yield from stream.chunks()
        return
    raw = stream.raw()
    while data := raw.read(READ_BYTES):
        yield data
