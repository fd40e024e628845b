"""Summaries of AIPerf and of genai-perf, its predecessor: statistics of each metric with its unit, as JSON or CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.benchmark_values import Result, number
from collectors.json_document import JsonDocument
from collectors.json_text import mapping, real
from collectors.request_columns import UNITS

_METRICS = {
    "time_to_first_token": "ttft",
    "inter_token_latency": "itl",
    "request_latency": "e2e",
    "time_per_output_token": "tpot",
}
_FIELDS = {
    "request_throughput": "requests_per_second",
    "output_token_throughput": "output_tokens_per_second",
    "request_count": "completed",
    "error_request_count": "failed",
    "benchmark_duration": "duration_seconds",
}
_CONCURRENCY = re.compile(r'"concurrency"\s*:\s*(\d{1,7})')
_RATE = re.compile(r'"request_rate"\s*:\s*(\d{1,7}(?:\.\d{1,6})?)')
_WORDS = re.compile(r"[^a-z0-9]+")
_UNIT = re.compile(r"\(([^()]{1,20})\)\s*$")


class AiperfJson(JsonDocument):
    """`profile_export_aiperf.json` and `profile_export_genai_perf.json`."""

    kind: ClassVar[str] = "aiperf-json"
    literals: ClassVar[tuple[bytes, ...]] = (b'"request_latency"', b'"time_to_first_token"', b'"request_throughput"')

    @classmethod
    def told_by(cls, text: str) -> bool:
        """A metric that is an object with its unit, and the rates that go with it."""
        return (
            '"unit"' in text
            and '"avg"' in text
            and ('"request_throughput"' in text or '"output_token_throughput"' in text)
            and ('"request_latency"' in text or '"time_to_first_token"' in text)
        )

    @classmethod
    def read(cls, block: Block, content: dict[str, Any]) -> Parsed:
        """One result."""
        statistics = {name: mapping(value) for name, value in content.items() if isinstance(value, dict)}
        text = "\n".join(block.texts())
        tool = "aiperf" if "aiperf" in f"{text} {block.path}" else "genai-perf"
        concurrency, rate = _CONCURRENCY.search(text), _RATE.search(text)
        result = _result(tool, ((name, _unit(row), row) for name, row in statistics.items()))
        result.load(float(rate.group(1)) if rate else None, float(concurrency.group(1)) if concurrency else None)
        return Parsed([result.fact(block.subject(), block.source())] if result.measured() else [])


def _unit(row: Mapping[str, Any]) -> str:
    return str(row.get("unit", ""))


def _result(tool: str, rows: Iterator[tuple[str, str, Mapping[str, Any]]]) -> Result:
    result = Result(tool)
    for name, unit, row in rows:
        if name in _METRICS and unit in UNITS:
            for statistic, value in row.items():
                seconds = real(value)
                result.put(_METRICS[name], statistic, None if seconds is None else seconds * UNITS[unit])
        elif name in _FIELDS:
            value = real(row.get("avg", row.get("value")))
            scale = UNITS.get(unit, 1.0) if name == "benchmark_duration" else 1.0
            result.set(_FIELDS[name], None if value is None else value * scale)
    return result


class AiperfCsv(BlockCollector):
    """The same as CSV: a table of statistics, then one of single values."""

    kind: ClassVar[str] = "aiperf-csv"
    literals: ClassVar[tuple[bytes, ...]] = (b"Metric,",)
    reopens: ClassVar[bool] = False

    @classmethod
    def opens(cls, text: str) -> bool:
        """The head of the table of statistics."""
        return text.startswith("Metric,") and ("avg" in text or "p99" in text)

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """One result."""
        tool = "aiperf" if "aiperf" in block.path else "genai-perf"
        result = _result(tool, _csv_rows(block.lines))
        return Parsed([result.fact(block.subject(), block.source())] if result.measured() else [])


def _csv_rows(lines: Any) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    names: list[str] = []
    line: Line
    for line in lines:
        try:
            cells = next(csv.reader([line.text]), [])
        except csv.Error:
            continue
        if cells and cells[0].strip() == "Metric":
            names = [cell.strip().lower() for cell in cells]
        elif len(cells) >= 2 and names:
            unit = _UNIT.search(cells[0])
            bare = cells[0][: unit.start()] if unit else cells[0]
            row = {
                name: value
                for name, cell in zip(names[1:], cells[1:], strict=False)
                if (value := number(cell)) is not None
            }
            yield "_".join(word for word in _WORDS.split(bare.lower()) if word), unit.group(1) if unit else "", row
