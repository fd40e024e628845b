"""`python -m collectors.live.worker NAME FOLDER ROOT DURATION INTERVAL`: one recorder in a process of its own.

ROOT stands for / under /proc, /sys, /etc and /dev; times are in seconds. It ends when its standard input ends. Every
GPU has such a process, so it loads little: reading the arguments takes no library.

Standard output carries one JSON object a line, each at once: the recorder's events as in `collectors.live.base.Event`
and, last, `{"status": "...", "detail": "..."}` with `detail` null where there is nothing to say. A worker that is
killed leaves out the last line. Standard error carries nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from collectors.live.base import Event, Folder, Recorder, RecorderStatus, Window, closing
from collectors.live.lifeline import hold
from collectors.live.registry import recorder


class _Told:
    """Passes events on and keeps what the final status depends on."""

    def __init__(self) -> None:
        self.absent: str | None = None
        self.incomplete: str | None = None
        self.lacked: str | None = None
        self.files = 0

    def __call__(self, event: Event) -> None:
        self.absent = self.absent or event.get("absent")
        self.incomplete = self.incomplete or event.get("incomplete")
        self.lacked = self.lacked or event.get("lacked")
        self.files += "file" in event
        _print(event)

    def outcome(self) -> tuple[RecorderStatus, str | None]:
        if self.absent is not None:
            return RecorderStatus.ABSENT, self.absent
        if self.incomplete is not None:
            return RecorderStatus.PARTIAL, self.incomplete
        if self.lacked is not None and not self.files:
            return RecorderStatus.NO_PRIVILEGE, self.lacked
        return RecorderStatus.DONE, None


def main(arguments: Sequence[str]) -> int:
    """Run the recorder. The exit status is 0 whatever it found: what happened stands on standard output."""
    name, folder, root, duration, interval = arguments
    hold(sys.stdin.fileno())
    status, detail = run(recorder(name), Path(folder), Path(root), Window(float(duration), float(interval)))
    _print({"status": status, "detail": detail})
    return 0


def run(reader: Recorder, recording: Path, root: Path, window: Window) -> tuple[RecorderStatus, str | None]:
    """Run a recorder in this process, printing its events; how it ended, and why in one sentence."""
    told = _Told()
    try:
        with closing(Folder(recording / reader.directory, root, told)) as folder:
            reader.record(folder, window)
    except PermissionError as error:
        told({"lacked": f"{error.filename or reader.title}: permission denied"})
    except Exception as error:  # a recorder that fails must not take its report with it
        return RecorderStatus.CRASHED, f"{type(error).__name__}: {error}"
    return told.outcome()


def _print(line: Event | dict[str, str | None]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
