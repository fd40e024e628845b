"""Triton's perf_analyzer: the CSV of its report, microseconds by load, and the requests of its profile export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

from collectors.base import Block, BlockCollector, FileCollector, OpenFile, Parsed
from collectors.benchmark_values import Result, number
from collectors.cells import cells
from collectors.json_text import items, mapping, whole
from diagnose.facts import Fact, Source, Subject
from diagnose.facts.series import Clock, Requests
from diagnose.facts.serving import ServingLatency

_LARGEST = 192 << 20
_PARTS = {
    "client send": "client",
    "client recv": "client",
    "network+server send/recv": "network",
    "server queue": "queue",
    "server compute input": "compute-input",
    "server compute infer": "compute",
    "server compute output": "compute-output",
}
_MICRO = 1e-6


class PerfAnalyzerCsv(BlockCollector):
    """One result for each load, and where its time went."""

    kind: ClassVar[str] = "perf-analyzer-csv"
    literals: ClassVar[tuple[bytes, ...]] = (b"Inferences/Second,",)

    @classmethod
    def opens(cls, text: str) -> bool:
        """The head of the table."""
        return text.startswith(("Concurrency,Inferences/Second,", "Request Rate,Inferences/Second,"))

    @classmethod
    def parse(cls, block: Block) -> Parsed:
        """The rows."""
        names = [name.lower() for name in cells(block.lines[0].text)]
        parsed = Parsed()
        for line in block.lines[1:]:
            row = {name: value for name, cell in zip(names, cells(line.text), strict=False)
                   if (value := number(cell)) is not None}  # fmt: skip
            if row.get("inferences/second") is not None:
                parsed.facts += _facts(row, block.subject(), block.source(line))
        return parsed


def _facts(row: dict[str, float], subject: Subject, source: Source) -> Iterator[Fact]:
    result = Result("perf-analyzer")
    result.set("engine", "triton")
    result.load(row.get("request rate"), row.get("concurrency"))
    result.set("requests_per_second", row["inferences/second"])
    for name, value in row.items():
        if name.endswith(" latency"):
            result.put("e2e", name.split()[0], value * _MICRO)
    yield result.fact(subject, source)
    parts: dict[str, float] = {}
    for name, part in _PARTS.items():
        if name in row:
            parts[part] = parts.get(part, 0.0) + row[name] * _MICRO
    for part, seconds in parts.items():
        yield ServingLatency(
            subject=subject, sources=(source,), metric=part, origin="report", engine="triton", mean_seconds=seconds
        )


class ProfileExport(FileCollector):
    """`--profile-export-file`, also `profile_export.json` of genai-perf: stamps of every request and its responses."""

    kind: ClassVar[str] = "perf-analyzer-requests"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Its outer objects."""
        return head.lstrip()[:1] == b"{" and b'"experiments"' in head and b'"experiment"' in head

    @classmethod
    def parse(cls, file: OpenFile) -> Parsed:
        """A table of requests for each experiment."""
        pieces: list[bytes] = []
        size = 0
        for piece in file.chunks():
            size += len(piece)
            if size > _LARGEST:
                return Parsed(problems=[f"the export is larger than {_LARGEST >> 20} MB: export fewer requests"])
            pieces.append(piece)
        try:
            content = mapping(json.loads(b"".join(pieces)))
        except (ValueError, RecursionError):
            return Parsed(problems=["line 1: the JSON is damaged or incomplete"])
        tables = (_requests(item, Source(path=file.name, line=1)) for item in items(content.get("experiments"), dict))
        parsed = Parsed(series=[table for table in tables if table is not None])
        if not parsed.series:
            parsed.problems.append("the export holds no request with responses")
        return parsed


def _requests(experiment: dict[str, Any], source: Source) -> Requests | None:
    import numpy as np

    rows: list[tuple[float, float, float, float]] = []
    gaps: list[float] = []
    for request in items(experiment.get("requests"), dict):
        start = whole(request.get("timestamp"))
        answers = [value for item in request.get("response_timestamps") or [] if (value := whole(item)) is not None]
        if start is None or not answers or answers[0] < start:
            continue
        waits = [(later - earlier) * 1e-9 for earlier, later in pairwise(answers)]
        gaps += waits
        mean = sum(waits) / len(waits) if waits else float("nan")
        rows.append((start * 1e-9, (answers[0] - start) * 1e-9, (answers[-1] - start) * 1e-9, mean))
    if not rows:
        return None
    table = np.array(rows, np.float64)
    streamed = bool(gaps)
    columns = {"start_seconds": table[:, 0], "end_to_end_seconds": table[:, 2]}
    if streamed:
        columns |= {"ttft_seconds": table[:, 1], "itl_seconds": table[:, 3]}
    since_1970 = 1e9 < float(table[0, 0]) < 1e10
    clock = Clock.UTC if since_1970 else Clock.RELATIVE
    return Requests(Subject(), columns, clock, (source,), np.array(gaps, np.float32) if streamed else None)
