"""One run of a collective benchmark: what its header and rows say, summed up as a fact."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from diagnose.facts import Missing, Source, Subject
from diagnose.facts.nccl import NcclTest

GIGA = 1e9
"""nccl-tests prints GB/s, decimal."""

_IN_FILE_NAME = re.compile(r"nccl[-_ ]?v?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})*)", re.IGNORECASE)
_OPERATIONS = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoallv": "alltoallv",
    "alltoall": "alltoall",
    "broadcast": "broadcast",
    "sendrecv": "sendrecv",
    "hypercube": "hypercube",
    "gather": "gather",
    "scatter": "scatter",
    "reduce": "reduce",
}
"""Longer names stand before those that they contain."""

UNKNOWN_OPERATION = "unknown"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One size, out of place or in place."""

    size_bytes: int
    seconds: float | None
    algbw_bytes_per_second: float
    busbw_bytes_per_second: float


@dataclass(slots=True)
class Run:
    """Collected line by line; `fact` is None until a row was read."""

    source: Source
    operation: str | None = None
    nccl_version: str | None = None
    hosts: list[str] = field(default_factory=list)
    ranks: int | None = None
    gpu_name: str | None = None
    measurements: list[Measurement] = field(default_factory=list)
    reduces: bool | None = None
    """The rows name a reduction."""
    rooted: bool | None = None
    """The rows name a root rank."""
    wrong: int | None = None
    unchecked: bool = False
    average_bytes_per_second: float | None = None

    def add(self, size: int, microseconds: str, algbw: str, busbw: str) -> bool:
        """Take one measurement as printed; false where its bandwidth is no number (`N/A`)."""
        speed, bus, time = number(algbw), number(busbw), number(microseconds)
        if bus is None or bus < 0:
            return False
        seconds = time / 1e6 if time is not None else None
        self.measurements.append(Measurement(size, seconds, (speed or 0.0) * GIGA, bus * GIGA))
        return True

    def count_wrong(self, cell: str) -> None:
        """Add a `#wrong` cell."""
        wrong = number(cell)
        if wrong is None:
            self.unchecked = True
        elif 0 <= wrong < 1e18:
            self.wrong = (self.wrong or 0) + int(wrong)

    def fact(self, path: str, host: str | None) -> NcclTest | None:
        """The run as a fact."""
        curve: dict[int, float] = {}
        for row in self.measurements:
            if row.size_bytes > 0:
                curve[row.size_bytes] = max(curve.get(row.size_bytes, 0.0), row.busbw_bytes_per_second)
        if not curve:
            return None
        largest, peak = max(curve), max(curve, key=lambda size: curve[size])
        sizes = tuple(sorted(curve))
        unchecked = self.unchecked and self.wrong is None
        return NcclTest(
            subject=Subject(host=next((name for name in self.hosts if name != "localhost"), host)),
            sources=(self.source,),
            operation=self.operation or self._operation_from_rows(path),
            ranks=self.ranks,
            hosts=len(self.hosts) or None,
            gpu_name=self.gpu_name,
            nccl_version=self.nccl_version or version_in_file_name(path),
            largest_size_bytes=largest,
            largest_busbw_bytes_per_second=curve[largest],
            peak_busbw_bytes_per_second=curve[peak],
            peak_size_bytes=peak,
            smallest_latency_seconds=self._latency(sizes[0]),
            wrong_results=self.wrong,
            reported_average_busbw_bytes_per_second=self.average_bytes_per_second,
            sizes_bytes=sizes,
            busbw_by_size_bytes_per_second=tuple(curve[size] for size in sizes),
            missing={"wrong_results": Missing.NOT_APPLICABLE} if unchecked else {},
        )

    def _latency(self, size: int) -> float | None:
        times = [row.seconds for row in self.measurements if row.size_bytes == size and row.seconds]
        return min(times, default=None)

    def _operation_from_rows(self, path: str) -> str:
        """Bus over algorithm bandwidth is 2(n-1)/n for all-reduce and (n-1)/n for reduce-scatter.

        Source: NVIDIA/nccl-tests doc/PERFORMANCE.md. Others share a factor; only the file's name may tell those apart.
        """
        named = operation_named(PurePosixPath(path).name) or UNKNOWN_OPERATION
        if self.rooted:
            return "reduce" if self.reduces else named
        ratios = [
            row.busbw_bytes_per_second / row.algbw_bytes_per_second
            for row in self.measurements
            if row.algbw_bytes_per_second >= GIGA
        ]
        if not self.reduces or not ratios:
            return named
        ratio = sorted(ratios)[len(ratios) // 2]
        if ratio > 1.05:
            return "all_reduce"
        return "reduce_scatter" if ratio < 0.95 else named


def number(text: str) -> float | None:
    """A finite number; None for `N/A` and anything else."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def operation_named(text: str) -> str | None:
    """Operation that a command, a program or a file name contains, e.g. `all_reduce_perf_mpi`."""
    plain = re.sub(r"[^a-z]", "", text.lower())
    return next((name for word, name in _OPERATIONS.items() if word in plain), None)


def version_in_file_name(path: str) -> str | None:
    """`nccl_2.19.3.txt` is a run with 2.19.3; `nccl-tests-2.17.1` names the benchmark and not the library."""
    match = _IN_FILE_NAME.search(PurePosixPath(path).name)
    return match.group(1) if match else None


def version_of_code(code: int) -> str:
    """`22807` is 2.28.7 and `2708` is 2.7.8 (NCCL_VERSION in nccl.h: the factors changed with 2.9)."""
    thousand = 10_000 if code >= 10_000 else 1_000
    return f"{code // thousand}.{code % thousand // 100}.{code % 100}"
