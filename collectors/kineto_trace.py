"""Traces of PyTorch's profiler (Kineto) in Chrome's JSON format, of one rank each, plain or compressed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, ClassVar

from collectors.base import FileCollector, OpenFile, Parsed
from collectors.kineto_columns import Columns
from collectors.trace_json import TraceJson
from diagnose.facts import Source, Subject
from diagnose.facts.trace import TraceProfile

MOST_ROWS = 20_000_000
"""Events of use that are kept: some 2 GB of memory, from traces of some 5 GB."""

_OF_PYTORCH = (
    b'"deviceProperties"',
    b'"distributedInfo"',
    b'"traceName"',
    b'"record_shapes"',
    b'"baseTimeNanoseconds"',
)
_EVENT = re.compile(rb'"ph"\s*:\s*"[A-Za-z]"')
_RANK_IN_NAME = re.compile(r"(?:^|[^a-z])(?:rank|worker)[_-]?(\d{1,6})(?!\d)", re.IGNORECASE)


class KinetoTrace(FileCollector):
    """One rank's trace: columns for the analysis, and a fact that tells what was recorded."""

    kind: ClassVar[str] = "kineto-trace"

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """An object with PyTorch's keys or with events, or an array of events as the old profiler wrote it."""
        text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if text.startswith(b"["):
            is_row = text[1:].lstrip().startswith(b"{")
            return is_row and _EVENT.search(text) is not None and b'"name"' in text and b'"ts"' in text
        if not text.startswith(b"{"):
            return False
        return b'"traceEvents"' in text or (b'"schemaVersion"' in text and any(key in text for key in _OF_PYTORCH))

    @classmethod
    def parse(cls, file: OpenFile) -> Parsed:
        """Read up to the end, to the cut, or to the limit."""
        reader = TraceJson(file.binary())
        columns = Columns()
        parsed = Parsed()
        stopped = False
        for event in reader.events():
            columns.take(event)
            if columns.rows >= MOST_ROWS:
                stopped = True
                break
        so_far = f"{columns.events:,} events in {reader.read_bytes / 1e6:,.1f} MB ({columns.span_seconds:.3f} s)"
        if stopped:
            parsed.problems.append(f"the trace is larger than what is read at once; {so_far} were read")
        if reader.cut:
            parsed.problems.append(f"the trace ends early, as when the profiler is killed; {so_far} were read")
        if reader.damaged:
            parsed.problems.append(f"damaged parts were left out ({reader.damaged:,}); {so_far} were read")
        if columns.unusable:
            parsed.problems.append(
                f"events without a possible time were left out ({columns.unusable:,}); {so_far} were read"
            )
        if not columns.rows:
            parsed.problems.append("the trace holds no operators or kernels of PyTorch's profiler")
            return parsed
        complete = not (stopped or reader.cut)
        rank, world_size = _identity(reader.header, file.name)
        columns.python_stacks |= reader.header.get("with_stack") == 1
        label = f"rank {rank}" if rank is not None else PurePosixPath(file.name.rpartition("!")[2]).name
        subject, sources = Subject(rank=rank), (Source(path=file.name),)
        parsed.facts.append(
            TraceProfile(
                subject=subject,
                sources=sources,
                trace=label,
                events=columns.events,
                span_seconds=columns.span_seconds,
                gpu_events=columns.gpu_events,
                host_events=columns.host_events,
                python_stacks=columns.python_stacks,
                complete=complete,
                world_size=world_size,
            )
        )
        parsed.series.append(columns.finish(subject, sources, label, complete))
        return parsed


def _identity(header: Mapping[str, Any], name: str) -> tuple[int | None, int | None]:
    """Rank and size of the job: as the trace tells, else the rank as the file's name does."""
    told = header.get("distributedInfo")
    told = told if isinstance(told, dict) else {}
    rank, size = (
        value if type(value) is int and 0 <= value < 1 << 31 else None
        for value in map(told.get, ("rank", "world_size"))
    )
    if rank is None and (found := _RANK_IN_NAME.findall(PurePosixPath(name).name)):
        rank = int(found[-1])
    return rank, size
