"""Names in PyTorch's traces: categories before and after 2021, kernels that communicate, calls of the runtimes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import Any

from diagnose.facts.trace_columns import Launch, Work


class Category(Enum):
    """What an event is about."""

    KERNEL = auto()
    COPY = auto()
    RUNTIME = auto()
    OPERATOR = auto()
    ANNOTATION = auto()
    PYTHON = auto()


CATEGORIES: Mapping[str, Category] = {
    "kernel": Category.KERNEL,
    "concurrent_kernel": Category.KERNEL,
    "gpu_memcpy": Category.COPY,
    "memcpy": Category.COPY,
    "gpu_memset": Category.COPY,
    "memset": Category.COPY,
    "cuda_runtime": Category.RUNTIME,
    "cuda_driver": Category.RUNTIME,
    "hip_runtime": Category.RUNTIME,
    "runtime": Category.RUNTIME,
    "privateuse1_runtime": Category.RUNTIME,
    "cpu_op": Category.OPERATOR,
    "operator": Category.OPERATOR,
    "user_annotation": Category.ANNOTATION,
    "python_function": Category.PYTHON,
}
"""By the category in lower case (pytorch/kineto, libkineto/src/ActivityType.cpp; capitals before 2022)."""

_COMMUNICATES = re.compile(
    r"^(?:void )?(?:nccl|rccl|msccl|deep_ep::|nvshmem)"
    r"|\b(?:cross_device_reduce|allreduce_fusion|(?:one|two)_?shot_?all_?reduce|multimem_(?:one_shot_)?all_reduce"
    r"|userbuffers_|quickreduce)",
    re.IGNORECASE,
)
"""NCCL, RCCL and MSCCL, and all-reduces that inference engines bring themselves."""
_COLLECTIVES: tuple[tuple[str, str], ...] = (
    ("allreduce", "all-reduce"),
    ("reducescatter", "reduce-scatter"),
    ("allgather", "all-gather"),
    ("alltoall", "all-to-all"),
    ("sendrecv", "send-receive"),
    ("send", "send-receive"),
    ("recv", "send-receive"),
    ("broadcast", "broadcast"),
    ("barrier", "barrier"),
    ("reduce", "reduce"),
    ("gather", "gather"),
    ("scatter", "scatter"),
)
_NOT_LETTERS = re.compile(r"[^a-z]")
_ARGUMENTS = re.compile(r"[(<].*", re.DOTALL)

_LAUNCH = re.compile(r"(?:cuda|cu|hip)\w*(?:Launch|Memcpy|Memset|MemPrefetch)", re.IGNORECASE)
_WAIT = re.compile(r"(?:cuda|cu|hip)(?:(?:Device|Stream|Event|Ctx)Synchronize|Memcpy(?:_ptds)?$)", re.IGNORECASE)

_LOADER = re.compile(r"DataLoader\)?#.*__next__|dataloader_next|dataloader\.py\(\d+\): __next__", re.IGNORECASE)
STEP = re.compile(r"ProfilerStep#(\d{1,9})$")

ELEMENT_BYTES: Mapping[str, int] = {
    "Double": 8,
    "Long": 8,
    "ComplexFloat": 8,
    "Float": 4,
    "Int": 4,
    "Half": 2,
    "BFloat16": 2,
    "Short": 2,
    "Byte": 1,
    "Char": 1,
    "Bool": 1,
    "Float8_e4m3fn": 1,
    "Float8_e5m2": 1,
    "Float8_e4m3fnuz": 1,
    "Float8_e5m2fnuz": 1,
}


@lru_cache(maxsize=1 << 10)
def category_of(name: str) -> Category | None:
    """The category by its name in a trace of any age; None for what is of no use here."""
    return CATEGORIES.get(name.lower())


@lru_cache(maxsize=1 << 16)
def work_of(kernel: str) -> Work:
    """Whether a kernel computes or communicates."""
    return Work.COMMUNICATION if _COMMUNICATES.search(kernel) else Work.COMPUTE


@lru_cache(maxsize=1 << 12)
def collective_in(name: str) -> str:
    """The collective that a name tells of: `ncclDevKernel_AllReduce_Sum_f32_RING_LL`, `_allgather_base`."""
    letters = _NOT_LETTERS.sub("", _ARGUMENTS.sub("", name).lower())
    return next((collective for part, collective in _COLLECTIVES if part in letters), "other")


@lru_cache(maxsize=1 << 12)
def launch_of(call: str) -> Launch | None:
    """What a call of the runtime puts on a stream; None where it puts nothing there."""
    if not _LAUNCH.match(call):
        return None
    lowered = call.lower()
    if "launch" not in lowered:
        return Launch.COPY
    return Launch.GRAPH if "graph" in lowered else Launch.KERNEL


@lru_cache(maxsize=1 << 12)
def waits_for_gpu(call: str) -> bool:
    """Whether a call of the runtime returns only when the GPU has got somewhere."""
    return _WAIT.match(call) is not None


@lru_cache(maxsize=1 << 16)
def fetches_batch(name: str) -> bool:
    """Whether it is the wait for the next batch, as PyTorch, Lightning or a recorded stack name it."""
    return _LOADER.search(name) is not None


def message_bytes(arguments: Mapping[str, Any]) -> float:
    """Larger of what a collective takes in and gives out on this rank; NaN where newer traces would tell."""
    size = ELEMENT_BYTES.get(str(arguments.get("dtype")))
    elements = [
        value
        for key in ("In msg nelems", "Out msg nelems")
        if isinstance(value := arguments.get(key), int) and 0 <= value < 1 << 62
    ]
    return float(max(elements) * size) if size and elements else float("nan")
