"""Facts from profiler traces: how a rank's GPU spent its time, what it waited for, and how ranks compare.

The *window* of a trace reaches from the first to the last moment at which its GPU worked. Intervals of one sort are
merged before they are added up, so that kernels on parallel streams count once. `trace` names the trace in all kinds,
so that facts of one trace can be joined: `rank 3`, or the file's name.
"""

from __future__ import annotations

from typing import ClassVar

from diagnose.facts.base import Fact, optional, required


class TraceProfile(Fact):
    """One trace as it was read. Subject: its rank, where told."""

    kind: ClassVar[str] = "trace-profile"
    trace: str = required("Name of the trace")
    events: int = required("Events read")
    span_seconds: float = required("From the first to the end of the last event")
    gpu_events: int = required("Kernels, copies and fills; 0 where only the host was recorded")
    host_events: int = required("Operators and calls of the runtime")
    python_stacks: bool = required("Whether Python's call stacks were recorded, which slows the host down")
    complete: bool = required("Whether the file was read to its end")
    world_size: int | None = optional("Ranks of the job")


class TraceSummary(Fact):
    """How one GPU spent the window of a trace. A feature.

    Compute, exposed communication, exposed copies and idle add up to 1. Communication is exposed while no computation
    runs, a copy while neither computation nor communication does.
    """

    kind: ClassVar[str] = "trace-summary"
    trace: str = required("Name of the trace, with the device where it has several")
    window_seconds: float = required("First to last work of the GPU")
    compute_ratio: float = required("Share of the window in which a kernel computes")
    exposed_communication_ratio: float = required("Share in which a collective runs and nothing computes")
    exposed_copy_ratio: float = required("Share in which only copies or fills run")
    idle_ratio: float = required("Share in which the GPU does nothing")
    communication_ratio: float = required("Share in which a collective runs")
    copy_ratio: float = required("Share in which a copy or fill runs")
    overlap_ratio: float | None = optional("Share of communication behind which a kernel computes; absent without any")
    kernels: int = required("Kernels, communication included")
    kernels_per_second: float = required("Kernels over the window")
    median_kernel_seconds: float | None = optional("Median duration of kernels that compute")
    pageable_copy_ratio: float = required("Share of the window in copies from or to memory that is not pinned")
    steps: int = required("Steps that the profiler marked")
    step_seconds: float | None = optional("Median step")


class TraceIdle(Fact):
    """Why a GPU was idle, as shares of the window that add up to the idle share of trace-summary. A feature.

    An idle stretch ends with a kernel. Until the host called for that kernel it waited for the host: in the data
    loader, in operators and calls of the runtime, or elsewhere. After the call the kernel was on its way or waited for
    another stream.
    """

    kind: ClassVar[str] = "trace-idle"
    trace: str = required("As in trace-summary")
    idle_ratio: float = required("As in trace-summary")
    data_loader_ratio: float = required("The host waited for the next batch")
    host_busy_ratio: float = required("The host was in operators or calls of the runtime")
    host_other_ratio: float = required("The host was elsewhere: Python, locks, files, another process")
    kernel_gap_ratio: float = required("The next kernel had been launched: stretches up to 20 microseconds")
    queued_ratio: float = required("The same, longer: it waited for an event of another stream, or for its data")
    unexplained_ratio: float = required("The call that launched the next kernel is not in the trace")


class TraceLaunch(Fact):
    """How the host keeps a GPU supplied with work. A feature."""

    kind: ClassVar[str] = "trace-launch"
    trace: str = required("As in trace-summary")
    launches: int = required("Calls that launched kernels or graphs")
    graph_launches: int = required("Those that launched a CUDA graph")
    call_seconds: float = required("Median duration of a call")
    interval_seconds: float | None = optional("Median time from one call to the next of the same thread")
    delay_seconds: float = required("Median time from a call to the start of its kernel: how far the host is ahead")
    queue_empty_ratio: float = required("Share of kernels that found the GPU idle when the host called for them")
    short_kernels_ratio: float | None = optional("Share of computing kernels shorter than the interval between calls")
    synchronisations: int = required("Calls in which the host waits for the GPU")
    synchronisations_per_step: float | None = optional("The same for each step")
    python_stacks: bool = required("Whether Python's call stacks were recorded, which slows the host down")
    kernels_per_launch: float = required("Kernels for each call; more than 1 with CUDA graphs")


