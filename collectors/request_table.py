"""Tables with a row for each request: CSV in any of its dialects, JSON lines, lists in JSON, Parquet.

Which column means what, and in which unit, is told by names (`collectors.request_columns`). Text is read in pieces, so
that millions of rows need little more memory than the numbers that are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import chain, islice
from typing import Any, ClassVar

from collectors.base import FileCollector, OpenFile, Parsed
from collectors.content import encoding_of
from collectors.delimited_text import HEADER_BYTES, Counted, dialect_of
from collectors.piece_reader import reader_of
from collectors.request_builder import RequestBuilder
from collectors.request_columns import NO_HINTS, UNITS, Hints, request_columns
from diagnose.facts import Source, Subject

_ROWS = 250_000
_RECORDS = 50_000
_LARGEST_JSON = 128 << 20
_LARGEST_PARQUET = 1 << 30
_DEPTH = 4
_KEYS = 200
_OURS = re.compile(r'\{\s*"schema"\s*:\s*"diagnose\.')
"""What this program writes itself, such as the manifest of a recording, whose times are no requests'."""
_KEY = re.compile(r'"((?:[^"\\]|\\.){1,80})"\s*:\s*(?=[-\d"tfn])')


class RequestTable(FileCollector):
    """One table of requests for each file."""

    kind: ClassVar[str] = "request-table"
    hints: ClassVar[Hints] = NO_HINTS

    @classmethod
    def told(cls, hints: Hints) -> type[RequestTable]:
        """The collector that knows what the reader says of columns."""
        return type(cls.__name__, (cls,), {"hints": hints})

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """A header, or the keys of a first record, that tell of requests; any Parquet file."""
        if head.startswith(b"PAR1"):
            return True
        text = head.decode(encoding_of(head) or "utf-8", "replace").lstrip("\ufeff").lstrip()
        if _OURS.match(text):
            return False
        if _is_json(text):
            return bool(request_columns(_keys(text), cls.hints))
        dialect = dialect_of(text)
        return dialect is not None and bool(request_columns(dialect.names, cls.hints))

    @classmethod
    def parse(cls, file: OpenFile) -> Parsed:
        """The table; where a unit or a time base cannot be told, a problem that says how to tell it."""
        reader = iter(file.chunks())
        first = next(reader, b"")
        if not first:
            # What is no text has no pieces of text.
            return _parquet(file, cls.hints)
        text = first[:HEADER_BYTES].decode("utf-8", "replace").lstrip()
        pieces = chain((first,), reader)
        if text.startswith("["):
            return _json_list(file.name, pieces, cls.hints)
        if text.startswith("{"):
            return _json_lines(file.name, pieces, cls.hints)
        return _csv(file.name, text, pieces, cls.hints)


def _is_json(text: str) -> bool:
    """Whether records begin here: one in each line, or a list of them. A document over several lines is no record."""
    if text.startswith("{"):
        first, end, _ = text.partition("\n")
        return not end or first.rstrip().endswith("}")
    return re.match(r"\[\s*\{", text) is not None


def _csv(name: str, text: str, pieces: Iterable[bytes], hints: Hints) -> Parsed:
    import pandas as pd

    dialect = dialect_of(text)
    columns = request_columns(dialect.names, hints) if dialect is not None else []
    if dialect is None or not columns:
        return Parsed()
    if dialect.longer:
        return Parsed(
            problems=[
                f"line {dialect.skipped + 2}: rows have more cells than the header names, as with a decimal comma "
                "between commas: separate the cells by semicolons or write decimal points"
            ]
        )
    builder = RequestBuilder(columns)
    counted = Counted(pieces, dialect.separator)
    broken = False
    problems = [
        f"column {column.name!r} is there more than once: the first one counts"
        for column in columns
        if column.name in dialect.repeated
    ]
    try:
        frames = pd.read_csv(
            reader_of(iter(counted)),
            sep=dialect.separator,
            decimal=dialect.decimal,
            usecols=[column.name for column in columns if column.meaning != "id"],
            names=dialect.names,
            index_col=False,
            skiprows=dialect.skipped + 1,
            skipinitialspace=True,
            chunksize=_ROWS,
            on_bad_lines="skip",
            encoding_errors="replace",
            low_memory=True,
        )
        for frame in frames:
            builder.add(frame)
    except (ValueError, pd.errors.ParserError) as error:
        broken = True
        problems.append(f"the table could not be read beyond row {builder.rows:,}: {str(error).strip()[:120]}")
    lost = counted.lines - dialect.skipped - 1 - builder.rows
    if lost > 0 and not broken:
        problems.append(f"{lost:,} lines are no rows of the table and were left out")
    more = counted.separators - (len(dialect.names) - 1) * (builder.rows + 1)
    if more > 0 and not counted.quoted and not dialect.skipped and len(dialect.names) > 1:
        problems.append(f"rows have {more:,} cells more than the header names; those were left out")
    return _built(builder, name, dialect.skipped + 1, problems)


