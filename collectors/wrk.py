"""Reports of wrk and wrk2. Both keep their connections; wrk2 sends at a rate and counts from when it should have."""

from __future__ import annotations

import re
from typing import ClassVar

from collectors.base import Block, BlockCollector, Parsed
from collectors.benchmark_values import Result
from collectors.durations_text import DURATION, duration
from collectors.hdr_histogram import table_values

_PERCENTILE = re.compile(rf"^\s+(\d{{2,3}}(?:\.\d{{1,3}})?)%\s+({DURATION})\s*$")
_STATISTICS = re.compile(rf"^\s+Latency\s+({DURATION})\s+{DURATION}\s+({DURATION})\s")
_CONNECTIONS = re.compile(r"\band (\d{1,7}) connections\b")
_TOTAL = re.compile(rf"^\s+(\d{{1,12}}) requests in ({DURATION}),")
_RATE = re.compile(r"^Requests/sec:\s+(\d{1,12}(?:\.\d{1,6})?)")
_ERRORS = re.compile(r"Socket errors: connect (\d{1,9}), read (\d{1,9}), write (\d{1,9}), timeout (\d{1,9})")
_STATUS = re.compile(r"Non-2xx or 3xx responses: (\d{1,12})")


class Wrk(BlockCollector):
    """One result."""

    kind: ClassVar[str] = "wrk"
    literals: ClassVar[tuple[bytes, ...]] = (b" test @ ", b"Transfer/sec:")
    command: ClassVar[re.Pattern[str] | None] = re.compile(r"\bwrk2?\b.*\bhttps?://")

    @classmethod
    def opens(cls, text: str) -> bool:
        """The first line."""
        return text.startswith("Running ") and " test @ " in text

    @classmethod
    def closes(cls, text: str) -> bool:
        """The last line."""
        return text.startswith("Transfer/sec:")

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """Statistics, percentiles, and the detailed spectrum where it was asked for."""
        text = "\n".join(block.texts())
        wrk2 = "HdrHistogram" in text or "Thread calibration" in text
        result = Result("wrk2" if wrk2 else "wrk")
        failed = 0
        for line in block.texts():
            if match := _PERCENTILE.match(line):
                result.put("e2e", f"p{float(match[1]):g}", duration(match[2]))
            elif match := _STATISTICS.match(line):
                result.put("e2e", "mean", duration(match[1]))
                result.put("e2e", "max", duration(match[2]))
            elif match := _CONNECTIONS.search(line):
                result.load(None, float(match[1]))
            elif match := _TOTAL.match(line):
                result.set("completed", float(match[1]))
                result.set("duration_seconds", duration(match[2]))
            elif match := _RATE.match(line):
                result.set("requests_per_second", float(match[1]))
            elif (match := _ERRORS.search(line)) or (match := _STATUS.search(line)):
                failed += sum(int(part) for part in match.groups())
        for name, value in table_values(block.lines).items():
            # wrk2 prints its spectrum in milliseconds.
            result.put("e2e", name, value / 1e3)
        if wrk2:
            result.set("load_model", "open")
        result.set("failed", failed)
        return Parsed([result.fact(block.subject(), block.source())] if result.measured() else [])
