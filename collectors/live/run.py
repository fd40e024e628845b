"""Runs the recorders side by side, each in a process of its own that can be killed.

The parent reads nothing of the machine itself: a recorder that hangs, crashes or fills memory takes only its worker
with it. Whatever ends the parent, the workers end too (`collectors.live.lifeline`).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from collectors.live.base import Intrusion, RecorderStatus, Window
from collectors.live.commands import STAND_IN
from collectors.live.process import WorkerProcess
from collectors.live.record import Machine, Record, RecorderReport
from collectors.live.registry import RECORDERS, STARTED_BY_OTHERS, recorder_class

_LONGEST_WAIT_SECONDS = 3600.0
"""The kernel waits no longer than 24 days at a time."""
_WAKES_AT_ONCE = 4096
_PACKAGES = Path(__file__).resolve().parents[2]


def passive_recorders() -> list[str]:
    """Names of the recorders that run unasked."""
    return [
        name
        for name in RECORDERS
        if name not in STARTED_BY_OTHERS and recorder_class(name).intrusion is Intrusion.PASSIVE
    ]


class Collection:
    """One recording of a machine into a folder, which must exist.

    `changed` is told of every recorder that ended, `started` of every one that began. What the record holds already of
    an earlier collection stays, but for the recorders that run again.
    """

    def __init__(
        self,
        record: Record,
        machine: Machine,
        window: Window,
        changed: Callable[[RecorderReport], None] = lambda _: None,
        started: Callable[[RecorderReport], None] = lambda _: None,
    ) -> None:
        self.record = record
        self.stopped = False
        self._machine = machine
        self._window = window
        self._changed = changed
        self._told_of_start = started
        self._to_skip: deque[str] = deque()
        self._selector = selectors.DefaultSelector()
        self._workers: list[WorkerProcess] = []
        self._wake_read, self._wake_write = os.pipe()
        self._selector.register(self._wake_read, selectors.EVENT_READ)

    def stop(self) -> None:
        """End the recording early and keep what there is. May be called from a signal handler or another thread."""
        self.stopped = True
        self._wake()

    def skip(self, name: str) -> None:
        """End one recorder early and keep what it wrote. May be called from another thread."""
        self._to_skip.append(name)
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self._wake_write, b"x")

    def run(self, names: Sequence[str]) -> Record:
        """Run the recorders to their ends or limits. No process is left when it returns or raises."""
        try:
            for name in names:
                self._start(name)
            self.record.write()
            while self._workers and not self.stopped:
                self._wait()
        finally:
            detail = "Stopped before it was done" if self.stopped else None
            for worker in tuple(self._workers):
                self._end(worker, RecorderStatus.PARTIAL, detail)
            self._selector.close()
            os.close(self._wake_read)
            os.close(self._wake_write)
            self.record.end()
        return self.record

    def _start(self, name: str) -> None:
        limit = self._window.duration_seconds + recorder_class(name).time_limit_seconds
        report = RecorderReport(name)
        self.record.forget(name)
        worker = WorkerProcess(report, self._command(name), self._environment(), limit)
        self.record.recorders.append(report)
        self._workers.append(worker)
        self._selector.register(worker.output, selectors.EVENT_READ, worker)
        self._told_of_start(report)

    def _command(self, name: str) -> list[str]:
        return [
            sys.executable,
            "-P",  # nothing is imported from the folder that the user happens to be in
            "-m",
            "collectors.live.worker",
            name,
            str(self.record.folder.resolve()),
            str(self._machine.root),
            str(self._window.duration_seconds),
            str(self._window.interval_seconds),
        ]

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ if self._machine.environment is None else self._machine.environment)
        searched = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{_PACKAGES}{os.pathsep}{searched}" if searched else str(_PACKAGES)
        if self._machine.commands is not None:
            environment[STAND_IN] = str(self._machine.commands)
        return environment

    def _wait(self) -> None:
        """Until a worker says something or the next limit is reached."""
        nearest = min(worker.deadline for worker in self._workers)
        wait = min(max(0.0, nearest - time.monotonic()), _LONGEST_WAIT_SECONDS)
        for key, _ in self._selector.select(wait):
            worker = key.data
            if isinstance(worker, WorkerProcess) and worker in self._workers:
                self._hear(worker)
            elif worker is None:
                os.read(self._wake_read, _WAKES_AT_ONCE)
        while self._to_skip:
            self._skip(self._to_skip.popleft())
        now = time.monotonic()
        for worker in [worker for worker in self._workers if worker.deadline <= now]:
            self._end(worker, RecorderStatus.TIMED_OUT, f"It did not end within {worker.limit_seconds:.0f} s")

    def _skip(self, name: str) -> None:
        for worker in [worker for worker in self._workers if worker.report.name == name]:
            self._end(worker, RecorderStatus.SKIPPED, "Skipped before it was done")

    def _hear(self, worker: WorkerProcess) -> None:
        for name in worker.read():
            if all(report.name != name for report in self.record.recorders):
                self._start(name)
        if worker.outcome is not None:
            self._end(worker, *worker.outcome)

    def _end(self, worker: WorkerProcess, status: RecorderStatus, detail: str | None) -> None:
        self._workers.remove(worker)
        self._selector.unregister(worker.output)
        worker.end(status, detail)
        self.record.write()
        self._changed(worker.report)


@contextlib.contextmanager
def stopping_on_signals(collection: Collection) -> Iterator[None]:
    """While it lasts, Ctrl-C and SIGTERM end the recording early instead of the program. Main thread only."""

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: collection.stop()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