def _built(builder: RequestBuilder, name: str, line: int, problems: list[str]) -> Parsed:
    if not builder.rows:
        return Parsed(problems=[*problems, "the table has no rows"])
    parsed = builder.build(Subject(), Source(path=name, line=line))
    parsed.problems = [*problems, *parsed.problems]
    return parsed


def flat(record: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Names and values of an object and of those in it; `{"value": 3, "unit": "ms"}` is one value with its unit."""
    unit = record.get("unit")
    if prefix and "value" in record and isinstance(unit, str):
        yield (f"{prefix} ({unit})" if unit in UNITS else prefix), record["value"]
        return
    for name, value in record.items():
        full = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(value, dict):
            if depth < _DEPTH:
                yield from flat(value, full, depth + 1)
        else:
            yield full, value


def _keys(text: str) -> list[str]:
    """Names in the first record of JSON text, which may be cut."""
    start = text.find("{")
    try:
        record, _ = json.JSONDecoder().raw_decode(text, start)
        return [name for name, value in flat(record) if not isinstance(value, list)]
    except (ValueError, RecursionError, AttributeError):
        end = text.find("}", start)
        found = _KEY.findall(text[start : end if end > 0 else None])
        return list(dict.fromkeys(found))[:_KEYS]


def _json_list(name: str, pieces: Iterable[bytes], hints: Hints) -> Parsed:
    data: list[bytes] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > _LARGEST_JSON:
            limit = _LARGEST_JSON >> 20
            return Parsed(problems=[f"the list is larger than {limit} MB: write it as JSON lines, one record a line"])
        data.append(piece)
    try:
        content = json.loads(b"".join(data))
    except (ValueError, RecursionError):
        return Parsed(problems=["line 1: the JSON is damaged or incomplete"])
    return _records(name, (item for item in content if isinstance(item, dict)), hints, [])


def _json_lines(name: str, pieces: Iterable[bytes], hints: Hints) -> Parsed:
    damaged = [0]

    def records() -> Iterator[dict[str, Any]]:
        for piece in pieces:
            for line in piece.split(b"\n"):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    record = None
                if isinstance(record, dict):
                    yield record
                else:
                    damaged[0] += 1

    problems: list[str] = []
    parsed = _records(name, records(), hints, problems)
    if damaged[0]:
        parsed.problems.insert(0, f"{damaged[0]:,} lines are no records: damaged or cut")
    return parsed


def _records(name: str, records: Iterator[dict[str, Any]], hints: Hints, problems: list[str]) -> Parsed:
    import pandas as pd

    first = list(islice(records, _KEYS))
    names = list(dict.fromkeys(key for record in first for key, _ in flat(record)))
    columns = request_columns(names, hints)
    if not columns:
        return Parsed(problems=["no name in the records tells of a latency"] if first else ["the table has no rows"])
    wanted = {column.name for column in columns}
    builder = RequestBuilder(columns)
    rest = chain(first, records)
    while rows := [
        {key: value for key, value in flat(record) if key in wanted and not _is_no_cell(value)}
        for record in islice(rest, _RECORDS)
    ]:
        builder.add(pd.DataFrame.from_records(rows))
    return _built(builder, name, 1, problems)


def _is_no_cell(value: object) -> bool:
    """Whether a value of a record is none that a column of a table can hold."""
    return isinstance(value, list) or (isinstance(value, int) and not -(1 << 63) <= value < 1 << 63)


def _parquet(file: OpenFile, hints: Hints) -> Parsed:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        return Parsed(problems=["reading Parquet needs pyarrow: install the extra `parquet`"])
    source: Any = str(file.path) if file.path is not None else None
    if source is None:
        data = file.binary().read(_LARGEST_PARQUET + 1)
        if len(data) > _LARGEST_PARQUET:
            return Parsed(problems=["the Parquet file is within an archive and too large: unpack it first"])
        source = BytesIO(data)
    try:
        table = parquet.ParquetFile(source)
        columns = request_columns(table.schema_arrow.names, hints)
        if not columns:
            return Parsed(
                problems=["no column of the Parquet file tells of requests: name one with `--column e2e=...`"]
            )
        builder = RequestBuilder(columns)
        wanted = [column.name for column in columns if column.meaning != "id"]
        for batch in table.iter_batches(batch_size=_ROWS, columns=wanted):
            builder.add(batch.to_pandas())
    except (OSError, ValueError, KeyError) as error:
        return Parsed(problems=[f"the Parquet file is damaged: {str(error).strip()[:120]}"])
    return _built(builder, file.name, 1, [])
