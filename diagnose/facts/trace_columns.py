"""A profiler's trace as columns: what the GPUs did and what the host did, far too much to be facts.

Seconds count from the first event of the trace. Clocks of different traces are not comparable, and nothing here
compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

from diagnose.facts.base import Source, Subject

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int32]


class Work(IntEnum):
    """What a GPU was busy with."""

    COMPUTE = 0
    COMMUNICATION = 1
    COPY = 2
    """Copies and fills of memory."""


class Launch(IntEnum):
    """What a call of the runtime put on a stream."""

    KERNEL = 0
    GRAPH = 1
    COPY = 2


@dataclass(frozen=True, slots=True)
class Spans:
    """Stretches of time on the host; all columns 1-D and of one length, in the order of the file."""

    start_seconds: Floats
    duration_seconds: Floats
    thread: Integers
    """Number of the thread within this trace."""
    code: Integers
    """What it was: the step's number, a member of `Launch`, or 1 where a loader has worker processes and 0 where not.
    """

    def __len__(self) -> int:
        return len(self.start_seconds)


@dataclass(frozen=True, slots=True)
class GpuWork:
    """Kernels, copies and fills; all columns 1-D and of one length, in the order of the file."""

    start_seconds: Floats
    duration_seconds: Floats
    device: Integers
    work: Integers
    """A member of `Work`."""
    name: Integers
    """Index in the trace's `names`."""
    launch: Integers
    """Index in the trace's `launches`, or -1 where the call that launched it is not in the trace."""

    def __len__(self) -> int:
        return len(self.start_seconds)


@dataclass(frozen=True, slots=True)
class Collectives:
    """The kernels among the work that communicate; all columns 1-D and of one length."""

    at: Integers
    """Index in the GPU work."""
    kind: Integers
    """Index in the trace's `names`: `all-reduce`, `send-receive`, ..."""
    group: Integers
    """Index in the trace's `names` of the process group, -1 where it is not told."""
    size_bytes: Floats
    """Larger of what goes in and what comes out on this rank; NaN where it is not told."""

    def __len__(self) -> int:
        return len(self.at)


@dataclass(frozen=True, slots=True)
class Trace:
    """One rank's trace."""

    subject: Subject
    sources: tuple[Source, ...]
    label: str
    """What reports call it: `rank 3`, or the file's name."""
    python_stacks: bool
    """Whether Python's call stacks were recorded."""
    complete: bool
    """Whether the file was read to its end."""
    names: tuple[str, ...]
    """Names of kernels with the grid they were launched with, of collectives, and of process groups."""
    gpu: GpuWork
    collectives: Collectives
    launches: Spans
    waits_for_gpu: Spans
    """Calls in which the host waits for the GPU: synchronisations and blocking copies."""
    operators: Spans
    """Outermost operators and calls of the runtime: what the host visibly worked on."""
    loader: Spans
    """Calls for the next batch."""
    steps: Spans

    def __len__(self) -> int:
        return len(self.gpu)
