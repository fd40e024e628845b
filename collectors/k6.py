"""k6: the summary at the end of a run as text or JSON, and the single requests of its CSV and JSON outputs.

Durations in summaries of JSON and in outputs are milliseconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from collectors.base import Block, FileCollector, Line, LineCollector, OpenFile, Parsed
from collectors.benchmark_values import Result
from collectors.durations_text import DURATION, duration
from collectors.json_document import JsonDocument
from collectors.json_text import mapping, real
from collectors.piece_reader import reader_of
from collectors.request_builder import RequestBuilder
from collectors.request_columns import Column
from diagnose.facts import Source, Subject

_ROWS = 250_000
_RECORDS = 50_000
_DURATION, _WAITING = "http_req_duration", "http_req_waiting"
_METRICS = {_DURATION: "e2e", _WAITING: "ttft"}
_PERCENTILE = re.compile(r"^p\((\d{1,2}(?:\.\d{1,2})?)\)$")
_TEXT_VALUE = re.compile(rf"\b(avg|min|med|max|p\(\d{{1,2}}(?:\.\d{{1,2}})?\))=({DURATION})")
_TEXT_ROW = re.compile(r"^\W*(http_req\w*|vus_max|iterations)\.{2,}:\s+(?P<rest>.*)$")
_COUNT = re.compile(r"^(\d{1,12})\s+(\d{1,12}(?:\.\d{1,9})?)/s")
_FAILED = re.compile(r"^\d{1,3}(?:\.\d{1,9})?%\s+\D*(\d{1,12})\b")
_COLUMNS = (
    Column("timestamp", "start_seconds", 1.0),
    Column("metric_value", "end_to_end_seconds", 1e-3),
    Column("status", "status", None),
)


def _statistic(name: str) -> str:
    match = _PERCENTILE.match(name)
    return f"p{match.group(1)}" if match else name


class K6Summary(LineCollector):
    """The summary as k6 prints it."""

    kind: ClassVar[str] = "k6-summary"
    literals: ClassVar[tuple[bytes, ...]] = (b"http_req", b"vus_max..", b"iteration_duration..")

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._result = Result("k6")
        self._line = 0

    def feed(self, line: Line, host: str | None) -> bool:
        """Take a row of the summary."""
        match = _TEXT_ROW.match(line.text)
        if match is None:
            return "iteration_duration.." in line.text
        name, rest = match.group(1), match["rest"]
        self._line = self._line or line.number
        if name in _METRICS:
            for statistic, value in _TEXT_VALUE.findall(rest):
                self._result.put(_METRICS[name], _statistic(statistic), duration(value))
        elif name == "http_reqs" and (count := _COUNT.match(rest)):
            self._result.set("completed", float(count[1]))
            self._result.set("requests_per_second", float(count[2]))
        elif name == "http_req_failed" and (failed := _FAILED.match(rest)):
            self._result.set("failed", float(failed[1]))
        elif name == "vus_max" and (count := re.match(r"(\d{1,9})\b", rest)):
            self._result.set("max_concurrency", float(count[1]))
        return True

    def finish(self, total_lines: int, claimed: bool) -> Parsed:
        """One result."""
        if not self._result.measured():
            return Parsed()
        return Parsed([self._result.fact(Subject(), self.source(self._line))])


class K6Json(JsonDocument):
    """`--summary-export`, or what `handleSummary` is given."""

    kind: ClassVar[str] = "k6-json"
    literals: ClassVar[tuple[bytes, ...]] = (b'"http_req_duration"',)

    @classmethod
    def told_by(cls, text: str) -> bool:
        """Its metrics, as one object."""
        return '"metrics"' in text and '"http_req_duration"' in text and '"type":"Point"' not in text.replace(" ", "")

    @classmethod
    def read(cls, block: Block, content: dict[str, Any]) -> Parsed:
        """One result."""
        metrics = mapping(content.get("metrics"))
        result = Result("k6")

        def values(name: str) -> dict[str, Any]:
            found = mapping(metrics.get(name))
            return mapping(found.get("values")) or found

        for name, metric in _METRICS.items():
            for statistic, value in values(name).items():
                milliseconds = real(value)
                result.put(metric, _statistic(statistic), None if milliseconds is None else milliseconds / 1e3)
        result.set("completed", real(values("http_reqs").get("count")))
        result.set("requests_per_second", real(values("http_reqs").get("rate")))
        result.set("failed", real(values("http_req_failed").get("passes")))
        result.set("max_concurrency", real(values("vus_max").get("max", values("vus_max").get("value"))))
        return Parsed([result.fact(block.subject(), block.source())] if result.measured() else [])


class K6Output(FileCollector):
    """`--out csv=...` and `--out json=...`: one row for each sample of each metric."""

    kind: ClassVar[str] = "k6-output"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """The header of the CSV, or the first objects of the JSON lines."""
        if head.startswith(b"metric_name,timestamp,metric_value"):
            return True
        return head.lstrip()[:1] == b"{" and b'"metric":' in head and b'"type":"' in head.replace(b'": "', b'":"')

    @classmethod
    def parse(cls, file: OpenFile) -> Parsed:
        """The requests; everything else is passed over."""
        reader = iter(file.chunks())
        first = next(reader, b"")
        pieces: Iterable[bytes] = (piece for part in ((first,), reader) for piece in part)
        builder = RequestBuilder(_COLUMNS)
        problems: list[str] = []
        if first.startswith(b"metric_name"):
            _csv(pieces, builder, problems)
        else:
            _json(pieces, builder, problems)
        if not builder.rows:
            return Parsed(problems=problems or [f"the output holds no sample of {_DURATION}"])
        parsed = builder.build(Subject(), Source(path=file.name, line=1))
        parsed.problems = problems + parsed.problems
        return parsed


def _csv(pieces: Iterable[bytes], builder: RequestBuilder, problems: list[str]) -> None:
    import pandas as pd

    try:
        frames = pd.read_csv(
            reader_of(iter(pieces)),
            usecols=["metric_name", "timestamp", "metric_value", "status"],
            chunksize=_ROWS,
            on_bad_lines="skip",
            encoding_errors="replace",
        )
        for frame in frames:
            rows = frame[frame["metric_name"] == _DURATION]
            if len(rows):
                builder.add(_begun(rows))
    except (ValueError, pd.errors.ParserError) as error:
        problems.append(f"the table could not be read beyond request {builder.rows:,}: {str(error).strip()[:120]}")


def _begun(rows: Any) -> Any:
    """Stamps are of the end of a request."""
    import pandas as pd

    seconds = pd.to_numeric(rows["timestamp"], errors="coerce")
    return rows.assign(timestamp=seconds - pd.to_numeric(rows["metric_value"], errors="coerce") / 1e3)


def _json(pieces: Iterable[bytes], builder: RequestBuilder, problems: list[str]) -> None:
    import pandas as pd

    damaged = 0

    def flush(rows: list[dict[str, Any]]) -> None:
        if rows:
            frame = pd.DataFrame.from_records(rows)
            times = pd.to_datetime(frame["timestamp"], errors="coerce", utc=True, format="ISO8601")
            seconds = (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
            builder.add(_begun(frame.assign(timestamp=seconds)))
            rows.clear()

    waiting: list[dict[str, Any]] = []
    for line in _lines(pieces):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            damaged += 1
            continue
        data = mapping(mapping(record).get("data"))
        value = real(data.get("value"))
        if mapping(record).get("type") == "Point" and value is not None:
            status = mapping(data.get("tags")).get("status")
            waiting.append({"timestamp": str(data.get("time")), "metric_value": value, "status": status})
        if len(waiting) >= _RECORDS:
            flush(waiting)
    flush(waiting)
    if damaged:
        problems.append(f"{damaged:,} lines are no records: damaged or cut")


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    wanted = f'"{_DURATION}"'.encode()
    for piece in pieces:
        yield from (line for line in piece.split(b"\n") if wanted in line)
