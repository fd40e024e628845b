"""What the parts of the kernel log collector share: a line placed in time, and the count of one kind of event."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, Protocol

from collectors.kernel_timeline import Moment, Timeline
from diagnose.facts import Fact, Source, Subject
from diagnose.facts import normalise_bus_id as _normalise_bus_id

MAX_KEYS = 4096
"""Different events of one sort that are counted in one file; a log that names more devices is not a real one."""
MAX_DETAIL = 300
"""Characters of a line that a fact quotes."""

DEVICE = re.compile(r"\b((?:[0-9a-fA-F]{4,8}:)[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)\b")
"""A PCI address with its domain, as the kernel writes it."""


normalise_bus_id = lru_cache(maxsize=1024)(_normalise_bus_id)
"""Logs name few devices many times."""


class Heard(NamedTuple):
    """A log line taken apart and placed in time."""

    message: str
    number: int
    host: str | None
    tag: str | None
    moment: Moment
    time: datetime | None
    repeats: int
    stamped: bool


@dataclass(slots=True)
class Count:
    """Occurrences of one kind of event. Holds a fixed amount however many lines there are."""

    first: Heard
    last_number: int
    last_time: datetime | None
    total: int = 0
    earliest: float | None = None
    latest: float | None = None
    by_wall: bool = False
    latest_by_clock: dict[str, float] = field(default_factory=dict)
    """For each clock that placed a line, the latest time (wall) or number of the boot (monotonic)."""

    @classmethod
    def of(cls, heard: Heard) -> Count:
        """The first occurrence."""
        count = cls(heard, heard.number, heard.time, by_wall=heard.moment.wall_seconds is not None)
        count.add(heard)
        return count

    def add(self, heard: Heard) -> None:
        """One more line."""
        self.total += heard.repeats
        self.last_number = heard.number
        self.last_time = heard.time
        clock, beginning = heard.moment.boot
        place = beginning if heard.moment.wall_seconds is None else heard.moment.wall_seconds
        self.latest_by_clock[clock] = max(self.latest_by_clock.get(clock, place), place)
        seconds = heard.moment.wall_seconds if self.by_wall else heard.moment.monotonic_seconds
        if seconds is not None:
            self.earliest = seconds if self.earliest is None else min(self.earliest, seconds)
            self.latest = seconds if self.latest is None else max(self.latest, seconds)

    def merge(self, other: Count) -> None:
        """Take in another count of the same kind of event, which began later."""
        self.total += other.total
        for clock, place in other.latest_by_clock.items():
            self.latest_by_clock[clock] = max(self.latest_by_clock.get(clock, place), place)
        if other.last_number > self.last_number:
            self.last_number, self.last_time = other.last_number, other.last_time

    @property
    def span_seconds(self) -> float | None:
        """From the first to the last occurrence."""
        if self.earliest is None or self.latest is None:
            return None
        return round(self.latest - self.earliest, 6)

    def sources(self, path: str) -> tuple[Source, ...]:
        """The first and the last line."""
        first = Source(path=path, line=self.first.number, time=self.first.time)
        if self.last_number == self.first.number:
            return (first,)
        return (first, Source(path=path, line=self.last_number, time=self.last_time))


@dataclass(slots=True)
class Identities:
    """What the driver's own lines say of the GPUs in the log."""

    gpus: dict[str | None, dict[str, str | None]]
    """Host to bus id of a GPU to its UUID."""

    def learn(self, heard: Heard) -> None:
        """Remember a GPU that a line names: `GPU at PCI:0000:9b:00: GPU-...`, `NVRM: GPU 0000:9b:00.0:`."""
        text = heard.message
        if "NVRM: " not in text and "nvidia " not in text and "nouveau " not in text:
            return
        match = _GPU_LINE.search(text)
        if match is None:
            return
        bus_id = normalise_bus_id(match[1])
        known = self.gpus.setdefault(heard.host, {})
        if bus_id is None or len(known) >= MAX_KEYS:
            return
        known[bus_id] = match[2] or known.get(bus_id)

    def subject(self, host: str | None, bus_id: str | None, certain: bool = False) -> Subject:
        """The device as subject: as GPU too where the log, or the caller (`certain`), knows it for one."""
        if bus_id is None:
            return Subject(host=host)
        known = self.gpus.get(host, {})
        if bus_id in known:
            return Subject(host=host, gpu_bus_id=bus_id, bus_id=bus_id, gpu_uuid=known[bus_id])
        return Subject(host=host, bus_id=bus_id, gpu_bus_id=bus_id if certain else None)


_GPU_LINE = re.compile(
    r"(?:NVRM: GPU (?:at )?(?:PCI:)?|NVRM: Xid \((?:PCI:)?|\b(?:nvidia|nouveau) )"
    r"([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.0)?)\b[):.]*"
    r"(?:\s*(GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?"
)


@dataclass(slots=True)
class Context:
    """What facts need to know of the whole file."""

    path: str
    identities: Identities
    timelines: dict[str | None, Timeline]

    def is_before_last_boot(self, host: str | None, boot: tuple[str, float]) -> bool:
        """Whether the log shows a later boot of the host."""
        timeline = self.timelines.get(host)
        return timeline is not None and timeline.is_before_last_boot(boot)

    def is_past(self, count: Count) -> bool:
        """Whether every occurrence lies before the last boot that the log shows."""
        return all(self.is_before_last_boot(count.first.host, place) for place in count.latest_by_clock.items())


class Tally(Protocol):
    """Counts one family of lines."""

    def take(self, heard: Heard) -> bool:
        """Count a line; false where it is none of this family's."""

    def facts(self, context: Context) -> Iterable[Fact]:
        """What was counted."""


def quoted(message: str) -> str:
    """The line as a fact quotes it."""
    return " ".join(message.split())[:MAX_DETAIL]
