"""Writes traces as PyTorch's profiler does, of a job whose course is computed beforehand: what is in them is known.

A host launches kernels one after the other, a GPU works through its streams, and collectives begin when the work before
them is done and end on all ranks together. Every rank's clock has an offset of its own.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMPUTE_STREAM, COPY_STREAM, COLLECTIVE_STREAM = 7, 24, 20
_CALL_US = 4.0
_ON_ITS_WAY_US = 5.0
_GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel"
_OPERATORS = ("aten::linear", "aten::addmm", "aten::native_layer_norm", "aten::gelu", "aten::mul", "aten::copy_")


@dataclass(frozen=True)
class Job:
    """What the ranks do; times in microseconds."""

    ranks: int = 1
    steps: int = 4
    kernels: int = 200
    kernel_us: float = 150.0
    interval_us: float = 20.0
    """From one launch to the next on the host."""
    loader_us: float = 50.0
    buckets: int = 4
    exchange_us: float = 1500.0
    """Of each bucket, from the moment at which all ranks are there."""
    bucket_elements: int = 8 << 20
    overlapped: bool = True
    """Whether buckets go out while the rest is computed, or all after it."""
    slower: dict[int, float] = field(default_factory=dict)
    """Rank to factor of its kernels' duration."""
    more_kernels: dict[int, float] = field(default_factory=dict)
    """Rank to factor of its number of kernels."""
    slow_loader_us: dict[int, float] = field(default_factory=dict)
    """Rank to the time of its loader."""
    worker_processes: bool = True
    clock_offset_us: dict[int, float] = field(default_factory=dict)


@dataclass
class Course:
    """What happened on one rank, in microseconds of a clock that all share."""

    rank: int
    calls: list[tuple[float, int]] = field(default_factory=list)
    """Start and correlation."""
    kernels: list[tuple[float, float, int, int]] = field(default_factory=list)
    """Start, duration, correlation and turn within the step."""
    collectives: list[tuple[float, float, int]] = field(default_factory=list)
    """Start, duration and correlation."""
    loader: list[tuple[float, float]] = field(default_factory=list)
    synchronisations: list[tuple[float, float]] = field(default_factory=list)
    steps: list[tuple[float, float]] = field(default_factory=list)
    host_us: float = 0.0
    gpu_us: float = 0.0
    """When the compute stream is free."""
    correlation: int = 100_000
    """Real ones have grown large by the time that a profiler starts."""

    def launch(self, job: Job) -> tuple[float, int]:
        """A call of the runtime; returns when its work can begin, and the correlation."""
        self.correlation += 1
        self.calls.append((self.host_us, self.correlation))
        ready = self.host_us + _ON_ITS_WAY_US
        self.host_us += job.interval_us
        return ready, self.correlation


def run(job: Job) -> list[Course]:
    """The course of every rank."""
    courses = [Course(rank, host_us=1000.0, gpu_us=1000.0) for rank in range(job.ranks)]
    for _ in range(job.steps):
        begun = [course.host_us for course in courses]
        for course in courses:
            loading = job.slow_loader_us.get(course.rank, job.loader_us)
            course.loader.append((course.host_us, loading))
            course.host_us += loading
        exchanged = _step(job, courses)
        for course, start in zip(courses, begun, strict=True):
            # The loss is read at the end of the step, so that the host waits for the GPU.
            done = max(course.gpu_us, exchanged, course.host_us)
            course.synchronisations.append((course.host_us, done - course.host_us))
            course.host_us = course.gpu_us = done
            course.steps.append((start, done - start))
    return courses


