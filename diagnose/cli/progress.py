"""One line on standard error about what is being done, for work that takes longer than a second."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TextIO

from diagnose.printable import printable

_QUIET_SECONDS = 1.0
_INTERVAL_SECONDS = 0.2
_INTERVAL_WITHOUT_TERMINAL_SECONDS = 10.0


class Progress:
    """Call it with what is being done; it decides whether to show it. On leaving, the line is wiped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._next = time.monotonic() + _QUIET_SECONDS
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __call__(self, activity: str) -> None:
        """Note what is being done now."""
        now = time.monotonic()
        if now < self._next:
            return
        self._shown = True
        activity = printable(activity)
        if self._terminal:
            self._next = now + _INTERVAL_SECONDS
            self._stream.write(f"\r\x1b[K{activity[:78]}")
        else:
            self._next = now + _INTERVAL_WITHOUT_TERMINAL_SECONDS
            self._stream.write(f"{activity}\n")
        self._stream.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown and self._terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
