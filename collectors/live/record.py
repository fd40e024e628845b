"""What a recording says of itself: its manifest, rewritten whenever a recorder changes state."""

from __future__ import annotations

import json
import os
import pwd
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from collectors.live.base import RecorderStatus, Window
from collectors.live.clock import clock_offset_seconds

SCHEMA = "diagnose.bundle/1"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Machine:
    """What is recorded: this machine, or a stand-in for it."""

    root: Path = Path("/")
    """Stands for `/` wherever /proc, /sys, /etc or /dev is read."""
    simulated: str | None = None
    """Name of the scenario, where it is one."""
    environment: dict[str, str] | None = None
    """Environment of the worker processes; None for this process's own."""
    commands: Path | None = None
    """Folder of outputs in place of what programs would print."""

    def host(self) -> str:
        """The machine's name."""
        if self.simulated is None:
            return socket.gethostname()
        try:
            return (self.root / "proc/sys/kernel/hostname").read_text(encoding="utf-8").strip()
        except OSError:
            return f"simulated-{self.simulated}"


@dataclass(slots=True)
class RecorderReport:
    """How one recorder fares."""

    name: str
    status: RecorderStatus = RecorderStatus.RUNNING
    seconds: float = 0.0
    detail: str | None = None
    lacked: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


class Record:
    """The manifest in memory. `write` is atomic, so that a kill at any time leaves a readable one."""

    def __init__(
        self, folder: Path, machine: Machine, window: Window, tool_version: str, symptoms: Sequence[str] = ()
    ) -> None:
        self.folder = folder
        self.recorders: list[RecorderReport] = []
        self.ended_at: str | None = None
        self._head = {
            "schema": SCHEMA,
            "tool_version": tool_version,
            "host": machine.host(),
            "started_at": _now(),
        }
        self._rest = {
            "clock_offset_seconds": clock_offset_seconds(),
            "privileges": {"user": _user(), "root": os.geteuid() == 0},
            "simulated": machine.simulated,
            "redacted": False,
            "interval_seconds": window.interval_seconds,
            "duration_seconds": window.duration_seconds,
            "symptoms": list(symptoms),
        }

    @property
    def host(self) -> str:
        """Name of the machine."""
        return self._head["host"]

    def forget(self, name: str) -> None:
        """Drop what a recorder wrote when it ran before, so that nothing of it counts twice when it runs again."""
        for report in [report for report in self.recorders if report.name == name]:
            self.recorders.remove(report)
            for path in report.files:
                (self.folder / path).unlink(missing_ok=True)

    def end(self) -> None:
        """Note that everything is over."""
        self.ended_at = _now()
        self.write()

    def write(self) -> None:
        """Write manifest.json anew. The schema stands in the first line, by which it is recognised."""
        content = {
            **self._head,
            "ended_at": self.ended_at,
            **self._rest,
            "recorders": [asdict(report) for report in self.recorders],
        }
        text = json.dumps(content, indent=1).replace("{\n ", "{", 1)
        unfinished = self.folder / f".{MANIFEST}.part"
        unfinished.write_text(text + "\n", encoding="utf-8")
        unfinished.replace(self.folder / MANIFEST)


def _now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
