"""Records a machine, real or simulated, and reads what the recorders wrote while others still run."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from collectors.inputs import Readings
from collectors.live.base import Window
from collectors.live.record import Machine, Record, RecorderReport
from collectors.live.registry import recorder_class
from collectors.live.run import Collection, passive_recorders
from collectors.scan import read_inputs
from diagnose import __version__
from diagnose.intake.recordings import renamed
from diagnose.tui.jobs.gathering import CUT_SHORT, RUNNING, WAITING, Gathering
from diagnose.tui.jobs.readings import reading_of
from diagnose.tui.jobs.told import Gathered, ReadSoFar, Told
from diagnose.tui.model.events import PartState

_POLL_SECONDS = 0.1
_SHOWN_EVERY_SECONDS = 1.0
_FILES = "files"


class Recorded(NamedTuple):
    """What is recorded, and the folder of files that come with it: logs and tables of jobs on a simulated machine."""

    machine: Machine
    files: Path | None = None


class MachineGathering(Gathering):
    """One recording into a folder, which must exist; its files are called by `name` in sources.

    `find` says what is recorded; it is asked in the thread, since making a simulated machine takes a while.
    """

    def __init__(
        self,
        tell: Callable[[Told], None],
        find: Callable[[], Recorded],
        folder: Path,
        name: str,
        window: Window,
        symptoms: Sequence[str] = (),
        recorders: Sequence[str] | None = None,
    ) -> None:
        super().__init__(tell)
        self._find = find
        self._symptoms = symptoms
        self._folder = folder
        self._name = name
        self._window = window
        self._wanted = list(passive_recorders() if recorders is None else recorders)
        self._files: Path | None = None
        self._record: Record | None = None
        self._machine = Machine()
        self._collection: Collection | None = None
        self._changed = threading.Event()

    def cancel(self) -> None:
        """End the recording; what the recorders wrote until then is read."""
        super().cancel()
        if self._collection is not None and self.running:
            self._collection.stop()

    def skip(self, name: str) -> None:
        """End one recorder and keep what it wrote."""
        if self._collection is not None and self.running:
            self._collection.skip(name)

    def again(self, name: str) -> None:
        """Run one recorder again, after those that run now."""
        self._wanted.append(name)
        self._set(self._parts[name].model_copy(update={"state": WAITING, "seconds": 0.0, "detail": None}))

    def _work(self) -> None:
        if self._record is None:
            self._machine, self._files = self._find()
            self._record = Record(self._folder, self._machine, self._window, __version__, self._symptoms)
        while self._wanted and not self._cancelled.is_set():
            names, self._wanted = self._wanted, []
            self._collect(self._record, names)
        readings = self._read()
        self._count(readings)
        complete = not self._cancelled.is_set() and not any(part.state in CUT_SHORT for part in self.parts)
        self._tell(Gathered(reading_of(readings, over=True), self.parts, complete))

    def _collect(self, record: Record, names: Sequence[str]) -> None:
        collection = Collection(record, self._machine, self._window, self._ended, self._began)
        self._collection = collection
        recording = threading.Thread(target=collection.run, args=(names,), daemon=True)
        recording.start()
        shown = time.monotonic()
        while recording.is_alive():
            recording.join(_POLL_SECONDS)
            due = time.monotonic() - shown >= _SHOWN_EVERY_SECONDS
            if due and self._changed.is_set() and recording.is_alive():
                self._changed.clear()
                shown = time.monotonic()
                readings = self._read()
                self._count(readings)
                self._tell(ReadSoFar(reading_of(readings, over=False)))

    def _began(self, report: RecorderReport) -> None:
        self._set(PartState(name=report.name, title=_title(report.name), state=RUNNING))

    def _ended(self, report: RecorderReport) -> None:
        self._changed.set()
        self._set(_part(report, 0))

    def _read(self) -> Readings:
        found = renamed(read_inputs([str(self._folder)]), self._folder, self._name)
        if self._files is None or not self._files.is_dir():
            return found
        brought = renamed(read_inputs([str(self._files)]), self._files, _FILES)
        return Readings(
            [*found.facts, *brought.facts], [*found.inputs, *brought.inputs], [*found.series, *brought.series]
        )

    def _count(self, readings: Readings) -> None:
        """Note for every recorder how many facts came from its files."""
        facts = Counter(fact.sources[0].path for fact in readings.facts)
        for report in () if self._record is None else tuple(self._record.recorders):
            found = sum(facts[f"{self._name}/{path}"] for path in report.files)
            known = self._parts.get(report.name)
            if known is not None and known.found != found and known.state not in (WAITING, RUNNING):
                self._set(known.model_copy(update={"found": found}))


def limit_seconds(name: str, window: Window) -> float:
    """When a recorder is ended at the latest."""
    return window.duration_seconds + recorder_class(name).time_limit_seconds


def _title(name: str) -> str:
    title = recorder_class(name).title
    number = name.rpartition("-")[2]
    return f"{title} {number}" if number.isdecimal() else title


def _part(report: RecorderReport, found: int) -> PartState:
    return PartState(
        name=report.name,
        title=_title(report.name),
        state=report.status.value,
        seconds=report.seconds,
        found=found,
        lacked=tuple(report.lacked),
        detail=report.detail,
    )
