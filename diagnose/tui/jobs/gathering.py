"""Gathers facts in the background: what all sorts of collections have in common."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from diagnose.tui.jobs.told import Failed, PartChanged, Told
from diagnose.tui.model.events import PartState

WAITING = "waiting"
RUNNING = "running"
LEFT_OUT = "left-out"
"""Nobody waited for its end."""
CUT_SHORT = frozenset({WAITING, RUNNING, LEFT_OUT, "skipped", "partial", "timed-out", "crashed"})
"""States of parts that leave something unread which is there."""


class Gathering(ABC):
    """A collection in a daemon thread of its own, so that nothing that hangs keeps the program from ending."""

    def __init__(self, tell: Callable[[Told], None]) -> None:
        self._tell = tell
        self._cancelled = threading.Event()
        self._parts: dict[str, PartState] = {}
        self._thread: threading.Thread | None = None

    @property
    def parts(self) -> Sequence[PartState]:
        """All parts, in the order in which they became known."""
        return tuple(self._parts.values())

    @property
    def running(self) -> bool:
        """Whether it is at work."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin, or go on after `again`."""
        self._thread = threading.Thread(target=self._guarded, daemon=True, name=type(self).__name__)
        self._thread.start()

    def cancel(self) -> None:
        """End early; what was read until then is told."""
        self._cancelled.set()

    @abstractmethod
    def skip(self, name: str) -> None:
        """Leave out one part."""

    @abstractmethod
    def again(self, name: str) -> None:
        """Read one part that ended once more."""

    @abstractmethod
    def _work(self) -> None:
        """Gather, tell of parts, and at the end tell `Gathered`."""

    def _guarded(self) -> None:
        try:
            self._work()
        except OSError as error:
            self._tell(Failed(f"{error.filename or 'reading failed'}: {error.strerror or error}"))
        except ValueError as error:
            self._tell(Failed(str(error)))
        except Exception as error:  # a defect must end in a sentence, not in a collection that never ends
            self._tell(Failed(f"collecting failed: {type(error).__name__}: {error}"))

    def _set(self, part: PartState) -> None:
        self._parts[part.name] = part
        self._tell(PartChanged(part))
