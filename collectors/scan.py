"""Reads files, folders and standard input: each goes once through all collectors, and nothing is lost in silence."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from collectors.archive import archive_format, open_archive
from collectors.base import BlockCollector, FileCollector, LineCollector, Parsed
from collectors.compression import Limits
from collectors.dispatch import Dispatch
from collectors.inputs import FileResult, InputReport, LineCount, Readings, Status
from collectors.offers import offer, unrecognised
from collectors.parts import Parts
from collectors.scanner import Scanner
from collectors.stream import TextStream, open_source
from collectors.walk import walk
from collectors.wrapping import WRAPPED_BYTES, unwrap
from diagnose.facts import Fact
from diagnose.facts.kernel import KernelLogSpan
from diagnose.facts.series import Measurement

_UNKNOWN_SHOWN = 100
"""Unrecognised parts of one archive that are named one by one: a support archive holds thousands of small files."""
_NOT_READ = {"archive": Status.SKIPPED, "binary": Status.UNRECOGNISED}


def read_inputs(
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    progress: Callable[[str], None] | None = None,
    block_collectors: Sequence[type[BlockCollector]] | None = None,
    line_collectors: Sequence[type[LineCollector]] | None = None,
    more_line_collectors: Sequence[type[LineCollector]] = (),
    more_file_collectors: Sequence[type[FileCollector]] = (),
) -> Readings:
    """Facts and reports of all paths in the order given; folders with all below them; `-` is standard input.

    Never raises on what it reads: what cannot be read becomes a report. `progress` is told what is being read. Without
    other word all collectors are asked, and `more_line_collectors` and `more_file_collectors` before them.
    """
    dispatch = _dispatch(block_collectors, line_collectors, more_line_collectors, more_file_collectors)
    readings = Readings()
    for found in walk(paths):
        if isinstance(found, InputReport):
            readings.inputs.append(found)
            continue
        result = _read(found.path, found.name, dispatch, stdin=stdin, progress=progress)
        readings.facts.extend(result.facts)
        readings.inputs.extend(result.reports)
        readings.series.extend(result.series)
    return readings


def scan_file(
    path: Path | None,
    name: str,
    block_collectors: Sequence[type[BlockCollector]] | None = None,
    line_collectors: Sequence[type[LineCollector]] | None = None,
    *,
    stdin: BinaryIO | None = None,
    limits: Limits | None = None,
) -> FileResult:
    """Facts and reports of one file, or of standard input for None; `name` is what reports and sources call it."""
    return _read(path, name, _dispatch(block_collectors, line_collectors), stdin=stdin, limits=limits)


def _dispatch(
    block_collectors: Sequence[type[BlockCollector]] | None,
    line_collectors: Sequence[type[LineCollector]] | None,
    more_line_collectors: Sequence[type[LineCollector]] = (),
    more_file_collectors: Sequence[type[FileCollector]] = (),
) -> Dispatch:
    # Importing all collectors takes longer than a quick check may, which names the few that it needs.
    if block_collectors is None or line_collectors is None:
        from collectors.registry import BLOCK_COLLECTORS, FILE_COLLECTORS, LINE_COLLECTORS

        all_are_asked = block_collectors is None and line_collectors is None
        return Dispatch(
            BLOCK_COLLECTORS if block_collectors is None else block_collectors,
            (*more_line_collectors, *(LINE_COLLECTORS if line_collectors is None else line_collectors)),
            (*more_file_collectors, *FILE_COLLECTORS) if all_are_asked else (),
        )
    return Dispatch(block_collectors, line_collectors)


def _read(
    path: Path | None,
    name: str,
    dispatch: Dispatch,
    *,
    stdin: BinaryIO | None,
    limits: Limits | None = None,
    progress: Callable[[str], None] | None = None,
) -> FileResult:
    if path is None and stdin is not None:
        return scan_source(stdin, name, dispatch, limits, progress)
    try:
        with open_source(path) as source:
            return scan_source(source, name, dispatch, limits, progress)
    except OSError as error:
        return FileResult(name, [], [unreadable(name, error)])


def unreadable(name: str, error: OSError) -> InputReport:
    """The report of a file that cannot be opened."""
    return InputReport(
        path=name, kind="file", status=Status.UNREADABLE, detail=error.strerror or str(error) or type(error).__name__
    )


def scan_source(
    source: BinaryIO,
    name: str,
    dispatch: Dispatch,
    limits: Limits | None = None,
    progress: Callable[[str], None] | None = None,
) -> FileResult:
    """Facts and reports of an open source of bytes."""
    stream = TextStream(source, limits)
    if archive_format(stream) is not None:
        return _scan_archive(stream, name, dispatch, progress)
    return scan_stream(stream, name, dispatch, progress)


def _scan_archive(
    stream: TextStream, name: str, dispatch: Dispatch, progress: Callable[[str], None] | None
) -> FileResult:
    """All members of an archive as one result."""
    facts: list[Fact] = []
    series: list[Measurement] = []
    reports: list[InputReport] = []
    lines = LineCount()
    unknown = 0
    for found in open_archive(stream, name):
        if isinstance(found, InputReport):
            reports.append(found)
            continue
        result = scan_stream(found.stream, found.name, dispatch, progress)
        facts += result.facts
        series += result.series
        lines += result.lines
        for report in result.reports:
            unknown += report.status is Status.UNRECOGNISED
            if report.status is not Status.UNRECOGNISED or unknown <= _UNKNOWN_SHOWN:
                reports.append(report)
    if unknown > _UNKNOWN_SHOWN:
        detail = f"{unknown - _UNKNOWN_SHOWN:,} more parts are in no known format"
        reports.append(InputReport(path=name, kind="archive", status=Status.UNRECOGNISED, detail=detail))
    return FileResult(name, facts, reports, lines, series)


def scan_stream(
    stream: TextStream, name: str, dispatch: Dispatch, progress: Callable[[str], None] | None = None
) -> FileResult:
    """Facts and reports of one file whose beginning was read already."""
    for collector in dispatch.file_collectors:
        parts = Parts(name)
        if parts.guard(collector.kind, 1, partial(collector.recognises, stream.head, name), False):
            if progress is not None:
                progress(f"reading {name}")
            return _whole_file(collector, stream, parts)
    if stream.not_text is not None:
        return FileResult(
            name,
            [],
            [
                InputReport(
                    path=name,
                    kind=stream.not_text.kind,
                    status=_NOT_READ[stream.not_text.kind],
                    detail=stream.not_text.reason,
                )
            ],
        )
    parts = Parts(name)
    scanner = Scanner(dispatch, parts)
    kept: list[bytes] = []
    size = 0
    for chunk in stream.chunks():
        if progress is not None:
            progress(f"reading {name}, line {scanner.total_lines + 1:,}")
        scanner.read(chunk)
        size += len(chunk)
        kept = [*kept, chunk] if size <= WRAPPED_BYTES else []
    scanner.close()
    result = _result(scanner, dispatch, parts, stream.problems)
    return _unwrapped(b"".join(kept), result, dispatch, stream.problems) if kept else result


@dataclass(frozen=True, slots=True)
class _Opened:
    """A stream as file collectors see it."""

    name: str
    stream: TextStream

    @property
    def path(self) -> Path | None:
        source = self.stream.seekable_source
        plain = isinstance(source, io.BufferedReader) and isinstance(source.raw, io.FileIO)
        return Path(source.name) if source is not None and plain and isinstance(source.name, str) else None

    def binary(self) -> BinaryIO:
        return self.stream.raw()

    def chunks(self) -> Iterator[bytes]:
        return self.stream.chunks()


def _whole_file(collector: type[FileCollector], stream: TextStream, parts: Parts) -> FileResult:
    """What the one collector that owns the file made of it."""
    parsed = parts.guard(collector.kind, 1, partial(collector.parse, _Opened(parts.path, stream)), Parsed())
    parsed.problems += stream.problems
    parts.add(collector.kind, parsed, 1)
    return FileResult(
        parts.path, parsed.facts, [parts.part(collector.kind, 1).report(parts.path)], series=parsed.series
    )


def _kinds(facts: Sequence[Fact]) -> set[str]:
    """Kinds of facts that show that a text was understood; that lines have stamps does not."""
    return {fact.kind for fact in facts if not isinstance(fact, KernelLogSpan)}


def _unwrapped(data: bytes, result: FileResult, dispatch: Dispatch, problems: list[str]) -> FileResult:
    """The reading of what stands within marks and quotations, where it tells all that the text does, and more.

    More of the same is no reason: launchers mark lines of ranks, and those marks tell what the lines are of.
    """
    facts: list[Fact] = []
    series: list[Measurement] = []
    reports: list[InputReport] = []
    for text in unwrap(data):
        parts = Parts(result.path)
        scanner = Scanner(dispatch, parts, text.host)
        scanner.read(text.data())
        scanner.close()
        inner = _result(scanner, dispatch, parts, problems)
        facts += inner.facts
        series += inner.series
        reports += inner.reports
    if not _kinds(result.facts) < _kinds(facts):
        return result
    lines = LineCount(result.lines.total, claimed=result.lines.total - result.lines.blank, blank=result.lines.blank)
    return FileResult(result.path, facts, reports, lines, series)


def _result(scanner: Scanner, dispatch: Dispatch, parts: Parts, problems: list[str]) -> FileResult:
    blank = missed = 0
    claimed = scanner.claimed_lines
    unknown = []
    for region in scanner.leftovers.regions:
        if region.blank:
            blank += region.lines
        elif offer(region, dispatch, scanner.feeders, parts):
            claimed += region.lines
        else:
            missed += region.lines
            unknown.append(region)
    scanner.feeders.finish(scanner.total_lines)
    found = parts.in_order()
    for part in found:
        for sentence in problems:
            part.add_problem(sentence)
    reports = [part.report(parts.path) for part in found]
    reports += unrecognised(parts.path, unknown, whole_file=not found)
    if not reports:
        reports.append(_without_text(parts.path, scanner.total_lines, problems))
    elif not found and problems:
        reports[0] = reports[0].model_copy(update={"detail": "; ".join([reports[0].detail or "", *problems])})
    return FileResult(
        parts.path,
        [fact for part in found for fact in part.facts],
        reports,
        LineCount(scanner.total_lines, claimed, missed, blank),
        [item for part in found for item in part.series],
    )


def _without_text(path: str, lines: int, problems: list[str]) -> InputReport:
    if problems:
        return InputReport(path=path, kind="file", status=Status.UNREADABLE, detail="; ".join(problems))
    detail = "The file holds only blank lines and rulers" if lines else "The file is empty"
    return InputReport(path=path, kind="text", status=Status.UNRECOGNISED, detail=detail, lines=lines)
