"""sysstat: `sar` and `pidstat` as text, and `sadf -d`, which writes the same with semicolons.

    Linux 5.15.0-91-generic (gpu01)     02/03/2026      _x86_64_        (128 CPU)

    10:00:01 AM     CPU     %user     %nice   %system   %iowait    %steal     %idle
    10:00:02 AM     all      5.02      0.00      1.20      0.10      0.00     93.68

    # hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
    gpu01;1;2026-02-03 10:00:02 UTC;-1;5.02;0.00;1.20;0.10;0.00;93.68

The text tells local times without dates, the day stands on top; sadf tells UTC unless it is asked not to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.series_columns import SeriesColumns
from collectors.sysstat_columns import row_values
from diagnose.facts import Fact, Subject
from diagnose.facts.load import CpuLoad
from diagnose.facts.series import Clock, Series

_BANNER = re.compile(r"^Linux \S+ \(([^()\s]{1,253})\)\s+(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4})\b")
_SADF_TITLES = re.compile(r"^# hostname;interval;timestamp;")
_TIME = re.compile(r"^(\d\d):(\d\d):(\d\d)(?: (AM|PM))?\s+(\S.*)$")
_DATES = ("%m/%d/%Y", "%Y-%m-%d", "%m/%d/%y", "%d.%m.%Y", "%d/%m/%Y")
_TITLE_WORD = re.compile(r"[%A-Za-z]")


class Sysstat(BlockCollector):
    """Reports of one day."""

    kind: ClassVar[str] = "sysstat"
    literals: ClassVar[tuple[bytes, ...]] = (b"Linux ", b"# hostname;interval;timestamp")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\b(?:sar|pidstat|sadf)\b")
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The banner with host and day, or the titles of sadf."""
        return _BANNER.match(text) is not None or _SADF_TITLES.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Series, and what the processors did typically."""
        reader = _Reader(block)
        for line in block.lines:
            reader.take(line.number, line.text)
        series = reader.series()
        if not reader.rows:
            return Parsed(problems=[f"line {block.lines[0].number}: no row of values under titles"])
        return Parsed(_facts(series), series=[*series])


class _Reader:
    def __init__(self, block: Block) -> None:
        self._block = block
        self._host = block.host
        self._day: datetime | None = None
        self._last = timedelta(0)
        self._titles: Sequence[str] = ()
        self._columns = {clock: SeriesColumns(clock) for clock in Clock}
        self.rows = 0

    def take(self, number: int, text: str) -> None:
        """One line."""
        if (banner := _BANNER.match(text)) is not None:
            self._host, self._day, self._last = banner[1], _day(banner[2]), timedelta(0)
        elif _SADF_TITLES.match(text):
            self._titles = text[2:].split(";")
        elif self._titles and self._titles[0] == "hostname":
            self._sadf(number, text)
        elif (match := _TIME.match(text)) is not None:
            self._row(number, match)

    def _row(self, number: int, match: re.Match[str]) -> None:
        words = match[5].split()
        if _is_titles(words):
            if words != self._titles:
                self._titles, self._last = words, timedelta(0)
            return
        if len(words) > len(self._titles) and self._titles[-1:] == ["Command"]:
            words = [*words[: len(self._titles) - 1], " ".join(words[len(self._titles) - 1 :])]
        if len(words) != len(self._titles):
            return
        hours = int(match[1]) % 12 + (12 if match[4] == "PM" else 0) if match[4] else int(match[1])
        at = timedelta(hours=hours, minutes=int(match[2]), seconds=int(match[3]))
        at += timedelta(days=self._last.days)
        if self._last - at > timedelta(hours=12):
            # The same table goes on after midnight.
            at += timedelta(days=1)
        self._last = at
        clock = Clock.LOCAL if self._day is not None else Clock.RELATIVE
        day = self._day or datetime(1970, 1, 1, tzinfo=UTC)
        self._put(number, dict(zip(self._titles, words, strict=True)), (day + at).timestamp(), clock)

    def _sadf(self, number: int, text: str) -> None:
        cells = text.split(";")
        if len(cells) != len(self._titles):
            return
        row = dict(zip(self._titles, cells, strict=True))
        self._host = row["hostname"] or self._host
        stamp = row["timestamp"]
        try:
            at = datetime.strptime(stamp[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
        except ValueError:
            return
        self._put(number, row, at, Clock.UTC if stamp.endswith("UTC") else Clock.LOCAL)

    def _put(self, number: int, row: dict[str, str], seconds: float, clock: Clock) -> None:
        self.rows += 1
        for metric, subject, value in row_values(row, Subject(host=self._host)):
            self._columns[clock].put(metric, subject, seconds, value, self._block.source(number))

    def series(self) -> list[Series]:
        """What became long enough."""
        return [one for columns in self._columns.values() for one in columns.series()]


def _is_titles(words: Sequence[str]) -> bool:
    """Titles are words, of which one at least is no name of a device: it has a `%`, a `/s`, or is in capitals."""
    told = any(word.startswith("%") or word.endswith("/s") or word in ("PID", "runq-sz", "kbavail") for word in words)
    return told and all(_TITLE_WORD.match(word) for word in words)


def _day(text: str) -> datetime | None:
    for form in _DATES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _facts(series: Sequence[Series]) -> list[Fact]:
    """Typical load of each host."""
    by_host: dict[str | None, dict[str, Series]] = {}
    for one in series:
        if one.metric.startswith("cpu_") and one.subject.process_id is None:
            by_host.setdefault(one.subject.host, {})[one.metric] = one
    facts: list[Fact] = []
    for host, found in by_host.items():
        typical = {metric: float(median(one.values.tolist())) for metric, one in found.items()}
        first = next(iter(found.values()))
        waiting = found.get("cpu_runnable_tasks")
        facts.append(
            CpuLoad(
                subject=Subject(host=host),
                sources=first.sources,
                interval_seconds=float(first.times_seconds[-1] - first.times_seconds[0]),
                busy_ratio=typical.get("cpu_busy_ratio"),
                iowait_ratio=typical.get("cpu_iowait_ratio"),
                steal_ratio=typical.get("cpu_steal_ratio"),
                runnable_tasks=int(typical["cpu_runnable_tasks"]) if waiting is not None else None,
                runnable_tasks_max=int(waiting.values.max()) if waiting is not None else None,
            )
        )
    return facts