def _step(job: Job, courses: list[Course]) -> float:
    """Computation and exchange of one step; returns when the last exchange ends."""
    waiting: list[list[tuple[float, int]]] = []
    for course in courses:
        count = round(job.kernels * job.more_kernels.get(course.rank, 1.0))
        every = max(1, count // job.buckets) if job.buckets else count + 1
        ready: list[tuple[float, int]] = []
        for turn in range(count):
            begins, correlation = course.launch(job)
            begins = max(begins, course.gpu_us)
            duration = job.kernel_us * job.slower.get(course.rank, 1.0)
            course.kernels.append((begins, duration, correlation, turn % job.kernels))
            course.gpu_us = begins + duration
            if (turn + 1) % every == 0 and len(ready) < job.buckets:
                ready.append((course.gpu_us, 0))
        if not job.overlapped:
            ready = [(course.gpu_us, 0)] * len(ready)
        waiting.append([(max(when, course.launch(job)[0]), course.correlation) for when, _ in ready])
    exchanged = 0.0
    for bucket in range(len(waiting[0])):
        starts = [max(ready[bucket][0], exchanged) for ready in waiting]
        exchanged = max(starts) + job.exchange_us
        for course, start, ready in zip(courses, starts, waiting, strict=True):
            course.collectives.append((start, exchanged - start, ready[bucket][1]))
    return exchanged


def events(job: Job, course: Course, *, old: bool = False) -> Iterator[dict[str, Any]]:
    """One rank's events, in the form of 2021 or of today."""
    category = dict(
        zip(
            ("kernel", "runtime", "operator", "note"),
            ("Kernel", "Runtime", "Operator", "Operator")
            if old
            else ("kernel", "cuda_runtime", "cpu_op", "user_annotation"),
            strict=True,
        )
    )
    shift = 1.7e15 + job.clock_offset_us.get(course.rank, 0.0)

    def event(kind: str, name: str, start: float, duration: float, thread: Any, **arguments: Any) -> dict[str, Any]:
        return {
            "ph": "X", "cat": category[kind], "name": name, "pid": 0 if kind == "kernel" else 4711, "tid": thread,
            "ts": round(shift + start, 3), "dur": round(duration, 3), "args": arguments,
        }  # fmt: skip

    for number, (start, duration) in enumerate(course.steps):
        yield event("note", f"ProfilerStep#{number + 10}", start, duration, 4711)
    iterator = "_MultiProcessingDataLoaderIter" if job.worker_processes else "_SingleProcessDataLoaderIter"
    for start, duration in course.loader:
        yield event("note", f"enumerate(DataLoader)#{iterator}.__next__", start, duration, 4711)
    for start, duration in course.synchronisations:
        yield event("runtime", "cudaStreamSynchronize", start, duration, 4711, cbid=131, correlation=0)
    for start, correlation in course.calls:
        name = _OPERATORS[correlation % len(_OPERATORS)]
        shapes = {"External id": correlation, "Input Dims": [[8, 4096], [4096, 4096]], "Input type": ["c10::BFloat16"]}
        yield event("operator", name, start, max(job.interval_us - 1.0, _CALL_US), 4711, **shapes)
        yield event("runtime", "cudaLaunchKernel", start, _CALL_US, 4711, cbid=211, correlation=correlation)
    stream = (lambda number: f"stream {number}") if old else (lambda number: number)
    for start, duration, correlation, turn in course.kernels:
        yield event(
            "kernel", _GEMM, start, duration, stream(COMPUTE_STREAM), device=0, stream=COMPUTE_STREAM,
            correlation=correlation, grid=[turn % 50 + 1, 2, 1], block=[128, 1, 1],
        )  # fmt: skip
    told = {} if old else {
        "Collective name": "allreduce", "In msg nelems": job.bucket_elements, "Out msg nelems": job.bucket_elements,
        "dtype": "BFloat16", "Group size": job.ranks, "Process Group Name": "0",
        "Process Group Ranks": str(list(range(job.ranks))),
    }  # fmt: skip
    name = (
        "ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)"
        if old
        else "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    )
    for start, duration, correlation in course.collectives:
        yield event(
            "kernel", name, start, duration, stream(COLLECTIVE_STREAM), device=0, stream=COLLECTIVE_STREAM,
            correlation=correlation, **told,
        )  # fmt: skip


def document(job: Job, course: Course, *, old: bool = False) -> str:
    """One rank's trace as text."""
    header: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]}
    if not old:
        header["distributedInfo"] = {"backend": "nccl", "rank": course.rank, "world_size": job.ranks}
    return json.dumps({**header, "traceEvents": list(events(job, course, old=old)), "traceName": "trace.json"})


def write_job(job: Job, folder: Path, *, old: bool = False) -> list[Path]:
    """One compressed trace for each rank."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for course in run(job):
        paths.append(folder / f"rank{course.rank}.pt.trace.json.gz")
        with gzip.open(paths[-1], "wt", compresslevel=1, encoding="utf-8") as file:
            file.write(document(job, course, old=old))
    return paths


def write_large(path: Path, size_bytes: int) -> int:
    """One trace of about that many bytes, plain; returns the number of its events."""
    job = Job(steps=50, kernels=1000, kernel_us=60.0, buckets=8)
    course, written = run(job)[0], 0
    span_us = course.steps[-1][0] + course.steps[-1][1]
    with path.open("w", encoding="utf-8") as file:
        file.write(
            '{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "traceEvents": ['
        )
        turn = 0
        while file.tell() < size_bytes:
            moved = Job(**{**vars(job), "clock_offset_us": {0: turn * span_us}})
            for event in events(moved, course):
                # Correlations go on from one stretch to the next.
                if event["args"].get("correlation"):
                    event["args"]["correlation"] += turn * (course.correlation + 1)
                file.write(("" if not written else ",\n") + json.dumps(event))
                written += 1
            turn += 1
        file.write('], "traceName": "large.json"}')
    return written
