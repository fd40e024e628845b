"""The fabric manager's own log: `[Dec 19 2024 19:17:49] [ERROR] [tid 1374] ...`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from collectors.base import Line, LineCollector, Parsed, share
from diagnose.facts import Source, Subject, normalise_bus_id
from diagnose.facts.kernel import Sxid, SystemMessage

_LINE = re.compile(r"^\[\w{3} \d{1,2} \d{4} \d\d:\d\d:\d\d\] \[(\w+)\s*\] \[tid \d+\] (.*)$")
_SXID = re.compile(
    r"(?:^|\s)detected NVSwitch (non-fatal|fatal) error (\d{3,5})\b.*?pci bus id ([0-9a-fA-F:.]+)"
    r"(?:.*? port (\d{1,3}))?",
    re.IGNORECASE,
)
_CONTINUATION = re.compile(
    r"^(?:Message payload details:|\s+Index: \d+\s+Physical Id: |\s+Link [Mm]ask|Fabric Manager Log initializing|\.$)"
)
"""Further lines of one entry: inband messages and tables of devices."""

_MESSAGES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("fabric-manager-version-mismatch", re.compile(r"version \S+ do(?:es)?n'?t? ?(?:not )?match with driver version")),
    (
        "fabric-manager-failed",
        re.compile(r"(?i)failed to (?:initialize|start|open|configure|detect)|initialization failed"),
    ),
    ("fabric-manager-failed", re.compile(r"(?i)NVSwitch.*(?:is in degraded|not detected|not found|failed)")),
    (
        "fabric-manager-nvlink-failed",
        re.compile(r"(?i)nvlink.*(?:training failed|failed to train|not trained|missing connection)"),
    ),
)
_MAX_KEYS = 4096


@dataclass(slots=True)
class _Seen:
    first: int
    last: int
    count: int
    text: str
    fatal: bool | None = None


class FabricManagerLog(LineCollector):
    """Errors of switches and of the fabric manager itself, counted."""

    kind: ClassVar[str] = "fabric-manager-log"
    literals: ClassVar[tuple[bytes, ...]] = (
        b"] [ERROR",
        b"] [CRITICAL",
        b"] [WARNING",
        b"detected NVSwitch",
        b"] [INFO] [tid ",
    )

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._sxids: dict[tuple[str | None, str, int | None, int], _Seen] = {}
        self._messages: dict[tuple[str | None, str], _Seen] = {}

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Share of lines that are of this log, its further lines without a stamp included."""
        return share(lines, re.compile(f"{_LINE.pattern}|{_CONTINUATION.pattern}"))

    def feed(self, line: Line, host: str | None) -> bool:
        """Count a line of this log, or fabric manager's own words about a switch in another one."""
        entry = _LINE.match(line.text)
        text = entry[2] if entry is not None else line.text
        sxid = _SXID.search(text)
        if sxid is not None:
            self._count_sxid(line, host, sxid, text)
            return True
        if entry is None:
            return _CONTINUATION.match(line.text) is not None
        if entry[1] in ("ERROR", "CRITICAL", "FATAL", "WARNING"):
            self._count_message(line, host, text)
        return True

    def _count_sxid(self, line: Line, host: str | None, match: re.Match[str], text: str) -> None:
        bus_id = normalise_bus_id(match[3].rstrip("."))
        if bus_id is None:
            return
        key = (host, bus_id, int(match[4]) if match[4] else None, int(match[2]))
        fatal = match[1].lower() == "fatal"
        _count(self._sxids, key, line.number, text[match.start() :], fatal)

    def _count_message(self, line: Line, host: str | None, text: str) -> None:
        code = next((code for code, pattern in _MESSAGES if pattern.search(text)), None)
        if code is not None:
            _count(self._messages, (host, code), line.number, text)

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """SXid facts for each switch, port and code; one fact for each known message."""
        parsed = Parsed()
        for (host, bus_id, port, code), seen in self._sxids.items():
            parsed.facts.append(
                Sxid(
                    subject=Subject(host=host, bus_id=bus_id, link=port),
                    sources=self._sources(seen),
                    code=code,
                    count=seen.count,
                    fatal=seen.fatal,
                    detail=seen.text,
                )
            )
        for (host, name), seen in self._messages.items():
            parsed.facts.append(
                SystemMessage(
                    subject=Subject(host=host),
                    sources=self._sources(seen),
                    code=name,
                    count=seen.count,
                    detail=seen.text,
                )
            )
        return parsed

    def _sources(self, seen: _Seen) -> tuple[Source, ...]:
        if seen.last == seen.first:
            return (self.source(seen.first),)
        return (self.source(seen.first), self.source(seen.last))


_Key = TypeVar("_Key")


def _count(counts: dict[_Key, _Seen], key: _Key, number: int, text: str, fatal: bool | None = None) -> None:
    known = counts.get(key)
    if known is not None:
        known.count += 1
        known.last = number
    elif len(counts) < _MAX_KEYS:
        counts[key] = _Seen(number, number, 1, " ".join(text.split())[:300], fatal)