class TraceDataLoader(Fact):
    """Waits of a rank for its next batch. A feature. The GPU often works on while the host waits."""

    kind: ClassVar[str] = "trace-data-loader"
    trace: str = required("Name of the trace")
    waits: int = required("Batches waited for")
    worker_processes: bool | None = optional("Whether worker processes load; else the training process does")
    wait_seconds: float = required("Time in all waits")
    median_wait_seconds: float = required("Median wait")
    longest_wait_seconds: float = required("Longest wait")
    idle_ratio: float | None = optional("Share of the window in which the GPU is idle meanwhile")
    median_idle_seconds: float | None = optional("Median of the GPU's idle time during a wait")
    waits_with_idle_ratio: float | None = optional("Share of waits in which the GPU is idle for a millisecond or more")
    step_seconds: float | None = optional("Median step, or median time between waits where steps are not marked")


class TraceCollective(Fact):
    """Collectives of one sort and size in a trace. A feature. Their time holds the wait for peers."""

    kind: ClassVar[str] = "trace-collective"
    trace: str = required("As in trace-summary")
    collective: str = required("`all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all`, `send-receive`, ...")
    size: str = required("`up to 64 KiB`, `up to 1 MiB`, `up to 16 MiB`, `up to 256 MiB`, `larger` or `unknown`")
    count: int = required("Kernels")
    total_seconds: float = required("Sum of their durations")
    exposed_seconds: float = required("Of which nothing computed")
    median_seconds: float = required("Median duration")
    total_bytes: float | None = optional("Sum of their sizes, the larger of in and out on this rank")
    median_bytes: float | None = optional("Median size")
    fastest_bytes_per_second: float | None = optional("Median size over the shortest duration: least waiting")


class TraceRanks(Fact):
    """Traces of several ranks of one job compared without their clocks. A feature. Subject: who is waited for.

    A collective ends on all ranks at about the same time. The one in which it is shortest came last; what the others
    have more, they waited for it.
    """

    kind: ClassVar[str] = "trace-ranks"
    few_per_host: ClassVar[bool] = True
    ranks: int = required("Ranks compared")
    matched_collectives: int = required("Collectives found on all ranks of their group and compared")
    wait_ratio: float = required("Mean share of the window in which a rank waits in a collective for a later one")
    exposed_wait_ratio: float = required("Of which nothing computes")
    exposed_transfer_ratio: float = required(
        "Mean share in which a collective is under way on all and nothing computes"
    )
    transfer_ratio: float = required("Mean share in which a collective is under way on all")
    compute_ratio: float = required("Mean share in which a kernel computes")
    compute_balance_ratio: float = required("Mean over maximum of the ranks' computing time: POP's load balance")
    trace: str | None = optional("The rank that waits clearly less than the others while nothing computes")
    last_ratio: float | None = optional("Share of collectives to which it comes last")
    p_value: float | None = optional("Chance of that among equal ranks")
    lag_ratio: float | None = optional("What the others wait more than it does, as a share of the window")
    lag_in: str | None = optional("Where it lost the time: `compute`, `idle` (its host), or `neither`")
    compute_difference_ratio: float | None = optional("Its computing time over the median of the others")
    same_kernels_ratio: float | None = optional(
        "Its time over the others' in kernels of the same name and grid, median"
    )
    launched_kernels_ratio: float | None = optional("Its number of kernels over the median of the others")
