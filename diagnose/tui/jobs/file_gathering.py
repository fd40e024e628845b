"""Reads files, folders, archives and bundles, one after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from collectors.inputs import InputReport, Readings, Status
from collectors.scan import read_inputs
from collectors.walk import STANDARD_INPUT, walk
from diagnose.tui.jobs.gathering import LEFT_OUT, RUNNING, WAITING, Gathering
from diagnose.tui.jobs.readings import reading_of
from diagnose.tui.jobs.told import Gathered, ReadSoFar, Told
from diagnose.tui.model.events import PartState

_POLL_SECONDS = 0.05
_SHOWN_EVERY_SECONDS = 1.0


class _Left(BaseException):
    """Ends the reading of a file that nobody waits for any more; no handler of errors takes it for one."""


class FileGathering(Gathering):
    """Reads what paths name. A file that hangs is left behind in its thread and can be skipped."""

    def __init__(self, tell: Callable[[Told], None], paths: Sequence[str]) -> None:
        super().__init__(tell)
        self._paths = paths
        self._skipped: set[str] = set()
        self._results: dict[str, Readings] = {}
        self._again: list[str] = []

    def skip(self, name: str) -> None:
        """Leave a file out, also while it is being read."""
        self._skipped.add(name)

    def again(self, name: str) -> None:
        """Read a file once more."""
        self._skipped.discard(name)
        self._again.append(name)

    def _work(self) -> None:
        for name in self._again or self._names():
            if name not in self._parts or name in self._again:
                self._set(PartState(name=name, title=name, state=WAITING))
        self._again.clear()
        shown = time.monotonic()
        for part in [part for part in self.parts if part.state == WAITING]:
            if self._cancelled.is_set():
                break
            self._read(part.name)
            if time.monotonic() - shown >= _SHOWN_EVERY_SECONDS:
                shown = time.monotonic()
                self._tell(ReadSoFar(reading_of(self._joined(), over=False)))
        complete = not any(part.state in (WAITING, RUNNING, LEFT_OUT) for part in self.parts)
        self._tell(Gathered(reading_of(self._joined(), over=True), self.parts, complete))

    def _names(self) -> list[str]:
        names: list[str] = []
        for found in walk([path for path in self._paths if path != STANDARD_INPUT]):
            if isinstance(found, InputReport):
                self._results[found.path] = Readings(inputs=[found])
                self._set(_part(found.path, 0.0, self._results[found.path]))
            else:
                names.append(found.name)
        return names

    def _joined(self) -> Readings:
        joined = Readings()
        for part in self.parts:
            result = self._results.get(part.name, Readings())
            joined.facts.extend(result.facts)
            joined.inputs.extend(result.inputs)
            joined.series.extend(result.series)
        return joined

    def _read(self, name: str) -> None:
        begin = time.monotonic()
        self._set(PartState(name=name, title=name, state=RUNNING))
        results: list[Readings] = []
        left = threading.Event()
        reader = threading.Thread(target=_read_one, args=(name, results, left), daemon=True)
        reader.start()
        while reader.is_alive() and name not in self._skipped and not self._cancelled.is_set():
            reader.join(_POLL_SECONDS)
        left.set()
        seconds = time.monotonic() - begin
        if results:
            self._results[name] = results[0]
            self._set(_part(name, seconds, results[0]))
        else:
            self._results.pop(name, None)
            detail = "Skipped before it was read" if name in self._skipped else "Not read to its end"
            self._set(PartState(name=name, title=name, state=LEFT_OUT, seconds=seconds, detail=detail))


def _read_one(name: str, results: list[Readings], left: threading.Event) -> None:
    def progress(_: str) -> None:
        if left.is_set():
            raise _Left

    try:
        readings = read_inputs([name], progress=progress)
    except _Left:
        return
    if not left.is_set():
        results.append(readings)


def _part(name: str, seconds: float, readings: Readings) -> PartState:
    """How a file was read: by the worst of its parts, and without one by what was recognised."""
    states = {item.status for item in readings.inputs}
    order = (Status.UNREADABLE, Status.PARTIAL, Status.PARSED, Status.SKIPPED, Status.UNRECOGNISED)
    worst = next((status for status in order if status in states), Status.UNRECOGNISED)
    detail = next((item.detail for item in readings.inputs if item.status is worst and item.detail), None)
    kinds = dict.fromkeys(item.kind for item in readings.inputs if item.status in (Status.PARSED, Status.PARTIAL))
    title = ", ".join(kinds) or Path(name).name
    return PartState(
        name=name, title=title, state=worst.value, seconds=seconds, found=len(readings.facts), detail=detail
    )
