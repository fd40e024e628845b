"""One worker process as the program that started it sees it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

from collectors.live.base import RecorderStatus
from collectors.live.record import RecorderReport

_LINE_LIMIT_BYTES = 1 << 20
_PIECE_BYTES = 1 << 16
_DEATH_SECONDS = 2.0
"""How long a killed process may take; one that waits for a device in the kernel can take for ever."""


class WorkerProcess:
    """Started at once, in a session of its own.

    Attributes:
        report: kept up to date with what the worker tells.
        outcome: how it ended and why, once it has.
        deadline: when its limit is reached, in time.monotonic().
    """

    def __init__(
        self, report: RecorderReport, command: Sequence[str], environment: Mapping[str, str], limit_seconds: float
    ) -> None:
        self.report = report
        self.limit_seconds = limit_seconds
        self.outcome: tuple[RecorderStatus, str | None] | None = None
        self._started = time.monotonic()
        self.deadline = self._started + limit_seconds
        self._unread = b""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._lifeline: IO[bytes] = self._process.stdin
        self.output: IO[bytes] = self._process.stdout

    def read(self) -> Iterator[str]:
        """Take what it says now; names of further recorders that it asks for."""
        piece = os.read(self.output.fileno(), _PIECE_BYTES)
        lines = (self._unread + piece).split(b"\n")
        self._unread = lines.pop()[:_LINE_LIMIT_BYTES]
        for line in lines:
            event = _event(line)
            if (name := event.get("start")) is not None:
                yield name
            self._take(event)
        if not piece and self.outcome is None:
            self.outcome = (RecorderStatus.CRASHED, self._ended_early())

    def _take(self, event: Mapping[str, str]) -> None:
        if (sentence := event.get("lacked")) is not None and sentence not in self.report.lacked:
            self.report.lacked.append(sentence)
        if (path := event.get("file")) is not None and path not in self.report.files:
            self.report.files.append(path)
        if (status := event.get("status")) in set(RecorderStatus):
            self.outcome = (RecorderStatus(status), event.get("detail"))

    def _ended_early(self) -> str:
        self._kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(_DEATH_SECONDS)
            if status < 0:
                return f"Its process was killed by signal {signal.Signals(-status).name}"
            return f"Its process ended early with exit status {status}"
        return "Its process ended early"

    def end(self, status: RecorderStatus, detail: str | None) -> None:
        """Kill it with all that it started, and close the report."""
        self._kill()
        self._lifeline.close()
        self.output.close()
        try:
            self._process.wait(_DEATH_SECONDS)
        except subprocess.TimeoutExpired:
            stuck = "its process waits in the kernel and cannot be killed"
            detail = f"{detail}; {stuck}" if detail else stuck
        self.report.status = status
        self.report.detail = detail
        self.report.seconds = round(time.monotonic() - self._started, 3)

    def _kill(self) -> None:
        # Until it is waited for, its number cannot become another process's.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _event(line: bytes) -> dict[str, str]:
    """One object of strings; empty for anything else that a worker might print."""
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return {key: value for key, value in event.items() if isinstance(value, str)} if isinstance(event, dict) else {}
