"""Latencies that benchmarks print one a line: `Latency of step 12: 1.85 ms` (SuperBench's distributed inference)."""

from __future__ import annotations

import re
from array import array
from typing import ClassVar

from collectors.base import Line, LineCollector, Parsed
from collectors.request_columns import UNITS
from diagnose.facts import Subject
from diagnose.facts.series import Clock, Requests

_ROW = re.compile(r"\bLatency of step \d{1,12}: (\d{1,12}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,3})?) (s|ms|us|ns)\b")
_MOST = 10_000_000


class StepLatency(LineCollector):
    """One table; steps follow each other without a pause that is told."""

    kind: ClassVar[str] = "step-latency"
    literals: ClassVar[tuple[bytes, ...]] = (b"Latency of step ",)

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._seconds = array("d")
        self._line = 0

    def feed(self, line: Line, host: str | None) -> bool:
        """Take a row."""
        match = _ROW.search(line.text)
        if match is None:
            return False
        self._line = self._line or line.number
        if len(self._seconds) < _MOST:
            self._seconds.append(float(match[1]) * UNITS[match[2]])
        return True

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """The table."""
        import numpy as np

        columns = {"end_to_end_seconds": np.array(self._seconds)}
        return Parsed(series=[Requests(Subject(), columns, Clock.RELATIVE, (self.source(self._line),))])
