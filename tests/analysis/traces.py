"""Traces written event by event, in which all times are chosen, and what is made of them."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from benchmarks.synthetic_trace import Job, document, run
from collectors.base import Parsed
from collectors.kineto_trace import KinetoTrace
from diagnose.analysis.trace_features import features
from diagnose.facts import Fact

Event = dict[str, Any]
Kind = TypeVar("Kind", bound=Fact)
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


class Opened:
    """A file in memory, as file collectors get it."""

    path: Path | None = None

    def __init__(self, data: bytes, name: str = "trace.json") -> None:
        self.name = name
        self._data = data

    def binary(self) -> BinaryIO:
        return io.BytesIO(self._data)

    def chunks(self) -> Iterator[bytes]:
        raise AssertionError("a trace is read as bytes")


def event(category: str, name: str, start: float, duration: float, *, tid: Any = 1, **arguments: Any) -> Event:
    """A complete event; times in microseconds."""
    row = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": start, "dur": duration}
    return {**row, "args": arguments}


def kernel(
    start: float,
    duration: float,
    *,
    launch: int = 0,
    name: str = "gemm",
    stream: int = 7,
    told: Mapping[str, Any] | None = None,
) -> Event:
    """A kernel; `launch` is its correlation, `told` what newer versions tell of a collective."""
    row = event("kernel", name, start, duration, tid=stream, device=0, stream=stream, correlation=launch)
    row["args"] |= {"grid": [8, 1, 1], **(told or {})}
    return row


def launch(start: float, correlation: int, duration: float = 5.0) -> Event:
    """The call that launches a kernel."""
    return event("cuda_runtime", "cudaLaunchKernel", start, duration, correlation=correlation)


def text(events: Sequence[Event], **header: Any) -> str:
    """A trace's JSON as the profiler writes it."""
    return json.dumps({"schemaVersion": 1, "deviceProperties": [], **header, "traceEvents": events, "traceName": "t"})


def parsed(content: str | bytes, name: str = "trace.json") -> Parsed:
    """What the collector makes of a file."""
    data = content.encode() if isinstance(content, str) else content
    return KinetoTrace.parse(Opened(data, name))


def facts_of(*contents: str, names: Sequence[str] | None = None) -> list[Fact]:
    """Facts and features of traces."""
    found = [parsed(content, names[at] if names else f"trace{at}.json") for at, content in enumerate(contents)]
    facts = [fact for item in found for fact in item.facts]
    return [*facts, *features([series for item in found for series in item.series], facts)]


def job_facts(job: Job, *, old: bool = False) -> list[Fact]:
    """Facts and features of all ranks of a made-up job."""
    courses = run(job)
    return facts_of(
        *(document(job, course, old=old) for course in courses),
        names=[f"rank{course.rank}.pt.trace.json" for course in courses],
    )


def only(kind: type[Kind], facts: Iterable[Fact]) -> Kind:
    """The one fact of a kind."""
    (found,) = [fact for fact in facts if isinstance(fact, kind)]
    return found


def write(folder: Path, job: Job, *, old: bool = False) -> None:
    """A compressed file for each rank."""
    for course in run(job):
        data = document(job, course, old=old).encode()
        (folder / f"rank{course.rank}.pt.trace.json.gz").write_bytes(gzip.compress(data, 1))
