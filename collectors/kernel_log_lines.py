"""Takes a log line apart: when, on which host, by whom, and the message itself.

Kernel messages reach files in many dresses: `dmesg` (seconds since boot, human time, ISO), syslog with and without a
year, journalctl short and JSON, raw /dev/kmsg, crash dumps with priorities, and no stamp at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

_EPOCH = datetime(1970, 1, 1)
_ASSUMED_YEAR = 2000
"""Stands for a year that no line gives: a leap year, so that 29 February exists."""

_PRIORITY = re.compile(r"^<\d{1,3}>\s*")
_DECODED = re.compile(
    r"^(kern|user|daemon|auth|syslog|local\d|\d+)\s*:\s*(?:emerg|alert|crit|err|warn|notice|info|debug)\s*:\s*"
)
_KMSG = re.compile(r"^\d{1,4},\d+,(\d+),[^;]{1,40};")
_SECONDS = re.compile(r"^\[\s*(\d+\.\d+)(?:@\d+)?\]\s?(?:\[\s*[TC]\d+\]\s?)?")
_DELTA = re.compile(r"^\[(?:\s*\+\d+\.\d+|\s*<\s*[\d.]+>|\S{1,12}\s+\d\d:\d\d)\]\s?")
_HUMAN = re.compile(r"^\[\s*\S+\s+(\S+)\s+(\d{1,2})\s+(\d\d):(\d\d):(\d\d)\s+(\d{4})\]\s?")
_ISO = re.compile(
    r"^(?:([^\W\d]{2,4})\.?\s+)?(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:([.,])(\d+))?"
    r"\s?(Z|[+-]\d\d:?\d\d)?(?(1)(?:\s?[A-Z]{2,5}(?=\s))?)\s+"
)
"""Only journalctl's long form, which begins with the day of the week, names the zone in letters."""
_SYSLOG = re.compile(r"^(\d{1,2}[月월]|[^\W\d]{3,9}\.?)\s+(\d{1,2})\s+(\d\d):(\d\d):(\d\d)(?:\.\d+)?\s+")
_HOST_AND_TAG = re.compile(r"^(\S*[^\s:])\s+([^\s:\[]+)(?:\[\d+\])?:(?:\s|$)")
_TAG = re.compile(r"^(kernel|[\w.@/-]+(?=\[\d+\]))(?:\[\d+\])?:\s")
_REPEATED = re.compile(r"^message repeated (\d+) times: \[ ?(.*?)\]?$")

_MONTHS: Mapping[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "jan ene gen janv oca sty янв led",
            "feb fev fév févr şub lut фев úno",
            "mar mär mrz mrt mars мар bře",
            "apr abr avr avri nis kwi апр dub",
            "may mai mag maj mei май мая kvě",
            "jun juin giu haz cze июн čer",
            "jul juil lug tem lip июл čvc",
            "aug ago aoû août ağu sie авг srp",
            "sep set sept eyl wrz сен zář",
            "oct okt ott out eki paź окт říj",
            "nov kas lis ноя",
            "dec dez déc dic des ara gru дек pro",
        ),
        start=1,
    )
    for word in words.split()
}
"""First three or four letters of month names as C locales abbreviate them, without the point."""


class LogLine(NamedTuple):
    """A line taken apart. `message` begins after stamp, host and tag."""

    message: str
    host: str | None = None
    tag: str | None = None
    """Program that wrote it, `kernel` for the kernel where syslog or the journal says so."""
    wall_seconds: float | None = None
    """Local time as seconds; comparable within one file only, for most stamps name no zone and some no year."""
    monotonic_seconds: float | None = None
    """Seconds since boot."""
    time: datetime | None = None
    """Absolute time, only where the stamp names the zone."""
    stamped: bool = False
    repeats: int = 1
    """How many times the message was logged, where syslog folded repetitions into one line."""


@lru_cache(maxsize=256)
def month_number(word: str) -> int | None:
    """Month of an abbreviation in the usual locales: `Nov`, `dec`, `11月`, `févr.`; None where it is none."""
    text = word.lower().rstrip(".")
    if text[-1:] in ("月", "월") and text[:-1].isdecimal():
        number = int(text[:-1])
        return number if 1 <= number <= 12 else None
    return _MONTHS.get(text[:4]) or _MONTHS.get(text[:3])


