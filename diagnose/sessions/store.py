"""The folder of sessions: make, list, reopen, delete, hand over as one file."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from diagnose import __version__
from diagnose.sessions.errors import SessionError
from diagnose.sessions.lines import SCHEMA, Event, encoded, length_of_whole_lines, read_lines

EVENTS = "events.jsonl"
_SUMMARY = "summary.json"
_ID = re.compile(r"^[0-9]{8}-[0-9]{6}-[0-9a-f]{4}$")
EXPORT_ENDING = ".diagnose-session"
_FRAME_HEADER_BYTES = 18
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_EXPANDED_LIMIT_BYTES = 1 << 30


@dataclass(frozen=True)
class SessionInfo:
    """A line of the list."""

    id: str
    changed_at: float
    """Unix time of the last change."""
    summary: Mapping[str, Any]
    """What the program that wrote it says of it; empty where it was killed before it said anything."""


class Session:
    """An open session, locked for this process. Each appended event is on disk when the call returns."""

    def __init__(self, folder: Path) -> None:
        """Open it and read its events. Raises SessionError where it is damaged or open elsewhere, and OSError."""
        self.id = folder.name
        self.folder = folder
        self._file: BinaryIO = (folder / EVENTS).open("r+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise SessionError(f"session {self.id} is open in another terminal") from error
        try:
            self.events: Sequence[Event] = list(read_lines(self._file, self.id))[1:]
        except SessionError:
            self._file.close()
            raise
        self._file.seek(0)
        # What a kill left of a line would make the next one unreadable.
        self._file.truncate(length_of_whole_lines(self._file))
        self._file.seek(0, os.SEEK_END)

    def append(self, event: Event) -> None:
        """Write an event down."""
        self._file.write(encoded(event))
        self._file.flush()
        os.fsync(self._file.fileno())

    def summarise(self, summary: Mapping[str, Any]) -> None:
        """What the list shows of it."""
        unfinished = self.folder / f".{_SUMMARY}.part"
        unfinished.write_text(json.dumps(summary), encoding="utf-8")
        unfinished.replace(self.folder / _SUMMARY)

    def close(self) -> None:
        """Release it."""
        self._file.close()


class SessionStore:
    """All sessions of a user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create(self, events: Iterable[Event] = ()) -> Session:
        """A new session, open, with events that it begins with. Raises OSError where nothing can be written."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}"
        unfinished = self.folder / f".{name}"
        unfinished.mkdir(mode=0o700)
        header = {"schema": SCHEMA, "tool_version": __version__, "created_at": time.time()}
        with (unfinished / EVENTS).open("xb") as file:
            file.writelines(encoded(line) for line in (header, *events))
        unfinished.rename(self.folder / name)
        return Session(self.folder / name)

    def open(self, session_id: str) -> Session:
        """Reopen a session. Raises SessionError and OSError."""
        return Session(self._existing(session_id))

    def list(self) -> list[SessionInfo]:
        """All sessions, the latest first."""
        found = [info for path in self._folders() if (info := _info(path)) is not None]
        return sorted(found, key=lambda info: (-info.changed_at, info.id))

    def latest(self) -> str | None:
        """Id of the session that was changed last."""
        sessions = self.list()
        return sessions[0].id if sessions else None

    def delete(self, session_id: str) -> None:
        """Remove a session with its recordings. Raises SessionError where it is open, and OSError."""
        folder = self._existing(session_id)
        with contextlib.closing(Session(folder)):
            shutil.rmtree(folder)

    def export(self, session_id: str, target: Path) -> None:
        """Write a session as one file, without the recordings: a colleague opens it without them. Raises OSError."""
        unfinished = target.with_name(f".{target.name}.part")
        with (self._existing(session_id) / EVENTS).open("rb") as source, unfinished.open("wb") as packed:
            length = length_of_whole_lines(source)
            source.seek(0)
            zstandard.ZstdCompressor().copy_stream(source, packed, size=length)
        unfinished.replace(target)

    def bring_in(self, path: Path) -> Session:
        """A new session with the events of an exported one. Raises SessionError and OSError."""
        with path.open("rb") as packed:
            if packed.read(len(_ZSTD_MAGIC)) != _ZSTD_MAGIC:
                raise SessionError(f"{path} is no exported session")
            packed.seek(0)
            try:
                data = _expanded(packed, str(path))
            except zstandard.ZstdError as error:
                raise SessionError(f"{path} is damaged: {error}") from error
        return self.create(list(read_lines(io.BytesIO(data), str(path)))[1:])

    def _existing(self, session_id: str) -> Path:
        folder = self.folder / session_id
        if not _ID.match(session_id) or not (folder / EVENTS).is_file():
            known = ", ".join(info.id for info in self.list()[:5]) or "none"
            raise SessionError(f"no session is called {session_id!r}; the latest are: {known}")
        return folder

    def _folders(self) -> Iterator[Path]:
        if self.folder.is_dir():
            yield from (path for path in self.folder.iterdir() if _ID.match(path.name))


def _expanded(packed: BinaryIO, name: str) -> bytes:
    """Content of an exported session, which names its own size."""
    size = zstandard.frame_content_size(packed.read(_FRAME_HEADER_BYTES))
    packed.seek(0)
    with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
        data: bytes = reader.read(_EXPANDED_LIMIT_BYTES + 1)
    if len(data) > _EXPANDED_LIMIT_BYTES:
        raise SessionError(f"{name} grows beyond {_EXPANDED_LIMIT_BYTES >> 30} GiB and is not opened")
    if len(data) != size:
        raise SessionError(f"{name} is damaged: it is cut off")
    return data


def _info(folder: Path) -> SessionInfo | None:
    try:
        changed = (folder / EVENTS).stat().st_mtime
    except OSError:
        return None
    try:
        summary = json.loads((folder / _SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        summary = {}
    return SessionInfo(folder.name, changed, summary if isinstance(summary, dict) else {})
