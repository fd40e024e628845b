"""Saves a walk as it goes, in a thread: a disk that takes its time must not hold up the interface."""

from __future__ import annotations

import queue
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from diagnose.report.numbers import percent
from diagnose.sessions.store import Session, SessionStore
from diagnose.tui.model.events import EVENT, Event
from diagnose.tui.model.path_taken import described
from diagnose.tui.model.walk import Walk

_CLOSING_SECONDS = 10.0


class Saving:
    """The session of the walk at hand, or none where it cannot be saved: the walk goes on without."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._session: Session | None = None
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._temporary: Path | None = None

    @property
    def session_id(self) -> str | None:
        """Id of the open session."""
        return None if self._session is None else self._session.id

    @property
    def folder(self) -> Path | None:
        """Folder of the open session, or the one that stands in for it."""
        return self._temporary if self._session is None else self._session.folder

    def create(self) -> str | None:
        """Begin a session; a sentence where that is not possible."""
        try:
            self._hold(self._store.create())
        except OSError as error:
            return f"This walk is not saved: {error.filename or self._store.folder}: {error.strerror}"
        return None

    def open(self, session_id: str) -> Sequence[Any]:
        """Reopen a session; its events. Raises SessionError and OSError."""
        session = self._store.open(session_id)
        self._hold(session)
        return session.events

    def append(self, event: Event) -> None:
        """Write an event down soon."""
        session = self._session
        if session is not None:
            self._work.put(lambda: session.append(EVENT.dump_python(event, mode="json", by_alias=True)))

    def summarise(self, walk: Walk) -> None:
        """Note what the list of sessions shows."""
        session = self._session
        if session is not None:
            self._work.put(lambda: session.summarise(summary(walk)))

    def recording_folder(self, run: int) -> Path:
        """The folder for a collection's files, made now. Raises OSError."""
        if self.folder is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="diagnose-"))
        assert self.folder is not None
        folder = self.folder / "recordings" / str(run)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def flush(self) -> None:
        """Wait until all that was to be written is written."""
        if self._thread is not None:
            done = threading.Event()
            self._work.put(done.set)
            done.wait(_CLOSING_SECONDS)

    def close(self) -> None:
        """Write what is left, and let go."""
        if self._thread is not None:
            self._work.put(None)
            self._thread.join(_CLOSING_SECONDS)
            self._thread = None
        if self._session is not None:
            self._session.close()
            self._session = None

    def _hold(self, session: Session) -> None:
        self.close()
        self._session = session
        self._thread = threading.Thread(target=self._write, daemon=True, name="Saving")
        self._thread.start()

    def _write(self) -> None:
        while (task := self._work.get()) is not None:
            try:
                task()
            except (OSError, ValueError):
                # A full disk: the walk goes on, and the next event is tried again.
                continue


def summary(walk: Walk) -> dict[str, Any]:
    """What the list of sessions shows of a walk."""
    cause = walk.chosen
    verified = None if cause is None else walk.verdicts.get(cause.id)
    return {
        "origin": "" if walk.origin is None else described(walk.origin),
        "hosts": [] if walk.report is None else list(walk.report.hosts),
        "place": walk.place.value,
        "cause": "" if cause is None else f"{cause.title} ({percent(cause.probability)})",
        "outcome": "" if verified is None else verified.outcome.value,
    }