class LineReader:
    """Reads lines of one file in order; remembers the year, which syslog stamps leave out."""

    def __init__(self) -> None:
        self._year = _ASSUMED_YEAR
        self._month: int | None = None

    def read(self, text: str) -> LogLine:
        """Take one line apart; a line without a stamp comes back as message alone."""
        if text.startswith("{"):
            entry = self._from_json(text)
            if entry is not None:
                return entry
        rest = _PRIORITY.sub("", text, count=1) if text.startswith("<") else text
        decoded = _DECODED.match(rest) if ":" in rest[:8] else None
        if decoded is not None:
            rest = rest[decoded.end() :]
        # The first character tells which forms are possible; storms of messages make millions of lines.
        if rest.startswith("["):
            entry = self._bracketed(rest)
        elif rest[:1].isdecimal():
            entry = self._kmsg(rest) or self._iso(rest) or self._syslog(rest)
        else:
            entry = self._syslog(rest) or self._iso(rest)
        if entry is None:
            return LogLine(text.strip())
        if decoded is not None and entry.tag is None:
            entry = entry._replace(tag="kernel" if decoded[1] == "kern" else decoded[1])
        return _unfold(entry)

    def _kmsg(self, text: str) -> LogLine | None:
        match = _KMSG.match(text)
        if match is None:
            return None
        return LogLine(text[match.end() :], None, "kernel", monotonic_seconds=int(match[1]) / 1e6, stamped=True)

    def _bracketed(self, text: str) -> LogLine | None:
        match = _SECONDS.match(text)
        if match is not None:
            message = text[match.end() :].removeprefix("kernel: ")
            return LogLine(message, monotonic_seconds=float(match[1]), stamped=True)
        match = _HUMAN.match(text)
        if match is not None:
            month, day, hour, minute, second, year = match.groups()
            wall = _wall(int(year), month_number(month), day, hour, minute, second)
            self._year = int(year)
            return LogLine(text[match.end() :], tag="kernel", wall_seconds=wall, stamped=True)
        match = _DELTA.match(text)
        return LogLine(text[match.end() :], stamped=True) if match is not None else None

    def _iso(self, text: str) -> LogLine | None:
        match = _ISO.match(text)
        if match is None:
            return None
        _, year, month, day, hour, minute, second, mark, fraction, zone = match.groups()
        wall = _wall(int(year), int(month), day, hour, minute, second)
        if wall is not None and fraction:
            wall += float(f"0.{fraction[:6]}")
        self._year = int(year)
        rest = text[match.end() :]
        # dmesg writes a comma before the fraction and names no host; syslog and journalctl write a point and name one.
        # Programs of other sorts write a comma too, but no zone.
        dmesg = mark == "," and zone is not None
        host, tag, message = (None, "kernel", rest) if dmesg else _host_and_tag(rest)
        return _with_inner_seconds(LogLine(message, host, tag, wall, time=_absolute(match[0], zone), stamped=True))

    def _syslog(self, text: str) -> LogLine | None:
        match = _SYSLOG.match(text)
        if match is None:
            return None
        word, day, hour, minute, second = match.groups()
        month = month_number(word)
        if month is None:
            return None
        self._turn_year(month)
        wall = _wall(self._year, month, day, hour, minute, second)
        host, tag, message = _host_and_tag(text[match.end() :])
        return _with_inner_seconds(LogLine(message, host, tag, wall, stamped=True))

    def _turn_year(self, month: int) -> None:
        """December followed by January is a new year; the reverse is an older part of the log put after a newer one."""
        if self._month is not None:
            if self._month - month > 6:
                self._year += 1
            elif month - self._month > 6:
                self._year -= 1
        self._month = month

    def _from_json(self, text: str) -> LogLine | None:
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(record, dict) or "MESSAGE" not in record:
            return None
        message = _json_text(record["MESSAGE"])
        micros = _json_number(record.get("__REALTIME_TIMESTAMP"))
        monotonic = _json_number(record.get("__MONOTONIC_TIMESTAMP"))
        time = datetime.fromtimestamp(micros / 1e6, tz=UTC) if micros is not None and 0 <= micros < 4e15 else None
        return LogLine(
            message,
            _json_text(record.get("_HOSTNAME")) or None,
            _json_text(record.get("SYSLOG_IDENTIFIER") or record.get("_TRANSPORT")) or None,
            micros / 1e6 if time is not None and micros is not None else None,
            monotonic / 1e6 if monotonic is not None else None,
            time,
            stamped=True,
        )


def _json_text(value: Any) -> str:
    """A journal field as text; journalctl prints a message that is not UTF-8 as a list of bytes."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode("utf-8", "replace")
    return ""


def _json_number(value: Any) -> int | None:
    text = str(value) if isinstance(value, str | int) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def _host_and_tag(rest: str) -> tuple[str | None, str | None, str]:
    match = _HOST_AND_TAG.match(rest)
    if match is not None:
        return match[1], match[2], rest[match.end() :]
    match = _TAG.match(rest)
    return (None, match[1], rest[match.end() :]) if match is not None else (None, None, rest)


def _with_inner_seconds(line: LogLine) -> LogLine:
    """syslog keeps the kernel's own stamp in the message."""
    match = _SECONDS.match(line.message) if line.message.startswith("[") else None
    if match is None or line.tag not in ("kernel", None):
        return line
    return line._replace(message=line.message[match.end() :], monotonic_seconds=float(match[1]))


def _unfold(line: LogLine) -> LogLine:
    if not line.message.startswith("message repeated"):
        return line
    match = _REPEATED.match(line.message)
    if match is None:
        return line
    inner = _SECONDS.sub("", match[2], count=1)
    return line._replace(message=inner, repeats=min(int(match[1][:9]), 1_000_000))


@lru_cache(maxsize=256)
def _wall(year: int, month: int | None, day: str, hour: str, minute: str, second: str) -> float | None:
    if month is None:
        return None
    try:
        return (datetime(year, month, int(day), int(hour), int(minute), min(int(second), 59)) - _EPOCH).total_seconds()
    except ValueError:
        return None


def _absolute(stamp: str, zone: str | None) -> datetime | None:
    """The moment as a zoned datetime, where the stamp has a zone."""
    if zone is None or not stamp[0].isdecimal():
        return None
    text = stamp.strip().replace(",", ".").replace("Z", "+00:00")
    fraction = re.sub(r"\.(\d{1,6})\d*", lambda match: f".{match[1]:0<6}", text)
    try:
        return datetime.fromisoformat(fraction)
    except ValueError:
        return None
