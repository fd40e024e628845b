"""The table that vLLM's and SGLang's serving benchmarks print, in all its ages; others borrowed the layout."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import ClassVar

from collectors.base import Block, BlockCollector, Line, Parsed
from collectors.benchmark_values import Result, is_redacted, number

_HEADER = re.compile(r"={3,}[^=]*\bBenchmark Result\b[^=]*={3,}")
_LOAD = re.compile(r"^(?:Traffic request rate|Starting (?:initial|main) .{0,40}run)\b")
_END = re.compile(r"^\s*={20,}\s*$")
_ROW = re.compile(r"^\s*(?P<name>[A-Za-z][^:]{1,60}?):\s+(?P<value>\S.*?)\s*$")
_STATISTIC = re.compile(
    r"^(?P<statistic>mean|median|max|p\d{1,2}(?:\.\d)?) (?P<metric>ttft|tpot|itl|e2el|e2e latency|e2e) "
    r"\((?P<unit>ms|s)\)$"
)
_METRICS = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e", "e2e latency": "e2e", "e2e": "e2e"}
_FIELDS = {
    "successful requests": "completed",
    "failed requests": "failed",
    "benchmark duration (s)": "duration_seconds",
    "total input tokens": "input_tokens",
    "total generated tokens": "output_tokens",
    "request throughput (req/s)": "requests_per_second",
    "output token throughput (tok/s)": "output_tokens_per_second",
    "concurrency": "mean_concurrency",
}
_RATES = ("traffic request rate", "request rate configured (rps)")
_CONCURRENCIES = ("max request concurrency", "max reqeuest concurrency", "maximum request concurrency")


class BenchmarkConsole(BlockCollector):
    """One fact for each table."""

    kind: ClassVar[str] = "serving-benchmark-table"
    literals: ClassVar[tuple[bytes, ...]] = (b" Benchmark Result ", b"Traffic request rate: ")
    reopens: ClassVar[bool] = False
    interleaved: ClassVar[bool] = True
    command: ClassVar[re.Pattern[str] | None] = re.compile(
        r"\bvllm bench serve\b|\bbenchmark_serving\.py\b|\bsglang\.bench_serving\b"
    )

    @classmethod
    def opens(cls, text: str) -> bool:
        """The table's head, or the load that is told when the run begins."""
        return _HEADER.search(text) is not None or _LOAD.match(text) is not None

    @classmethod
    def closes(cls, text: str) -> bool:
        """The rule below the table."""
        return _END.match(text) is not None

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """The tables of a block; what stands above the first belongs to it."""
        parsed = Parsed()
        load: dict[str, str] = {}
        for lines in _tables(block):
            head = _HEADER.search(lines[0].text)
            rows = {match["name"].lower(): match["value"] for line in lines if (match := _ROW.match(line.text))}
            if head is None:
                load = {name: value for name, value in rows.items() if name in (*_RATES, *_CONCURRENCIES)}
            else:
                _read(block, lines[0], {**load, **rows}, parsed)
        return parsed


def _tables(block: Block) -> Iterator[list[Line]]:
    number_of = 0

    def table(line: Line) -> int:
        nonlocal number_of
        number_of += _HEADER.search(line.text) is not None
        return number_of

    for _, lines in groupby(block.lines, key=table):
        yield list(lines)


def _read(block: Block, head: Line, rows: dict[str, str], parsed: Parsed) -> None:
    backend = rows.get("backend", "").lower()
    result = Result("sglang-bench" if backend else "serving-bench")
    if backend and not is_redacted(backend):
        result.set("engine", backend.split("-")[0])
    result.load(
        next((_rate(rows[name]) for name in _RATES if name in rows), None),
        next((number(rows[name]) for name in _CONCURRENCIES if name in rows), None),
    )
    redacted: list[str] = []
    damaged: list[str] = []
    for name, text in rows.items():
        match = _STATISTIC.match(name)
        if match is None and name not in _FIELDS:
            continue
        value = number(text)
        if value is None:
            (redacted if is_redacted(text) else damaged).append(f"{name}: {text[:20]}")
        elif match is not None:
            scale = 1e-3 if match["unit"] == "ms" else 1.0
            result.put(_METRICS[match["metric"]], match["statistic"], value * scale)
        else:
            result.set(_FIELDS[name], value)
    if redacted:
        parsed.problems.append(
            f"line {head.number}: {len(redacted)} values of this benchmark are blacked out (`{redacted[0]}`)"
        )
    if damaged:
        parsed.problems.append(f"line {head.number}: {len(damaged)} values are no numbers (`{damaged[0]}`)")
    if result.measured():
        parsed.facts.append(result.fact(block.subject(), block.source(head)))


def _rate(text: str) -> float | None:
    return float("inf") if text.lower() == "inf" else number(text)
