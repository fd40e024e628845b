"""What a recorder is: it reads one part of the machine and writes it down raw."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, NamedTuple, TextIO, TypeAlias

Event: TypeAlias = Mapping[str, str]
"""What a recorder tells the program that started it: one key of `file`, `lacked`, `incomplete`, `absent`, `start`, or
`status` and `detail` as the last of all."""


class Intrusion(StrEnum):
    """How much reading disturbs the machine."""

    PASSIVE = "passive"
    """Reads what the kernel and the driver know anyway. Only these run unasked."""
    INTERACTIVE = "interactive"
    """Makes a device or a service do some work, such as a transfer or a query over the network."""
    DISRUPTIVE = "disruptive"
    """Takes a device away from jobs for a while."""


class RecorderStatus(StrEnum):
    """Where a recorder stands."""

    RUNNING = "running"
    DONE = "done"
    PARTIAL = "partial"
    """It finished, and something that it should have read did not answer."""
    TIMED_OUT = "timed-out"
    CRASHED = "crashed"
    ABSENT = "absent"
    """What it reads does not exist on this machine."""
    SKIPPED = "skipped"
    """It was not run, because of its intrusion or because it was not asked for."""
    NO_PRIVILEGE = "no-privilege"
    """Nothing could be read for want of privilege."""


class Window(NamedTuple):
    """How long to watch, and how often to read what changes."""

    duration_seconds: float = 1.0
    interval_seconds: float = 1.0

    def ticks(self) -> Iterator[float]:
        """Unix times of the readings, each yielded when it is due: the first at once, the last at the window's end.

        A reading that took longer than the interval makes the next ones fall out, so that they never bunch up.
        """
        begin = time.monotonic()
        yield time.time()
        number = 1
        while number * self.interval_seconds <= self.duration_seconds + 1e-9:
            wait = begin + number * self.interval_seconds - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            yield time.time()
            number = max(number + 1, int((time.monotonic() - begin) / self.interval_seconds) + 1)

    def ends(self) -> Iterator[float]:
        """Unix times of the window's begin and end, each yielded when it is due."""
        begin = time.monotonic()
        yield time.time()
        time.sleep(max(0.0, begin + self.duration_seconds - time.monotonic()))
        yield time.time()


class Folder:
    """Where one recorder writes, and how it says what it could not do.

    `path` is the recorder's own folder in the recording; `root` stands for `/` wherever /proc, /sys, /etc or /dev is
    read, so that a scenario can bring a tree of its own.
    """

    def __init__(self, path: Path, root: Path, tell: Callable[[Event], None]) -> None:
        self.path = path
        self.root = root
        self._tell = tell
        self._open: dict[str, TextIO] = {}

    def write(self, name: str, text: str) -> None:
        """Write a file at once; one with half its text is never seen under its name."""
        target = self._new(name)
        unfinished = target.with_name(target.name + ".part")
        unfinished.write_text(text, encoding="utf-8", errors="surrogateescape")
        unfinished.replace(target)

    def append(self, name: str, line: str) -> None:
        """Add a line, which is safe from a kill of this process as soon as the call returns."""
        stream = self._open.get(name)
        if stream is None:
            path = self._new(name)
            stream = self._open[name] = path.open("a", encoding="utf-8", errors="surrogateescape")
        stream.write(line + "\n")
        stream.flush()

    def close(self) -> None:
        """Close what `append` opened."""
        for stream in self._open.values():
            stream.close()
        self._open.clear()

    def lacked(self, sentence: str) -> None:
        """What could not be read for want of which privilege."""
        self._tell({"lacked": sentence})

    def incomplete(self, sentence: str) -> None:
        """What should have answered and did not."""
        self._tell({"incomplete": sentence})

    def absent(self, why: str) -> None:
        """What this recorder reads does not exist here."""
        self._tell({"absent": why})

    def timed_out(self, sentence: str) -> None:
        """A call of this recorder hangs; to be followed by the end of the process, which can do nothing more."""
        self._tell({"status": RecorderStatus.TIMED_OUT, "detail": sentence})

    def start(self, name: str) -> None:
        """Ask for a further recorder beside this one, by its name."""
        self._tell({"start": name})

    def _new(self, name: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self._tell({"file": f"{self.path.name}/{name}"})
        return path


class Recorder(ABC):
    """Reads one part of the machine.

    `number` tells instances of one class apart, such as the GPU that is read; their names end in it: `nvml-gpu-3`.
    """

    name: ClassVar[str]
    """Its name, words apart by `-`."""
    title: ClassVar[str]
    """What it reads, as people say it."""
    directory: ClassVar[str]
    """Its folder in the recording; several recorders may share one, with different names of files."""
    intrusion: ClassVar[Intrusion] = Intrusion.PASSIVE
    time_limit_seconds: ClassVar[float] = 10.0
    """Longest time beyond the window; then its process is killed, and what it wrote until then is kept."""

    def __init__(self, number: int | None = None) -> None:
        self.number = number

    @abstractmethod
    def record(self, folder: Folder, window: Window) -> None:
        """Read and write down. May raise: the worker turns that into the status `crashed` with a sentence."""


@contextlib.contextmanager
def closing(folder: Folder) -> Iterator[Folder]:
    """Closes the folder's files at the end."""
    try:
        yield folder
    finally:
        folder.close()
