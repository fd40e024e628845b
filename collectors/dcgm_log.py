"""Logs of DCGM's diagnostic (nvvs.log and what plugins print): errors of tests, counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from collectors.base import Line, LineCollector, Parsed, share
from collectors.dcgm_messages import Meaning, meaning_of
from diagnose.facts import Source, Subject
from diagnose.facts.validation import DiagnosticResult

_STAMP = r"^\s*(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{3} "
_LINE = re.compile(
    rf"{_STAMP}(?P<level>FATAL|ERROR|WARN|INFO|DEBUG|VERB)\w* +(?:\[\d+:\d+\] +)?(?:\[\[(?P<test>[\w ]+)\]\] +)?"
    r"(?P<text>.*?)\s*(?:[\[(](?:/\S+/)?\w+\.(?:cpp|h):\d+[\])](?: \[[\w:~]+\])?)?$"
)
_STEP = re.compile(rf"{_STAMP}Test [\w ]+ (?:start|end|complete)\w*$")
_OF_DCGM = re.compile(r"/nvvs/|/dcgmlib/|/modules/|\[\[|\(\w+(?:Plugin|Test|Worker)?\.cpp:\d+\)|\.cpp:\d+\] \[\w+::")
_GPU = re.compile(r"\bGPU ?(\d{1,3})\b")
_MAX_KEYS = 1024


@dataclass(slots=True)
class _Seen:
    first: int
    last: int
    count: int
    text: str
    meaning: Meaning | None
    error: bool


class DcgmLog(LineCollector):
    """Errors and warnings of tests, one fact for each test, GPU and message."""

    kind: ClassVar[str] = "dcgm-log"
    literals: ClassVar[tuple[bytes, ...]] = (b"/nvvs/", b"[[", b".cpp:", b" Test ")

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._seen: dict[tuple[str | None, str, int | None, str], _Seen] = {}
        self._lines = 0

    @classmethod
    def resembles(cls, lines: Sequence[str]) -> float:
        """Share of lines with its stamp and level, where any is of its code."""
        return share(lines, _LINE) if any(_OF_DCGM.search(line) for line in lines) else 0.0

    def feed(self, line: Line, host: str | None) -> bool:
        """Take a line of the log; what went well is claimed and leaves no fact."""
        if _STEP.match(line.text):
            return True
        entry = _LINE.match(line.text)
        if entry is None or _OF_DCGM.search(line.text) is None:
            return False
        self._lines += 1
        if entry["level"] in ("ERROR", "FATAL", "WARN"):
            gpu = _GPU.search(entry["text"])
            meaning = meaning_of(entry["text"])
            key = (host, entry["test"] or "", int(gpu[1]) if gpu else None, meaning.code if meaning else entry["text"])
            known = self._seen.get(key)
            if known is not None:
                known.count += 1
                known.last = line.number
            elif len(self._seen) < _MAX_KEYS:
                text = " ".join(entry["text"].split())[:300]
                self._seen[key] = _Seen(line.number, line.number, 1, text, meaning, entry["level"] != "WARN")
        return True

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """Results; an error in the log tells that a test was not carried out as meant, not that the GPU is faulty."""
        parsed = Parsed()
        for (host, test, gpu, _), seen in self._seen.items():
            parsed.facts.append(
                DiagnosticResult(
                    subject=Subject(host=host, gpu_index=gpu),
                    sources=self._sources(seen),
                    tool="dcgm-log",
                    test=test.lower() or "unnamed",
                    outcome="error" if seen.error else "warn",
                    code=seen.meaning.code if seen.meaning else None,
                    value=seen.meaning.value if seen.meaning else None,
                    limit=seen.meaning.limit if seen.meaning else None,
                    message=seen.text,
                )
            )
        if claimed and not self._seen and not self._lines:
            parsed.problems.append("no line of DCGM's log was understood")
        return parsed

    def _sources(self, seen: _Seen) -> tuple[Source, ...]:
        if seen.last == seen.first:
            return (self.source(seen.first),)
        return (self.source(seen.first), self.source(seen.last))
